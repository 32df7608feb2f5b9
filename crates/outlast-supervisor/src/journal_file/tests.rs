//! The journal on disk is what was appended, and there is room for the end.

use super::JournalFile;
use crate::process;
use crate::small_disk::SmallDisk;
use outlast_journal::{
    Claimed, End, Fact, Line, Note, ProcessRef, Queued, Seq, Started, State, Status, names,
};
use outlast_testkit::Home;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

fn claimed() -> Fact {
    Fact::Claimed(Claimed {
        supervisor: process::own(),
        boot_id: process::boot_id(),
        pid_namespace: process::pid_namespace(),
        version: "0.1.0".to_owned(),
    })
}

fn started() -> Fact {
    Fact::Started(Started {
        main: ProcessRef {
            pid: 41,
            start_ticks: 1,
        },
        queued_ms: None,
        monotonic_ms: None,
        posture: None,
    })
}

fn note(signal: &str) -> Fact {
    Fact::Note(Note {
        ignored_signal: Some(signal.to_owned()),
        ..Note::default()
    })
}

fn ended() -> Fact {
    let end = End::new(Status::Completed, "self", "done".to_owned());
    Fact::Ended(Box::new(end))
}

fn bytes(dir: &Path) -> Vec<u8> {
    fs::read(dir.join(names::JOURNAL)).unwrap()
}

fn state(dir: &Path) -> State {
    State::fold(&bytes(dir))
}

#[test]
fn a_new_journal_is_empty_private_and_has_room() {
    let home = Home::new();
    let journal = JournalFile::create(&home.work()).unwrap();
    let meta = fs::metadata(home.work().join(names::JOURNAL)).unwrap();
    assert_eq!((meta.len(), meta.mode() & 0o777), (0, 0o600));
    assert!(meta.blocks() * 512 >= 16 << 10);
    assert!(journal.is_synced());
}

#[test]
fn the_room_for_the_end_is_given_back_and_nothing_else() {
    let home = Home::new();
    let mut journal = JournalFile::create(&home.work()).unwrap();
    journal.append(&claimed()).unwrap();
    journal.append(&ended()).unwrap();
    let before = bytes(&home.work());
    journal.finish();
    assert_eq!(bytes(&home.work()), before);
    let meta = fs::metadata(home.work().join(names::JOURNAL)).unwrap();
    assert!(meta.blocks() * 512 <= 4 << 10, "{} blocks", meta.blocks());
}

#[test]
fn facts_stand_in_their_order_and_events_are_numbered_without_gaps() {
    let home = Home::new();
    let mut journal = JournalFile::create(&home.work()).unwrap();
    let facts = [
        claimed(),
        Fact::Queued(Queued { ticket: 1 }),
        started(),
        note("INT"),
        note("HUP"),
        ended(),
    ];
    for fact in &facts {
        journal.append(fact).unwrap();
    }
    let bytes = bytes(&home.work());
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let lines: Vec<Line> = lines.map(|line| Line::from_bytes(line).unwrap()).collect();
    let read: Vec<Fact> = lines.iter().map(|line| line.fact().unwrap()).collect();
    assert_eq!(read, facts);
    let seqs: Vec<Option<u64>> = lines.iter().map(|line| line.seq.map(|seq| seq.0)).collect();
    assert_eq!(seqs, [None, None, Some(0), Some(1), Some(2), Some(3)]);
    assert!(lines.is_sorted_by_key(|line| line.ts));
    assert_eq!(bytes.last(), Some(&b'\n'));
}

#[test]
fn a_reader_sees_whole_lines_between_any_two_appends() {
    let home = Home::new();
    let mut journal = JournalFile::create(&home.work()).unwrap();
    for count in 1..50 {
        journal.append(&note("INT")).unwrap();
        let state = state(&home.work());
        assert_eq!(state.next_seq, Seq(count));
        assert!(!state.is_torn && state.damaged_lines == 0);
    }
}

#[test]
fn what_was_appended_is_not_synced_until_it_is() {
    let home = Home::new();
    let mut journal = JournalFile::create(&home.work()).unwrap();
    journal.append(&claimed()).unwrap();
    assert!(!journal.is_synced());
    journal.sync();
    assert!(journal.is_synced());
    journal.append(&ended()).unwrap();
    assert!(!journal.is_synced());
}

#[test]
fn no_journal_is_begun_without_room_for_its_end() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let _filler = disk.fill_but(8 << 10);
    let error = JournalFile::create(disk.path()).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn the_end_is_written_on_a_disk_that_became_full() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let mut journal = JournalFile::create(disk.path()).unwrap();
    let _filler = disk.fill_but(0);
    for fact in [claimed(), started(), note("INT"), ended()] {
        journal.append(&fact).unwrap();
    }
    assert_eq!(state(disk.path()).status(), Status::Completed);
}

#[test]
fn a_line_that_a_full_disk_took_half_of_harms_no_later_line() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let mut journal = JournalFile::create(disk.path()).unwrap();
    journal.append(&started()).unwrap();
    let filler = disk.fill_but(0);
    let mut taken = 0;
    while journal.append(&note("TERM")).is_ok() {
        taken += 1;
        assert!(taken < 10_000, "the disk is never full");
    }
    let bytes = bytes(disk.path());
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    assert_ne!(whole % 4_096, 0, "there was no room for a part of a line");
    journal.append(&note("TERM")).unwrap_err();
    drop(filler);
    journal.append(&ended()).unwrap();
    let state = state(disk.path());
    assert_eq!(state.status(), Status::Completed);
    assert_eq!(state.next_seq, Seq(taken + 2));
    assert!(!state.is_torn);
}
