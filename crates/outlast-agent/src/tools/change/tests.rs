//! Only what was read is changed, whole or not at all, and a repeat changes nothing more.

use crate::tools::Plan;
use crate::tools::testing::{Bench, put};
use outlast_journal::limits::WRITE_BYTES_MAX;
use outlast_journal::worker::{CallEnd, CallEnded};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn read(path: &str) -> Value {
    json!({"path": path})
}

fn write(path: &str, content: &str) -> Value {
    json!({"path": path, "content": content})
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old": old, "new": new})
}

#[test]
fn a_new_file_is_written_with_its_directories() {
    let mut bench = Bench::new();
    let outcome = bench.call("write_file", &write("d/e/a", "one\ntwo\n"));
    assert_eq!(outcome.shown, "new file, 2 lines, 8 bytes\n");
    assert_eq!(bench.content("d/e/a"), "one\ntwo\n");
    let wrote = outcome.wrote.unwrap();
    assert_eq!(wrote["path"], "d/e/a");
    assert!(wrote.get("before").is_none());
    assert_eq!(wrote["after"].as_str().unwrap().len(), 64);
}

/// Reads, writes and foreign changes in every order of three.
#[test]
fn nothing_is_written_over_that_was_not_read_in_every_order() {
    for order in 0..27_u32 {
        let steps = [order % 3, order / 3 % 3, order / 9];
        let mut bench = Bench::new();
        bench.file("a", "first\n");
        let mut known = String::new();
        for (count, step) in steps.into_iter().enumerate() {
            match step {
                0 => {
                    bench.shown("read_file", &read("a"));
                    known = bench.content("a");
                }
                1 => put(&bench.path("a"), format!("foreign {count}\n").as_bytes()),
                _ => {
                    let before = bench.content("a");
                    let text = format!("own {count}\n");
                    let outcome = bench.call("write_file", &write("a", &text));
                    assert_eq!(outcome.ok, known == before, "{steps:?}: {}", outcome.shown);
                    if outcome.ok {
                        known.clone_from(&text);
                    }
                    let now = if outcome.ok { &text } else { &before };
                    assert_eq!(&bench.content("a"), now, "{steps:?}");
                }
            }
        }
    }
}

#[test]
fn what_was_read_in_part_is_edited_and_not_replaced() {
    let mut bench = Bench::new();
    bench.file("a", "one\ntwo\n");
    bench.shown("read_file", &json!({"path": "a", "limit": 1}));
    let shown = bench.refused("write_file", &write("a", ""));
    assert!(shown.contains("only a part of `a` was read"), "{shown}");
    bench.shown("edit_file", &edit("a", "two", "2"));
    assert_eq!(bench.content("a"), "one\n2\n");
}

#[test]
fn an_edit_without_a_read_is_refused_before_anything_is_started() {
    let mut bench = Bench::new();
    bench.file("a", "one\n");
    let plan = bench.tools.plan("edit_file", &edit("a", "one", "1"));
    assert!(
        matches!(
            plan,
            Plan::Refused {
                code: "not_read",
                ..
            }
        ),
        "{plan:?}"
    );
}

#[test]
fn a_file_that_changed_after_the_read_is_not_edited() {
    let mut bench = Bench::new();
    bench.file("a", "one\n");
    bench.shown("read_file", &read("a"));
    bench.file("a", "one\nmore\n");
    let shown = bench.refused("edit_file", &edit("a", "one", "1"));
    assert!(shown.contains("code: changed_since_read"), "{shown}");
    bench.shown("read_file", &read("a"));
    bench.shown("edit_file", &edit("a", "one", "1"));
    assert_eq!(bench.content("a"), "1\nmore\n");
    fs::remove_file(bench.path("a")).unwrap();
    let shown = bench.refused("edit_file", &edit("a", "1", "2"));
    assert!(shown.contains("code: no_such_file"), "{shown}");
    let shown = bench.refused("write_file", &write("a", "x"));
    assert!(shown.contains("code: changed_since_read"), "{shown}");
}

#[test]
fn edits_follow_each_other_without_reading_again() {
    let mut bench = Bench::new();
    bench.file("a", "one\ntwo\nthree\n");
    bench.shown("read_file", &read("a"));
    assert_eq!(
        bench.shown("edit_file", &edit("a", "two", "2")),
        "1 replacement, line 2\n"
    );
    bench.shown("edit_file", &edit("a", "three", "3"));
    bench.shown("write_file", &write("a", "all\n"));
    assert_eq!(bench.content("a"), "all\n");
}

#[test]
fn a_repeat_of_a_call_is_seen_and_changes_nothing_more() {
    for (name, arguments, after) in [
        ("write_file", write("a", "x\n"), "x\n"),
        ("write_file", write("new", "x\n"), "one one\n"),
        ("edit_file", edit("a", "two", "2 two"), "one one\n2 two\n"),
        (
            "edit_file",
            json!({"path": "a", "old": "one", "new": "1", "replace_all": true}),
            "1 1\ntwo\n",
        ),
    ] {
        let mut bench = Bench::new();
        bench.file("a", "one one\ntwo\n");
        bench.shown("read_file", &read("a"));
        let Plan::Hands { program, stdin, .. } = bench.tools.plan(name, &arguments) else {
            panic!("no call of hands");
        };
        let mut wrote = Vec::new();
        for _ in 0..2 {
            let (ended, log) = bench.hands("1.1", &program, stdin.as_deref());
            let outcome = bench.tools.finish(name, &arguments, &ended, &log);
            assert!(outcome.ok, "{}", outcome.shown);
            wrote.push(outcome.wrote);
        }
        assert_eq!(wrote[0], wrote[1]);
        if arguments["path"] == "a" {
            assert_eq!(bench.content("a"), after);
        }
    }
}

#[test]
fn a_text_that_stands_more_than_once_is_replaced_only_when_that_is_meant() {
    let mut bench = Bench::new();
    bench.file("a", "x\ny\nx x\n");
    bench.shown("read_file", &read("a"));
    let shown = bench.refused("edit_file", &edit("a", "x", "z"));
    assert!(
        shown.contains("`old` stands 3 times in `a` (lines 1, 3, 3)"),
        "{shown}"
    );
    assert!(shown.contains("code: many_matches"), "{shown}");
    let all = json!({"path": "a", "old": "x", "new": "z", "replace_all": true});
    assert_eq!(
        bench.shown("edit_file", &all),
        "3 replacements, lines 1, 3, 3\n"
    );
    assert_eq!(bench.content("a"), "z\ny\nz z\n");
}

#[test]
fn a_text_that_is_not_there_is_told_with_the_cause() {
    let mut bench = Bench::new();
    bench.file("a", "fn one() {\n    let x = 1;\n}\n\ttab\nSame Case\n");
    bench.shown("read_file", &read("a"));
    for (old, cause) in [
        (
            "fn one() {\n  let x = 1;\n}",
            "from line 1 on the same words stand there with other blanks",
        ),
        ("     1\tfn one() {", "has the line numbers of `read_file`"),
        (
            "fn one() {\\n    let x = 1;",
            "has `\\n` or `\\t` as two characters",
        ),
        ("same case", "from line 5 on it stands there in other case"),
        (
            "fn one() {\n    let y = 2;",
            "its first line stands in line 1",
        ),
        ("nothing like it", "find it with `grep_files`"),
    ] {
        let shown = bench.refused("edit_file", &edit("a", old, "x"));
        assert!(shown.contains(cause), "{old}: {shown}");
        assert!(shown.contains("code: no_match"), "{shown}");
    }
    for (old, new) in [("", "x"), ("tab", "tab")] {
        let shown = bench.refused("edit_file", &edit("a", old, new));
        assert!(shown.starts_with("refused nothing_to_do"), "{shown}");
    }
}

#[test]
fn in_a_file_with_crlf_a_line_end_is_one() {
    let mut bench = Bench::new();
    bench.file("a", "one\r\ntwo\r\nthree\r\n");
    bench.shown("read_file", &read("a"));
    bench.shown("edit_file", &edit("a", "one\ntwo", "1\n2"));
    assert_eq!(bench.content("a"), "1\r\n2\r\nthree\r\n");
    bench.shown("edit_file", &edit("a", "2\r\nthree", "2\r\n3"));
    assert_eq!(bench.content("a"), "1\r\n2\r\n3\r\n");
}

#[test]
fn the_mode_stays_and_no_other_file_is_left() {
    let mut bench = Bench::new();
    let path = bench.file("a", "#!/bin/sh\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
    bench.shown("read_file", &read("a"));
    bench.shown("edit_file", &edit("a", "sh", "bash"));
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.mode() & 0o7777, 0o4755);
    assert_eq!(fs::read_dir(bench.home.work()).unwrap().count(), 1);
}

#[test]
fn a_file_without_permission_to_write_stays_as_it_is() {
    let mut bench = Bench::new();
    let path = bench.file("a", "one\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    bench.shown("read_file", &read("a"));
    let shown = bench.refused("edit_file", &edit("a", "one", "1"));
    assert!(shown.contains("code: read_only_file"), "{shown}");
    assert_eq!(bench.content("a"), "one\n");
}

#[test]
fn a_link_inside_is_written_through_and_one_that_leads_out_is_not() {
    let mut bench = Bench::new();
    let outside = bench.home.path().join("outside");
    put(&outside, b"one\n");
    bench.file("d/a", "one\n");
    symlink("d/a", bench.path("in")).unwrap();
    symlink("../outside", bench.path("out")).unwrap();
    symlink("..", bench.path("up")).unwrap();
    symlink("../absent", bench.path("dangling")).unwrap();
    bench.shown("read_file", &read("in"));
    bench.shown("edit_file", &edit("in", "one", "1"));
    assert!(fs::symlink_metadata(bench.path("in")).unwrap().is_symlink());
    assert_eq!(bench.content("d/a"), "1\n");
    for path in ["out", "up/outside", "up/new", "dangling", "../new"] {
        let shown = bench.refused("write_file", &write(path, "x"));
        assert!(!shown.is_empty(), "{path}");
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "one\n");
    assert!(!bench.home.path().join("new").exists());
    assert!(!bench.home.path().join("absent").exists());
}

#[test]
fn a_hand_writes_nothing_into_the_store() {
    let mut bench = Bench::with(|around| {
        around.workspace = around.store.root().parent().unwrap().to_owned();
    });
    let root = bench.around.workspace.clone();
    symlink("store", root.join("alias")).unwrap();
    for path in ["store/new", "alias/new", "store/key"] {
        let Plan::Hands { stdin, .. } = bench.tools.plan("write_file", &write(path, "x")) else {
            panic!("no call of hands");
        };
        let ask = crate::hand::HandAsk::from_line(stdin.unwrap().as_bytes()).unwrap();
        let refused = crate::hand::perform(ask, &root).unwrap_err();
        assert_eq!(refused.code, "store_is_private", "{path}");
    }
    assert!(!root.join("store/new").exists());
}

#[test]
fn what_is_too_long_or_no_text_is_refused() {
    let mut bench = Bench::new();
    let shown = bench.refused("write_file", &write("a", &"x".repeat(WRITE_BYTES_MAX + 1)));
    assert!(shown.starts_with("refused too_long"), "{shown}");
    let shown = bench.refused("write_file", &write(".", "x"));
    assert!(shown.starts_with("refused is_directory"), "{shown}");
    fs::create_dir(bench.path("d")).unwrap();
    let shown = bench.refused("write_file", &write("d", "x"));
    assert!(shown.contains("code: is_directory"), "{shown}");
    bench.file("b", b"caf\xe9\n");
    bench.shown("read_file", &read("b"));
    let shown = bench.refused("edit_file", &edit("b", "caf", "x"));
    assert!(shown.contains("code: binary_file"), "{shown}");
}

#[test]
fn a_hand_that_did_not_come_to_its_end_is_told_so() {
    let mut bench = Bench::new();
    let ended = |end| CallEnded {
        call: "1.1".to_owned(),
        end,
        exit_code: None,
        signal: None,
        is_out_of_memory: false,
        output_bytes: 0,
        elapsed_ms: 60_000,
        failure: None,
    };
    let log = bench.path("no-log");
    let arguments = write("a", "x");
    for (end, how) in [
        (CallEnd::TimedOut, "timed out after 60 s"),
        (CallEnd::Cancelled, "being cancelled"),
        (CallEnd::NotStarted, "not started"),
        (CallEnd::Exited, "ended"),
    ] {
        let outcome = bench
            .tools
            .finish("write_file", &arguments, &ended(end), &log);
        assert!(!outcome.ok);
        assert!(outcome.shown.contains(how), "{}", outcome.shown);
        assert_eq!(outcome.wrote, None);
    }
}

#[test]
fn words_before_the_answer_of_a_hand_are_passed_over() {
    let mut bench = Bench::new();
    let arguments = write("a", "x");
    let Plan::Hands { program, stdin, .. } = bench.tools.plan("write_file", &arguments) else {
        panic!("no call of hands");
    };
    let (ended, log) = bench.hands("1.1", &program, stdin.as_deref());
    let answer = fs::read_to_string(&log).unwrap();
    put(&log, format!("a warning\n{{\"v\":1}}\n{answer}").as_bytes());
    let outcome = bench.tools.finish("write_file", &arguments, &ended, &log);
    assert!(outcome.ok, "{}", outcome.shown);
}
