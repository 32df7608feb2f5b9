//! Cases LS: what a record says is so, whoever died and whoever looks.
//!
//! Each test is a case of `docs/reference/cases.md`. What would need a server
//! of ours is shown with the carriers there are: the calls of the program.

use crate::case_ground::{Ground, SOON, assert_within, kill, lines};
use outlast_lib::{Limits, NoticeScope, RunId, Store};
use outlast_testkit::{capture, eventually};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, time::Instant};

/// Case LS-01.
#[test]
fn a_run_whose_supervisor_was_killed_is_interrupted_and_blocks_nothing() {
    let ground = Ground::with_limits("runs_per_session = 1");
    let id = ground.start(&["--session", "one", "--", "sleep", "300"]);
    kill(ground.supervisor(&id));
    for pid in ground.processes_of("sleep") {
        kill(pid);
    }
    let begun = Instant::now();
    let record = ground.record(&id);
    assert_within(2_000, begun);
    assert_eq!(
        (&record["status"], &record["exit_code"]),
        (&json!("interrupted"), &json!(null))
    );

    let begun = Instant::now();
    let waited = ground.program.run(&["wait", &id, "--for", "5s"]);
    assert_within(2_000, begun);
    assert_eq!(waited.code, Some(125), "{waited:#?}");
    let next = ["run", "--wait", "--session", "one", "--", "true"];
    assert_eq!(ground.program.run(&next).code, Some(0));
    // Settled once, however many looked.
    let ends = ground
        .event_types(&id)
        .into_iter()
        .filter(|kind| kind == "failed");
    assert_eq!(ends.count(), 1);
}

/// Case LS-02. Each call of the program is a process of its own that opens the store.
#[test]
fn another_process_that_opens_the_store_changes_nothing_of_a_live_run() {
    let ground = Ground::new();
    let id = ground.start(&["--", "sleep", "20"]);
    let journal = || fs::read(ground.run_dir(&id).join("journal.jsonl")).expect("it is there");
    // The supervisor syncs after it has answered; its line of the start is there before.
    let before = journal();
    let elsewhere = [
        "ps --all --json",
        "show --json $0",
        "show $0",
        "events $0",
        "wait --for 0 $0",
    ];
    for words in elsewhere {
        let text = format!("cd / && \"$OUTLAST\" {words}");
        let output = capture(ground.other("sh", &["-c", &text, &id]));
        assert!(matches!(output.code, Some(0 | 75)), "{output:#?}");
    }
    assert_eq!(ground.record(&id)["status"], "running");
    assert_eq!(ground.processes_of("sleep").len(), 1);
    assert_eq!(journal(), before);
}

/// Case LS-03.
#[test]
fn the_exit_code_is_the_commands_and_the_rule_that_made_it_is_shown() {
    let ground = Ground::new();
    let plain: &[&str] = &[];
    let cases = [
        (plain, "exit 1", "failed", 1, "shell"),
        (plain, "exit 7", "failed", 7, "shell"),
        (plain, "false | tail -1", "completed", 0, "last_of_pipe"),
        (&["--pipefail"], "false | tail -1", "failed", 1, "pipefail"),
        (plain, "false; echo EXIT=$?", "completed", 0, "shell"),
    ];
    for (options, text, status, code, rule) in cases {
        let id = ground.shell_with(options, text);
        let record = ground.ended(&id);
        let seen = ["status", "exit_code", "exit_rule"].map(|field| record[field].clone());
        assert_eq!(seen, [json!(status), json!(code), json!(rule)], "{text}");
    }
    let id = ground.start(&["--", "false"]);
    let record = ground.ended(&id);
    assert_eq!(
        (&record["exit_code"], &record["exit_rule"]),
        (&json!(1), &json!("direct"))
    );
}

/// Starts runs that all wait at one gate.
fn at_a_gate(ground: &Ground, count: usize) -> Vec<String> {
    (0..count).map(|_| ground.shell("read -r _ <go")).collect()
}

/// Case LS-06. One watcher waits before the ends, one asks after them. The third round, with
/// a server that is killed and comes back, waits for the server.
#[test]
fn twenty_ends_at_once_are_told_once_each_to_a_watcher_that_waits_and_one_that_comes_late() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let ids = at_a_gate(&ground, 20);
    let mut words = vec!["wait", "--json"];
    words.extend(ids.iter().map(String::as_str));
    let early = ground.spawn(&words);
    gate.open(20);
    let early = early.wait_with_output().expect("it is our child");
    let early: Value = serde_json::from_slice(&early.stdout).expect("a document");
    let late = ground.program.json(&words);

    let all: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    for document in [&early, &late] {
        let runs = document["runs"].as_array().expect("a list of runs");
        assert!(
            runs.iter().all(|run| run["status"] == "completed"),
            "{document:#}"
        );
        let told: Vec<&str> = runs.iter().filter_map(|run| run["id"].as_str()).collect();
        assert_eq!(told.len(), 20);
        assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), all);
    }
    for id in &ids {
        let events = lines(&ground.program.run(&["events", "--jsonl", id]));
        let is_end = |event: &&Value| event["type"] == "completed" || event["type"] == "failed";
        assert_eq!(events.iter().filter(is_end).count(), 1);
        assert!(events.last().as_ref().is_some_and(is_end));
    }
}

/// Case LS-07. The command line tells nobody by itself; what its runs left is told through the
/// library, by stores that are opened anew, as a server is that comes back.
#[test]
fn an_end_that_was_acknowledged_is_never_told_again() {
    let ground = Ground::new();
    let id = ground.start(&["--session", "one", "--", "true"]);
    ground.wait(&id);
    let scope = NoticeScope::Session("one".to_owned());
    let open = || Store::open(&ground.home.store(), Limits::default()).expect("it was made");
    let run = RunId::parse(&id).expect("the program prints ids");

    let told = open().notices(&scope, 10).expect("the store can be read");
    assert_eq!(told.iter().map(|one| one.id).collect::<Vec<_>>(), [run]);
    open()
        .acknowledge(&[run], "one")
        .expect("the store can be written");
    for _ in 0..3 {
        let again = open().notices(&scope, 10).expect("the store can be read");
        assert!(again.is_empty(), "{again:?}");
    }
    fs::remove_file(ground.home.store().join("index.sqlite")).expect("it can be deleted");
    let rebuilt = open().notices(&scope, 10).expect("the store can be read");
    assert!(rebuilt.is_empty(), "{rebuilt:?}");

    let events = lines(&ground.program.run(&["events", "--jsonl", &id]));
    let numbers: Vec<u64> = events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
}

/// Case LS-09. The carrier is `run --wait`, which ends in order and by KILL; a gate stands for
/// the 10 s of the run.
#[test]
fn a_carrier_that_goes_away_leaves_the_run_as_it_is() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    for signal in ["INT", "KILL", "HUP", "TERM"] {
        let text = r#""$OUTLAST" run --wait -c 'echo up; read -r _ <go; echo done' 2>id & carrier=$!
            until [ -s id ]; do sleep 0.02; done; kill -s $0 $carrier; wait $carrier; cat id"#;
        let output = capture(ground.other("bash", &["-m", "-c", text, signal]));
        let id = ground
            .file("id")
            .split_whitespace()
            .next()
            .expect("an id")
            .to_owned();
        assert_eq!(
            ground.record(&id)["status"],
            "running",
            "{signal}: {output:#?}"
        );
        gate.open(1);
        let record = ground.ended(&id);
        let seen = ["status", "exit_code", "ended_by"].map(|field| record[field].clone());
        assert_eq!(
            seen,
            [json!("completed"), json!(0), json!("self")],
            "{signal}"
        );
        assert_eq!(ground.raw(&id), b"up\ndone\n");
        fs::remove_file(ground.home.work().join("id")).expect("it is there");
    }
}

/// Case LS-10. That an MCP tool answers from the same record waits for the tools.
#[test]
fn every_verb_knows_a_run_that_ended_at_once() {
    let ground = Ground::new();
    let id = ground.start(&["--", "true"]);
    let verbs: [&[&str]; 8] = [
        &["show", &id],
        &["show", "--json", &id],
        &["logs", &id],
        &["logs", "--raw", &id],
        &["events", &id],
        &["wait", &id],
        &["cancel", &id],
        &["export", &id],
    ];
    for words in verbs {
        let output = ground.program.run(words);
        assert_eq!(output.code, Some(0), "{words:?}: {output:#?}");
    }
    let record = ground.record(&id);
    assert_eq!(
        (&record["status"], &record["output"]["bytes"]),
        (&json!("completed"), &json!(0))
    );
    eventually("its supervisor leaves", SOON, || {
        ground.supervisors().is_empty()
    });
}
