//! What bounds an agent run bounds the runs that it starts, by its tools and from inside its hands.

use crate::agent_ground::{Agents, shell};
use crate::case_ground::OUTLAST;
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
