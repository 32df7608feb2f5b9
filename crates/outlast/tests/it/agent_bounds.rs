//! What bounds an agent run bounds the runs that it starts, by its tools and from inside its hands.

use crate::agent_ground::{Agents, shell};
use crate::case_ground::OUTLAST;
use crate::contain_ground::PYTHON;
use outlast_testkit::model::{Script, Turn};
use serde_json::json;

#[test]
fn a_run_that_reads_starts_what_reads_and_nothing_on_the_host() {
    let agents = Agents::new();
    let try_it = "touch made; touch /etc/outlast-was-here; echo tried";
    agents.model.play(
        Script::new()
            .turn(Turn::call(
                "background_run",
                json!({"command": try_it, "label": "probe"}),
            ))
            .text("I wait.")
            .text("It was tried."),
    );
    let document = agents.document(&["--sandbox", "read"], "Try it.");
    assert_eq!(document["status"], "success", "{document:#}");
    let runs = agents.ground.runs();
    let probe = runs
        .iter()
        .find(|run| run["label"] == "probe")
        .expect("it ran");
    assert_eq!(probe["posture"]["tier"], "ReadOnly", "{probe:#}");
    assert!(!agents.ground.home.work().join("made").exists());
    assert!(!std::path::Path::new("/etc/outlast-was-here").exists());
}

#[test]
fn a_contained_call_that_runs_the_program_starts_nothing_outside() {
    let agents = Agents::new();
    let inside = format!("{OUTLAST} run -- touch made-by-a-run; echo rc=$?");
    agents.model.play(
        Script::new()
            .turn(Turn::call("shell", shell(&inside)))
            .text("Tried."),
    );
    let id = agents.start(&["--sandbox", "read"], "Try it.");
    let record = agents.ground.ended(&id);
    assert_eq!(record["status"], "completed", "{record:#}");
    let shown = agents.model.turns()[1].result().text.clone();
    assert!(shown.contains("rc="), "{shown}");
    let runs = agents.ground.runs();
    assert_eq!(runs.len(), 1, "{shown}\n{runs:#?}");
    assert!(!agents.ground.home.work().join("made-by-a-run").exists());
    agents.ground.assert_no_process();
}

#[test]
fn a_call_that_uses_up_the_memory_of_the_run_is_told_so_and_the_next_one_is_not() {
    let agents = Agents::new();
    let hog = format!(
        "exec {PYTHON} -c 'x = [bytearray(1 << 20) for _ in range(4096)]; import time; time.sleep(60)'"
    );
    agents.model.play(
        Script::new()
            .call("shell", shell(&hog))
            .call("shell", shell("kill -9 $$"))
            .call("shell", shell("echo fine"))
            .text("Done."),
    );
    let document = agents.document(&["--memory", "64MiB"], "Use it up.");
    assert_eq!(document["status"], "success", "{document:#}");
    let turns = agents.model.turns();
    let results = &turns.last().expect("it was asked").results;
    let told: Vec<&str> = results.iter().map(|result| result.text.as_str()).collect();
    assert!(
        told[0].starts_with("[out of memory: it used up what this run may use, and was killed"),
        "{told:#?}"
    );
    assert!(told[1].starts_with("[killed by SIGKILL"), "{told:#?}");
    assert!(told[2].contains("\nfine\n"), "{told:#?}");
    let run = &agents.ground.runs()[0];
    assert_eq!(run["posture"]["limits"]["memory"]["value"], 64 << 20);

    // On the host nothing would enforce it.
    let refused = agents.run(&["do", "--sandbox", "host", "--memory", "64MiB", "Do it."]);
    assert_eq!(refused.code, Some(126), "{refused:#?}");
    assert!(
        refused
            .stderr
            .contains("`--memory` bounds nothing on the host")
    );
}
