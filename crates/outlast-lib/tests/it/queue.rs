//! A run that waits for a place waits in order of arrival, at no cost to its time limit.
//!
//! Case TW-03. Whatever becomes of those before it, the next one goes on.

use crate::home::{LIMIT, Place, kill, reference};
use libtest_mimic::{Failed, Trial};
use outlast_lib::{CancelQuery, Lifetime, Limits, Request, RunId, Status, Timestamp};
use outlast_testkit::eventually;
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        the_time_in_the_queue_does_not_count,
        a_queued_run_can_be_cancelled_and_the_next_goes_on,
        a_queued_run_gives_up_at_its_limit,
        a_queued_run_ends_at_its_deadline,
        a_queued_run_ends_with_its_session,
        a_killed_predecessor_is_passed_over,
        a_killed_holder_gives_its_place_to_the_next_at_once,
        a_queued_command_that_cannot_run_fails_and_the_next_goes_on,
        a_start_with_a_free_place_does_not_overtake_who_waits,
    );
}

/// A store in which a session has one place.
fn narrow() -> Place {
    let mut limits = Limits::default();
    limits.session_runs_max = 1;
    Place::with(limits)
}

fn queued(place: &Place, text: &str) -> Request {
    Request {
        session: Some("s".to_owned()),
        is_queued: true,
        ..place.shell(text)
    }
}

/// Starts a run that holds the place until it is cancelled.
fn hold(place: &Place) -> RunId {
    let id = place.begin(&queued(place, "exec sleep 600"));
    assert_eq!(place.record(&id).status, Status::Running);
    id
}

/// Starts a run that has to wait.
#[track_caller]
fn wait_in_line(place: &Place, text: &str) -> RunId {
    let begun = place
        .store
        .start(&queued(place, text))
        .expect("it may wait");
    assert_eq!(begun.status, Status::Queued);
    begun.id
}

#[track_caller]
fn was_not_executed(place: &Place, id: &RunId) {
    let record = place.record(id);
    assert_eq!(
        (record.started, record.exit_code),
        (None, None),
        "{record:?}"
    );
}

/// TW-03, with 1 s and 2 s in place of 3 s and 4 s.
fn the_time_in_the_queue_does_not_count() {
    let place = narrow();
    let begun = Instant::now();
    let request = Request {
        timeout_ms: Some(2_000),
        ..queued(&place, "sleep 1; echo done >> ends")
    };
    let starts = [(); 3].map(|()| place.store.start(&request).expect("it starts or waits"));
    let states = starts
        .each_ref()
        .map(|start| (start.status, start.queue_position));
    let waits = |before| (Status::Queued, Some(before));
    assert_eq!(states, [(Status::Running, None), waits(0), waits(1)]);
    let records = starts.map(|start| place.ended(&start.id));
    assert!(begun.elapsed() >= Duration::from_secs(3), "one at a time");
    for record in &records {
        assert_eq!(record.status, Status::Completed, "{record:?}");
        assert!(record.elapsed_ms < Some(2_000), "{record:?}");
    }
    assert!(records[0].ended <= records[1].started && records[1].ended <= records[2].started);
    place.is_sound();
}

fn a_queued_run_can_be_cancelled_and_the_next_goes_on() -> Result<(), Failed> {
    let place = narrow();
    let holder = hold(&place);
    let first = wait_in_line(&place, "echo first >> ran");
    let second = wait_in_line(&place, "echo second >> ran");
    let done = place.store.cancel(&first, &CancelQuery::default())?;
    assert_eq!(
        (done.was, done.status, done.cancelled),
        (Status::Queued, Status::Cancelled, true)
    );
    assert_eq!(place.record(&first).ended_by.as_deref(), Some("cancel"));
    was_not_executed(&place, &first);
    assert_eq!(place.record(&second).queue_position, Some(0));
    place.cancel_now(&holder);
    assert_eq!(place.ended(&second).status, Status::Completed);
    assert_eq!(place.lines("ran"), ["second"]);
    place.is_sound();
    Ok(())
}

fn a_queued_run_gives_up_at_its_limit() {
    let place = narrow();
    hold(&place);
    let request = Request {
        queue_ms: Some(200),
        ..queued(&place, "echo ran >> ran")
    };
    let record = place.ended(&place.begin(&request));
    assert_eq!(record.status, Status::Failed);
    assert_eq!(record.ended_by.as_deref(), Some("limit:queue"));
    was_not_executed(&place, &record.id);
    place.is_sound();
}

fn a_queued_run_ends_at_its_deadline() {
    let place = narrow();
    let holder = hold(&place);
    let created = place.record(&holder).created;
    let request = Request {
        deadline: Some(Timestamp(created.0 + 1_500)),
        ..queued(&place, "echo ran >> ran")
    };
    let record = place.ended(&place.begin(&request));
    assert_eq!(record.status, Status::TimedOut);
    assert_eq!(record.ended_by.as_deref(), Some("deadline"));
    was_not_executed(&place, &record.id);
}

fn a_queued_run_ends_with_its_session() -> Result<(), Failed> {
    let place = narrow();
    hold(&place);
    let mut session = Command::new("sleep").arg("600").spawn()?;
    let request = Request {
        lifetime: Lifetime::Session,
        holder: Some(reference(session.id())),
        ..queued(&place, "echo ran >> ran")
    };
    let id = place.begin(&request);
    assert_eq!(place.record(&id).status, Status::Queued);
    session.kill()?;
    session.wait()?;
    let record = place.ended(&id);
    assert_eq!(record.status, Status::Cancelled);
    assert_eq!(record.ended_by.as_deref(), Some("session"));
    was_not_executed(&place, &id);
    Ok(())
}

fn a_killed_predecessor_is_passed_over() {
    let place = narrow();
    let holder = hold(&place);
    let first = wait_in_line(&place, "echo first >> ran");
    let second = wait_in_line(&place, "echo second >> ran");
    let third = wait_in_line(&place, "echo third >> ran");
    kill(place.supervisor_of(&second));
    assert_eq!(place.record(&second).status, Status::Interrupted);
    kill(place.supervisor_of(&first));
    assert_eq!(
        place.record(&third).status,
        Status::Queued,
        "the place is still held"
    );
    assert_eq!(place.record(&third).queue_position, Some(0));
    place.cancel_now(&holder);
    assert_eq!(place.ended(&third).status, Status::Completed);
    assert_eq!(place.lines("ran"), ["third"]);
    assert_eq!(place.record(&first).status, Status::Interrupted);
    place.is_sound();
}

fn a_killed_holder_gives_its_place_to_the_next_at_once() {
    let place = narrow();
    let holder = hold(&place);
    let next = wait_in_line(&place, "exit 0");
    let killed = Instant::now();
    kill(place.supervisor_of(&holder));
    assert_eq!(place.ended(&next).status, Status::Completed);
    assert!(killed.elapsed() < Duration::from_secs(2));
}

fn a_queued_command_that_cannot_run_fails_and_the_next_goes_on() {
    let place = narrow();
    let holder = hold(&place);
    let request = Request {
        session: Some("s".to_owned()),
        is_queued: true,
        ..place.direct(&["no-such-program-anywhere"])
    };
    let broken = place.begin(&request);
    let next = wait_in_line(&place, "exit 0");
    place.cancel_now(&holder);
    let record = place.ended(&broken);
    assert_eq!(record.status, Status::Failed);
    assert_eq!(
        record.failure.map(|failure| failure.code).as_deref(),
        Some("no_such_program")
    );
    assert_eq!(place.ended(&next).status, Status::Completed);
    place.is_sound();
}

fn a_start_with_a_free_place_does_not_overtake_who_waits() {
    let mut limits = Limits::default();
    limits.session_runs_max = 1;
    let place = Place::with(limits);
    let holder = hold(&place);
    let waiting: Vec<RunId> = (0..6)
        .map(|number| wait_in_line(&place, &format!("echo {number} >> order")))
        .collect();
    place.cancel_now(&holder);
    let late = place.begin(&queued(&place, "echo late >> order"));
    for id in waiting.iter().chain([&late]) {
        assert_eq!(place.ended(id).status, Status::Completed);
    }
    assert_eq!(place.lines("order"), ["0", "1", "2", "3", "4", "5", "late"]);
    eventually("the tickets are gone", LIMIT, || {
        outlast_testkit::invariants::debris(place.store.root()).is_empty()
    });
    place.is_sound();
}
