//! Whatever stops a run stops its whole tree, in order, and the first cause is what is told.
//!
//! Cases PT-02, PT-03, PT-07, PT-12, PT-15 and PF-01.

use crate::home::{LIMIT, Place, signal};
use libtest_mimic::{Failed, Trial};
use outlast_lib::{CancelQuery, Record, Request, RunId, Status};
use outlast_testkit::eventually;
use rustix::process::Signal;
use std::time::{Duration, Instant};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_descendant_in_its_own_session_is_reached,
        a_time_limit_stops_the_whole_tree,
        what_ignores_term_is_killed_after_the_grace,
        now_means_no_term_at_all,
        a_stopped_process_can_be_cancelled,
        code_137_a_kill_and_a_cancel_are_three_records,
        the_stop_signal_takes_the_place_of_term,
        the_stop_command_runs_first_and_knows_the_main_process,
        a_second_cancel_may_hurry_and_does_not_change_the_cause,
        a_cancel_that_comes_after_the_exit_does_not_change_the_outcome,
        a_signal_from_the_tree_means_nothing_and_is_noted,
        a_signal_from_outside_stops_in_order,
        a_tree_without_path_is_stopped_all_the_same,
        a_cancel_by_many_at_once_is_one_cancel,
    );
}

#[track_caller]
fn cancel(place: &Place, id: &RunId, grace_ms: Option<u64>) -> outlast_lib::Cancelled {
    let query = CancelQuery {
        grace_ms,
        ..CancelQuery::default()
    };
    place.store.cancel(id, &query).expect("it can be cancelled")
}

fn ended_by(record: &Record) -> (Status, &str) {
    (
        record.status,
        record.ended_by.as_deref().unwrap_or_default(),
    )
}

/// PT-02.
fn a_descendant_in_its_own_session_is_reached() {
    let place = Place::new();
    let id = place
        .start("setsid sleep 301 & (setsid bash -c 'sleep 302 &'); sleep 300 & echo up > up; wait");
    place.has_lines("up", 1);
    let asked = Instant::now();
    assert!(cancel(&place, &id, Some(1_000)).cancelled);
    assert!(
        asked.elapsed() < Duration::from_millis(2_500),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(
        crate::home::trees_in(&place.home),
        [],
        "at once, when it is told"
    );
    place.is_sound();
}

/// PT-03, with a shorter limit.
fn a_time_limit_stops_the_whole_tree() {
    let place = Place::new();
    let request = Request {
        timeout_ms: Some(1_000),
        ..place.shell(
            "for i in 1 2 3 4; do (while :; do :; done) & done
             sh -c 'sh -c \"sleep 600; :\"; :'; kill $(jobs -p)",
        )
    };
    let id = place.begin(&request);
    let record = place.ended(&id);
    assert_eq!(ended_by(&record), (Status::TimedOut, "timeout"));
    let elapsed = record.elapsed_ms.expect("it is known");
    assert!((1_000..3_000).contains(&elapsed), "{elapsed} ms");
    assert_eq!(record.summary.as_deref(), Some("timed out after 1s"));
    assert_eq!((record.leftovers.len(), record.unkillable.len()), (0, 0));
    place.is_deserted();
    place.is_sound();
}

const STUBBORN: &str = "trap '' TERM; echo up; while :; do sleep 0.05; done";

/// PT-07.
fn what_ignores_term_is_killed_after_the_grace() -> Result<(), Failed> {
    let place = Place::new();
    let id = place.start(STUBBORN);
    eventually("it is up", LIMIT, || place.record(&id).output.bytes == 3);
    let asked = Instant::now();
    let at_once = CancelQuery {
        grace_ms: Some(500),
        by: Some("the trial".to_owned()),
        no_wait: true,
    };
    let done = place.store.cancel(&id, &at_once)?;
    assert_eq!((done.status, done.cancelled), (Status::Running, false));
    eventually("it is told", LIMIT, || place.record(&id).cancelling);
    let record = place.ended(&id);
    let took = asked.elapsed();
    assert!((500..2_500).contains(&took.as_millis()), "{took:?}");
    assert_eq!(ended_by(&record), (Status::Cancelled, "cancel"));
    assert_eq!(
        (record.signal.as_deref(), record.output.bytes),
        (Some("KILL"), 3)
    );
    assert!(!record.cancelling);
    place.is_deserted();
    place.is_sound();
    Ok(())
}

fn now_means_no_term_at_all() {
    let place = Place::new();
    let id = place
        .start("trap 'echo heard > heard; exit' TERM; echo up > up; while :; do sleep 0.05; done");
    place.has_lines("up", 1);
    cancel(&place, &id, Some(0));
    let record = place.record(&id);
    assert_eq!(
        (record.status, record.signal.as_deref()),
        (Status::Cancelled, Some("KILL"))
    );
    assert_eq!(place.lines("heard").len(), 0);
    place.is_deserted();
}

fn a_stopped_process_can_be_cancelled() {
    let place = Place::new();
    let id = place
        .start("trap 'echo heard > heard; exit 0' TERM; echo $$ > pid; kill -STOP $$; sleep 600");
    let pid = place.pid_in("pid");
    eventually("it is stopped", LIMIT, || {
        crate::home::state_of(pid) == Some('T')
    });
    assert!(cancel(&place, &id, Some(20_000)).cancelled);
    assert_eq!(place.lines("heard").len(), 1, "TERM was heard after CONT");
}

/// PT-15.
fn code_137_a_kill_and_a_cancel_are_three_records() {
    let place = Place::new();
    let code = place.ended(&place.start("exit 137"));
    assert_eq!(ended_by(&code), (Status::Failed, "self"));
    assert_eq!((code.exit_code, code.signal), (Some(137), None));
    let killed = place.ended(&place.start("kill -KILL $$"));
    assert_eq!(ended_by(&killed), (Status::Failed, "unknown"));
    assert_eq!(
        (killed.exit_code, killed.signal.as_deref()),
        (None, Some("KILL"))
    );
    let id = place.begin(&place.direct(&["sleep", "60"]));
    cancel(&place, &id, Some(0));
    let cancelled = place.record(&id);
    assert_eq!(ended_by(&cancelled), (Status::Cancelled, "cancel"));
    assert_eq!(
        (cancelled.exit_code, cancelled.signal.as_deref()),
        (None, Some("KILL"))
    );
}

fn the_stop_signal_takes_the_place_of_term() {
    let place = Place::new();
    let request = Request {
        stop_signal: Some("SIGUSR1".to_owned()),
        grace_ms: Some(20_000),
        ..place.shell(
            "trap 'echo TERM >> heard' TERM; trap 'echo USR1 >> heard; exit 0' USR1
             echo up > up; while :; do sleep 0.05; done",
        )
    };
    let id = place.begin(&request);
    place.has_lines("up", 1);
    assert!(cancel(&place, &id, None).cancelled);
    assert_eq!(place.lines("heard"), ["USR1"]);
}

/// PT-12: what works through another process is told to stop by a command of its own.
fn the_stop_command_runs_first_and_knows_the_main_process() -> Result<(), Failed> {
    let place = Place::new();
    let request = Request {
        stop_command: Some(
            "echo stopping $OUTLAST_MAIN_PID $OUTLAST_RUN; echo x > asked".to_owned(),
        ),
        grace_ms: Some(20_000),
        ..place.shell(
            "trap 'while [ ! -e asked ]; do sleep 0.02; done; echo gone; exit 0' TERM
             echo up > up; while :; do sleep 0.05; done",
        )
    };
    let id = place.begin(&request);
    place.has_lines("up", 1);
    let main = place.main_of(&id).pid;
    assert!(cancel(&place, &id, None).cancelled);
    let output = place.output(&id);
    assert!(
        output.contains(&format!("stopping {main} {id}\n")),
        "{output}"
    );
    assert!(output.ends_with("gone\n"), "{output}");
    assert_eq!(place.record(&id).output.bytes, u64::try_from(output.len())?);
    place.is_deserted();
    Ok(())
}

fn a_second_cancel_may_hurry_and_does_not_change_the_cause() {
    let place = Place::new();
    let request = Request {
        timeout_ms: Some(300),
        grace_ms: Some(600_000),
        ..place.shell(STUBBORN)
    };
    let id = place.begin(&request);
    eventually("the limit passes", LIMIT, || place.record(&id).cancelling);
    let done = cancel(&place, &id, Some(0));
    assert_eq!((done.status, done.cancelled), (Status::TimedOut, false));
    assert_eq!(ended_by(&place.record(&id)), (Status::TimedOut, "timeout"));
    place.is_deserted();
    place.is_sound();
}

fn a_cancel_that_comes_after_the_exit_does_not_change_the_outcome() {
    let place = Place::new();
    let id = place.start("exit 3");
    place.ended(&id);
    let done = cancel(&place, &id, None);
    assert_eq!(
        (done.was, done.status, done.cancelled),
        (Status::Failed, Status::Failed, false)
    );
    assert_eq!(place.record(&id).exit_code, Some(3));
    place.is_sound();
}

fn a_signal_from_the_tree_means_nothing_and_is_noted() {
    let place = Place::new();
    let id = place.start(
        "for signal in TERM INT HUP; do kill -$signal $PPID; done
         (bash -c 'kill -TERM $1; sleep 600' - $PPID &)
         while [ ! -e go ]; do sleep 0.02; done; exit 3",
    );
    let noted = || {
        let lines = place.journal(&id).into_iter();
        let signals =
            lines.filter_map(|line| Some(line["data"]["ignored_signal"].as_str()?.to_owned()));
        signals.collect::<Vec<_>>()
    };
    eventually("they are noted", LIMIT, || noted().len() >= 3);
    assert_eq!(place.record(&id).status, Status::Running);
    place.touch("go");
    let record = place.ended(&id);
    assert_eq!((record.status, record.exit_code), (Status::Failed, Some(3)));
    let mut names = noted();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, ["HUP", "INT", "TERM"]);
    place.is_sound();
}

fn a_signal_from_outside_stops_in_order() {
    let place = Place::new();
    for name in [Signal::TERM, Signal::INT, Signal::HUP] {
        let id = place.start("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.02; done");
        eventually("it is up", LIMIT, || place.record(&id).output.bytes == 3);
        signal(place.supervisor_of(&id), name);
        let record = place.ended(&id);
        assert_eq!(ended_by(&record), (Status::Cancelled, "host"));
        assert_eq!(record.exit_code, Some(0));
        assert!(
            place.output(&id).ends_with("bye\n"),
            "{}",
            place.output(&id)
        );
    }
    place.is_deserted();
    place.is_sound();
}

/// PF-01: nothing is done by other programs.
fn a_tree_without_path_is_stopped_all_the_same() {
    let place = Place::new();
    let mut request = place.shell("/bin/sleep 300 & echo hi");
    request.environment = vec![("PATH".into(), "/nonexistent".into())];
    let id = place.begin(&request);
    let record = place.ended(&id);
    assert_eq!((record.status, record.output.bytes), (Status::Completed, 3));
    assert_eq!(cancel(&place, &id, None).leftovers_stopped, 1);
    place.is_deserted();
}

fn a_cancel_by_many_at_once_is_one_cancel() {
    let place = Place::new();
    let id = place.start("trap '' TERM; sleep 600 & while :; do sleep 0.05; done");
    let root = place.store.root().to_owned();
    let cancels: Vec<_> = (0..6)
        .map(|_| {
            let root = root.clone();
            std::thread::spawn(move || {
                let store = outlast_lib::Store::open(&root, outlast_lib::Limits::default());
                let query = CancelQuery {
                    grace_ms: Some(200),
                    ..CancelQuery::default()
                };
                store
                    .expect("it opens")
                    .cancel(&id, &query)
                    .expect("it can be cancelled")
            })
        })
        .collect();
    for cancel in cancels {
        let done = cancel.join().expect("the thread ends");
        assert_eq!(done.status, Status::Cancelled);
    }
    let stops = place
        .journal(&id)
        .iter()
        .filter(|line| line["data"]["stop"].is_object())
        .count();
    assert_eq!(stops, 1, "one cause is noted");
    place.is_deserted();
    // The supervisor of a run that is over is not there to be killed.
    assert!(!place.run_dir(&id).join("control").exists());
    place.is_sound();
}
