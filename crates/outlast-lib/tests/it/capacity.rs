//! No more runs execute at once than may, however they are started and whoever dies.
//!
//! Case LQ-01.

use crate::home::{LIMIT, Place, Said, kill};
use libtest_mimic::Trial;
use outlast_lib::{Limits, Request, RunId, Status};
use outlast_testkit::{eventually, invariants};
use std::time::{Duration, Instant};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        eight_run_and_two_wait_and_dead_supervisors_make_room,
        eight_run_and_two_are_refused_who_are_told_the_eight,
        a_store_has_its_own_number_of_places,
        a_place_is_free_when_the_run_ends_not_when_its_leftovers_do,
        runs_without_a_session_have_only_the_limit_of_the_store,
    );
}

const LONG: &str = "exec sleep 600";

fn with_status(place: &Place, status: Status) -> Vec<RunId> {
    let records = place.list().into_iter();
    records
        .filter(|record| record.status == status)
        .map(|record| record.id)
        .collect()
}

/// LQ-01.
fn eight_run_and_two_wait_and_dead_supervisors_make_room() {
    let place = Place::new();
    let said = place.start_at_once(10, LONG, &["session=s", "queue=yes"]);
    assert!(said.iter().all(|said| said.error().is_none()), "{said:?}");
    assert_eq!(with_status(&place, Status::Running).len(), 8);
    assert_eq!(with_status(&place, Status::Queued).len(), 2);
    place.is_sound();
    let holders = with_status(&place, Status::Running);
    let waiting = with_status(&place, Status::Queued);
    for id in &holders {
        kill(place.supervisor_of(id));
    }
    let killed = Instant::now();
    let runs = |id| place.record(id).status == Status::Running;
    eventually("who waited runs", LIMIT, || waiting.iter().all(runs));
    assert!(
        killed.elapsed() < Duration::from_secs(2),
        "{:?}",
        killed.elapsed()
    );
    let one_more = place.start_apart("exit 0", &["session=s"]);
    let id = one_more.id().expect("there is room");
    assert_eq!(place.ended(&id).status, Status::Completed);
    assert_eq!(with_status(&place, Status::Interrupted).len(), 8);
    place.is_sound();
}

/// LQ-01 without a queue.
fn eight_run_and_two_are_refused_who_are_told_the_eight() {
    let place = Place::new();
    let said = place.start_at_once(10, LONG, &["session=s"]);
    let (refused, started): (Vec<&Said>, Vec<&Said>) =
        said.iter().partition(|said| said.error().is_some());
    assert_eq!((started.len(), refused.len()), (8, 2));
    assert!(
        refused
            .iter()
            .all(|said| said.error() == Some("at_capacity")),
        "{refused:?}"
    );
    let late = place.start_apart(LONG, &["session=s"]);
    let mut named: Vec<&str> = late.answer["holders"]
        .as_array()
        .expect("they are named")
        .iter()
        .filter_map(|id| id.as_str())
        .collect();
    let mut running: Vec<String> = started
        .iter()
        .filter_map(|said| said.id())
        .map(|id| id.to_string())
        .collect();
    named.sort_unstable();
    running.sort_unstable();
    assert_eq!(named, running);
    let hint = late.answer["hint"].as_str().unwrap_or_default();
    for way_out in [
        "background_wait",
        "background_cancel",
        "assistant_cancel",
        &running[0],
    ] {
        assert!(hint.contains(way_out), "{hint}");
    }
    // A refusal leaves nothing.
    assert_eq!(place.list().len(), 8);
    assert_eq!(
        invariants::debris(place.store.root()),
        [""; 0].map(std::path::PathBuf::from)
    );
    let elsewhere = place.start_apart("exit 0", &["session=other"]);
    assert_eq!(
        elsewhere.error(),
        None,
        "another session has its own places"
    );
    place.is_sound();
}

fn a_store_has_its_own_number_of_places() {
    let place = Place::new();
    let options = ["store_runs_max=3", "session=s"];
    let said = place.start_at_once(6, LONG, &options);
    assert_eq!(said.iter().filter(|said| said.error().is_none()).count(), 3);
    let refused = said
        .iter()
        .find(|said| said.error().is_some())
        .expect("three are refused");
    assert_eq!(refused.error(), Some("at_capacity"));
    // A start that found a place in the session and none in the store gave the first one back.
    place.is_sound();
    place.cancel_now(&with_status(&place, Status::Running)[0]);
    assert_eq!(place.start_apart(LONG, &options).error(), None);
}

fn a_place_is_free_when_the_run_ends_not_when_its_leftovers_do() {
    let mut limits = Limits::default();
    limits.session_runs_max = 1;
    let place = Place::with(limits);
    let request = Request {
        session: Some("s".to_owned()),
        ..place.shell("sleep 600 & exit 0")
    };
    let record = place.ended(&place.begin(&request));
    assert_eq!(record.leftovers.len(), 1);
    assert_eq!(
        place.ended(&place.begin(&request)).status,
        Status::Completed
    );
    place.is_sound();
}

fn runs_without_a_session_have_only_the_limit_of_the_store() {
    let mut limits = Limits::default();
    limits.session_runs_max = 1;
    let place = Place::with(limits);
    for _ in 0..3 {
        place.begin(&place.direct(&["sleep", "600"]));
    }
    assert_eq!(with_status(&place, Status::Running).len(), 3);
}
