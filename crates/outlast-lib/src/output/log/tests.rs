//! What is handed out was kept while it was read, and stands at its own offset.

use super::{Kept, Log, Segment};
use outlast_journal::{Gap, names};
use outlast_supervisor::fsio;
use outlast_testkit::Home;
use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

const SOME_GAP: Gap = Gap { from: 4, to: 8 };

fn file(bytes: &[u8]) -> (Home, File) {
    let home = Home::new();
    let path = home.work().join(names::OUTPUT);
    File::create(&path).unwrap().write_all(bytes).unwrap();
    let file = File::open(&path).unwrap();
    (home, file)
}

fn segment(from: u64, bytes: &[u8]) -> Segment {
    let bytes = bytes.to_vec();
    Segment { from, bytes }
}

#[test]
fn a_range_across_the_gap_has_two_parts() {
    let (_home, file) = file(b"0123----89ab");
    let log = Log::with_gap(file, false, || Some(SOME_GAP));
    let kept = log.kept(2..10).unwrap();
    let segments = vec![segment(2, b"23"), segment(8, b"89")];
    assert_eq!(
        kept,
        Kept {
            segments,
            gap: Some(SOME_GAP)
        }
    );
    assert_eq!(log.kept(4..8).unwrap().segments, []);
    assert_eq!(log.kept(5..9).unwrap().segments, [segment(8, b"8")]);
}

#[test]
fn bytes_over_which_the_gap_grew_while_they_were_read_are_dropped() {
    for (first, later, segments) in [
        (
            None,
            SOME_GAP,
            vec![segment(0, b"0123"), segment(8, b"89ab")],
        ),
        (
            Some(SOME_GAP),
            Gap { from: 4, to: 10 },
            vec![segment(0, b"0123"), segment(10, b"ab")],
        ),
        (
            Some(SOME_GAP),
            Gap { from: 2, to: 12 },
            vec![segment(0, b"01")],
        ),
        (Some(SOME_GAP), Gap { from: 0, to: 12 }, vec![]),
    ] {
        let (_home, file) = file(b"0123456789ab");
        let looks = Cell::new(0);
        let log = Log::with_gap(file, true, || {
            looks.set(looks.get() + 1);
            if looks.get() == 1 { first } else { Some(later) }
        });
        let segments: Vec<Segment> = segments;
        assert_eq!(
            log.kept(0..12).unwrap(),
            Kept {
                segments,
                gap: Some(later)
            }
        );
        assert_eq!(looks.get(), 2);
    }
}

#[test]
fn a_gap_said_before_its_bytes_came_ends_where_the_log_does() {
    let (_home, file) = file(b"0123----");
    let log = Log::with_gap(file, true, || Some(Gap { from: 4, to: 900 }));
    assert_eq!(log.gap().unwrap(), Some(SOME_GAP));
    assert_eq!(log.kept(0..8).unwrap().segments, [segment(0, b"0123")]);
    let beyond = Log::with_gap(log.file.unwrap(), true, || Some(Gap { from: 8, to: 900 }));
    assert_eq!(beyond.gap().unwrap(), None);
}

#[test]
fn steps_are_counted_in_kept_bytes() {
    let (_home, file) = file(b"0123----89ab");
    let log = Log::with_gap(file, false, || Some(SOME_GAP));
    let back = |at, bytes| log.back(at, bytes).unwrap();
    assert_eq!(
        [
            back(12, 3),
            back(12, 4),
            back(12, 5),
            back(12, 8),
            back(12, 9)
        ],
        [9, 8, 3, 0, 0]
    );
    assert_eq!([back(4, 2), back(6, 2)], [2, 2]);
    let ahead = |at, bytes| log.ahead(at, bytes).unwrap();
    assert_eq!(
        [
            ahead(0, 3),
            ahead(0, 4),
            ahead(0, 5),
            ahead(0, 8),
            ahead(0, 9)
        ],
        [3, 4, 9, 12, 12]
    );
    assert_eq!([ahead(6, 2), ahead(8, 2), ahead(0, u64::MAX)], [10, 10, 12]);
}

#[test]
fn a_copy_has_every_kept_byte_once_whatever_its_blocks_are() {
    let (_home, file) = file(b"0123----89ab");
    let log = Log::with_gap(file, false, || Some(SOME_GAP));
    for block_bytes in 1..14 {
        let mut sink = Vec::new();
        assert_eq!(log.copy(0..u64::MAX, block_bytes, &mut sink).unwrap(), 8);
        assert_eq!(sink, b"012389ab", "{block_bytes}");
        let mut sink = Vec::new();
        assert_eq!(log.copy(3..9, block_bytes, &mut sink).unwrap(), 2);
        assert_eq!(sink, b"38");
        assert_eq!(log.copy(5..7, block_bytes, &mut sink).unwrap(), 0);
        assert_eq!(log.copy(90..99, block_bytes, &mut sink).unwrap(), 0);
    }
}

#[test]
fn a_run_without_a_log_has_an_empty_one() {
    let home = Home::new();
    let log = Log::open(&home.work()).unwrap();
    assert_eq!(
        (log.total_bytes(), log.can_grow(), log.gap().unwrap()),
        (0, false, None)
    );
    assert_eq!(log.kept(0..0).unwrap().segments, []);
    assert_eq!(log.copy(0..u64::MAX, 10, &mut Vec::new()).unwrap(), 0);
}

#[test]
fn the_gap_is_read_from_its_file_each_time() {
    let (home, _file) = file(&[b'x'; 100]);
    let path = home.work().join(names::GAP);
    let log = Log::open(&home.work()).unwrap();
    assert_eq!(log.gap().unwrap(), None);
    File::create(&path)
        .unwrap()
        .write_all(&SOME_GAP.to_file())
        .unwrap();
    assert_eq!(log.gap().unwrap(), Some(SOME_GAP));
    let later = Gap { from: 4, to: 90 };
    File::create(&path)
        .unwrap()
        .write_all(&later.to_file())
        .unwrap();
    assert_eq!(log.gap().unwrap(), Some(later));
    File::create(&path)
        .unwrap()
        .write_all(b"{\"v\":1,\"fr")
        .unwrap();
    assert_eq!(log.gap().unwrap(), None);
}

#[test]
fn a_held_lock_means_that_more_may_come() {
    let (home, _file) = file(b"x");
    let lock = File::create(home.work().join(names::LOCK)).unwrap();
    assert!(!Log::open(&home.work()).unwrap().can_grow());
    assert!(outlast_supervisor::lock::try_lock(&lock).unwrap());
    assert!(Log::open(&home.work()).unwrap().can_grow());
}

#[test]
fn a_reader_beside_a_writer_sees_no_freed_byte() {
    const BLOCK: u64 = 4_096;
    let (home, _file) = file(b"");
    let output = fsio::open_private(&home.work().join(names::OUTPUT)).unwrap();
    let gap = fsio::open_private(&home.work().join(names::GAP)).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for block in 0..3_000 {
                let at = block * BLOCK;
                output.write_all_at(&[b'x'; 4_096], at).unwrap();
                if block >= 4 {
                    let to = at - 2 * BLOCK;
                    let said = Gap { from: BLOCK, to };
                    gap.write_all_at(&said.to_file(), 0).unwrap();
                    fsio::punch_hole(&output, to - BLOCK, to).unwrap();
                }
            }
            is_done.store(true, Ordering::Release);
        });
        loop {
            let is_last = is_done.load(Ordering::Acquire);
            let log = Log::open(&home.work()).unwrap();
            let from = log.back(log.total_bytes(), 3 * BLOCK).unwrap();
            for segment in log.kept(from..log.total_bytes()).unwrap().segments {
                assert!(!segment.bytes.contains(&0), "at {}", segment.from);
            }
            if is_last {
                break;
            }
        }
    });
}
