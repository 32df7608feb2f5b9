//! The answer never holds more than there is room for, and says where that cut it.

use super::{Keep, Line, Matches, Room, excerpt};
use std::ops::ControlFlow;

/// What became of an answer.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    text: String,
    matches: Vec<u64>,
    left_out_from: Option<u64>,
}

/// Takes the lines `0`, `1` …, ten bytes apart; those with `*` match.
fn gather(keep: Keep, context: usize, room: Room, lines: &[&str]) -> Answer {
    let mut matches = Matches::new(keep, context, room);
    for (number, text) in (0..).zip(lines) {
        let line = Line {
            byte: number * 10,
            next_byte: number * 10 + 10,
            number: None,
            text: (*text).to_owned(),
            is_gap: false,
            is_open: false,
        };
        let found = text.find('*').map(|at| at..at + 1);
        if matches.take(&line, found) == ControlFlow::Break(()) {
            break;
        }
    }
    Answer {
        matches: matches.offsets().iter().map(|(byte, _)| *byte).collect(),
        left_out_from: matches.left_out_from(),
        text: matches.into_text(),
    }
}

fn room(bytes_max: usize, lines_max: usize) -> Room {
    Room {
        bytes_max,
        lines_max,
    }
}

const WIDE: Room = Room {
    bytes_max: 1_000,
    lines_max: 1_000,
};

fn answer(text: &str, matches: &[u64], left_out_from: Option<u64>) -> Answer {
    Answer {
        text: text.to_owned(),
        matches: matches.to_vec(),
        left_out_from,
    }
}

#[test]
fn lines_around_matches_come_as_from_grep() {
    let lines = [
        "0", "1", "2*", "3", "4*", "5", "6", "7", "8", "9*", "a", "b",
    ];
    for keep in [Keep::First, Keep::Newest] {
        let plain = gather(keep, 0, WIDE, &lines);
        assert_eq!(plain, answer("2*\n4*\n9*\n", &[20, 40, 90], None));
        let near = gather(keep, 1, WIDE, &lines);
        assert_eq!(near.text, "1\n2*\n3\n4*\n5\n--\n8\n9*\na\n");
        let far = gather(keep, 2, WIDE, &lines);
        assert_eq!(far.text, "0\n1\n2*\n3\n4*\n5\n6\n7\n8\n9*\na\nb\n");
        assert_eq!(far.matches, [20, 40, 90]);
        let first = gather(keep, 3, WIDE, &["*"]);
        assert_eq!(first, answer("*\n", &[0], None));
    }
}

#[test]
fn a_full_answer_goes_on_with_the_first_line_that_it_lacks() {
    let lines = ["0*", "1*", "2", "3", "4*", "5"];
    let first = |context, room| gather(Keep::First, context, room, &lines);
    assert_eq!(
        first(0, room(1_000, 2)),
        answer("0*\n1*\n", &[0, 10], Some(40))
    );
    assert_eq!(first(0, room(1_000, 3)).left_out_from, None);
    assert_eq!(first(0, room(8, 9)), answer("0*\n1*\n", &[0, 10], Some(40)));
    // The lines before the match that did not fit belong to the next answer.
    assert_eq!(
        first(1, room(1_000, 2)),
        answer("0*\n1*\n2\n", &[0, 10], Some(30))
    );
    assert_eq!(first(1, room(7, 9)), answer("0*\n1*\n", &[0, 10], Some(20)));
    assert_eq!(first(0, room(1_000, 0)), answer("", &[], Some(0)));
}

#[test]
fn a_match_counts_more_than_what_stands_before_it() {
    let lines = ["long line", "*"];
    assert_eq!(
        gather(Keep::First, 1, room(5, 9), &lines),
        answer("*\n", &[10], None)
    );
    assert_eq!(
        gather(Keep::Newest, 1, room(5, 9), &lines),
        answer("*\n", &[10], None)
    );
}

#[test]
fn the_oldest_lines_make_room_for_the_newest() {
    let lines = ["0*", "1", "2", "3*", "4", "5", "6*"];
    let newest = |context, room| gather(Keep::Newest, context, room, &lines);
    assert_eq!(
        newest(0, room(6, 9)),
        answer("3*\n6*\n", &[30, 60], Some(0))
    );
    assert_eq!(newest(0, room(1_000, 1)), answer("6*\n", &[60], Some(30)));
    // No line stays whose match is gone.
    assert_eq!(
        newest(1, room(1_000, 1)),
        answer("5\n6*\n", &[60], Some(30))
    );
    assert_eq!(newest(1, room(1_000, 2)).text, "2\n3*\n4\n5\n6*\n");
    assert_eq!(newest(0, room(1_000, 0)), answer("", &[], Some(60)));
}

#[test]
fn no_answer_is_longer_than_its_room() {
    let lines = [
        "0", "*1", "22", "*333", "4444", "5", "*", "*7", "8", "9", "*a", "bbb",
    ];
    for keep in [Keep::First, Keep::Newest] {
        for context in 0..4 {
            for bytes_max in 5..40 {
                let answer = gather(keep, context, room(bytes_max, 9), &lines);
                assert!(
                    answer.text.len() <= bytes_max,
                    "{context} {bytes_max} {answer:?}"
                );
                assert!(!answer.matches.is_empty());
            }
        }
    }
}

#[test]
fn a_long_line_is_cut_around_what_was_found() {
    let text = format!("{}needle{}", "a".repeat(50), "b".repeat(50));
    let shown = excerpt(&text, &(50..56), 30);
    assert_eq!(
        shown,
        format!("…{}needle{}…", "a".repeat(4), "b".repeat(14))
    );
    assert_eq!(excerpt(&text, &(50..56), 106), text);
    assert_eq!(excerpt("你你你你", &(3..6), 11), "…你…");
    assert_eq!(excerpt("你你你你", &(3..6), 0), "…你…");
    assert_eq!(excerpt("needle", &(0..6), 5), "n…");
}
