//! Cases TW and TM: time that a run may take, and time that somebody waits for it.
//!
//! Each test is a case of `docs/reference/cases.md`. What takes seconds there
//! is shorter here; each test says how.

use crate::case_ground::{BUSY, Ground, SOON, assert_within, span_ms, write};
use jiff::{SignedDuration, Timestamp};
use outlast_testkit::{capture, eventually};
use serde_json::{Value, json};
use std::{process::Child, time::Instant};

/// Case TW-02. A wait of 1 s stands for the 45 s of a tool call.
#[test]
fn a_bounded_wait_says_that_the_run_goes_on_and_loses_nothing() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let id = ground.shell("read -r _ <go; echo result");
    let begun = Instant::now();
    let waited = ground.program.run(&["wait", &id, "--for", "1s", "--json"]);
    assert_within(1_000, begun);
    assert_eq!(waited.code, Some(75), "{waited:#?}");
    let document: Value = serde_json::from_str(&waited.stdout).expect("a document");
    assert_eq!(document["runs"][0]["status"], "running");
    // What to do next is said to people.
    let waited = ground.program.run(&["wait", &id, "--for", "0"]);
    assert!(waited.stderr.contains("hint: outlast wait"), "{waited:#?}");

    gate.open(1);
    let later = ground.program.json(&["wait", &id, "--json"]);
    assert_eq!(later["runs"][0]["status"], "completed");
    assert_eq!(ground.text(&id), "result\n");
}

/// Case TW-03. All times are half of those of the case: three runs of 1.5 s with a limit of
/// 2.5 s, the last of which ends after 4.5 s.
#[test]
fn time_in_the_queue_does_not_count_against_the_time_limit() {
    let ground = Ground::with_limits("runs_per_session = 1");
    let options = ["--session", "s", "--queue", "--timeout", "2.5s"];
    let begun = Instant::now();
    let ids: Vec<String> = (0..3)
        .map(|_| ground.shell_with(&options, "sleep 1.5"))
        .collect();
    assert_eq!((ground.count("running"), ground.count("queued")), (1, 2));
    let records: Vec<Value> = ids.iter().map(|id| ground.ended(id)).collect();
    assert_within(5_000, begun);
    for record in &records {
        assert_eq!(record["status"], "completed", "{record:#}");
    }
    let [first, second, third] = records.as_slice() else {
        panic!("three were started");
    };
    // In the order of their arrival, one after the other.
    assert!(span_ms(&first["ended"], &second["started"]) >= 0);
    assert!(span_ms(&second["ended"], &third["started"]) >= 0);
    assert!(
        span_ms(&third["created"], &third["ended"]) >= 3_900,
        "{third:#}"
    );
    assert_eq!(third["timeout_secs"], 2.5);
}

/// Case TW-03: the time in the queue has a limit of its own.
#[test]
fn a_run_that_waits_too_long_for_its_place_fails_and_never_ran() {
    let ground = Ground::with_limits("runs_per_session = 1");
    let first = ground.start(&["--session", "s", "--", "sleep", "300"]);
    let queued = ground.start(&["--session", "s", "--queue=200ms", "--", "touch", "was-run"]);
    let record = ground.ended(&queued);
    let seen = ["status", "ended_by", "started"].map(|field| record[field].clone());
    assert_eq!(
        seen,
        [json!("failed"), json!("limit:queue"), json!(null)],
        "{record:#}"
    );
    assert!(!ground.home.work().join("was-run").exists());
    assert_eq!(ground.record(&first)["status"], "running");
}

/// Case TW-04. Each call is a process of its own, which is what a restart of a server is.
#[test]
fn a_start_that_is_repeated_with_its_key_gives_the_same_run() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let text = "echo x >>f; read -r _ <go";
    let start = || ground.shell_with(&["--idempotency-key", "k1"], text);
    let first = start();
    assert_eq!(start(), first, "while it runs");
    gate.open(1);
    assert_eq!(ground.ended(&first)["status"], "completed");
    let words = ["run", "--json", "--idempotency-key", "k1", "-c", text];
    let third = ground.program.json(&words);
    assert_eq!(
        (&third["id"], &third["status"]),
        (&json!(first), &json!("completed"))
    );

    let other = [
        "run",
        "--json",
        "--idempotency-key",
        "k1",
        "-c",
        "echo y >>f",
    ];
    let refused = ground.program.run(&other);
    assert_ne!(refused.code, Some(0));
    let refused: Value = serde_json::from_str(&refused.stdout).expect("a document");
    assert_eq!(refused["error"]["code"], "idempotency_conflict");
    assert!(
        refused["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains(&first))
    );
    assert_eq!((ground.runs().len(), ground.file("f").as_str()), (1, "x\n"));
}

/// Case TW-04, with all the starts at once.
#[test]
fn starts_with_one_key_at_once_are_one_run() {
    let ground = Ground::new();
    let words = [
        "run",
        "--idempotency-key",
        "k1",
        "-c",
        "echo x >>f; sleep 300",
    ];
    let starts: Vec<Child> = (0..8).map(|_| ground.spawn(&words)).collect();
    let mut printed: Vec<String> = starts
        .into_iter()
        .map(|start| start.wait_with_output().expect("it is our child"))
        .inspect(|output| assert!(output.status.success(), "{output:?}"))
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .collect();
    printed.dedup();
    assert_eq!(printed.len(), 1);
    eventually("it writes", SOON, || ground.file("f") == "x\n");
    assert_eq!((ground.runs().len(), ground.run_dirs().len()), (1, 1));
}

/// Case TW-05. Gates stand for the 2 and 30 s of the two runs, so that only the waking is
/// measured.
#[test]
fn a_wait_for_any_ends_with_the_first_run_and_one_for_all_with_the_last() {
    let ground = Ground::new();
    let (short, long) = (ground.gate("short"), ground.gate("long"));
    let a = ground.shell("read -r _ <short");
    let b = ground.shell("read -r _ <long; exit 3");
    for (words, gate, code) in [
        (["wait", "--for", "40s", "--any", &b, &a], &short, 0),
        (["wait", "--for", "40s", "--json", &a, &b], &long, 3),
    ] {
        let mut wait = ground.spawn(&words);
        assert_eq!(
            ground.program.run(&["wait", "--for", "300ms", &b]).code,
            Some(75)
        );
        assert!(
            wait.try_wait().expect("it is our child").is_none(),
            "it waits"
        );
        let begun = Instant::now();
        gate.open(1);
        let output = wait.wait_with_output().expect("it is our child");
        assert_within(500, begun);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    }
}

/// The wall clock is made to jump for all that the program writes and compares; only the timer
/// of a deadline follows the machine's own, see the next test.
#[test]
fn a_clock_that_jumps_changes_no_limit_no_duration_and_no_order() {
    let ground = Ground::new();
    let shift = ground.home.work().join("shift");
    let jump = |hours: i64| write(&shift, &(hours * 3_600_000).to_string());
    let shifted = |words: &[&str]| {
        let mut command = ground.program.command(words);
        command.env("OUTLAST_FAULT", format!("clock@{}", shift.display()));
        let output = capture(command);
        assert_eq!(output.code, Some(0), "{output:#?}");
        output.stdout
    };
    let document =
        |words: &[&str]| -> Value { serde_json::from_str(&shifted(words)).expect("a document") };
    let is_short = |record: &Value| record["elapsed_ms"].as_u64() < Some(60_000);
    jump(0);
    let gate = ground.gate("go");
    let words = ["run", "--timeout", "10m", "-c", "read -r _ <go"];
    let id = shifted(&words).trim().to_owned();
    let before = document(&["show", "--json", &id]);

    jump(2);
    let seen = document(&["show", "--json", &id]);
    assert_eq!(seen["status"], "running");
    assert!(is_short(&seen), "{seen:#}");

    jump(-3);
    shifted(&["run", "--wait", "--", "true"]);
    gate.open(1);
    shifted(&["wait", &id]);
    let record = document(&["show", "--json", &id]);
    assert_eq!(record["status"], "completed", "{record:#}");
    assert!(is_short(&record), "{record:#}");
    assert_eq!(record["started"], before["started"]);
    assert!(
        span_ms(&record["started"], &record["ended"]) < -3_500_000,
        "it was made to jump"
    );
    let events = shifted(&["events", &id, "--jsonl"]);
    let numbers: Vec<u64> = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an event"))
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    assert_eq!(numbers, [0, 1], "{events}");
    shifted(&["gc"]);
    let listed = document(&["ps", "--json"]);
    assert_eq!(
        listed["runs"].as_array().map(Vec::len),
        Some(2),
        "nothing became old"
    );
}

/// Case TM-02. No clock can be set here: that the deadline follows a clock that jumps is the
/// kernel's promise for the timer that is used. The deadline is 2 s ahead in place of 10.
#[test]
fn a_deadline_is_a_time_of_the_wall_clock_and_a_time_limit_is_not() {
    let ground = Ground::new();
    let limited = ground.start(&["--timeout", "60s", "--", "sleep", "300"]);
    let at = Timestamp::now() + SignedDuration::from_secs(2);
    let deadline = at.to_string();
    let id = ground.start(&["--deadline", &deadline, "--", "sleep", "300"]);
    let record = ground.ended(&id);
    let seen = ["status", "ended_by"].map(|field| record[field].clone());
    assert_eq!(seen, [json!("timed_out"), json!("deadline")]);
    let late_ms = span_ms(&record["deadline"], &record["ended"]);
    let busy_ms = i64::try_from(BUSY.as_millis()).expect("it is short");
    assert!(
        (0..=2_000 + busy_ms).contains(&late_ms),
        "{late_ms} ms late"
    );
    assert_eq!(ground.record(&limited)["status"], "running");
}

/// Case TM-03. Nothing is scheduled by the time of day; what there is, is one instant, and a
/// date without an offset, which the night of a change has twice or never, is refused.
#[test]
fn a_date_without_an_offset_is_no_deadline_and_no_option_schedules_a_start() {
    let ground = Ground::new();
    for words in [
        ["--deadline", "2026-11-01T01:30:00"],
        ["--start-at", "01:30"],
        ["--every", "1d"],
    ] {
        let mut command = ground.program.command(&["run"]);
        command.args(words).args(["--", "true"]);
        let output = capture(command);
        assert_eq!(output.code, Some(2), "{output:#?}");
    }
    assert_eq!(ground.run_dirs().len(), 0);
}
