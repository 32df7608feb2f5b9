//! The text view keeps what a person would have seen last, and never harms a character.

use super::{char_floor, cut_chars, first_line, first_line_label, last_line, plain, plain_line};
use proptest::prelude::*;

fn assert_plain(cases: &[(&str, &str)]) {
    for (written, shown) in cases {
        assert_eq!(plain(written.as_bytes()), *shown, "{written:?}");
    }
}

#[test]
fn a_multi_byte_character_is_kept() {
    assert_eq!(plain(b"\xe2\x89\xa4\n"), "≤\n");
}

#[test]
fn of_ten_thousand_redraws_the_last_is_kept() {
    let states = (0..=10_000_usize).map(|step| {
        let bar = "#".repeat(step / 500);
        format!("\r{step:5}/10000 [{bar:<20}]")
    });
    let written: String = states.chain(["\ndone\n".to_owned()]).collect();
    assert_eq!(written.len(), 350_041);
    let text = plain(written.as_bytes());
    assert_eq!(text, "10000/10000 [####################]\ndone\n");
    assert_eq!(text.len(), 40);
}

#[test]
fn the_last_state_that_shows_something_stays() {
    assert_plain(&[
        ("", ""),
        ("a\nb", "a\nb"),
        ("a\n\n\nb\n", "a\n\n\nb\n"),
        ("a\rb\rc", "c"),
        ("abc\r\nd\r\n", "abc\nd\n"),
        ("abc\r\r\n", "abc\n"),
        ("abc\r", "abc"),
        ("abc\r\r\r", "abc"),
        ("\rabc", "abc"),
        ("long line\rx", "x"),
        ("a\rb\n\rc", "b\nc"),
        ("a\r\tb", "\tb"),
        // A state of which an escape is all shows nothing.
        ("abc\r\x1b[K\r\n", "abc\n"),
        ("abc\r\x1b[K", "abc"),
        ("\x1b[32m 1%\x1b[0m\r\x1b[32m 2%\x1b[0m\r\x1b[0m", " 2%"),
        // A carriage return inside a title is part of the title.
        ("abc\x1b]0;a\rb\x07def", "abcdef"),
        // A terminal obeys one inside a control sequence.
        ("abc\x1b[3\r1mdef", "def"),
    ]);
}

#[test]
fn escapes_are_removed() {
    assert_plain(&[
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[38:2::1:2:3mx", "x"),
        ("\x1b[?25lx\x1b[?25h", "x"),
        ("\x1b[>4;2mx\x1b[!p\x1b[2 qy", "xy"),
        ("\x1b[mx\x1b[200~y\x1b[@z", "xyz"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://a/ü\x1b\\link\x1b]8;;\x1b\\", "link"),
        (
            "\x1bPq#0;2\x1b\\a\x1b_apc\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d",
            "abcd",
        ),
        ("\x1bPq\x07a\x1b_x\x07b", "ab"),
        ("\x1b7\x1b8\x1b=\x1b>\x1bM\x1bcx", "x"),
        ("\x1b(B\x1b)0\x1b#8\x1b%Gx", "x"),
        ("\u{9b}1mx\u{9d}0;t\u{9c}y\u{90}q\u{9c}z\u{85}", "xyz"),
        // A cut sequence gives way to the next one, or to text.
        ("\x1b\x1b[1mx", "x"),
        ("\x1b[1\x1b[2mx", "x"),
        ("\x1b]0;title\x1b[1mx", "x"),
        ("\x1b[1\x18x\x1b]0\x1ay", "xy"),
        ("\x1b[1≤x\x1bé\x1b(ü", "≤xéü"),
        ("\x1b\rx", "x"),
    ]);
}

#[test]
fn an_escape_that_is_not_finished_ends_with_its_line() {
    assert_plain(&[
        ("x\x1b", "x"),
        ("x\x1b[1;3", "x"),
        ("x\x1b]0;title", "x"),
        ("x\x1b]0;title\x1b", "x"),
        ("x\x1bPq\ny", "x\ny"),
        ("x\x1b\ny\x1b[\nz\x1b(\n", "x\ny\nz\n"),
    ]);
}

#[test]
fn other_control_characters_but_tab_are_removed() {
    assert_plain(&[
        ("a\tb\x07\x00\x01\x0b\x0c\x0e\x7fc", "a\tbc"),
        ("|\x08/\x08-\x08\\", "\\"),
        ("N\x08NA\x08A_\x08M", "NAM"),
        ("é\x08e", "e"),
        ("\x08\x08a", "a"),
        ("a\n\x08b", "a\nb"),
        // It cannot take from a state that is drawn over.
        ("abc\r\x08x", "x"),
        ("abc\rx\x08", "abc"),
    ]);
}

#[test]
fn invalid_bytes_become_one_replacement_each() {
    for written in [
        &b"a\xffb"[..],
        b"\xe2\x89",
        b"\xe2\x89\n",
        b"\xe2\x89x\xf0\x9f\x98\x80",
        b"\xf0\x9f\x98\xe2\x89\xa4",
        b"\xc0\x80\xed\xa0\x80\xf5",
        b"\x9b1m",
    ] {
        assert_eq!(plain(written), String::from_utf8_lossy(written));
    }
    // 0x9c inside a character does not end a string.
    assert_eq!(plain(b"\x1b]0;\xe2\x9c\x9c\x07x"), "x");
}

#[test]
fn one_line_comes_without_its_line_break() {
    assert_eq!(plain_line(b"a\rb\r\n"), "b");
    assert_eq!(plain_line(b"a\rb"), "b");
    assert_eq!(plain_line(b""), "");
}

#[test]
fn the_last_line_is_the_last_that_is_not_blank() {
    assert_eq!(last_line(b""), None);
    assert_eq!(last_line(b"\n \t\r\n\x1b[0m\n"), None);
    assert_eq!(
        last_line(b"one\n  two \t\n\n \n\x1b[0m\n").as_deref(),
        Some("  two")
    );
    assert_eq!(last_line(b" 1%\r 2%\r").as_deref(), Some(" 2%"));
    let cut = last_line("ä".repeat(201).as_bytes()).unwrap();
    assert_eq!(cut, "ä".repeat(199) + "…");
}

#[test]
fn the_first_line_is_the_first_that_is_not_blank() {
    assert_eq!(first_line(b"\n \t\r\n\x1b[0m\n"), None);
    assert_eq!(
        first_line(b"\n\x1b[0m\n  one \t\ntwo\n").as_deref(),
        Some("  one")
    );
    let cut = first_line("ä".repeat(201).as_bytes()).unwrap();
    assert_eq!(cut, "ä".repeat(199) + "…");
}

#[test]
fn a_cut_counts_its_ellipsis() {
    for (chars_max, kept) in [(0, ""), (1, "…"), (2, "ä…"), (3, "äöü"), (4, "äöü")] {
        assert_eq!(cut_chars("äöü", chars_max), kept);
    }
    assert_eq!(cut_chars("", 0), "");
}

#[test]
fn a_page_never_ends_inside_a_character() {
    let bytes = "a≤😀".as_bytes();
    let floors: Vec<usize> = (0..=9).map(|at| char_floor(bytes, at)).collect();
    assert_eq!(floors, [0, 1, 1, 1, 4, 4, 4, 4, 8, 8]);
    // What may still become a character waits for its rest.
    assert_eq!(char_floor(b"a\xe2\x89", 3), 1);
    assert_eq!(char_floor(b"a\xe2\x89", 2), 1);
    assert_eq!(char_floor(b"a\xf0\x9f\x98", 4), 1);
    // What cannot does not.
    assert_eq!(char_floor(b"\xe2\x89a", 2), 2);
    assert_eq!(char_floor(b"\xc0\x80", 1), 1);
    assert_eq!(char_floor(b"\xed\xa0", 2), 2);
    assert_eq!(char_floor(b"\x80\x80\x80\x80\x80", 4), 4);
    assert_eq!(char_floor(b"\xff", 1), 1);
}

#[test]
fn fifty_thousand_characters_read_in_pages_stay_whole() {
    let bytes = "\u{4f60}".repeat(50_000).into_bytes();
    for page_bytes in [1_000, 4_096] {
        let pages = pages(&bytes, page_bytes);
        let text: String = pages.iter().map(|page| plain(page)).collect();
        assert_eq!(text.as_bytes(), bytes);
    }
}

#[test]
fn a_label_is_the_first_line_that_shows_something() {
    assert_eq!(
        first_line_label("\n \t\n  make \t -j8\x07  all\r\nmore", 60),
        "make -j8 all"
    );
    assert_eq!(first_line_label("a\rb\u{85}c\x00d", 60), "a b cd");
    assert_eq!(first_line_label("\x07\nx", 60), "x");
    assert_eq!(first_line_label("one two", 5), "one …");
    assert_eq!(first_line_label(" \n", 60), "");
}

fn pages(bytes: &[u8], page_bytes: usize) -> Vec<&[u8]> {
    let mut pages = Vec::new();
    let mut from = 0;
    while from < bytes.len() {
        let until = char_floor(bytes, from + page_bytes);
        if until == from {
            break;
        }
        pages.push(&bytes[from..until]);
        from = until;
    }
    // What is left is a character that is not whole yet.
    pages.push(&bytes[from..]);
    pages
}

/// Bytes of which many begin, continue or end something.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => prop::sample::select(&b"\x1b\x1b[]P(\\;?09mKab #\t\n\r\r\x07\x08\x18\x7f"[..])
            .prop_map(|byte| vec![byte]),
        2 => any::<char>().prop_map(|letter| letter.to_string().into_bytes()),
        2 => "[\u{80}-\u{9f}≤😀é]".prop_map(String::into_bytes),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_view_of_a_view_is_the_same(bytes in output()) {
        let text = plain(&bytes);
        prop_assert_eq!(plain(text.as_bytes()), text.clone());
        let is_shown = |letter: char| matches!(letter, '\n' | '\t') || !letter.is_control();
        prop_assert!(text.chars().all(is_shown), "{:?}", text);
        prop_assert!(text.len() <= 3 * bytes.len());
    }

    #[test]
    fn no_line_changes_another(before in output(), after in output()) {
        let both = [&before[..], b"\n", &after[..]].concat();
        prop_assert_eq!(plain(&both), plain(&before) + "\n" + &plain(&after));
        let lines = plain(&both);
        let last = lines.lines().rfind(|line| !line.trim().is_empty());
        prop_assert_eq!(last_line(&both), last.map(|line| cut_chars(line.trim_end(), 200)));
    }

    #[test]
    fn text_without_control_characters_is_not_changed(text in "\\PC*") {
        prop_assert_eq!(plain(text.as_bytes()), text);
    }

    #[test]
    fn pages_join_to_the_same_bytes(bytes in output(), page_bytes in 4..20_usize) {
        let pages = pages(&bytes, page_bytes);
        prop_assert_eq!(pages.concat(), bytes);
    }

    #[test]
    fn pages_of_valid_text_are_valid(text in any::<String>(), page_bytes in 4..20_usize) {
        for page in pages(text.as_bytes(), page_bytes) {
            prop_assert!(str::from_utf8(page).is_ok());
        }
    }

    #[test]
    fn a_floor_moves_back_by_less_than_a_character(bytes in output(), at in 0..70_usize) {
        let floor = char_floor(&bytes, at);
        let at = at.min(bytes.len());
        prop_assert!(floor <= at && at - floor <= 3);
        prop_assert_eq!(char_floor(&bytes, floor), floor);
    }
}
