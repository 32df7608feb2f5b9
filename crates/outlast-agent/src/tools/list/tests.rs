//! What is shown of a directory.

use crate::tools::testing::Bench;
use outlast_journal::limits::LIST_ENTRIES_MAX;
use serde_json::json;
use std::os::unix::fs::symlink;

#[test]
fn entries_are_shown_by_name_with_their_kind() {
    let mut bench = Bench::new();
    bench.file("b", "12345");
    bench.file("a/inner", "");
    bench.file(".hidden", "");
    symlink("b", bench.path("c")).unwrap();
    let shown = bench.shown("list_dir", &json!({}));
    assert_eq!(shown, ".hidden (0 bytes)\na/\nb (5 bytes)\nc -> b\n");
    assert_eq!(
        bench.shown("list_dir", &json!({"path": "a"})),
        "inner (0 bytes)\n"
    );
}

#[test]
fn a_name_cannot_look_like_more_than_one_line() {
    let mut bench = Bench::new();
    bench.file("a\nb\u{1b}[2J", "");
    assert_eq!(bench.shown("list_dir", &json!({})), "a?b?[2J (0 bytes)\n");
}

#[test]
fn a_large_directory_is_shown_in_part_and_the_rest_is_counted() {
    let mut bench = Bench::new();
    for number in 0..LIST_ENTRIES_MAX + 3 {
        bench.file(&format!("{number:05}"), "");
    }
    let shown = bench.shown("list_dir", &json!({}));
    assert_eq!(shown.lines().count(), LIST_ENTRIES_MAX + 1);
    assert!(shown.contains("[the first 500 of 503 entries"), "{shown}");
}

#[test]
fn an_empty_directory_and_no_directory_are_told() {
    let mut bench = Bench::new();
    assert_eq!(
        bench.shown("list_dir", &json!({})),
        "[the directory is empty]\n"
    );
    bench.file("a", "");
    let shown = bench.refused("list_dir", &json!({"path": "a"}));
    assert!(shown.contains("code: no_directory"), "{shown}");
}
