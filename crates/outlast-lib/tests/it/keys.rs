//! One idempotency key gives one run, however often and from wherever it is asked for.
//!
//! Case TW-04.

use crate::home::{Place, Said};
use libtest_mimic::{Completion, Failed, Trial};
use outlast_lib::{Request, RunId, Status};
use outlast_testkit::capture;
use std::collections::BTreeSet;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        eight_starts_at_once_with_one_key_are_one_run,
        eight_starts_at_once_with_one_key_need_one_place,
        a_replay_finds_its_run_live_and_ended,
        another_request_with_the_key_is_refused_and_told_the_run,
        the_key_of_a_dead_birth_is_free_for_one_of_eight,
        the_key_of_a_removed_run_is_free,
        a_replay_needs_no_place,
        a_refusal_frees_the_key,
    );
}

const COMMAND: &str = "echo x >> ran; while [ ! -e go ]; do sleep 0.02; done";

#[track_caller]
fn are_one_run(place: &Place, said: &[Said]) -> RunId {
    assert!(said.iter().all(|said| said.error().is_none()), "{said:#?}");
    let ids: BTreeSet<RunId> = said.iter().filter_map(Said::id).collect();
    assert_eq!(ids.len(), 1, "{said:#?}");
    let fresh = said
        .iter()
        .filter(|said| said.answer["replayed"] == false)
        .count();
    assert_eq!(fresh, 1, "{said:#?}");
    place.touch("go");
    let id = ids.into_iter().next().expect("there is one");
    assert_eq!(place.ended(&id).status, Status::Completed);
    assert_eq!(place.lines("ran").len(), 1);
    assert_eq!(place.list().len(), 1);
    place.is_sound();
    id
}

/// TW-04.
fn eight_starts_at_once_with_one_key_are_one_run() {
    let place = Place::new();
    let said = place.start_at_once(8, COMMAND, &["key=k"]);
    are_one_run(&place, &said);
}

fn eight_starts_at_once_with_one_key_need_one_place() {
    let place = Place::new();
    let options = ["key=k", "session=s", "session_runs_max=1"];
    let said = place.start_at_once(8, COMMAND, &options);
    are_one_run(&place, &said);
}

/// TW-04: while it runs, after its end, and from a process that was not there before.
fn a_replay_finds_its_run_live_and_ended() -> Result<(), Failed> {
    let place = Place::new();
    let request = Request {
        idempotency_key: Some("k1".to_owned()),
        ..place.shell(COMMAND)
    };
    let first = place.store.start(&request)?;
    let second = place.store.start(&request)?;
    assert_eq!((first.id, first.is_replayed), (second.id, false));
    assert_eq!((second.is_replayed, second.status), (true, Status::Running));
    place.touch("go");
    place.ended(&first.id);
    let third = place.store.start(&request)?;
    assert_eq!(
        (third.id, third.is_replayed, third.status),
        (first.id, true, Status::Completed)
    );
    assert_eq!(place.lines("ran").len(), 1);
    Ok(())
}

fn another_request_with_the_key_is_refused_and_told_the_run() {
    let place = Place::new();
    let first = place.start_apart("exit 0", &["key=k"]);
    for options in [&["key=k", "timeout_ms=5000"][..], &["key=k", "label=other"]] {
        let other = place.start_apart("exit 0", options);
        assert_eq!(other.error(), Some("idempotency_conflict"), "{other:?}");
        assert_eq!(other.id(), first.id());
    }
    let other = place.start_apart("exit 1", &["key=k"]);
    assert_eq!(other.error(), Some("idempotency_conflict"), "{other:?}");
    assert_eq!(place.list().len(), 1);
    place.is_sound();
}

fn the_key_of_a_dead_birth_is_free_for_one_of_eight() -> Completion {
    if !cfg!(debug_assertions) {
        return Completion::ignored_with(crate::kill_matrix::NO_POINTS);
    }
    let place = Place::new();
    let mut dying = place.caller(COMMAND, &["key=k"]);
    dying.env("OUTLAST_FAULT", "key_made");
    assert!(Said::from(capture(dying)).signal.is_some());
    let said = place.start_at_once(8, COMMAND, &["key=k"]);
    are_one_run(&place, &said);
    Completion::Completed
}

fn the_key_of_a_removed_run_is_free() {
    let place = Place::new();
    place.touch("go");
    let first = place
        .start_apart(COMMAND, &["key=k"])
        .id()
        .expect("it starts");
    place.ended(&first);
    outlast_testkit::eventually("it can be removed", crate::home::LIMIT, || {
        place.store.remove(&first).is_ok()
    });
    let second = place.start_apart(COMMAND, &["key=k"]);
    assert_eq!(second.answer["replayed"], false, "{second:?}");
    let second = second.id().expect("it starts");
    assert_ne!(first, second);
    place.ended(&second);
    assert_eq!(place.lines("ran").len(), 2);
    place.is_sound();
}

fn a_replay_needs_no_place() {
    let place = Place::new();
    let options = ["key=k", "session=s", "session_runs_max=1"];
    let first = place.start_apart(COMMAND, &options);
    let again = place.start_apart(COMMAND, &options);
    assert_eq!((again.error(), again.id()), (None, first.id()), "{again:?}");
}

fn a_refusal_frees_the_key() {
    let place = Place::new();
    let options = ["session=s", "session_runs_max=1"];
    let holder = place
        .start_apart("exec sleep 600", &options)
        .id()
        .expect("it starts");
    let with_key = ["key=k", "session=s", "session_runs_max=1"];
    let refused = place.start_apart(COMMAND, &with_key);
    assert_eq!(refused.error(), Some("at_capacity"), "{refused:?}");
    place.cancel_now(&holder);
    place.touch("go");
    let started = place.start_apart(COMMAND, &with_key);
    assert_eq!(started.answer["replayed"], false, "{started:?}");
    place.is_sound();
}
