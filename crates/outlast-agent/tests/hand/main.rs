//! Promises of a hand as a process: this program is its own hand.
//!
//! What it is told stands on its stdin, what it answers is one line on stdout.

use libtest_mimic::{Arguments, Failed, Trial};
use outlast_testkit::Home;
use std::fs;
use std::io::Write;
use std::process::{Command, ExitCode, Output, Stdio};

fn main() -> ExitCode {
    if let Some(code) = outlast_agent::hand::answer() {
        return code;
    }
    let trials = vec![
        Trial::test("a_hand_writes_where_it_was_started", || done(writes)),
        Trial::test("a_request_that_means_nothing_is_answered", || done(answers)),
        Trial::test("a_hand_whose_answer_nobody_reads_fails", || done(unread)),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn done(trial: fn()) -> Result<(), Failed> {
    trial();
    Ok(())
}

fn hand(home: &Home) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg("__hand")
        .env_clear()
        .current_dir(home.work())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn ask(home: &Home, request: &str) -> Output {
    let mut child = hand(home).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(request.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn writes() {
    let home = Home::new();
    let request = r#"{"v":1,"task":{"write":{"path":"d/a","content":"x\n"}}}"#;
    for said in ["new file, 1 lines, 2 bytes", "it already held this"] {
        let output = ask(&home, request);
        assert_eq!(output.status.code(), Some(0));
        let answer = String::from_utf8(output.stdout).unwrap();
        assert_eq!(answer.lines().count(), 1, "{answer}");
        assert!(answer.contains(said), "{answer}");
        assert_eq!(output.stderr, b"");
    }
    assert_eq!(fs::read_to_string(home.work().join("d/a")).unwrap(), "x\n");
}

fn answers() {
    let home = Home::new();
    for request in ["", "{", "{\"v\":2,\"task\":{}}", "[]", "\u{0}"] {
        let output = ask(&home, request);
        assert_eq!(output.status.code(), Some(0), "{request}");
        let answer = String::from_utf8(output.stdout).unwrap();
        assert!(answer.contains("\"code\":\"hand_failed\""), "{answer}");
    }
    assert_eq!(fs::read_dir(home.work()).unwrap().count(), 0);
}

fn unread() {
    let home = Home::new();
    let mut child = hand(&home).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{}").unwrap();
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}
