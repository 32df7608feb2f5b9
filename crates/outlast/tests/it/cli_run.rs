//! `run` prints the id alone, or with `--wait` passes output and exit code on.
//!
//! Shown on the program itself, its two streams apart.

use crate::case_ground::{Ground, SOON, write};
use outlast_testkit::{Output, capture, eventually, eventually_some};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::process::{Child, Command, Stdio};

/// What a child that is signalled gave, once it has ended.
fn ended(child: Child) -> Output {
    let output = child.wait_with_output().expect("it is our child");
    Output {
        code: output.status.code(),
        signal: None,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stdout_bytes: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a pid is positive"), signal).expect("it is our child");
}

fn with_stdin(mut command: Command, text: &[u8]) -> Output {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    // A program that refuses its input does not read all of it.
    stdin.write_all(text).ok();
    drop(stdin);
    ended(child)
}

#[test]
fn a_start_prints_the_id_alone_on_one_line() {
    let ground = Ground::new();
    let output = ground.program.run(&["run", "--", "true"]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let id = output.stdout.strip_suffix('\n').expect("a line");
    assert_eq!(id.len(), 16);
    assert_eq!(ground.ended(id)["status"], "completed");
}

#[test]
fn a_start_with_json_prints_the_record() {
    let ground = Ground::new();
    let record = ground
        .program
        .json(&["run", "--json", "--label", "l", "--", "sleep", "60"]);
    assert_eq!(record["schema"], "outlast.run/1");
    assert_eq!(
        (&record["status"], &record["label"]),
        (&"running".into(), &"l".into())
    );
    assert_eq!(record["origin"]["host"], "cli");
}

#[test]
fn a_wait_says_the_id_first_then_passes_output_and_code_on() {
    let ground = Ground::new();
    let output = ground
        .program
        .run(&["run", "--wait", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(7), "out\nerr\n")
    );
    let id = output.stderr.strip_suffix('\n').expect("a line");
    assert_eq!(ground.record(id)["exit_code"], 7);
}

#[test]
fn a_wait_exits_with_the_code_that_tells_what_became_of_the_run() {
    let ground = Ground::new();
    let code = |words: &[&str]| {
        let words = [&["run", "--wait"], words].concat();
        ground.program.run(&words).code
    };
    assert_eq!(code(&["--", "true"]), Some(0));
    assert_eq!(code(&["-c", "exit 101"]), Some(101));
    assert_eq!(code(&["-c", "kill -KILL $$"]), Some(137));
    assert_eq!(code(&["--timeout", "50ms", "--", "sleep", "60"]), Some(124));
    assert_eq!(code(&["--", "no-such-program-here"]), Some(127));
    assert_eq!(code(&["--cwd", "/nonexistent", "--", "true"]), Some(126));
    assert_eq!(code(&["--network", "none", "--", "true"]), Some(126));
    assert_eq!(code(&["--timeout", "abc", "--", "true"]), Some(2));
}

#[test]
fn a_wait_with_json_prints_the_record_of_the_end_alone() {
    let ground = Ground::new();
    let output = ground
        .program
        .run(&["run", "--wait", "--json", "-c", "echo out; exit 3"]);
    let record: serde_json::Value = serde_json::from_str(&output.stdout).expect("a document");
    assert_eq!((output.code, &record["exit_code"]), (Some(3), &3.into()));
    assert_eq!(record["summary"], "out");
}

#[test]
fn an_interrupt_ends_the_wait_and_not_the_run() {
    let ground = Ground::new();
    for sent in [Signal::INT, Signal::TERM] {
        let gate = ground.gate(&format!("gate{}", sent.as_raw()));
        let text = format!("echo begun; read -r _ <gate{}; echo done", sent.as_raw());
        let child = ground.spawn(&["run", "--wait", "-c", &text]);
        let id = eventually_some("the run has begun", SOON, || {
            let runs = ground.runs();
            let run = runs.iter().find(|run| run["summary"] == "begun");
            run.and_then(|run| run["id"].as_str().map(str::to_owned))
        });
        signal(&child, sent);
        let output = ended(child);
        assert_eq!((output.code, output.stdout.as_str()), (Some(75), "begun\n"));
        assert!(output.stderr.starts_with(&id), "{output:?}");
        let short: String = id.chars().take(4).collect();
        assert!(
            output.stderr.contains(&format!("outlast wait {short},")),
            "{output:?}"
        );
        assert_eq!(ground.record(&id)["status"], "running");
        gate.open(1);
        assert_eq!(ground.wait(&id), 0);
        assert_eq!(ground.text(&id), "begun\ndone\n");
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_wait_quietly() {
    let ground = Ground::new();
    let gate = ground.gate("gate");
    let text = "echo first; read -r _ <gate; yes | head -c 300000";
    let mut child = ground.spawn(&["run", "--wait", "-c", text]);
    eventually("the run has begun", SOON, || ground.count("running") == 1);
    drop(child.stdout.take());
    gate.open(1);
    let output = ended(child);
    assert_eq!(output.code, Some(75), "{output:?}");
    assert!(!output.stderr.contains("error"), "{output:?}");
    let id = output.stderr.lines().next().expect("the id").to_owned();
    assert_eq!(ground.wait(&id), 0);
    assert_eq!(ground.raw(&id).len(), 300_006);
}

#[test]
fn a_text_of_four_mebibytes_comes_from_stdin_and_one_more_byte_is_refused() {
    let ground = Ground::new();
    let text = |bytes: usize| {
        let mut text = b"echo fine; exit 4\n".to_vec();
        text.resize(bytes, b'#');
        text
    };
    let command = || ground.program.command(&["run", "--wait", "-c", "-"]);
    let output = with_stdin(command(), &text(4 << 20));
    assert_eq!((output.code, output.stdout.as_str()), (Some(4), "fine\n"));
    let output = with_stdin(command(), &text((4 << 20) + 1));
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("code: too_long"), "{output:?}");
    assert_eq!(ground.runs().len(), 1);
}

#[test]
fn the_run_never_reads_the_stdin_of_its_caller() {
    let ground = Ground::new();
    let command = ground.program.command(&["run", "--wait", "--", "cat"]);
    let output = with_stdin(command, b"not for the run\n");
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""));
}

#[test]
fn a_key_starts_one_run_however_often_it_is_used() {
    let ground = Ground::new();
    let words = ["run", "--idempotency-key", "nightly", "--", "true"];
    let first = ground.program.run(&words);
    let again = ground.program.run(&words);
    assert_eq!(first.stdout, again.stdout);
    assert!(
        again.stderr.contains("started before with this key"),
        "{again:?}"
    );
    let other = ground
        .program
        .run(&["run", "--idempotency-key", "nightly", "--", "false"]);
    assert_eq!(other.code, Some(1));
    assert!(
        other.stderr.contains("code: idempotency_conflict"),
        "{other:?}"
    );
    assert_eq!(ground.runs().len(), 1);
}

#[test]
fn a_full_store_refuses_or_queues_as_asked() {
    let ground = Ground::with_limits("runs_per_store = 1");
    let gate = ground.gate("gate");
    let first = ground.shell("read -r _ <gate");
    let refused = ground.program.run(&["run", "--", "true"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("code: at_capacity"), "{refused:?}");
    assert!(refused.stderr.contains(&first), "{refused:?}");

    let queued = ground.program.run(&["run", "--queue", "--", "true"]);
    assert_eq!(queued.code, Some(0), "{queued:?}");
    assert!(queued.stderr.contains("waits for a place"), "{queued:?}");
    let second = queued.stdout.trim();
    assert_eq!(ground.record(second)["status"], "queued");
    gate.open(1);
    assert_eq!(ground.wait(second), 0);

    let third = ground.shell("read -r _ <gate");
    let late = ground
        .program
        .run(&["run", "--wait", "--queue=100ms", "--", "true"]);
    assert_eq!(late.code, Some(126), "{late:?}");
    let said = "note: failed: no place was free in time\n";
    assert!(late.stderr.ends_with(said), "{late:?}");
    ground.cancel(&third);
}

#[test]
fn a_time_of_day_is_that_of_the_callers_zone_and_so_are_the_times_of_pages() {
    let ground = Ground::new();
    // A name needs the tables of the machine, a rule does not.
    for zone in ["America/New_York", "EST5EDT,M3.2.0,M11.1.0", "<+0545>-5:45"] {
        let run = |words: &[&str]| {
            let mut command = ground.program.command(words);
            command.env("TZ", zone);
            let output = capture(command);
            assert_eq!(output.code, Some(0), "{output:?}");
            output.stdout
        };
        let id = run(&["run", "--deadline", "18:00", "--", "true"]);
        let id = id.trim();
        let page = run(&["show", id]);
        assert!(page.contains("18:00:00, grace"), "{zone}: {page}");
        let deadline = ground.record(id)["deadline"].clone();
        let minutes = if zone.starts_with('<') {
            "12:15:00.000Z"
        } else {
            ":00:00.000Z"
        };
        let deadline = deadline.as_str().expect("a time");
        assert!(deadline.ends_with(minutes), "{zone}: {deadline}");
        assert!(!deadline.contains("T18:"), "{zone}: {deadline}");
    }
}

#[test]
fn a_run_that_ends_with_its_session_ends_with_the_wait_that_holds_it() {
    let ground = Ground::new();
    let words = [
        "run",
        "--wait",
        "--lifetime",
        "session",
        "--",
        "sleep",
        "600",
    ];
    let child = ground.spawn(&words);
    eventually("the run has begun", SOON, || ground.count("running") == 1);
    signal(&child, Signal::INT);
    let output = ended(child);
    assert_eq!(output.code, Some(75), "{output:?}");
    let id = output.stderr.lines().next().expect("the id").to_owned();
    eventually("the run ends", SOON, || {
        ground.record(&id)["status"] == "cancelled"
    });
    assert_eq!(ground.record(&id)["ended_by"], "session");
}

#[test]
fn a_secret_reaches_the_run_and_no_page() {
    let ground = Ground::new();
    let mut command = ground.program.command(&[
        "run",
        "--json",
        "--wait",
        "--secret-env",
        "PLAIN_NAME",
        "-c",
        "echo v=$PLAIN_NAME",
    ]);
    command.env("PLAIN_NAME", "hunter2-hunter2");
    let output = capture(command);
    assert_eq!(output.code, Some(0), "{output:?}");
    let record: serde_json::Value = serde_json::from_str(&output.stdout).expect("a document");
    let id = record["id"].as_str().expect("an id");
    for words in [
        &["show", id][..],
        &["show", "--json", id],
        &["show", "--env", id],
        &["logs", id],
        &["events", id],
        &["export", id],
        &["ps"],
    ] {
        let shown = ground.program.run(words);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        assert!(!shown.stdout.contains("hunter2"), "{words:?}: {shown:?}");
    }
    assert!(!output.stdout.contains("hunter2"), "{output:?}");
    assert_eq!(ground.raw(id), b"v=hunter2-hunter2\n");
    assert!(
        ground
            .program
            .run(&["show", "--env", id])
            .stdout
            .contains("PLAIN_NAME\n")
    );
}

#[test]
fn a_configuration_that_means_nothing_starts_nothing() {
    let ground = Ground::with_limits("run_per_store = 1");
    let output = ground.program.run(&["run", "--", "touch", "made"]);
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("limits.run_per_store"), "{output:?}");
    assert!(!ground.home.work().join("made").exists());
    let broken = Ground::with_limits("grace =");
    let output = broken.program.run(&["run", "--", "true"]);
    assert!(output.stderr.contains("code: config_form"), "{output:?}");
    assert!(output.stderr.contains("at line 2, column"), "{output:?}");
    assert_eq!(output.stderr.lines().count(), 3, "{output:?}");
    let mended = ground.home.path().join(".config/outlast/config.toml");
    write(&mended, "[limits]\nruns_per_store = 1\n");
    assert_eq!(
        ground.program.run(&["run", "--wait", "--", "true"]).code,
        Some(0)
    );
}
