//! Nothing is cut apart that a reader sees as one, and ordinary bytes are not held together.

use super::{around, torn_back, torn_front};

/// Returns the places in `bytes` where a cut is right, both ends among them.
fn cuts(bytes: &[u8]) -> Vec<usize> {
    (0..=bytes.len())
        .filter(|at| around(bytes, *at).is_none())
        .collect()
}

#[test]
fn characters_stay_whole() {
    assert_eq!(cuts("aé你😀b".as_bytes()), [0, 1, 3, 6, 10, 11]);
}

#[test]
fn bytes_that_are_no_characters_are_cut_anywhere() {
    assert_eq!(
        cuts(b"\x80\x80\xff\xc0\x80a\xe4a"),
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
    );
}

#[test]
fn an_unfinished_character_is_held_at_the_end_alone() {
    assert_eq!(cuts(b"a\xe4\xbd"), [0, 1]);
    assert_eq!(cuts(b"a\xe4\xbdb"), [0, 1, 2, 3, 4]);
    assert_eq!(cuts(b"a\xf0\x9f\x98"), [0, 1]);
}

#[test]
fn escape_sequences_stay_whole() {
    for sequence in [
        "\x1b[1;31m",
        "\x1b[K",
        "\x1b[?25l",
        "\x1b]0;title\x07",
        "\x1b]8;;http://a\x1b\\",
        "\x1b(B",
        "\x1b7",
        "\x1bP1$r\x1b\\",
        "\x1b]0;a\x18",
        "\x1b[1\r2m",
    ] {
        let text = format!("a{sequence}b");
        let end = text.len() - 1;
        assert_eq!(cuts(text.as_bytes()), [0, 1, end, end + 1], "{sequence:?}");
        for unfinished in 1..sequence.len() {
            let part = text.get(..=unfinished).unwrap();
            assert!(!cuts(part.as_bytes()).contains(&part.len()), "{part:?}");
        }
    }
}

#[test]
fn a_line_feed_ends_a_sequence_that_has_no_end() {
    assert_eq!(cuts(b"\x1b]0;t\nab"), [0, 5, 6, 7, 8]);
    assert_eq!(cuts(b"\x1b[1\nab"), [0, 3, 4, 5, 6]);
    assert_eq!(cuts(b"\x1b\na"), [0, 1, 2, 3]);
}

#[test]
fn a_sequence_that_another_one_cuts_short_ends_there() {
    assert_eq!(cuts(b"\x1b]0;t\x1b[1mx"), [0, 5, 9, 10]);
    assert_eq!(cuts(b"\x1b[1\x1b[2mx"), [0, 3, 7, 8]);
}

#[test]
fn a_sequence_without_end_is_not_held_for_ever() {
    let mut bytes = b"\x1b]0;".to_vec();
    bytes.resize(2_000, b'x');
    assert_eq!(around(&bytes, 2_000), None);
}

#[test]
fn parts_of_characters_at_the_ends_are_measured() {
    let text = "你x你".as_bytes();
    assert_eq!(torn_front(&text[1..]), 2);
    assert_eq!(torn_front(text), 0);
    assert_eq!(torn_back(&text[..6]), 2);
    assert_eq!(torn_back(text), 0);
    assert_eq!((torn_front(b""), torn_back(b"")), (0, 0));
}
