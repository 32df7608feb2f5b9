//! Runs that an agent run starts: it waits for them without its model, is told of their ends
//! once, reads what they left, and takes them with it when it is cancelled.
//!
//! Processes, HTTP and stores are real; the model plays a script.

use crate::agent_ground::{Agents, shell};
use crate::case_ground::{BUSY, Ground, OUTLAST, SOON, kill};
use outlast_testkit::eventually;
use outlast_testkit::model::{Asked, Gate, Script, ScriptedModel, Turn};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The words by which a model is told of one end.
const WAKE: &str = "A background task that you started has ended";

const HOST: [&str; 2] = ["--sandbox", "host"];

/// A command that goes on until a gate is opened.
fn build() -> Turn {
    let arguments = json!({"command": "read -r _ < go; echo built", "label": "build"});
    Turn::call("background_run", arguments)
}

fn is_top(asked: &Asked) -> bool {
    asked.tools().contains(&"background_agent".to_owned())
}

/// Returns how often a model was told of an end, in its last conversation.
fn wakes(model: &ScriptedModel) -> usize {
    let turns = model.turns();
    let top = turns.iter().rev().find(|asked| is_top(asked));
    let body = top.expect("the model was asked").body.to_string();
    body.matches(WAKE).count()
}

/// Returns the answer of a tool as an object.
#[track_caller]
fn answer(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
}

#[track_caller]
fn waits(agents: &Agents, id: &str) {
    eventually("it waits", SOON, || {
        agents.ground.text(id).contains("note: waits for 1 run")
    });
}

/// Case AL-03: the message has ended, the command goes on.
#[test]
fn a_run_whose_message_has_ended_is_woken_once_by_its_command_and_goes_on() {
    let agents = Agents::new();
    let gate = agents.ground.gate("go");
    agents.model.play(
        Script::new()
            .turn(build())
            .text("It builds, I wait.")
            .turn_from(|asked| {
                assert!(asked.body.to_string().contains("not from the user"));
                Turn::call("background_output", json!({"id": "build"}))
            })
            .text("It is built."),
    );
    let id = agents.start(&HOST, "Build it.");
    waits(&agents, &id);
    assert_eq!(agents.model.turns().len(), 2, "a wait asks no model");
    let opened = Instant::now();
    gate.open(1);
    agents.model.wait_for_turn(2, Duration::from_secs(2) + BUSY);
    let woken = opened.elapsed();
    let record = agents.ground.ended(&id);
    assert_eq!(record["status"], "completed", "{record:#}");
    assert_eq!(record["summary"], "It is built.");
    agents.model.assert_played();
    agents.model.assert_histories();
    assert_eq!(wakes(&agents.model), 1);
    let turns = agents.model.turns();
    assert!(turns[3].result().text.contains("built"), "{woken:?}");
    let begun = answer(&turns[1].result().text);
    let child = agents.ground.record(begun["id"].as_str().expect("an id"));
    assert_eq!(child["status"], "completed");
    assert_eq!(
        (&child["parent"], &child["session"]),
        (&json!(id), &json!(id))
    );
}

#[test]
fn a_worker_that_is_killed_while_it_waits_is_told_of_the_end_once() {
    for ends_before in [false, true] {
        let agents = Agents::new();
        let gate = agents.ground.gate("go");
        agents.model.play(
            Script::new()
                .turn(build())
                .text("I wait.")
                .text("It is built."),
        );
        let id = agents.start(&HOST, "Build it.");
        waits(&agents, &id);
        if ends_before {
            let worker = agents.worker(&id);
            // The end comes while there is no worker, or while one is being killed.
            gate.open(1);
            kill(worker);
        } else {
            kill(agents.worker(&id));
            eventually("another worker", SOON, || {
                agents.facts(&id, "worker.started").len() == 2
            });
            gate.open(1);
        }
        let record = agents.ground.ended(&id);
        assert_eq!(record["status"], "completed", "{record:#}");
        agents.model.assert_played();
        assert_eq!(wakes(&agents.model), 1, "ends before: {ends_before}");
    }
}

#[test]
fn a_worker_killed_between_start_and_result_of_a_child_starts_one_child() {
    if !cfg!(debug_assertions) {
        eprintln!("did not run: only debug builds have points to die at");
        return;
    }
    for (tool, arguments) in [
        ("background_run", json!({"command": "echo x >> effects"})),
        ("background_agent", json!({"task": "Have an effect."})),
    ] {
        let agents = Agents::new();
        agents
            .model
            .answer_all(move |asked| match asked.results.len() {
                0 if is_top(asked) => Turn::call(tool, arguments.clone()),
                0 => Turn::call("shell", shell("echo x >> effects")),
                _ => Turn::text("Done."),
            });
        let words = ["do", "--sandbox", "host", "Start one."];
        let mut command = agents.command(&words);
        command.env("OUTLAST_FAULT", "background_begun");
        let output = outlast_testkit::capture(command);
        assert_eq!(output.code, Some(0), "{output:#?}");
        let id = output.stdout.trim();
        let record = agents.ground.ended(id);
        assert_eq!(record["status"], "completed", "{record:#}");
        assert_eq!(agents.facts(id, "worker.started").len(), 2, "it was killed");
        assert_eq!(agents.ground.runs().len(), 2, "{tool}");
        assert_eq!(agents.effects("effects"), ["x"], "{tool}");
        agents.model.assert_histories();
    }
}

/// Starts a run that hands a task to a sub-agent, reads its output when told, and ends.
///
/// `below` are the turns of the sub-agent. Returns the run and the sub-agent.
#[track_caller]
fn delegated(
    agents: &Agents,
    arguments: Value,
    below: impl Fn(&Asked) -> Turn + Send + Sync + 'static,
) -> (String, String) {
    agents.model.answer_all(move |asked| {
        if !is_top(asked) {
            return below(asked);
        }
        let is_told = asked.body.to_string().contains(WAKE);
        match (asked.results.len(), is_told) {
            (0, _) => Turn::call("background_agent", arguments.clone()),
            (1, false) => Turn::text("I wait."),
            (1, true) => {
                let begun = answer(&asked.results[0].text);
                Turn::call("background_output", json!({"id": begun["id"]}))
            }
            _ => Turn::text("I read it."),
        }
    });
    let id = agents.start(&HOST, "Have it counted.");
    agents.model.wait_for_turn(1, SOON);
    let runs = agents.ground.runs();
    let child = runs.iter().find(|run| run["parent"] == id.as_str());
    let child = child.unwrap_or_else(|| panic!("no child: {runs:#?}"));
    (id, child["id"].as_str().expect("an id").to_owned())
}

/// Returns what the run was shown of its sub-agent, once it has ended.
#[track_caller]
fn shown(agents: &Agents, id: &str) -> Value {
    let record = agents.ground.ended(id);
    assert_eq!(record["status"], "completed", "{record:#}");
    assert_eq!(wakes(&agents.model), 1);
    let turns = agents.model.turns();
    let last = turns.iter().rev().find(|asked| is_top(asked));
    answer(&last.expect("it was asked").result().text)
}

#[test]
fn the_final_message_of_a_sub_agent_stands_between_head_and_foot_on_every_surface() {
    let agents = Agents::new();
    let arguments = json!({"task": "count", "label": "counter", "model": "other"});
    let (id, child) = delegated(&agents, arguments, |asked| {
        assert_eq!(asked.body["model"], "other");
        match asked.results.len() {
            0 => Turn::text("I look.").and_call("shell", shell("ls")),
            _ => Turn::text("There are 3 files.\nNo more."),
        }
    });
    let told = shown(&agents, &id);
    let expected = format!(
        "[sub-agent finished · success: true · child session {child} · model other]\n\
         There are 3 files.\nNo more.\n[child session: {child}]\n"
    );
    assert_eq!(told["output"], expected.as_str());
    assert_eq!(told["child_session_id"], child.as_str());
    let length = "There are 3 files.\nNo more.".len();
    assert_eq!(
        (&told["from_byte"], &told["total_bytes"]),
        (&json!(0), &json!(length))
    );
    assert_eq!(agents.ground.text(&child), expected);
    let mut client = agents.client();
    let read = client.fine("background_output", json!({"id": "counter"}));
    assert_eq!(read["output"], expected.as_str());
    assert_eq!(read["child_session_id"], child.as_str());
    let found = client.fine("background_output", json!({"id": child, "grep": "files"}));
    assert!(
        found["output"]
            .as_str()
            .expect("a text")
            .contains("3 files"),
        "{found:#}"
    );
    let begun = agents.model.turns();
    let begun = begun
        .iter()
        .find(|asked| is_top(asked) && !asked.results.is_empty());
    let begun = answer(&begun.expect("it was told").results[0].text);
    assert_eq!(
        (&begun["model"], &begun["child_session_id"]),
        (&json!("other"), &json!(child))
    );
    let record = agents.ground.record(&child);
    assert_eq!(record["child_session_id"], child.as_str());
}

#[test]
fn a_sub_agent_that_says_nothing_or_fails_says_how() {
    let silent = |_: &Asked| Turn::text(" ");
    let failing = |_: &Asked| Turn::refusal(400, None);
    for (below, head, message) in [
        (
            Box::new(silent) as Box<dyn Fn(&Asked) -> Turn + Send + Sync>,
            "[sub-agent finished · success: true ·",
            "]\n(sub-agent produced no final message)\n[",
        ),
        (
            Box::new(failing),
            "[sub-agent failed: ",
            "(sub-agent produced no final message)",
        ),
    ] {
        let agents = Agents::new();
        let (id, _) = delegated(&agents, json!({"task": "count"}), below);
        let told = shown(&agents, &id);
        let output = told["output"].as_str().expect("a text");
        assert!(
            output.starts_with(head) && output.contains(message),
            "{output}"
        );
        let is_success = output.contains("success: true");
        assert_ne!(is_success, output.contains("success: false"), "{output}");
    }
}

#[test]
fn a_sub_agent_that_is_cancelled_or_runs_out_of_time_says_so() {
    for is_cancelled in [true, false] {
        let limits = if is_cancelled {
            ""
        } else {
            "tool_timeout = \"3s\""
        };
        let agents = Agents {
            ground: Ground::with_limits(limits),
            model: ScriptedModel::new(),
        };
        let gate = Gate::new();
        let held = gate.clone();
        let (id, child) = delegated(&agents, json!({"task": "count"}), move |_| {
            Turn::text("too late").held_at(&held)
        });
        if is_cancelled {
            agents.ground.cancel(&child);
        }
        let told = shown(&agents, &id);
        gate.open();
        let word = if is_cancelled {
            "was cancelled"
        } else {
            "timed out after 3 s"
        };
        let head = format!("[sub-agent {word} · success: false · child session {child}]\n");
        let output = told["output"].as_str().expect("a text");
        assert!(output.starts_with(&head), "{output}");
        assert!(
            output.contains("(sub-agent produced no final message)"),
            "{output}"
        );
    }
}

/// Case LQ-02.
#[test]
fn what_an_agent_below_starts_is_no_agent() {
    let agents = Agents::new();
    let nested = format!("{OUTLAST} do --model compatible/scripted --sandbox host deeper");
    let (id, child) = delegated(
        &agents,
        json!({"task": "go deeper"}),
        move |asked| match asked.results.len() {
            0 => Turn::call("shell", shell(&format!("OPENAI_API_KEY=k {nested}"))),
            _ => Turn::text(asked.result().text.clone()),
        },
    );
    let told = shown(&agents, &id);
    let output = told["output"].as_str().expect("a text");
    assert!(output.contains("code: depth_exceeded"), "{output}");
    assert_eq!(agents.ground.runs().len(), 2);
    let record = agents.ground.record(&child);
    assert_eq!(record["parent"], id.as_str());
}

#[test]
fn one_agent_too_many_is_refused_with_those_that_work_and_the_ways_out() {
    let agents = Agents {
        ground: Ground::with_limits("agent_runs = 2"),
        model: ScriptedModel::new(),
    };
    let gate = Gate::new();
    let held = gate.clone();
    agents.model.answer_all(move |asked| {
        let hand_over = || {
            Turn::call(
                "background_agent",
                json!({"task": "wait", "label": "first"}),
            )
        };
        match (is_top(asked), asked.results.len()) {
            (false, _) => Turn::text("done").held_at(&held),
            (true, 0) => hand_over(),
            (true, 1) => Turn::call("background_agent", json!({"task": "one more"})),
            (true, _) => Turn::text("Enough."),
        }
    });
    let id = agents.start(&HOST, "Hand it over.");
    eventually("it is refused", SOON, || {
        let turns = agents.model.turns();
        turns
            .iter()
            .any(|asked| is_top(asked) && asked.results.len() == 2)
    });
    let turns = agents.model.turns();
    let told = turns
        .iter()
        .find(|asked| is_top(asked) && asked.results.len() == 2);
    let refused = answer(&told.expect("it was told").result().text);
    assert_eq!(refused["error"]["code"], "at_capacity", "{refused:#}");
    let hint = refused["error"]["hint"].as_str().expect("a hint");
    for word in ["background_cancel", "(first)", id.as_str()] {
        assert!(hint.contains(word), "{hint}");
    }
    gate.open();
    assert_eq!(agents.ground.ended(&id)["status"], "completed");
    assert_eq!(agents.ground.runs().len(), 2, "a refusal leaves no run");
}

#[test]
fn a_cancel_of_the_root_takes_its_commands_and_all_of_its_sub_agents_within_the_grace() {
    let agents = Agents::new();
    let stubborn =
        |mark: &str| format!("trap '' TERM; echo {mark} >> begun; sleep 600 & wait; wait");
    agents.model.answer_all(move |asked| {
        let run = |mark: &str| json!({"command": stubborn(mark)});
        match (is_top(asked), asked.results.len()) {
            (true, 0) => Turn::call("background_run", run("command"))
                .and_call("background_agent", json!({"task": "work"})),
            (false, 0) => Turn::call("background_run", run("below"))
                .and_call("shell", shell(&stubborn("call"))),
            _ => Turn::text("I wait."),
        }
    });
    let id = agents.start(&HOST, "Have it all done.");
    eventually("all of it works", SOON, || {
        let mut begun = agents.effects("begun");
        begun.sort();
        begun == ["below", "call", "command"]
    });
    let asked = Instant::now();
    let output = agents.run(&["cancel", &id]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    eventually("all of it is gone", Duration::from_secs(6) + BUSY, || {
        agents.ground.processes().is_empty()
    });
    let took = asked.elapsed();
    for run in agents.ground.runs() {
        let record = agents.ground.ended(run["id"].as_str().expect("an id"));
        assert_eq!(record["status"], "cancelled", "{took:?} {record:#}");
    }
    assert_eq!(agents.ground.runs().len(), 4);
    agents.ground.assert_no_process();
}

#[test]
fn a_sub_agent_that_waits_for_its_model_does_not_outlast_the_grace_of_a_cancelled_root() {
    let agents = Agents::new();
    let gate = Gate::new();
    let held = gate.clone();
    let (id, child) = delegated(&agents, json!({"task": "think"}), move |_| {
        Turn::text("too late").held_at(&held)
    });
    waits(&agents, &id);
    let output = agents.run(&["cancel", &id]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    eventually("all of it is gone", Duration::from_secs(6) + BUSY, || {
        agents.ground.processes().is_empty()
    });
    gate.open();
    for run in [&id, &child] {
        let record = agents.ground.ended(run);
        assert_eq!(record["status"], "cancelled", "{record:#}");
    }
}

#[test]
fn a_resumed_run_goes_on_with_the_runs_of_the_one_before_it() {
    for is_cancelled in [false, true] {
        let agents = Agents::new();
        let gate = agents.ground.gate("go");
        agents
            .model
            .play(Script::new().turn(build()).text("I wait."));
        if !is_cancelled {
            agents.model.play(Script::new().text("It is built."));
        }
        let id = agents.start(&HOST, "Build it.");
        waits(&agents, &id);
        kill(agents.ground.supervisor(&id));
        assert_eq!(agents.ground.ended(&id)["status"], "interrupted");
        let output = agents.run(&["resume", &id]);
        assert_eq!(output.code, Some(0), "{output:#?}");
        let resumed = output.stdout.trim();
        waits(&agents, resumed);
        let (ending, of_build) = if is_cancelled {
            agents.run(&["cancel", resumed]);
            ("cancelled", "cancelled")
        } else {
            gate.open(1);
            ("completed", "completed")
        };
        let record = agents.ground.ended(resumed);
        assert_eq!(record["status"], ending, "{record:#}");
        let record = agents.ground.ended("build");
        assert_eq!(record["status"], of_build, "{record:#}");
        agents.model.assert_played();
        assert_eq!(wakes(&agents.model), usize::from(!is_cancelled));
        assert_eq!(agents.ground.runs().len(), 3);
        agents.ground.assert_no_process();
    }
}
