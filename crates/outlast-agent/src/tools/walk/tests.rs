//! Which files a search sees.

use crate::tools::testing::Bench;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use std::os::unix::fs::symlink;

fn found(bench: &mut Bench, arguments: &serde_json::Value) -> Vec<String> {
    let shown = bench.shown("find_files", arguments);
    shown.lines().map(str::to_owned).collect()
}

fn all(bench: &mut Bench) -> Vec<String> {
    found(bench, &json!({"pattern": "*"}))
}

#[test]
fn ignore_files_are_respected_from_the_nearest_on() {
    let mut bench = Bench::new();
    bench.file(".gitignore", "*.log\n/built/\n# words\n!keep.log\n");
    bench.file("a.log", "");
    bench.file("keep.log", "");
    bench.file("built/x", "");
    bench.file("d/built/x", "");
    bench.file("d/.gitignore", "!b.log\nsecret\n");
    bench.file("d/b.log", "");
    bench.file("d/secret", "");
    bench.file("e/.ignore", "f\n");
    bench.file("e/f", "");
    bench.file("secret", "");
    assert_eq!(
        all(&mut bench),
        [
            ".gitignore",
            "d/.gitignore",
            "d/b.log",
            "d/built/x",
            "e/.ignore",
            "keep.log",
            "secret"
        ]
    );
    let with = found(
        &mut bench,
        &json!({"pattern": "*.log", "with_ignored": true}),
    );
    assert_eq!(with, ["a.log", "d/b.log", "keep.log"]);
}

#[test]
fn a_search_below_still_knows_the_ignore_files_above() {
    let mut bench = Bench::new();
    bench.file(".gitignore", "*.log\nd/x\n");
    bench.file("d/a.log", "");
    bench.file("d/x", "");
    bench.file("d/y", "");
    let below = found(&mut bench, &json!({"pattern": "*", "path": "d"}));
    assert_eq!(below, ["d/y"]);
}

#[test]
fn the_repository_itself_is_left_out_and_its_exclusions_count() {
    let mut bench = Bench::new();
    bench.file(".git/info/exclude", "mine\n");
    bench.file(".git/config", "");
    bench.file("mine", "");
    bench.file(".github/flow.yml", "");
    assert_eq!(all(&mut bench), [".github/flow.yml"]);
    let with = found(&mut bench, &json!({"pattern": "*", "with_ignored": true}));
    assert_eq!(with, [".github/flow.yml", "mine"]);
}

#[test]
fn links_are_not_walked_and_pipes_do_not_hold_it_up() {
    let mut bench = Bench::new();
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, bench.path(".gitignore"), FileType::Fifo, mode, 0).unwrap();
    mknodat(CWD, bench.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    bench.file("d/a", "");
    symlink("..", bench.path("d/up")).unwrap();
    symlink("d", bench.path("same")).unwrap();
    symlink("/etc", bench.path("etc")).unwrap();
    assert_eq!(all(&mut bench), ["d/a"]);
}

#[test]
fn a_pattern_in_an_ignore_file_that_means_nothing_ignores_nothing() {
    let mut bench = Bench::new();
    bench.file(".gitignore", "[\n*.log\n");
    bench.file("a", "");
    bench.file("a.log", "");
    assert_eq!(all(&mut bench), [".gitignore", "a"]);
}
