//! What outlives the main process is named, bounded and stoppable, by the policy of its run.
//!
//! Cases PT-01 and PT-04.

use crate::home::{LIMIT, Place, is_alive};
use libtest_mimic::{Failed, Trial};
use outlast_lib::{CancelQuery, Leftovers, Request, RunId, Status, WaitQuery};
use outlast_testkit::eventually;
use std::time::{Duration, Instant};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_silent_child_does_not_hold_up_the_end,
        work_that_went_on_is_named_and_can_be_stopped,
        with_wait_the_run_goes_on_until_its_tree_is_empty,
        with_wait_a_cancel_decides,
        with_stop_nothing_is_left_at_the_end,
        with_stop_what_ignores_term_is_killed,
        leftovers_are_bounded_by_the_time_limit,
        what_leftovers_write_is_kept_beyond_the_frozen_count,
        a_run_with_live_leftovers_cannot_be_removed,
    );
}

fn with(place: &Place, policy: Leftovers, text: &str) -> Request {
    Request {
        leftovers: policy,
        ..place.shell(text)
    }
}

#[track_caller]
fn cancel(place: &Place, id: &RunId) -> outlast_lib::Cancelled {
    place
        .store
        .cancel(id, &CancelQuery::default())
        .expect("it can be cancelled")
}

/// PT-01.
fn a_silent_child_does_not_hold_up_the_end() {
    let place = Place::new();
    for text in [
        "sleep 300 & echo hi",
        "sleep 300 </dev/null >/dev/null & echo hi",
    ] {
        let id = place.start(text);
        let asked = Instant::now();
        let record = place.ended(&id);
        assert!(
            asked.elapsed() < Duration::from_secs(1),
            "{:?}",
            asked.elapsed()
        );
        assert_eq!(
            (record.status, record.exit_code),
            (Status::Completed, Some(0))
        );
        assert_eq!((record.output.bytes, record.leftovers.len()), (3, 1));
        assert_eq!(cancel(&place, &id).leftovers_stopped, 1);
    }
    place.is_deserted();
    place.is_sound();
}

/// PT-04.
fn work_that_went_on_is_named_and_can_be_stopped() {
    let place = Place::new();
    let id = place.start(
        "nohup sleep 600 >/dev/null 2>&1 & echo $! > pid
         until tr '\\0' ' ' </proc/$!/cmdline | grep -q ^sleep; do sleep 0.01; done; echo started",
    );
    let record = place.ended(&id);
    let pid = place.pid_in("pid");
    assert_eq!((record.status, record.output.bytes), (Status::Completed, 8));
    assert_eq!(record.leftovers.len(), 1);
    assert_eq!(
        (record.leftovers[0].pid, &*record.leftovers[0].command),
        (pid, "sleep 600")
    );
    assert_eq!(
        place.list()[0].leftovers,
        record.leftovers,
        "a list says so too"
    );
    assert_eq!(place.supervisors(), 1, "it stays owned");
    place.is_sound();

    let done = cancel(&place, &id);
    assert_eq!(
        (done.was, done.status),
        (Status::Completed, Status::Completed)
    );
    assert_eq!((done.cancelled, done.leftovers_stopped), (false, 1));
    assert!(!is_alive(pid));
    let after = place.record(&id);
    assert_eq!(
        (after.status, after.leftovers),
        (Status::Completed, Vec::new())
    );
    place.is_deserted();
    assert_eq!(cancel(&place, &id).leftovers_stopped, 0, "once is enough");
    place.is_sound();
}

const UNTIL_GO: &str = "(while [ ! -e go ]; do sleep 0.02; done; echo late) & echo early; exit 5";

fn with_wait_the_run_goes_on_until_its_tree_is_empty() {
    let place = Place::new();
    let id = place.begin(&with(&place, Leftovers::Wait, UNTIL_GO));
    let has_exited = || {
        place
            .journal(&id)
            .iter()
            .any(|line| line["type"] == "main_exited")
    };
    eventually("the main process exits", LIMIT, has_exited);
    assert_eq!(place.record(&id).status, Status::Running);
    place.touch("go");
    let record = place.ended(&id);
    assert_eq!((record.status, record.exit_code), (Status::Failed, Some(5)));
    assert_eq!(place.output(&id), "early\nlate\n");
    assert_eq!((record.output.bytes, record.leftovers.len()), (11, 0));
    place.is_deserted();
    place.is_sound();
}

fn with_wait_a_cancel_decides() {
    let place = Place::new();
    let id = place.begin(&with(&place, Leftovers::Wait, "sleep 600 & exit 0"));
    let has_exited = || {
        place
            .journal(&id)
            .iter()
            .any(|line| line["type"] == "main_exited")
    };
    eventually("the main process exits", LIMIT, has_exited);
    let done = cancel(&place, &id);
    assert!(done.cancelled, "{done:?}");
    let record = place.record(&id);
    assert_eq!(
        (record.status, record.ended_by.as_deref()),
        (Status::Cancelled, Some("cancel"))
    );
    place.is_deserted();
    place.is_sound();
}

fn with_stop_nothing_is_left_at_the_end() {
    let place = Place::new();
    let id = place.begin(&with(
        &place,
        Leftovers::Stop,
        "sleep 600 & setsid sleep 601 & exit 0",
    ));
    let begun = Instant::now();
    let record = place.ended(&id);
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(
        (record.status, record.exit_code),
        (Status::Completed, Some(0))
    );
    assert_eq!(
        (record.leftovers.len(), record.ended_by.as_deref()),
        (0, Some("self"))
    );
    place.is_deserted();
    place.is_sound();
}

fn with_stop_what_ignores_term_is_killed() {
    let place = Place::new();
    let text = "(trap '' TERM; echo up > up; while :; do sleep 0.05; done) &
                while [ ! -e up ]; do sleep 0.02; done; exit 4";
    let request = Request {
        grace_ms: Some(300),
        ..with(&place, Leftovers::Stop, text)
    };
    let record = place.ended(&place.begin(&request));
    assert_eq!((record.status, record.exit_code), (Status::Failed, Some(4)));
    assert!(record.elapsed_ms >= Some(300), "{record:?}");
    place.is_deserted();
}

fn leftovers_are_bounded_by_the_time_limit() {
    let place = Place::new();
    let request = Request {
        timeout_ms: Some(800),
        ..place.shell("sleep 600 & exit 0")
    };
    let id = place.begin(&request);
    let record = place.ended(&id);
    assert_eq!(
        (record.status, record.leftovers.len()),
        (Status::Completed, 1)
    );
    place.is_deserted();
    assert_eq!(place.record(&id).status, Status::Completed);
    place.is_sound();
}

fn what_leftovers_write_is_kept_beyond_the_frozen_count() {
    let place = Place::new();
    let id = place.start("(while [ ! -e go ]; do sleep 0.02; done; echo late) & echo early");
    assert_eq!(place.ended(&id).output.bytes, 6);
    place.touch("go");
    place.is_deserted();
    let record = place.record(&id);
    assert_eq!((record.output.bytes, record.output.after_end), (6, Some(5)));
    assert_eq!(place.output(&id), "early\nlate\n");
    place.is_sound();
}

fn a_run_with_live_leftovers_cannot_be_removed() -> Result<(), Failed> {
    let place = Place::new();
    let id = place.start("sleep 600 &");
    place.ended(&id);
    assert!(place.store.remove(&id).is_err());
    let now = WaitQuery {
        timeout_ms: Some(0),
        ..WaitQuery::default()
    };
    assert_eq!(place.store.wait(&[id], &now)?.ended, [id]);
    cancel(&place, &id);
    eventually("the supervisor leaves", LIMIT, || place.supervisors() == 0);
    place.store.remove(&id)?;
    assert_eq!(place.list(), []);
    place.is_sound();
    Ok(())
}
