//! Which lines a search shows.

use crate::tools::testing::{Bench, numbered};
use outlast_journal::limits::{CALL_SHOWN_BYTES, GREP_FILE_BYTES_MAX, GREP_LINES_MAX};
use serde_json::json;

#[test]
fn lines_are_shown_by_file_with_their_numbers() {
    let mut bench = Bench::new();
    bench.file("b.rs", "fn one() {}\r\nfn two() {}\r\n");
    bench.file("a.txt", "no\nfn three\n");
    let shown = bench.shown("grep_files", &json!({"pattern": "^fn \\w+"}));
    assert_eq!(
        shown,
        "a.txt\n     2: fn three\nb.rs\n     1: fn one() {}\n     2: fn two() {}\n"
    );
    let shown = bench.shown("grep_files", &json!({"pattern": "}$", "glob": "*.rs"}));
    assert_eq!(shown.lines().count(), 3);
    let shown = bench.shown(
        "grep_files",
        &json!({"pattern": "FN T", "ignore_case": true, "path": "a.txt"}),
    );
    assert_eq!(shown, "a.txt\n     2: fn three\n");
}

#[test]
fn context_is_shown_once_where_matches_are_near() {
    let mut bench = Bench::new();
    let text: String = numbered(20, "");
    bench.file("a", text);
    let shown = bench.shown(
        "grep_files",
        &json!({"pattern": "^(3|5|15)$", "context": 1}),
    );
    assert_eq!(
        shown,
        "a\n     2- 2\n     3: 3\n     4- 4\n     5: 5\n     6- 6\n   --\n    14- 14\n    15: 15\n    16- 16\n"
    );
}

#[test]
fn of_a_long_line_the_match_is_shown() {
    let mut bench = Bench::new();
    bench.file(
        "a",
        format!("{}needle{}\n", "ä".repeat(50_000), "ö".repeat(50_000)),
    );
    let shown = bench.shown("grep_files", &json!({"pattern": "needle"}));
    assert!(shown.contains("äneedleö"), "{shown}");
    assert!(shown.len() < 500, "{}", shown.len());
    assert!(!shown.contains('\u{fffd}'));
}

#[test]
fn binary_and_ignored_files_are_left_out_and_large_ones_told() {
    let mut bench = Bench::new();
    bench.file(".gitignore", "ignored\n");
    bench.file("ignored", "needle\n");
    bench.file("binary", b"needle\0");
    bench.file(
        "large",
        vec![b'x'; usize::try_from(GREP_FILE_BYTES_MAX).unwrap() + 1],
    );
    let shown = bench.shown("grep_files", &json!({"pattern": "needle"}));
    assert!(shown.starts_with("[no line matches"), "{shown}");
    assert!(
        shown.contains("[1 files larger than 8388608 bytes were left out]"),
        "{shown}"
    );
}

#[test]
fn what_is_cut_is_told() {
    let mut bench = Bench::new();
    bench.file("a", "x\n".repeat(GREP_LINES_MAX + 1));
    let shown = bench.shown("grep_files", &json!({"pattern": "x"}));
    assert!(
        shown.ends_with("[the first 200 matching lines: there is more]\n"),
        "{shown}"
    );
    bench.file("a", format!("{}\n", "x".repeat(390)).repeat(GREP_LINES_MAX));
    let shown = bench.shown("grep_files", &json!({"pattern": "x"}));
    assert!(shown.len() < CALL_SHOWN_BYTES + 1_000, "{}", shown.len());
    assert!(shown.contains("there is more"), "{shown}");
}

#[test]
fn a_bad_expression_is_refused_with_the_way_out() {
    let mut bench = Bench::new();
    let shown = bench.refused("grep_files", &json!({"pattern": "a("}));
    assert!(shown.contains("write a backslash"), "{shown}");
    assert!(shown.contains("code: bad_pattern"), "{shown}");
    let shown = bench.refused("grep_files", &json!({"pattern": "(a{1000}){1000}"}));
    assert!(shown.contains("code: bad_pattern"), "{shown}");
}
