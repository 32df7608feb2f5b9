//! What is drawn fits, and cannot speak to the terminal.

use super::*;

/// A terminal of 80 columns without colours, at noon in UTC.
pub(crate) fn look() -> Look {
    Look {
        width: Some(80),
        is_coloured: false,
        now: Timestamp::parse("2026-11-29T12:00:00.000Z").expect("a time"),
        zone: TimeZone::UTC,
        home: Some(PathBuf::from("/home/ann")),
    }
}

#[test]
fn a_text_is_cut_by_columns_and_says_so() {
    assert_eq!(cut("deploy", 6), "deploy");
    assert_eq!(cut("deploys", 6), "deplo…");
    assert_eq!(cut("日本語", 6), "日本語");
    assert_eq!(cut("日本語", 5), "日本…");
    assert_eq!(cut("日本語", 4), "日…");
    assert_eq!(cut("ab", 1), "…");
    assert_eq!(cut("ab", 0), "");
}

#[test]
fn what_comes_from_outside_cannot_speak_to_the_terminal() {
    assert_eq!(
        clean("a\x1b[2Jb\tc\nd\u{202e}"),
        "a\u{fffd}[2Jb c d\u{fffd}"
    );
    assert_eq!(clean("naïve 日本語 🦀"), "naïve 日本語 🦀");
}

#[test]
fn colours_are_there_only_when_wanted() {
    let plain = look();
    assert_eq!(plain.paint(Paint::Red, "x"), "x");
    let coloured = Look {
        is_coloured: true,
        ..look()
    };
    assert_eq!(coloured.paint(Paint::Red, "x"), "\x1b[31mx\x1b[0m");
    assert_eq!(coloured.paint(Paint::Plain, "x"), "x");
}

#[test]
fn a_path_below_home_begins_with_a_tilde() {
    let look = look();
    assert_eq!(look.path("/home/ann"), "~");
    assert_eq!(look.path("/home/ann/src"), "~/src");
    assert_eq!(look.path("/home/annika"), "/home/annika");
    assert_eq!(look.path("/srv"), "/srv");
}
