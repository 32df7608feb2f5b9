//! Hearing of events: at once, as they are written, and at the end.

use super::HearQuery;
use crate::testing::{Fixture, Run};
use outlast_journal::{Seq, Status, names};
use outlast_supervisor::{clock, fsio};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

/// No test takes so long, in milliseconds.
const LONG_MS: u64 = 60_000;

fn query(timeout_ms: u64) -> HearQuery<'static> {
    HearQuery {
        events_max: 10,
        timeout_ms: Some(timeout_ms),
        interrupt: None,
    }
}

/// Appends to the journal what another run has beyond it.
fn append_what_follows(run: &Run, longer: &Run) {
    let have = run.journal().len();
    let mut journal = fsio::open_append(&run.dir.join(names::JOURNAL)).unwrap();
    journal.write_all(&longer.journal()[have..]).unwrap();
}

#[test]
fn what_is_there_is_told_at_once_and_so_is_an_end() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    let heard = fixture
        .store
        .hear(&run.id, Seq(0), &query(LONG_MS))
        .unwrap();
    assert_eq!(heard.page.events.len(), 2);
    assert_eq!((heard.status, heard.has_ended), (Status::Completed, true));
    let after = heard.page.next_seq;
    let heard = fixture.store.hear(&run.id, after, &query(LONG_MS)).unwrap();
    assert!(heard.page.events.is_empty() && heard.has_ended);
    assert_eq!(heard.page.next_seq, after);
}

#[test]
fn an_event_is_heard_when_it_is_written() {
    let fixture = Fixture::new();
    let (run, _lock) = fixture.live(1);
    let longer = fixture.ended(2);
    let begun = clock::monotonic_ms();
    let heard = thread::scope(|scope| {
        let hearing = scope.spawn(|| fixture.store.hear(&run.id, Seq(1), &query(LONG_MS)));
        append_what_follows(&run, &longer);
        hearing.join().unwrap().unwrap()
    });
    assert_eq!(heard.page.events.len(), 1);
    assert_eq!(heard.page.events[0].kind, "completed");
    assert!(clock::monotonic_ms() - begun < LONG_MS / 2);
}

#[test]
fn that_the_time_is_over_is_an_answer() {
    let fixture = Fixture::new();
    let (run, _lock) = fixture.live(1);
    for ms in [0, 50] {
        let heard = fixture.store.hear(&run.id, Seq(1), &query(ms)).unwrap();
        assert!(heard.page.events.is_empty() && !heard.has_ended);
        assert_eq!(
            (heard.status, heard.page.next_seq),
            (Status::Running, Seq(1))
        );
    }
}

#[test]
fn whoever_is_not_heard_any_more_stops_hearing() {
    let fixture = Fixture::new();
    let (run, _lock) = fixture.live(1);
    let (reader, writer) = io::pipe().unwrap();
    let interrupt: Option<BorrowedFd<'_>> = Some(reader.as_fd());
    let query = HearQuery {
        interrupt,
        ..query(LONG_MS)
    };
    let begun = clock::monotonic_ms();
    thread::scope(|scope| {
        let hearing = scope.spawn(|| fixture.store.hear(&run.id, Seq(1), &query));
        drop(writer);
        assert!(!hearing.join().unwrap().unwrap().has_ended);
    });
    assert!(clock::monotonic_ms() - begun < LONG_MS / 2);
}

#[test]
fn the_death_of_a_supervisor_is_heard_as_an_end() {
    let fixture = Fixture::new();
    let (run, lock) = fixture.live(1);
    let heard = thread::scope(|scope| {
        let hearing = scope.spawn(|| fixture.store.hear(&run.id, Seq(1), &query(LONG_MS)));
        drop(lock);
        hearing.join().unwrap().unwrap()
    });
    assert_eq!((heard.status, heard.has_ended), (Status::Interrupted, true));
    assert_eq!(heard.page.events.len(), 1);
}

#[test]
fn a_run_that_is_not_there_cannot_be_heard() {
    let fixture = Fixture::new();
    assert!(
        fixture
            .store
            .hear(&fixture.id(7), Seq(0), &query(0))
            .is_err()
    );
}
