//! Promises of a hand as a process: this program is its own hand.
//!
//! What it is told stands on its stdin, what it answers is one line on stdout.

use libtest_mimic::{Arguments, Failed, Trial};
use outlast_testkit::Home;
use std::fs;
use std::io::{self, Write};
use std::process::{Child, Command, ExitCode, Output, Stdio};

fn main() -> ExitCode {
    if let Some(code) = outlast_agent::hand::answer() {
        return code;
    }
    let trials = vec![
        Trial::test("a_hand_writes_where_it_was_started", writes),
        Trial::test("a_request_that_means_nothing_is_answered", answers),
        Trial::test("a_hand_whose_answer_nobody_reads_fails", unread),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
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

fn ask(home: &Home, request: &str) -> io::Result<Output> {
    let mut child = hand(home).spawn()?;
    tell(&mut child, request)?;
    child.wait_with_output()
}

/// Writes all of stdin and closes it.
fn tell(child: &mut Child, request: &str) -> io::Result<()> {
    let mut stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    stdin.write_all(request.as_bytes())
}

fn writes() -> Result<(), Failed> {
    let home = Home::new();
    let request = r#"{"v":1,"task":{"write":{"path":"d/a","content":"x\n"}}}"#;
    for said in ["new file, 1 lines, 2 bytes", "it already held this"] {
        let output = ask(&home, request)?;
        assert_eq!(output.status.code(), Some(0));
        let answer = String::from_utf8(output.stdout)?;
        assert_eq!(answer.lines().count(), 1, "{answer}");
        assert!(answer.contains(said), "{answer}");
        assert_eq!(output.stderr, b"");
    }
    assert_eq!(fs::read_to_string(home.work().join("d/a"))?, "x\n");
    Ok(())
}

fn answers() -> Result<(), Failed> {
    let home = Home::new();
    for request in ["", "{", "{\"v\":2,\"task\":{}}", "[]", "\u{0}"] {
        let output = ask(&home, request)?;
        assert_eq!(output.status.code(), Some(0), "{request}");
        let answer = String::from_utf8(output.stdout)?;
        assert!(answer.contains("\"code\":\"hand_failed\""), "{answer}");
    }
    assert_eq!(fs::read_dir(home.work())?.count(), 0);
    Ok(())
}

fn unread() -> Result<(), Failed> {
    let home = Home::new();
    let mut child = hand(&home).stderr(Stdio::null()).spawn()?;
    drop(child.stdout.take());
    tell(&mut child, "{}")?;
    assert_eq!(child.wait()?.code(), Some(1));
    Ok(())
}
