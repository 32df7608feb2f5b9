//! Lines come whole and in order, whatever blocks they are read in.

use super::super::log::Log;
use super::super::tests::{ended, masker, no_secrets, running};
use super::{Line, Walk};
use outlast_journal::{Gap, limits};
use std::ops::ControlFlow;

const BLOCK: usize = 256 << 10;

fn walk(log: &Log<'_>, from: u64) -> Vec<Line> {
    let mut lines = Vec::new();
    let masker = no_secrets();
    Walk::new(log, &masker, from..log.total_bytes())
        .each(&mut |line| {
            lines.push(line);
            ControlFlow::Continue(())
        })
        .unwrap();
    lines
}

fn seen(lines: &[Line]) -> Vec<(u64, Option<u64>, &str)> {
    let seen = lines
        .iter()
        .map(|line| (line.byte, line.number, line.text.as_str()));
    seen.collect()
}

#[test]
fn each_line_has_its_offset_and_number() {
    assert_eq!(limits::SCAN_BLOCK_BYTES, BLOCK as u64);
    let log = ended(b"one\n\n\x1b[1mth\rree\r\nfour", None);
    let lines = walk(&log, 0);
    assert_eq!(
        seen(&lines),
        [
            (0, Some(1), "one"),
            (4, Some(2), ""),
            (5, Some(3), "ree"),
            (17, Some(4), "four")
        ]
    );
    assert_eq!(lines.last().unwrap().next_byte, 21);
    assert!(lines.iter().all(|line| !line.is_open && !line.is_gap));
    assert_eq!(
        seen(&walk(&log, 4)),
        [(4, None, ""), (5, None, "ree"), (17, None, "four")]
    );
}

#[test]
fn the_last_line_of_a_run_that_goes_on_is_open() {
    let lines = walk(
        &running("a\nb\u{4f60}".as_bytes().split_last().unwrap().1, None),
        0,
    );
    assert_eq!(seen(&lines), [(0, Some(1), "a"), (2, Some(2), "b")]);
    assert!(!lines[0].is_open && lines[1].is_open);
    assert_eq!(lines[1].next_byte, 3);
    assert!(
        walk(&running(b"a\n", None), 0)
            .iter()
            .all(|line| !line.is_open)
    );
}

#[test]
fn what_we_say_of_the_gap_is_marked_and_ends_the_numbers() {
    let gap = Some(Gap { from: 4, to: 9 });
    let lines = walk(&ended(b"1\n2 xxxxx\n3\n", gap), 0);
    assert_eq!(
        seen(&lines),
        [
            (0, Some(1), "1"),
            (2, Some(2), "2 "),
            (4, None, "[outlast: bytes 4–8 not kept]"),
            (9, None, ""),
            (10, None, "3"),
        ]
    );
    assert!(lines[2].is_gap && !lines[1].is_gap && !lines[3].is_gap);
}

#[test]
fn lines_across_block_borders_are_whole() {
    for length in [1, 100, 1_023, 4_096, BLOCK - 2, BLOCK - 1] {
        let line = format!("{}\n", "x".repeat(length));
        let count = BLOCK * 3 / line.len() + 2;
        let log = ended(line.repeat(count).as_bytes(), None);
        let lines = walk(&log, 0);
        assert_eq!(lines.len(), count);
        for (index, seen) in lines.iter().enumerate() {
            assert_eq!(seen.byte, (index * line.len()) as u64);
            assert_eq!(seen.text.len(), length);
        }
    }
}

#[test]
fn a_line_longer_than_a_block_comes_in_parts() {
    let text = format!("a\n{}\nb\n", "你".repeat(BLOCK));
    let log = ended(text.as_bytes(), None);
    let lines = walk(&log, 0);
    let joined: String = lines.iter().map(|line| line.text.as_str()).collect();
    assert!(joined == text.replace('\n', ""));
    assert!(lines.iter().all(|line| line.text.len() <= BLOCK));
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[4].number, Some(2));
    assert_eq!(seen(&lines[5..]), [((text.len() - 2) as u64, Some(3), "b")]);
}

#[test]
fn of_a_redrawn_line_longer_than_a_block_only_the_last_state_comes() {
    for (before, after) in [("\r", ""), ("", "\r")] {
        let states = (0..60_000).map(|step| format!("{before}{step:9} of 60000{after}"));
        let bar = states.collect::<Vec<_>>().concat();
        assert!(bar.len() > BLOCK * 4);
        let log = ended(format!("a\n{bar}\nb\n").as_bytes(), None);
        let last = (bar.len() + 3) as u64;
        let state = "    59999 of 60000";
        let lines = walk(&log, 0);
        assert_eq!(
            seen(&lines),
            [(0, Some(1), "a"), (2, Some(2), state), (last, Some(3), "b")]
        );
    }
}

#[test]
fn secrets_across_block_borders_are_masked() {
    let secret = "hunter2redfoxy";
    for shift in 0..=secret.len() {
        let mut text = "x".repeat(BLOCK - shift);
        text.push_str(secret);
        text.push_str("yyy\n");
        let log = ended(text.as_bytes(), None);
        let masker = masker(&[secret]);
        let mut shown = String::new();
        Walk::new(&log, &masker, 0..u64::MAX)
            .each(&mut |line| {
                shown.push_str(&line.text);
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(shown.ends_with("x[outlast: API_KEY masked]yyy"), "{shift}");
    }
}

#[test]
fn a_walk_ends_when_it_is_told_to() {
    let log = ended(b"1\n2\n3\n", None);
    let mut lines = 0;
    let masker = no_secrets();
    Walk::new(&log, &masker, 0..6)
        .each(&mut |_| {
            lines += 1;
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!(lines, 1);
}
