//! Which part is shown: whole lines where they fill the room, cut ones where they do not.

use super::super::log::Log;
use super::super::tests::{ended, file, no_secrets, running};
use super::{Room, View, last_line, newest, onward};
use outlast_journal::{Gap, limits};
use std::os::unix::fs::FileExt;

fn room(bytes_max: usize) -> Room {
    Room {
        bytes_max,
        lines_max: usize::MAX,
    }
}

fn tail(log: &Log<'_>, bytes_max: usize) -> View {
    newest(log, &no_secrets(), room(bytes_max)).unwrap()
}

fn page(log: &Log<'_>, from: u64, bytes_max: usize) -> View {
    onward(log, &no_secrets(), from, room(bytes_max)).unwrap()
}

#[test]
fn whole_lines_are_shown_when_they_fill_half_of_the_room() {
    let log = ended(b"aaaaaaaaa\nbbbbbb\n", None);
    let whole = View {
        text: "bbbbbb\n".to_owned(),
        raw: 10..17,
        has_gap_line: false,
        has_more: false,
    };
    assert_eq!(tail(&log, 13), whole);
    assert_eq!(tail(&log, 14).text, "aaaaaa\nbbbbbb\n");
    let log = ended(b"bbbbbb\naaaaaaaaa\n", None);
    assert_eq!(
        (page(&log, 0, 13).text.as_str(), page(&log, 0, 13).raw),
        ("bbbbbb\n", 0..7)
    );
    assert_eq!(page(&log, 0, 14).text, "bbbbbb\naaaaaaa");
    assert!(page(&log, 0, 14).has_more && !page(&log, 7, 14).has_more);
}

#[test]
fn a_line_too_long_for_the_room_is_cut_between_characters() {
    let log = ended("aé你😀\u{1b}[1mb\u{1b}[0m".as_bytes(), None);
    let texts = |view: fn(&Log<'_>, usize) -> View| {
        (1..=11)
            .map(|room| view(&log, room).text)
            .collect::<Vec<_>>()
    };
    let first = texts(|log, room| page(log, 0, room));
    assert_eq!(
        first,
        [
            "a",
            "a",
            "aé",
            "aé",
            "aé",
            "aé你",
            "aé你",
            "aé你",
            "aé你",
            "aé你😀",
            "aé你😀b"
        ]
    );
    let last = texts(tail);
    assert_eq!(
        last,
        [
            "b",
            "b",
            "b",
            "b",
            "😀b",
            "😀b",
            "😀b",
            "你😀b",
            "你😀b",
            "é你😀b",
            "aé你😀b"
        ]
    );
}

#[test]
fn too_little_room_for_one_character_still_goes_on() {
    let log = ended("你好\n".as_bytes(), None);
    assert_eq!(
        (page(&log, 0, 1).text.as_str(), page(&log, 0, 1).raw),
        ("你", 0..3)
    );
    assert_eq!(
        (page(&log, 3, 2).text.as_str(), page(&log, 3, 2).raw),
        ("好", 3..6)
    );
    assert_eq!(tail(&ended("你好".as_bytes(), None), 2).text, "好");
}

#[test]
fn a_page_from_inside_of_a_character_begins_with_the_next() {
    let log = ended("你\u{1b}[31m好".as_bytes(), None);
    for from in [1, 2, 3, 5, 8] {
        let view = page(&log, from, 100);
        assert_eq!((view.text.as_str(), view.raw), ("好", from..11));
    }
}

#[test]
fn a_view_looks_only_so_far() {
    let megabytes = limits::VIEW_SCAN_BYTES_MAX;
    let total = megabytes * 4;
    let bar = b"\r 50% ##".repeat(usize::try_from(total).unwrap() / 8);
    let log = running(&bar, None);
    let view = tail(&log, 100);
    assert_eq!(view.text, " 50% ##");
    assert!(view.raw.start >= total - megabytes && view.raw.start < total - megabytes + 1_000);
    let view = page(&log, 0, 100);
    assert_eq!((view.text.as_str(), view.has_more), (" 50% ##", true));
    assert!(view.raw.end <= megabytes && view.raw.end > megabytes - 10);
}

#[test]
fn the_gap_costs_nothing_of_the_look() {
    let gap = Gap {
        from: 3,
        to: (1 << 40) + 5,
    };
    let file = file(b"ab\n");
    file.write_all_at(b"cd\n", gap.to).unwrap();
    let log = Log::with_gap(file, false, || Some(gap));
    let text = "ab\n[outlast: bytes 3–1099511627780 not kept]\ncd\n";
    for view in [tail(&log, 100), page(&log, 0, 100)] {
        assert_eq!((view.text.as_str(), view.raw), (text, 0..gap.to + 3));
        assert!(view.has_gap_line);
    }
    assert_eq!(page(&log, 1 << 20, 100).raw, 1 << 20..gap.to + 3);
}

#[test]
fn the_last_line_has_ink_and_is_not_ours() {
    let line = |bytes: &[u8]| last_line(&running(bytes, None), &no_secrets()).unwrap();
    assert_eq!(line(b""), None);
    assert_eq!(line(b"\n \n\x1b[m\n"), None);
    assert_eq!(line(b"one\n two \n\n").as_deref(), Some("two"));
    assert_eq!(line(b"one\n10%\r20%\r").as_deref(), Some("20%"));
    assert_eq!(line(b"caf\xc3").as_deref(), Some("caf"));
    let long = "你".repeat(300);
    assert_eq!(
        line(long.as_bytes()).unwrap().chars().count(),
        limits::SUMMARY_CHARS
    );
    let gap = Some(Gap { from: 4, to: 8 });
    let log = ended(b"one\nxxxx\n", gap);
    assert_eq!(
        last_line(&log, &no_secrets()).unwrap().as_deref(),
        Some("one")
    );
}
