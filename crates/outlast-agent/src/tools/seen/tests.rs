//! What counts as read.

use super::{Saw, Seen, Wrote};

fn saw(hash: &str, from: u64, to: u64, lines: u64) -> Saw {
    Saw {
        path: "a".to_owned(),
        hash: hash.to_owned(),
        from,
        to,
        lines,
    }
}

fn wrote(before: Option<&str>, after: &str) -> Wrote {
    Wrote {
        path: "a".to_owned(),
        before: before.map(str::to_owned),
        after: after.to_owned(),
    }
}

#[test]
fn parts_add_up_to_the_whole_in_every_order() {
    let parts = [(1, 3), (4, 6), (5, 9)];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let mut seen = Seen::default();
        for (count, at) in order.into_iter().enumerate() {
            let (from, to) = parts[at];
            seen.note_read(&saw("x", from, to, 9));
            assert_eq!(seen.is_whole("a"), count == 2, "{order:?}");
        }
    }
}

#[test]
fn parts_of_different_contents_do_not_add_up() {
    let mut seen = Seen::default();
    seen.note_read(&saw("x", 1, 5, 9));
    seen.note_read(&saw("y", 6, 9, 9));
    assert!(!seen.is_whole("a"));
    assert_eq!(seen.hash("a"), Some("y"));
}

#[test]
fn an_empty_file_is_read_as_a_whole() {
    let mut seen = Seen::default();
    seen.note_read(&saw("x", 1, 0, 0));
    assert!(seen.is_whole("a"));
}

#[test]
fn after_an_edit_the_model_knows_what_it_knew() {
    for (to, is_whole) in [(9, true), (8, false)] {
        let mut seen = Seen::default();
        seen.note_read(&saw("x", 1, to, 9));
        seen.note_write(&wrote(Some("x"), "y"), false);
        assert_eq!(seen.hash("a"), Some("y"));
        assert_eq!(seen.is_whole("a"), is_whole);
    }
}

#[test]
fn what_it_wrote_whole_it_knows_whole() {
    let mut seen = Seen::default();
    seen.note_write(&wrote(None, "y"), true);
    assert!(seen.is_whole("a"));
    assert_eq!(seen.hash("b"), None);
}
