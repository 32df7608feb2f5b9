//! A search finds what a reader would see, from an offset on or the newest first.

use super::super::log::Log;
use super::super::tests::{ended, no_secrets, running};
use super::super::view::Room;
use super::{Found, Search, newest, onward};
use outlast_journal::Gap;
use regex::Regex;

fn ask(log: &Log<'_>, pattern: &str, from: Option<u64>, lines_max: usize) -> Found {
    let pattern = Regex::new(pattern).unwrap();
    let search = Search {
        pattern: &pattern,
        context: 0,
        room: Room {
            bytes_max: 1_000,
            lines_max,
        },
    };
    match from {
        Some(from) => onward(log, &no_secrets(), from, &search).unwrap(),
        None => newest(log, &no_secrets(), &search).unwrap(),
    }
}

#[test]
fn a_search_that_is_full_goes_on_where_the_next_match_is() {
    let log = ended(b"a1\nb\na2\nb\na3\nb\n", None);
    let found = ask(&log, "a", Some(0), 2);
    let whole = Found {
        text: "a1\na2\n".to_owned(),
        raw: 0..10,
        matches: vec![(0, Some(1)), (5, Some(3))],
        is_cut: true,
        is_at_end: false,
    };
    assert_eq!(found, whole);
    let rest = ask(&log, "a", Some(found.raw.end), 2);
    assert_eq!(
        (rest.text.as_str(), rest.raw, rest.is_cut),
        ("a3\n", 10..15, false)
    );
    assert_eq!(rest.matches, [(10, None)]);
}

#[test]
fn the_newest_matches_stay() {
    let log = ended(b"a1\nb\na2\nb\na3\nb\n", None);
    let found = ask(&log, "a", None, 2);
    let whole = Found {
        text: "a2\na3\n".to_owned(),
        raw: 5..15,
        matches: vec![(5, Some(3)), (10, Some(5))],
        is_cut: true,
        is_at_end: true,
    };
    assert_eq!(found, whole);
    assert!(!ask(&log, "a", None, 3).is_cut);
    let none = ask(&log, "x", None, 3);
    assert_eq!(
        (none.text.as_str(), none.raw, none.is_cut),
        ("", 0..15, false)
    );
}

#[test]
fn a_line_that_is_still_written_is_searched_again() {
    let log = running(b"a\nerr", None);
    assert_eq!(ask(&log, "error", Some(0), 9).raw, 0..2);
    assert_eq!(ask(&log, "error", None, 9).raw, 0..2);
    let found = ask(&log, "err", Some(0), 9);
    assert_eq!((found.text.as_str(), found.raw), ("err\n", 0..5));
    assert_eq!(ask(&ended(b"a\nerr", None), "error", Some(0), 9).raw, 0..5);
}

#[test]
fn patterns_match_lines_as_they_are_seen() {
    let log = ended(b"old\r\x1b[31mnew\x1b[m word\r\n", None);
    assert_eq!(ask(&log, "^new word$", Some(0), 9).text, "new word\n");
    assert_eq!(ask(&log, "old|31m", Some(0), 9).text, "");
}

#[test]
fn what_we_say_ourselves_does_not_match() {
    let gap = Some(Gap { from: 3, to: 6 });
    let log = ended(b"1\n2xxxoutlast\n", gap);
    for from in [None, Some(0)] {
        assert_eq!(ask(&log, "outlast|kept", from, 9).matches, [(6, None)]);
    }
}
