//! Agent runs at the command line: `do`, `resume`, asks and what looks at them.

use crate::{
    agent_ground::Agents,
    agent_stage::kinds,
    case_ground::{SOON, kill, write},
};
use outlast_testkit::{
    eventually_some,
    model::{Gate, Script, Turn},
};
use serde_json::{Value, json};

/// Options of a run whose calls nothing contains.
const HOST: [&str; 2] = ["--sandbox", "host"];

#[test]
fn do_prints_the_id_and_its_run_is_listed_and_shown() {
    let stage = Agents::new();
    stage.model.play(
        Script::new()
            .call("shell", json!({"command": "echo made > made.txt"}))
            .text("Wrote made.txt."),
    );
    let id = stage.start(&HOST, "make a file");
    assert_eq!(id.len(), 16, "{id}");
    let record = stage.ground.ended(&id);
    assert_eq!(
        (&record["kind"], &record["status"]),
        (&json!("agent"), &json!("completed"))
    );
    assert_eq!(record["summary"], "Wrote made.txt.");
    assert!(stage.ground.home.work().join("made.txt").exists());
    let shown = stage.run(&["show", &id]).stdout;
    for part in ["make a file", "scripted", "success, 2 turns, 1 call"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let listed = stage.run(&["ps"]).stdout;
    assert!(
        listed.contains("make a file") && listed.contains("Wrote made.txt."),
        "{listed}"
    );
    let logged = stage.run(&["logs", &id]).stdout;
    assert!(
        logged.contains("echo made") && logged.contains("Wrote made.txt."),
        "{logged}"
    );
    let events = stage.run(&["events", "--jsonl", &id]).stdout;
    let events: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect();
    assert_eq!(kinds(&json!(events)).last(), Some(&"completed"));
}

#[test]
fn do_with_wait_prints_the_final_message_and_exits_with_the_runs_code() {
    let stage = Agents::new();
    stage.model.play(Script::new().text("It is a test."));
    let output = stage.run(&["do", "--local", "--wait", "what is this?"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert_eq!(output.stdout, "It is a test.\n");
    // The id comes first, so that it can be come back to.
    assert_eq!(output.stderr.lines().next().map(str::len), Some(16));

    stage.model.answer_all(|asked| {
        let turn = asked.results.len();
        Turn::call("list_dir", json!({"path": ".", "limit": 10 + turn}))
    });
    let output = stage.run(&[
        "do",
        "--local",
        "--wait",
        "--max-turns",
        "2",
        "go on for ever",
    ]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("max_turns"), "{}", output.stderr);
}

#[test]
fn do_with_json_prints_the_document_and_the_events_whatever_happens() {
    let stage = Agents::new();
    stage.model.play(Script::new().text("Fine."));
    let output = stage.run(&["do", "--local", "--json", "say fine"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let document: Value = serde_json::from_str(&output.stdout).expect("one document");
    assert_eq!(
        (&document["schema"], &document["status"]),
        (&json!("car.do/1"), &json!("success"))
    );
    let events: Vec<Value> = output
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is an event"))
        .collect();
    let events = json!(events);
    let kinds = kinds(&events);
    assert_eq!(
        (kinds.first(), kinds.last()),
        (Some(&"started"), Some(&"completed"))
    );

    // A key that is refused is an end of its own: the model's error, with what to do.
    stage
        .model
        .play(Script::new().turn(Turn::refusal(401, None)));
    let output = stage.run(&["do", "--local", "--json", "say fine"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    let document: Value = serde_json::from_str(&output.stdout).expect("one document");
    assert_eq!(
        (&document["status"], &document["error"]),
        (&json!("error"), &json!("model_auth"))
    );
    assert!(
        !document["suggestions"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
    assert_eq!(document.get("summary"), None);

    // So is a directory that is not there.
    let output = stage.run(&["do", "--json", "--cwd", "/nowhere", "x"]);
    assert_eq!(output.code, Some(126), "{output:#?}");
    let document: Value = serde_json::from_str(&output.stdout).expect("one document");
    assert_eq!(
        (&document["schema"], &document["error"]),
        (&json!("car.do/1"), &json!("work_dir"))
    );
}

/// Case AL-06.
#[test]
fn a_goal_is_passed_by_its_check_alone() {
    let stage = Agents::new();
    stage.model.play(
        Script::new()
            .text("It is done.")
            .call("shell", json!({"command": "touch done"}))
            .text("Now it is."),
    );
    let words = [
        "do",
        "--sandbox",
        "host",
        "--json",
        "--until",
        "test -f done",
        "make done",
    ];
    let output = stage.run(&words);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let document: Value = serde_json::from_str(&output.stdout).expect("one document");
    let expected = json!({
        "check": "test -f done", "passed": true, "grounded": true, "iterations": 2,
        "halt": "passed",
    });
    assert_eq!(document["goal"], expected);
    assert_eq!(document["receipts"]["by_tool"], json!({"shell": 1}));
    let shown = stage
        .run(&["show", document["run_id"].as_str().expect("an id")])
        .stdout;
    assert!(shown.contains("passed after 2 checks"), "{shown}");
}

#[test]
fn an_answer_keeps_its_schema_and_what_is_no_schema_is_refused() {
    let stage = Agents::new();
    let file = stage.ground.home.work().join("schema.json");
    write(&file, r#"{"type": 7}"#);
    let words = ["do", "--local", "--json-schema", "schema.json", "count"];
    let output = stage.run(&words);
    assert_eq!(output.code, Some(2), "{output:#?}");
    assert!(output.stderr.contains("code: schema_"), "{}", output.stderr);
    write(
        &file,
        r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#,
    );
    stage.model.play(Script::new().text(r#"{"n": 3}"#));
    let words = [
        "do",
        "--local",
        "--json",
        "--json-schema",
        "schema.json",
        "count",
    ];
    let document = stage.json(&words);
    assert_eq!(document["answer"], json!({"n": 3}), "{document:#}");
}

/// Case AL-01.
#[test]
fn what_is_asked_is_seen_everywhere_and_answered_from_anywhere() {
    let stage = Agents::new();
    stage.model.play(
        Script::new()
            .call("write_file", json!({"path": "ran.txt", "content": "ran\n"}))
            .text("Ran it."),
    );
    // ReadOnly: a write that lasts is above it, and so asked about.
    let id = stage.start(&["--sandbox", "read", "--ask"], "write the file");
    let asks = eventually_some("it is asked", SOON, || {
        let asks = stage.json(&["asks", "--json"]);
        asks["asks"][0].is_object().then_some(asks)
    });
    let asked = &asks["asks"][0];
    assert_eq!(asked["id"], id);
    assert!(
        asked["question"]
            .as_str()
            .expect("a text")
            .contains("ran.txt"),
        "{asked:#}"
    );
    let record = stage.ground.record(&id);
    assert_eq!(record["needs_approval"]["ask"], asked["ask"]);
    let listed = stage.run(&["ps"]);
    assert!(listed.stdout.contains("? ask"), "{}", listed.stdout);
    assert!(
        listed.stderr.contains("outlast approve"),
        "{}",
        listed.stderr
    );
    let mut client = stage.client();
    let polled = client.fine("assistant_poll", json!({"run_id": id}));
    assert_eq!(polled["needs_approval"]["ask"], asked["ask"]);
    assert!(polled["needs_approval"]["age_secs"].is_u64());
    assert!(kinds(&polled["events"]).contains(&"ask"));
    let waited = client.fine("background_wait", json!({"ids": [id], "wait_secs": 30}));
    assert_eq!(waited["running"][0]["needs_approval"]["ask"], asked["ask"]);
    let answered = client.fine("background_send", json!({"id": id, "text": "approve"}));
    assert_eq!(
        (&answered["ask"], &answered["approved"]),
        (&asked["ask"], &json!(true))
    );
    let record = stage.ground.ended(&id);
    assert_eq!(record["status"], "completed", "{record:#}");
    let ran = std::fs::read_to_string(stage.ground.home.work().join("ran.txt"));
    assert_eq!(ran.expect("it ran"), "ran\n", "once");
    let late = stage.run(&["deny", &id]);
    assert_eq!(late.code, Some(1));
    assert!(late.stderr.contains("code: run_ended"), "{}", late.stderr);
}

#[test]
fn an_interrupted_run_is_resumed_by_a_new_one_that_goes_on() {
    let stage = Agents::new();
    let gate = Gate::new();
    stage.model.play(
        Script::new()
            .call("shell", json!({"command": "echo first >> steps.txt"}))
            .turn(Turn::text("never heard").held_at(&gate)),
    );
    let id = stage.start(&HOST, "two steps");
    stage.model.wait_for_turn(1, SOON);
    let running = stage.run(&["resume", &id]);
    assert!(
        running.stderr.contains("code: not_resumable"),
        "{}",
        running.stderr
    );
    stage.kill_supervisor(&id);
    assert_eq!(stage.ground.wait(&id), 125);
    gate.open();
    stage.model.play(Script::new().text("Both steps are done."));
    let output = stage.run(&["resume", &id, "--json"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let document: Value = serde_json::from_str(&output.stdout).expect("one document");
    assert_eq!(document["summary"], "Both steps are done.");
    assert_eq!(document["resumed"], json!([id]));
    assert_eq!(
        document["receipts"]["by_tool"],
        json!({"shell": 1}),
        "what was done counts"
    );
    let steps = std::fs::read_to_string(stage.ground.home.work().join("steps.txt"));
    assert_eq!(steps.expect("it ran"), "first\n", "and is not done again");
    // The old one keeps its end, and resumed again answers with the same new run.
    assert_eq!(stage.ground.record(&id)["status"], "interrupted");
    let again = stage.run(&["resume", &id]);
    assert_eq!(
        again.stdout.trim(),
        document["run_id"].as_str().expect("an id")
    );
    let done = stage.run(&["resume", document["run_id"].as_str().expect("an id")]);
    assert!(
        done.stderr.contains("code: not_resumable"),
        "{}",
        done.stderr
    );
    stage.model.assert_histories();
}

#[test]
fn an_export_has_the_whole_trajectory_and_no_key() {
    let stage = Agents::new();
    stage.model.play(
        Script::new()
            .call(
                "shell",
                json!({"command": "env; echo sk-test-0123456789abcdef"}),
            )
            .text("Seen."),
    );
    let id = stage.start(&HOST, "look at the environment");
    stage.ground.wait(&id);
    let output = stage.run(&["export", &id]);
    assert!(
        !output.stdout.contains("sk-test-0123456789abcdef"),
        "{}",
        output.stdout
    );
    let exported: Value = serde_json::from_str(&output.stdout).expect("one document");
    assert_eq!(exported["document"]["status"], "success");
    let kinds = kinds(&exported["trajectory"]);
    for kind in [
        "claimed",
        "model.turn",
        "call.request",
        "call.claimed",
        "call.ended",
        "call.result",
        "final",
    ] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let times = exported["trajectory"].as_array().expect("a list");
    assert!(times.iter().all(|line| line["ts"].is_string()));
}

impl Agents {
    /// Kills the supervisor of a run.
    #[track_caller]
    fn kill_supervisor(&self, id: &str) {
        kill(self.ground.supervisor(id));
    }
}
