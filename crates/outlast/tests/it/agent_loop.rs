//! The loop of an agent run over real processes: worker, supervisor, calls, and a model over
//! real HTTP.

use crate::agent_ground::{Agents, KEY, shell};
use crate::case_ground::{SOON, kill};
use outlast_testkit::eventually;
use outlast_testkit::model::{Gate, Script, Turn};
use serde_json::{Value, json};
use std::fs;

#[test]
fn a_task_goes_from_words_to_a_document_in_a_sandbox() {
    let agents = Agents::new();
    agents.model.play(
        Script::new()
            .turn(
                Turn::text("I write it.")
                    .and_call("write_file", json!({"path": "a.txt", "content": "one\n"})),
            )
            .turn(Turn::call(
                "shell",
                shell("cat a.txt; echo x > /etc/outlast-was-here"),
            ))
            .text("I wrote a.txt."),
    );
    let document = agents.document(&[], "Write a file.");
    assert_eq!(document["status"], "success", "{document:#}");
    assert_eq!(document["summary"], "I wrote a.txt.");
    assert_eq!(document["turns"], 3);
    assert_eq!(document["receipts"]["total"], 2);
    assert_eq!(agents.effects("a.txt"), ["one"]);
    let seen = agents.model.turns();
    let shown = &seen[2].result().text;
    assert!(shown.contains("one\n"), "{shown}");
    assert!(!fs::exists("/etc/outlast-was-here").expect("it can be looked for"));
    agents.model.assert_played();
    agents.model.assert_histories();
}

/// Case AL-06: success is claimed twice before it is there.
#[test]
fn a_goal_is_reached_by_its_check_and_not_by_a_claim() {
    let agents = Agents::new();
    agents.model.play(
        Script::new()
            .text("All is done.")
            .text("Now it is really done.")
            .turn(Turn::call("shell", shell("touch done")))
            .text("The file is there."),
    );
    let check = "test -f done && exit 0 || exit 1";
    let document = agents.document(&["--until", check], "Make the file.");
    assert_eq!(document["status"], "success", "{document:#}");
    let goal = &document["goal"];
    assert_eq!(
        (
            &goal["check"],
            &goal["passed"],
            &goal["grounded"],
            &goal["iterations"]
        ),
        (&json!(check), &json!(true), &json!(true), &json!(3))
    );
    let told = agents.model.turns()[1].body.to_string();
    assert!(told.contains("it exited with 1"), "{told}");
}

/// Case AL-06: a check that exits with 127.
#[test]
fn a_check_that_cannot_run_is_told_and_is_no_success() {
    let agents = Agents::new();
    agents.model.answer_all(|_| Turn::text("All is done."));
    let document = agents.document(&["--until", "no-such-program-here"], "Do it.");
    assert_eq!(document["status"], "goal_pending", "{document:#}");
    assert_eq!(document["goal"]["passed"], false);
    assert_eq!(document["goal"]["iterations"], 3);
    let told = agents.model.turns()[1].body.to_string();
    assert!(told.contains("exited with 127"), "{told}");
}

/// Case RD-04.
#[test]
fn a_worker_that_is_killed_in_a_call_goes_on_with_that_call() {
    let agents = Agents::new();
    let gate = agents.ground.gate("go");
    agents.model.play(
        Script::new()
            .turn(Turn::call(
                "shell",
                shell("echo begun >> effects; read -r _ < go; echo ended >> effects"),
            ))
            .text("It is done."),
    );
    let id = agents.start(&["--sandbox", "host"], "Do it once.");
    eventually("the call begins", SOON, || {
        agents.effects("effects") == ["begun"]
    });
    for number in 2..4 {
        kill(agents.worker(&id));
        let what = format!("worker {number}");
        eventually(&what, SOON, || {
            agents.facts(&id, "worker.started").len() == number
        });
        agents.comes(&id, "run.meta");
    }
    gate.open(1);
    let record = agents.ground.ended(&id);
    assert_eq!(record["status"], "completed", "{record:#}");
    assert_eq!(agents.effects("effects"), ["begun", "ended"]);
    assert_eq!(agents.facts(&id, "call.claimed").len(), 1);
    agents.model.assert_played();
    agents.model.assert_histories();
}

#[test]
fn an_interrupted_run_is_resumed_and_its_open_call_is_told_as_unknown() {
    let agents = Agents::new();
    let _gate = agents.ground.gate("go");
    agents.model.play(
        Script::new()
            .turn(Turn::call(
                "shell",
                shell("echo begun >> effects; read -r _ < go"),
            ))
            .turn_from(|asked| {
                let shown = &asked.result().text;
                assert!(
                    shown.contains("nobody knows how this call ended"),
                    "{shown}"
                );
                assert!(
                    asked.body.to_string().contains("was interrupted"),
                    "{:#}",
                    asked.body
                );
                Turn::text("I looked: it had begun.")
            }),
    );
    let id = agents.start(&["--sandbox", "host"], "Do it once.");
    eventually("the call begins", SOON, || {
        agents.effects("effects") == ["begun"]
    });
    kill(agents.ground.supervisor(&id));
    let record = agents.ground.ended(&id);
    assert_eq!(record["status"], "interrupted", "{record:#}");
    let resumed = agents.run(&["resume", "--json", &id]);
    let document: Value = serde_json::from_str(&resumed.stdout).expect("a document");
    assert_eq!(document["status"], "success", "{resumed:#?}");
    assert_eq!(document["turns"], 2, "{document:#}");
    assert_eq!(agents.effects("effects"), ["begun"]);
    agents.model.assert_played();
    agents.model.assert_histories();
}

#[test]
fn a_cancel_lets_the_model_finish_its_answer_and_runs_nothing_of_it() {
    let agents = Agents::new();
    let gate = Gate::new();
    agents.model.play(
        Script::new().turn(
            Turn::text("I would work.")
                .and_call("shell", shell("touch never"))
                .held_at(&gate),
        ),
    );
    let id = agents.start(&["--sandbox", "host"], "Do it.");
    agents.model.wait_for_turn(0, SOON);
    let cancelled = agents.run(&["cancel", &id]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:#?}");
    assert_eq!(agents.ground.record(&id)["cancelling"], true);
    gate.open();
    let record = agents.ground.ended(&id);
    assert_eq!(
        (&record["status"], &record["ended_by"]),
        (&json!("cancelled"), &json!("cancel"))
    );
    assert_eq!(agents.effects("never").len(), 0);
    let end = &agents.facts(&id, "final")[0];
    assert_eq!(
        (&end["status"], &end["text"]),
        (&json!("cancelled"), &json!("I would work."))
    );
}

/// Case AL-01: nobody answers; somebody denies.
#[test]
fn an_ask_that_is_not_granted_is_denied_and_twice_blocks_the_run() {
    for denies in [false, true] {
        let agents = Agents::new();
        agents.configure(if denies {
            ""
        } else {
            "ask_timeout = \"300ms\""
        });
        agents
            .model
            .answer_all(|_| Turn::call("http_request", json!({"url": "http://127.0.0.1:9/"})));
        let id = agents.start(&["--ask"], "Fetch it.");
        if denies {
            for number in 1..3 {
                let what = format!("ask {number}");
                eventually(&what, SOON, || agents.facts(&id, "ask").len() == number);
                eventually("it is denied", SOON, || {
                    agents.run(&["deny", &id]).code == Some(0)
                });
            }
        }
        let record = agents.ground.ended(&id);
        assert_eq!(record["status"], "failed", "{record:#}");
        let end = &agents.facts(&id, "final")[0];
        assert_eq!(end["status"], "blocked", "{end:#}");
        assert_eq!(agents.model.turns().len(), 2);
        let by = if denies {
            "denied by"
        } else {
            "denied by timeout"
        };
        let told = &agents.model.turns()[1].result().text.clone();
        assert!(told.contains(by), "{told}");
        assert_eq!(agents.facts(&id, "call.claimed").len(), 0);
    }
}

/// Case AL-01: somebody approves.
#[test]
fn a_call_that_is_approved_runs_once() {
    let agents = Agents::new();
    agents.model.play(
        Script::new()
            .turn(Turn::call(
                "write_file",
                json!({"path": "a.txt", "content": "one\n"}),
            ))
            .text("Written."),
    );
    let id = agents.start(&["--ask", "--sandbox", "read"], "Write it.");
    agents.comes(&id, "ask");
    assert_eq!(agents.effects("a.txt").len(), 0);
    let approved = agents.run(&["approve", &id]);
    assert_eq!(approved.code, Some(0), "{approved:#?}");
    let record = agents.ground.ended(&id);
    assert_eq!(record["status"], "completed", "{record:#}");
    assert_eq!(agents.effects("a.txt"), ["one"]);
    assert_eq!(agents.facts(&id, "call.claimed").len(), 1);
}

#[test]
fn a_model_that_cannot_be_had_is_an_error_with_the_way_on() {
    for (turn, error) in [
        (Turn::refusal(401, None), "model_auth"),
        (Turn::refusal(404, None), "model_not_found"),
    ] {
        let agents = Agents::new();
        agents.model.answer_all(move |_| turn.clone());
        let document = agents.document(&["--sandbox", "host"], "Do it.");
        assert_eq!(
            (&document["status"], &document["error"]),
            (&json!("error"), &json!(error)),
            "{document:#}"
        );
        assert!(
            !document["suggestions"]
                .as_array()
                .expect("a list")
                .is_empty()
        );
        assert!(!document.to_string().contains(KEY));
    }
}

#[test]
fn a_directory_that_vanishes_is_told_to_the_model() {
    let agents = Agents::new();
    let work = agents.ground.home.work().join("sub");
    fs::create_dir(&work).expect("made");
    let gone = work.clone();
    agents.model.play(
        Script::new()
            .turn_from(move |_| {
                fs::remove_dir_all(&gone).expect("removed");
                Turn::call("shell", shell("echo here")).and_call("list_dir", json!({}))
            })
            .turn_from(|asked| {
                let texts: Vec<&str> = asked.results.iter().map(|one| one.text.as_str()).collect();
                assert!(texts[0].contains("does not exist"), "{texts:?}");
                assert!(!texts[1].contains("sub"), "{texts:?}");
                Turn::text("The directory is gone.")
            }),
    );
    let cwd = work.to_str().expect("text");
    let document = agents.document(&["--sandbox", "host", "--cwd", cwd], "Look.");
    assert_eq!(document["status"], "success", "{document:#}");
    agents.model.assert_played();
}

#[test]
fn a_final_answer_keeps_its_schema_or_is_an_error() {
    let agents = Agents::new();
    let schema = agents.ground.home.path().join("schema.json");
    crate::case_ground::write(
        &schema,
        &json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}})
            .to_string(),
    );
    agents
        .model
        .play(Script::new().text("four").text("{\"n\": 4}"));
    let path = schema.to_str().expect("text");
    let document = agents.document(&["--local", "--json-schema", path], "Say a number.");
    assert_eq!(document["status"], "success", "{document:#}");
    let told = agents.model.turns()[1].body.to_string();
    assert!(told.contains("it is no JSON value"), "{told}");
}

#[test]
fn the_key_of_the_model_stands_nowhere() {
    let agents = Agents::new();
    agents.model.play(
        Script::new()
            .turn(Turn::call("shell", shell("env | sort")))
            .text("Looked."),
    );
    let document = agents.document(&["--sandbox", "host"], "Look at the environment.");
    assert_eq!(document["status"], "success");
    assert!(!agents.model.turns()[1].body.to_string().contains(KEY));
    for dir in agents.ground.run_dirs() {
        let mut open = vec![dir];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                let entries = fs::read_dir(&path).expect("readable");
                open.extend(entries.map(|entry| entry.expect("readable").path()));
            } else if path.is_file() {
                let text = fs::read(&path).expect("readable");
                let has_key = text.windows(KEY.len()).any(|part| part == KEY.as_bytes());
                assert!(!has_key, "{}", path.display());
            }
        }
    }
}

/// Case AL-03: the command takes 2 s in place of 5.
#[test]
fn a_turn_that_ends_with_its_command_running_goes_on_once_when_that_has_ended() {
    let agents = Agents::new();
    agents.model.play(
        Script::new()
            .turn(Turn::call(
                "background_run",
                json!({"command": "sleep 2; echo built", "label": "the build"}),
            ))
            .text("The build runs; I wait.")
            .turn_from(|asked| {
                let told = asked.body.to_string();
                assert_eq!(
                    told.matches("that you started has ended").count(),
                    1,
                    "{told}"
                );
                Turn::text("The build is done.")
            }),
    );
    let document = agents.document(&["--sandbox", "host"], "Run the build and tell me.");
    assert_eq!(document["status"], "success", "{document:#}");
    assert_eq!(document["summary"], "The build is done.");
    // No request was made while it ran.
    agents.model.assert_played();
    let runs = agents.ground.runs();
    let child = runs.iter().find(|run| run["label"] == "the build");
    let child = child.expect("the child has a record");
    assert_eq!(child["status"], "completed", "{child:#}");
    let id = runs.iter().find(|run| run["kind"] == "agent");
    let id = id.and_then(|run| run["id"].as_str()).expect("an agent run");
    assert_eq!(child["parent"], id, "{child:#}");
    let woken = agents.journal(id).into_iter().find(|line| {
        line["data"]["text"]
            .as_str()
            .is_some_and(|text| text.contains("has ended"))
    });
    let woken = woken.expect("the notice stands in the journal");
    let late = crate::case_ground::span_ms(&child["ended"], &woken["ts"]);
    assert!((0..2_000 + 8_000).contains(&late), "{late} ms");
}
