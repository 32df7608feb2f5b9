//! A call tells what the program gave, whatever the machine is like.

use std::process::{Command, Stdio};

use serde_json::json;

use super::{Output, Program, capture};
use crate::Home;

fn shell(home: &Home, text: &str) -> Output {
    Program::new("/bin/sh", home).run(&["-c", text])
}

#[test]
fn a_call_gives_both_streams_and_the_exit_code() {
    let home = Home::new();
    let output = shell(&home, r"printf 'out\377'; echo err >&2; exit 7");
    let expected = Output {
        code: Some(7),
        signal: None,
        stdout: "out\u{fffd}".to_owned(),
        stdout_bytes: b"out\xff".to_vec(),
        stderr: "err\n".to_owned(),
    };
    assert_eq!(output, expected);
}

#[test]
fn a_call_that_a_signal_ends_has_no_code() {
    let home = Home::new();
    let output = shell(&home, "kill -TERM $$");
    assert_eq!((output.code, output.signal), (None, Some(15)));
}

#[test]
fn a_program_sees_nothing_of_the_machine_but_its_path() {
    let home = Home::new();
    let output = Program::new("/usr/bin/env", &home).run::<&str>(&[]);
    let mut seen: Vec<&str> = output.stdout.lines().collect();
    seen.sort_unstable();
    let (path, place) = (std::env::var("PATH").unwrap(), home.path().display());
    let mut expected = vec![
        format!("PATH={path}"),
        format!("HOME={place}"),
        format!("OUTLAST_HOME={place}/store"),
        "LANG=C.UTF-8".to_owned(),
        home.mark(),
    ];
    expected.sort_unstable();
    assert_eq!(seen, expected);
}

#[test]
fn a_program_starts_in_the_work_directory_with_an_empty_stdin() {
    let home = Home::new();
    let output = shell(&home, "pwd -P; cat");
    assert_eq!(output.stdout, format!("{}\n", home.work().display()));
}

#[test]
fn a_document_is_read_whatever_the_exit_code_is() {
    let home = Home::new();
    let program = Program::new("/bin/sh", &home);
    let value = program.json(&["-c", r#"echo '{"error":{"code":"no_such_run"}}'; exit 3"#]);
    assert_eq!(value, json!({"error": {"code": "no_such_run"}}));
}

#[test]
#[should_panic(expected = "not JSON")]
fn what_is_no_document_fails_the_test() {
    let home = Home::new();
    Program::new("/bin/sh", &home).json(&["-c", "echo words"]);
}

#[test]
fn a_prepared_command_keeps_its_stdin() {
    let home = Home::new();
    let mut command: Command = Program::new("/bin/cat", &home).command::<&str>(&[]);
    let (read, write) = std::io::pipe().unwrap();
    command.stdin(Stdio::from(read));
    std::io::Write::write_all(&mut &write, b"words").unwrap();
    drop(write);
    assert_eq!(capture(command).stdout, "words");
}
