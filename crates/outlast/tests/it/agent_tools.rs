//! Tools of agent runs, done by real workers, hands and shells of the program.
//!
//! A scripted model asks for calls; what they did is looked at from outside.

use crate::case_ground::{Ground, SOON, write};
use outlast_testkit::model::{Script, ScriptedModel, Turn};
use outlast_testkit::{Output, capture, eventually};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A home, the program, and a model that it is pointed at.
struct Stage {
    ground: Ground,
    model: ScriptedModel,
}

impl Stage {
    fn new() -> Self {
        Self {
            ground: Ground::new(),
            model: ScriptedModel::new(),
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.ground.program.command(words);
        command
            .env("OPENAI_BASE_URL", format!("{}/v1", self.model.url()))
            .env("OPENAI_API_KEY", "sk-key-of-the-worker")
            .env("OUTLAST_MODEL", "compatible/scripted");
        command
    }

    /// Has a run do what the model asks for, to its end; returns the document.
    #[track_caller]
    fn done(&self, posture: &[&str], script: Script) -> Value {
        self.model.play(script);
        let words = [&["do", "--json"], posture, &["do the task"]].concat();
        let output = capture(self.command(&words));
        let document = document(&output);
        assert_eq!(document["status"], "success", "{output:#?}");
        self.model.assert_histories();
        self.model.assert_played();
        document
    }

    /// Returns what the tools answered in the last conversation, in order.
    fn answers(&self) -> Vec<String> {
        let turns = self.model.turns();
        let results = &turns.last().expect("the model was asked").results;
        results.iter().map(|result| result.text.clone()).collect()
    }

    fn work(&self, name: &str) -> std::path::PathBuf {
        self.ground.home.work().join(name)
    }
}

#[track_caller]
fn document(output: &Output) -> Value {
    let parsed = serde_json::from_str(&output.stdout);
    parsed.unwrap_or_else(|error| panic!("not JSON ({error}): {output:#?}"))
}

#[test]
fn files_are_written_by_hands_and_seen_by_shells_in_the_sandbox() {
    let stage = Stage::new();
    write(&stage.work("old.txt"), "one\ntwo\n");
    let script = Script::new()
        .call(
            "write_file",
            json!({"path": "d/new.txt", "content": "new\n"}),
        )
        .call(
            "edit_file",
            json!({"path": "old.txt", "old": "two", "new": "2"}),
        )
        .call("read_file", json!({"path": "old.txt"}))
        .call(
            "edit_file",
            json!({"path": "old.txt", "old": "two", "new": "2"}),
        )
        .call(
            "shell",
            json!({"command": "cat d/new.txt old.txt; id -u > /dev/null; env"}),
        )
        .text("Wrote d/new.txt and edited old.txt.");
    let document = stage.done(&["--sandbox", "edit"], script);
    let answers = stage.answers();
    assert_eq!(answers[0], "new file, 1 lines, 4 bytes\n");
    assert!(answers[1].contains("code: not_read"), "{}", answers[1]);
    assert_eq!(answers[3], "1 replacement, line 2\n");
    assert!(answers[4].contains("new\none\n2\n"), "{}", answers[4]);
    assert!(
        !answers[4].contains("sk-key-of-the-worker"),
        "{}",
        answers[4]
    );
    assert_eq!(
        fs::read_to_string(stage.work("old.txt")).unwrap(),
        "one\n2\n"
    );
    assert_eq!(document["receipts"]["total"], 4, "{document:#}");
    assert_eq!(document["ungrounded_claims"], json!([]), "{document:#}");
    assert_eq!(document["sandbox"]["tier"], "SandboxEdit", "{document:#}");
}

#[test]
fn protected_names_are_held_against_hands_and_shells() {
    let stage = Stage::new();
    let init = Command::new("git")
        .args(["init", "--quiet"])
        .current_dir(stage.ground.home.work())
        .status();
    assert!(init.expect("git runs").success());
    write(&stage.work(".mcp.json"), "{}\n");
    let hook = ".git/hooks/pre-commit";
    let script = Script::new()
        .call(
            "write_file",
            json!({"path": hook, "content": "#!/bin/sh\n"}),
        )
        .call("read_file", json!({"path": ".mcp.json"}))
        .call("write_file", json!({"path": ".mcp.json", "content": "x"}))
        .call(
            "shell",
            json!({"command": format!("echo x > {hook}; echo y > ../outside; echo z > in")}),
        )
        .call(
            "shell",
            json!({"command": "test ! -e ../store && echo hidden"}),
        )
        .text("Tried.");
    stage.done(&["--sandbox", "edit"], script);
    let answers = stage.answers();
    for at in [0, 2] {
        assert!(
            answers[at].contains("code: not_writable"),
            "{}",
            answers[at]
        );
    }
    assert!(answers[4].contains("hidden"), "{}", answers[4]);
    assert!(!stage.work(hook).exists());
    assert!(!stage.work("../outside").exists());
    assert_eq!(fs::read_to_string(stage.work(".mcp.json")).unwrap(), "{}\n");
    assert_eq!(fs::read_to_string(stage.work("in")).unwrap(), "z\n");
}

#[test]
fn a_run_that_reads_writes_nothing_that_lasts() {
    let stage = Stage::new();
    write(&stage.work("a"), "a\n");
    let script = Script::new()
        .call(
            "shell",
            json!({"command": "cat a; echo x > b; rm -f a; echo x > /tmp/b; ls /tmp"}),
        )
        .text("Read a.");
    stage.done(&["--sandbox", "read"], script);
    let answers = stage.answers();
    assert!(answers[0].contains("\na\n"), "{}", answers[0]);
    let turns = stage.model.turns();
    let offered = turns[0].tools();
    for name in [
        "write_file",
        "edit_file",
        "http_request",
        "web_search",
        "remember",
    ] {
        assert!(!offered.contains(&name.to_owned()), "{offered:?}");
    }
    let names: Vec<_> = fs::read_dir(stage.ground.home.work()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn what_a_call_leaves_running_is_gone_at_its_end() {
    for posture in ["host", "edit"] {
        let stage = Stage::new();
        let left = "setsid sleep 1000 > /dev/null 2>&1 & (sleep 1000 &) ; echo done";
        let script = Script::new()
            .call("shell", json!({"command": left}))
            .text("Done.");
        stage.done(&["--sandbox", posture], script);
        assert!(
            stage.answers()[0].contains("\ndone\n"),
            "{}",
            stage.answers()[0]
        );
        eventually("nothing is left", SOON, || {
            stage.ground.processes().is_empty()
        });
    }
}

#[test]
fn a_long_output_is_read_on_by_the_call_that_is_named() {
    let stage = Stage::new();
    let script = Script::new()
        .call("shell", json!({"command": "seq 1 20000"}))
        .turn_from(|asked| {
            let text = &asked.result().text;
            let (_, rest) = text.split_once("call_output ").expect("the rest is named");
            let (arguments, _) = rest.split_once(']').expect("in brackets");
            Turn::call(
                "call_output",
                serde_json::from_str(arguments).expect("JSON"),
            )
        })
        .text("Read.");
    stage.done(&["--sandbox", "host"], script);
    let answers = stage.answers();
    assert!(answers[0].ends_with("\n20000\n"), "{}", answers[0]);
    let next = answers[0].split_once("\n[bytes ").expect("a cut").0;
    let last: u32 = next.rsplit('\n').next().unwrap().parse().unwrap();
    assert!(
        answers[1].starts_with(&format!("{}\n", last + 1)),
        "{}",
        answers[1]
    );
}

#[test]
fn a_command_in_the_background_wakes_the_run_that_started_it_once() {
    let stage = Stage::new();
    let script = Script::new()
        .call(
            "background_run",
            json!({"command": "sleep 1; echo built; pwd", "label": "build"}),
        )
        .text("It builds; I wait for it.")
        .call("background_output", json!({"id": "build"}))
        .text("It is built.");
    let document = stage.done(&["--sandbox", "edit"], script);
    assert_eq!(document["turns"], 4, "{document:#}");
    let answers = stage.answers();
    assert!(answers[0].contains("\"ok\":true"), "{}", answers[0]);
    assert!(answers[1].contains("built"), "{}", answers[1]);
    let work = stage.ground.home.work();
    assert!(
        answers[1].contains(work.to_str().unwrap()),
        "{}",
        answers[1]
    );
    let run: Value = serde_json::from_str(&answers[0]).expect("JSON");
    let record = stage.ground.record(run["id"].as_str().expect("an id"));
    assert_eq!(record["posture"]["tier"], "SandboxEdit", "{record:#}");
    assert_eq!(record["status"], "completed", "{record:#}");
}

#[test]
fn an_agent_below_does_its_task_and_starts_none_itself() {
    let stage = Stage::new();
    stage.model.answer_all(|asked| {
        let is_below = asked.body.to_string().contains("count the files");
        let is_above = asked.tools().contains(&"background_agent".to_owned());
        match (is_above, asked.results.len()) {
            (false, _) => {
                assert!(is_below, "only an agent below has no such tool");
                Turn::text("There are 3 files.")
            }
            (true, 0) => Turn::call("background_agent", json!({"task": "count the files"})),
            (true, 1) if !asked.body.to_string().contains("There are 3 files") => {
                Turn::text("I wait for it.")
            }
            (true, 1) => {
                let begun: Value = serde_json::from_str(&asked.result().text).expect("JSON");
                Turn::call("background_output", json!({"id": begun["id"]}))
            }
            (true, _) => Turn::text("It counted 3 files."),
        }
    });
    let words = [
        "do",
        "--json",
        "--sandbox",
        "host",
        "have the files counted",
    ];
    let output = capture(stage.command(&words));
    let document = document(&output);
    assert_eq!(document["status"], "success", "{output:#?}");
    assert_eq!(document["summary"], "It counted 3 files.", "{output:#?}");
    let answers = stage.answers();
    assert!(answers[1].contains("There are 3 files."), "{}", answers[1]);
    let kinds: Vec<Value> = stage
        .ground
        .runs()
        .into_iter()
        .map(|run| run["kind"].clone())
        .collect();
    assert_eq!(kinds, [json!("agent"), json!("agent")]);
}

#[test]
fn a_note_of_one_run_stands_before_the_task_of_a_later_one() {
    let stage = Stage::new();
    let note = "The task of this project needs the number 4711.";
    let script = Script::new()
        .call("remember", json!({"text": note}))
        .text("Noted.");
    stage.done(&["--sandbox", "edit"], script);
    stage.done(&["--sandbox", "read"], Script::new().text("I see."));
    let turns = stage.model.turns();
    let opening = turns.last().expect("the model was asked").body.to_string();
    assert!(opening.contains(note), "{opening}");
    assert!(!turns[0].body.to_string().contains(note));
    let mode = fs::metadata(stage.ground.home.store().join("notes.sqlite"));
    assert_eq!(mode.unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_request_is_made_by_a_hand_where_the_host_may() {
    let stage = Stage::new();
    let url = format!("{}/v1/models", stage.model.url());
    let script = Script::new()
        .call("http_request", json!({"url": url}))
        .call("http_request", json!({"url": "file:///etc/passwd"}))
        .text("Asked.");
    stage.done(&["--sandbox", "host"], script);
    let answers = stage.answers();
    assert!(answers[0].starts_with("200 OK\n"), "{}", answers[0]);
    assert!(answers[0].contains("scripted"), "{}", answers[0]);
    assert!(answers[1].contains("code: bad_url"), "{}", answers[1]);
}

#[test]
fn what_a_person_approves_is_done_on_the_host_and_nothing_else() {
    let stage = Stage::new();
    let script = Script::new()
        .call("write_file", json!({"path": "a", "content": "a\n"}))
        .call(
            "shell",
            json!({"command": "echo b > ../outside", "on_host": true}),
        )
        .call("shell", json!({"command": "echo c > ../inside"}))
        .text("Done.");
    stage.model.play(script);
    let words = ["do", "--sandbox", "read", "--ask", "do the task"];
    let output = capture(stage.command(&words));
    let id = output.stdout.trim().to_owned();
    for call in ["1.1", "2.1"] {
        eventually("the run asks", SOON, || {
            let events = stage.ground.program.run(&["events", "--jsonl", &id]).stdout;
            let asked = format!("\"ask\":\"{call}\"");
            events.lines().any(|line| line.contains(&asked))
        });
        let approved = stage.ground.program.run(&["approve", &id]);
        assert_eq!(approved.code, Some(0), "{approved:#?}");
    }
    let record = stage.ground.ended(&id);
    assert_eq!(record["status"], "completed", "{record:#}");
    let answers = stage.answers();
    assert_eq!(answers[0], "new file, 1 lines, 2 bytes\n");
    assert!(answers[1].starts_with("[exit code 0"), "{}", answers[1]);
    assert_eq!(fs::read_to_string(stage.work("a")).unwrap(), "a\n");
    assert!(stage.work("../outside").exists());
    assert!(!stage.work("../inside").exists());
}
