//! What is shown of a file, and what never is.

use crate::tools::testing::{Bench, numbered};
use outlast_journal::limits::{READ_SHOWN_BYTES, SHOWN_LINE_BYTES};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

fn path(path: &str) -> Value {
    json!({"path": path})
}

#[test]
fn lines_are_numbered_and_the_whole_file_needs_no_note() {
    let mut bench = Bench::new();
    bench.file("d/a", "one\n\ttwo\n");
    let shown = bench.shown("read_file", &path("d/a"));
    assert_eq!(shown, "     1\tone\n     2\t\ttwo\n");
    let absolute = bench.path("d/a");
    assert_eq!(
        bench.shown("read_file", &path(absolute.to_str().unwrap())),
        shown
    );
    assert_eq!(bench.shown("read_file", &path("./d/../d/a")), shown);
}

#[test]
fn offset_and_limit_choose_lines_and_say_where_to_read_on() {
    let mut bench = Bench::new();
    bench.file("a", numbered(9, ""));
    let shown = bench.shown("read_file", &json!({"path": "a", "offset": 4, "limit": 2}));
    assert_eq!(
        shown,
        "     4\t4\n     5\t5\n[lines 4–5 of 9; read on with offset 6]\n"
    );
    let shown = bench.refused("read_file", &json!({"path": "a", "offset": 10}));
    assert!(
        shown.contains("`a` has 9 lines, and `offset` is 10"),
        "{shown}"
    );
    assert!(shown.contains("code: beyond_the_end"), "{shown}");
}

#[test]
fn a_large_file_is_shown_to_a_bound_and_read_on_from_there() {
    let mut bench = Bench::new();
    let text: String = numbered(20_000, "line ");
    bench.file("a", &text);
    let mut offset = 1;
    let mut read = String::new();
    loop {
        let shown = bench.shown("read_file", &json!({"path": "a", "offset": offset}));
        assert!(shown.len() < READ_SHOWN_BYTES + 200, "{}", shown.len());
        for line in shown.lines().filter(|line| !line.starts_with('[')) {
            read.push_str(line.split_once('\t').unwrap().1);
            read.push('\n');
            offset += 1;
        }
        if !shown.contains("read on with offset") {
            break;
        }
        assert!(shown.contains(&format!("offset {offset}")), "{offset}");
    }
    assert_eq!(read, text);
}

#[test]
fn a_long_line_is_cut_at_a_character() {
    let mut bench = Bench::new();
    bench.file("a", format!("x{}\nshort\n", "ä".repeat(100_000)));
    let shown = bench.shown("read_file", &path("a"));
    assert!(shown.contains("ä…[the line goes on]\n     2\tshort\n"));
    assert!(shown.len() < SHOWN_LINE_BYTES + 100);
    assert!(!shown.contains('\u{fffd}'));
}

#[test]
fn binary_files_are_refused_and_foreign_bytes_are_told() {
    let mut bench = Bench::new();
    bench.file("a", b"\x7fELF\0\0");
    let shown = bench.refused("read_file", &path("a"));
    assert!(shown.contains("code: binary_file"), "{shown}");
    bench.file("b", b"caf\xe9\n");
    let shown = bench.shown("read_file", &path("b"));
    assert!(shown.contains("bytes that are no UTF-8"), "{shown}");
}

#[test]
fn line_ends_and_an_empty_file_are_told() {
    let mut bench = Bench::new();
    bench.file("a", "one\r\ntwo\r\n");
    let shown = bench.shown("read_file", &path("a"));
    assert_eq!(shown, "     1\tone\n     2\ttwo\n[lines end in CRLF]\n");
    bench.file("b", "");
    assert_eq!(
        bench.shown("read_file", &path("b")),
        "[the file is empty]\n"
    );
    bench.file("c", "no end");
    assert_eq!(bench.shown("read_file", &path("c")), "     1\tno end\n");
}

#[test]
fn nothing_outside_of_the_workspace_is_read() {
    let mut bench = Bench::new();
    let outside = bench.home.path().join("outside");
    super::super::testing::put(&outside, b"secret");
    fs::create_dir(bench.path("d")).unwrap();
    symlink(&outside, bench.path("absolute")).unwrap();
    symlink("../outside", bench.path("relative")).unwrap();
    symlink("..", bench.path("up")).unwrap();
    symlink("../../outside", bench.path("d/deep")).unwrap();
    for name in [
        "../outside",
        "d/../../outside",
        "/etc/passwd",
        outside.to_str().unwrap(),
        "absolute",
        "relative",
        "up/outside",
        "d/deep",
    ] {
        let shown = bench.refused("read_file", &path(name));
        assert!(shown.contains("code: outside_workspace"), "{name}: {shown}");
        assert!(!shown.contains("secret"));
    }
}

#[test]
fn a_link_inside_of_the_workspace_is_followed() {
    let mut bench = Bench::new();
    bench.file("d/a", "here\n");
    symlink("d/a", bench.path("b")).unwrap();
    symlink("d", bench.path("e")).unwrap();
    assert_eq!(bench.shown("read_file", &path("b")), "     1\there\n");
    assert_eq!(bench.shown("read_file", &path("e/a")), "     1\there\n");
}

#[test]
fn pipes_sockets_and_devices_are_refused_at_once() {
    let mut bench = Bench::new();
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, bench.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let _listener = UnixListener::bind(bench.path("socket")).unwrap();
    for name in ["pipe", "socket"] {
        let shown = bench.refused("read_file", &path(name));
        assert!(shown.contains("code: no_regular_file"), "{shown}");
    }
}

#[test]
fn what_is_absent_and_what_is_a_directory_is_told() {
    let mut bench = Bench::new();
    fs::create_dir(bench.path("d")).unwrap();
    bench.file("a", "");
    for (name, code) in [
        ("b", "no_such_file"),
        ("d", "is_directory"),
        (".", "is_directory"),
        ("a/b", "no_directory"),
    ] {
        let shown = bench.refused("read_file", &path(name));
        assert!(shown.contains(&format!("code: {code}")), "{name}: {shown}");
    }
}

#[test]
fn the_store_is_never_shown_by_whatever_way() {
    let mut bench = Bench::with(|around| {
        around.workspace = around.store.root().parent().unwrap().to_owned();
    });
    let home = bench.home.path().to_owned();
    let run = super::super::testing::run_dir(&home.join("store"), &bench.around.run);
    let spec = run.join("spec.json");
    let beneath = spec.strip_prefix(&home).unwrap();
    symlink("store", home.join("alias")).unwrap();
    let by_alias = beneath.to_str().unwrap().replacen("store", "alias", 1);
    for name in [beneath.to_str().unwrap(), &by_alias] {
        let shown = bench.refused("read_file", &path(name));
        assert!(shown.contains("code: store_is_private"), "{shown}");
    }
    let shown = bench.refused("list_dir", &path("alias"));
    assert!(shown.contains("code: store_is_private"), "{shown}");
    let found = bench.shown("find_files", &json!({"pattern": "spec.json"}));
    assert!(found.contains("no file fits"), "{found}");
    let found = bench.shown("grep_files", &json!({"pattern": "project"}));
    assert!(found.contains("no line matches"), "{found}");
}
