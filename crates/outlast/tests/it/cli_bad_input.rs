//! Bad input is a clear error with hint and code, and leaves nothing behind but the `failed`
//! record of a command that could not be executed.

use crate::case_ground::{Ground, write};
use outlast_testkit::{Output, capture};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// Asserts that `output` is an error of this code, told in its three lines.
#[track_caller]
fn assert_refused(output: &Output, exit: i32, code: &str) {
    assert_eq!(output.code, Some(exit), "{output:#?}");
    assert_eq!(output.stdout, "", "{output:#?}");
    let lines: Vec<&str> = output.stderr.lines().collect();
    let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
    assert!(has("error: ") && has("hint: "), "{output:#?}");
    assert!(has(&format!("code: {code}")), "{output:#?}");
}

fn run(ground: &Ground, words: &[&str]) -> Output {
    ground.program.run(&[&["run"], words].concat())
}

/// Asserts that words of `run` are refused and that there is no record of it.
#[track_caller]
fn assert_no_run(words: &[&str], exit: i32, code: &str) {
    let ground = Ground::new();
    assert_refused(&run(&ground, words), exit, code);
    assert!(ground.run_dirs().is_empty(), "{:?}", ground.run_dirs());
}

/// Asserts that words of `run` leave one failed record with this code and nothing else.
#[track_caller]
fn assert_failed_record(ground: &Ground, words: &[&str], exit: i32, code: &str) {
    assert_refused(&run(ground, words), exit, code);
    let runs = ground.runs();
    assert_eq!(runs.len(), 1, "{runs:#?}");
    assert_eq!(
        (&runs[0]["status"], &runs[0]["failure"]["code"]),
        (&"failed".into(), &code.into())
    );
    assert_eq!(ground.run_dirs().len(), 1);
    ground.assert_no_process();
}

#[test]
fn what_is_left_of_a_run_that_cannot_be_removed_is_counted() {
    let ground = Ground::new();
    let id = ground.shell("sleep 600 >/dev/null 2>&1 &");
    ground.wait(&id);
    let output = ground.program.run(&["rm", &id]);
    assert_refused(&output, 1, "leftovers_alive");
    assert!(
        output.stderr.contains("1 of its processes is alive"),
        "{output:#?}"
    );
}

#[test]
fn an_unknown_program_is_a_failed_record_and_127() {
    let ground = Ground::new();
    assert_failed_record(
        &ground,
        &["--", "no-such-program-here"],
        127,
        "no_such_program",
    );
}

#[test]
fn a_missing_directory_and_a_file_in_its_place_are_failed_records_and_126() {
    assert_failed_record(
        &Ground::new(),
        &["--cwd", "missing", "--", "true"],
        126,
        "work_dir",
    );
    let ground = Ground::new();
    write(&ground.home.work().join("file"), "");
    assert_failed_record(&ground, &["--cwd", "file", "--", "true"], 126, "work_dir");
}

#[test]
fn a_script_that_says_no_interpreter_is_a_failed_record_and_126() {
    let ground = Ground::new();
    ground.script("script", "echo hi\n");
    assert_failed_record(&ground, &["--", "./script"], 126, "exec_format");
}

#[test]
fn a_script_whose_interpreter_is_missing_is_a_failed_record_and_126() {
    let ground = Ground::new();
    ground.script("script", "#!/nonexistent/interpreter\n");
    assert_failed_record(&ground, &["--", "./script"], 126, "no_interpreter");
}

#[test]
fn a_file_that_may_not_be_executed_is_a_failed_record_and_126() {
    let ground = Ground::new();
    write(&ground.home.work().join("data"), "#!/bin/sh\n");
    assert_failed_record(&ground, &["--", "./data"], 126, "not_executable");
}

#[test]
fn an_error_with_json_is_one_document_on_stdout() {
    let ground = Ground::new();
    let output = ground
        .program
        .run(&["run", "--json", "--", "no-such-program-here"]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(127), ""));
    let document: serde_json::Value = serde_json::from_str(&output.stdout).expect("a document");
    assert_eq!(document["error"]["code"], "no_such_program");
    assert_eq!(document["error"]["id"], ground.runs()[0]["id"]);
    let usage = ground.program.json(&["ps", "--json", "--status", "asleep"]);
    assert_eq!(usage["error"]["code"], "usage");
    let none = ground.program.json(&["show", "--json", "nothing"]);
    assert_eq!(none["error"]["code"], "no_such_run");
}

#[test]
fn an_empty_command_is_refused() {
    assert_no_run(&[], 2, "usage");
    assert_no_run(&["--", ""], 2, "empty_command");
    assert_no_run(&["-c", "  \n"], 2, "empty_command");
    assert_no_run(&["-c", "a", "b"], 2, "usage");
}

#[test]
fn an_argument_longer_than_the_kernel_takes_is_refused() {
    let longest = format!(": {}", "x".repeat(131_069));
    let ground = Ground::new();
    let output = run(&ground, &["--wait", "-c", &longest]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    // An argument that is itself too long for the kernel cannot be given to us either.
    let mut command = ground.program.command(&["run", "-c", "-"]);
    command.stdin(Stdio::piped());
    let output = with_input(command, b"true\0false");
    assert_refused(&output, 2, "nul_byte");
    assert_eq!(ground.runs().len(), 1);
}

fn with_input(mut command: std::process::Command, input: &[u8]) -> Output {
    use std::io::Write;
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(input).expect("a pipe has room for a line");
    drop(writer);
    command.stdin(reader);
    capture(command)
}

#[test]
fn what_is_not_utf_8_is_refused_and_named() {
    let odd = || OsString::from_vec(b"caf\xe9".to_vec());
    let ground = Ground::new();
    let program = |words: Vec<OsString>| ground.program.run(&words);
    for words in [
        vec!["run".into(), "--".into(), "echo".into(), odd()],
        vec![
            "run".into(),
            "--label".into(),
            odd(),
            "--".into(),
            "true".into(),
        ],
        vec!["run".into(), "-c".into(), odd()],
        vec![
            "run".into(),
            "--cwd".into(),
            odd(),
            "--".into(),
            "true".into(),
        ],
        vec!["show".into(), odd()],
    ] {
        let output = program(words);
        assert_refused(&output, 2, "not_utf8");
        assert!(output.stderr.contains("caf\u{fffd}"), "{output:#?}");
    }
    let stdin = with_input(ground.program.command(&["run", "-c", "-"]), b"echo caf\xe9");
    assert_refused(&stdin, 2, "not_utf8");
    assert!(ground.run_dirs().is_empty());
}

#[test]
fn a_time_that_is_none_is_refused() {
    assert_no_run(&["--timeout", "-1", "--", "true"], 2, "negative_duration");
    assert_no_run(&["--timeout", "abc", "--", "true"], 2, "no_duration");
    assert_no_run(&["--timeout", "", "--", "true"], 2, "no_duration");
    assert_no_run(&["--deadline", "soon", "--", "true"], 2, "no_deadline");
    let past = ["--deadline", "2020-01-01T00:00:00Z", "--", "true"];
    assert_no_run(&past, 2, "deadline_passed");
    assert_no_run(&["--max-output", "much", "--", "true"], 2, "no_size");
}

#[test]
fn a_timeout_of_400_years_is_clamped_and_said() {
    let ground = Ground::new();
    let output = run(&ground, &["--timeout", "146100d", "--", "true"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(output.stderr.starts_with("note: timeout "), "{output:#?}");
    assert_eq!(ground.runs()[0]["timeout_secs"], 2_592_000.0);
}

#[test]
fn a_label_of_10000_characters_is_cut_and_no_error() {
    let ground = Ground::new();
    let output = run(&ground, &["--label", &"é".repeat(10_000), "--", "true"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let label = ground.runs()[0]["label"]
        .as_str()
        .expect("a label")
        .to_owned();
    assert_eq!(label.chars().count(), 200);
    assert!(label.ends_with('…'), "{label}");
}

#[test]
fn other_parts_that_mean_nothing_are_refused() {
    assert_no_run(
        &["--stop-signal", "NOPE", "--", "true"],
        2,
        "unknown_signal",
    );
    assert_no_run(&["--session", " ", "--", "true"], 2, "blank");
    assert_no_run(&["--env", "=x", "--", "true"], 2, "environment_name");
    assert_no_run(&["--env", "x", "--", "true"], 2, "no_pair");
    assert_no_run(
        &["--secret-env", "NOT_SET_HERE", "--", "true"],
        2,
        "secret_not_set",
    );
    assert_no_run(&["--lifetime", "session", "--", "true"], 2, "no_holder");
    assert_no_run(
        &["--network", "none", "--", "true"],
        126,
        "containment_unavailable",
    );
}

#[test]
fn a_store_that_is_open_to_others_is_refused_with_the_fix() {
    let ground = Ground::new();
    let store = ground.home.store();
    fs::create_dir(&store).expect("the home can be filled");
    fs::set_permissions(&store, PermissionsExt::from_mode(0o755)).expect("it is ours");
    let output = run(&ground, &["--", "true"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("chmod 700"), "{output:#?}");
    fs::set_permissions(&store, PermissionsExt::from_mode(0o700)).expect("it is ours");
    assert_eq!(run(&ground, &["--", "true"]).code, Some(0));
}

#[test]
fn a_store_of_someone_else_is_refused() {
    let ground = Ground::new();
    // The root of the file system belongs to root; a store of ours cannot.
    let is_root = rustix::process::geteuid().is_root();
    let store = ground.home.store();
    fs::create_dir(&store).expect("the home can be filled");
    fs::set_permissions(&store, PermissionsExt::from_mode(0o700)).expect("it is ours");
    let theirs = if is_root {
        std::os::unix::fs::chown(&store, Some(12_345), None).expect("root may");
        store
    } else {
        "/root".into()
    };
    let mut command = ground.program.command(&["run", "--", "true"]);
    command.env("OUTLAST_HOME", theirs);
    let output = capture(command);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("hint: "), "{output:#?}");
}

#[test]
fn an_id_that_fits_two_runs_or_none_is_told_with_its_candidates() {
    let ground = Ground::new();
    let first = ground.start(&["--label", "twin", "--", "true"]);
    let second = ground.start(&["--label", "twin", "--", "true"]);
    ground.wait(&first);
    ground.wait(&second);
    for verb in ["show", "logs", "wait", "cancel", "events", "rm"] {
        let both = ground.program.run(&[verb, "twin"]);
        assert_eq!(both.code, Some(1), "{both:#?}");
        assert!(
            both.stderr.contains(&first) && both.stderr.contains(&second),
            "{both:#?}"
        );
        let none = ground.program.run(&[verb, "nothing"]);
        assert_refused(&none, 3, "no_such_run");
    }
    assert_eq!(ground.runs().len(), 2);
}
