//! Which ends are handed out, and to whom they are from before.

use super::*;
use crate::background::tests::{in_store, open};
use crate::testing::Fixture;
use crate::{Kind, Status};

fn run(id: RunId, ended: u64) -> ShortRecord {
    ShortRecord {
        id,
        kind: Kind::Command,
        label: "x".to_owned(),
        status: Status::Completed,
        created: Timestamp(0),
        updated: Timestamp(ended),
        exit_code: Some(0),
        summary: None,
        child_session_id: None,
        needs_approval: None,
        elapsed_ms: None,
    }
}

/// A clock that is set back must not make a host miss an end that it waits for.
#[test]
fn an_end_is_restored_if_it_is_older_and_its_run_was_never_seen_alive() {
    let ids = Fixture::new();
    let (seen, unseen) = (ids.id(1), ids.id(2));
    let ends = Ends::new(Timestamp(1_000), [seen].into_iter());
    for (id, ended, restored) in [
        (unseen, 999, true),
        (unseen, 1_000, true),
        (unseen, 1_001, false),
        (seen, 999, false),
        (seen, 1_001, false),
    ] {
        assert_eq!(ends.is_restored(&run(id, ended)), restored, "{ended}");
    }
}

fn drained(background: &Background) -> Vec<(RunId, bool)> {
    let finished = background.drain_finished().expect("it can be read");
    finished
        .iter()
        .map(|one| (one.run.id, one.restored))
        .collect()
}

fn ended(fixture: &Fixture, number: u16, at: u64) -> RunId {
    let maker = fixture.run(number).session("s");
    maker.ended_at(Status::Completed, Timestamp(at)).make().id
}

#[test]
fn ends_are_handed_out_oldest_first_and_those_of_other_sessions_never() {
    let fixture = Fixture::new();
    let later = ended(&fixture, 1, 2_000);
    let earlier = ended(&fixture, 2, 1_000);
    fixture.ended(3);
    let background = open(&fixture);
    assert_eq!(drained(&background), [(earlier, true), (later, true)]);
    assert_eq!(drained(&background), []);
}

#[test]
fn of_more_ends_than_are_handed_out_at_once_the_rest_comes_next() {
    let fixture = Fixture::new();
    let many = limits::FINISHED_MAX + 6;
    for number in 0..many {
        let number = u16::try_from(number).expect("it is small");
        ended(&fixture, number, u64::from(number) + 1);
    }
    let background = open(&fixture);
    let first = drained(&background);
    let rest = drained(&background);
    assert_eq!((first.len(), rest.len()), (limits::FINISHED_MAX, 6));
    assert!(rest.iter().all(|end| !first.contains(end)));
    assert_eq!(drained(&background), []);
}

#[test]
fn in_a_store_that_cannot_be_written_what_was_told_is_remembered() {
    let fixture = Fixture::new();
    let (read, drained_one) = (ended(&fixture, 1, 1_000), ended(&fixture, 2, 2_000));
    let folder = |id: &RunId| fixture.store.run_dir(id).expect("it is there");
    let background = in_store(fixture.read_only());
    for id in [&read, &drained_one] {
        // Where a folder is to be made there is a file, so that no note can be.
        crate::testing::put(&folder(id).join(outlast_journal::names::TOLD), b"");
    }
    background.told(&[read]);
    assert_eq!(drained(&background), [(drained_one, true)]);
    background
        .acknowledge(&[drained_one])
        .expect_err("no note can be made");
    assert_eq!(drained(&background), []);
}

/// As while `background_cancel` waits for the end that it causes.
#[test]
fn an_end_that_is_kept_silent_wakes_nobody_until_it_is_not() {
    let fixture = Fixture::new();
    let background = open(&fixture);
    let id = ended(&fixture, 1, clock::now().0 + 1_000);
    let is_woken = || {
        background
            .wait_for_end(Some(0), None)
            .expect("one can wait")
    };
    assert!(!background.ends().silence(id));
    assert!(background.ends().silence(id), "it was silent already");
    assert_eq!((is_woken(), drained(&background)), (false, Vec::new()));
    background.ends().unsilence(&id);
    assert!(is_woken());
    assert_eq!(drained(&background), [(id, false)]);
}

#[test]
fn a_wait_without_runs_ends_with_its_time() {
    let fixture = Fixture::new();
    let background = open(&fixture);
    assert!(
        !background
            .wait_for_end(Some(20), None)
            .expect("one can wait")
    );
    ended(&fixture, 1, 1_000);
    let is_woken = background
        .wait_for_end(Some(20), None)
        .expect("one can wait");
    assert!(!is_woken, "an end from before wakes nobody");
    ended(&fixture, 2, clock::now().0 + 1_000);
    assert!(background.wait_for_end(None, None).expect("one can wait"));
}
