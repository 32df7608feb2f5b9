//! What a run may start, and that it is asked for as the library asks.
//!
//! Starts themselves need a supervisor: trials of the program have them.

use super::Runs;
use crate::tools::testing::Bench;
use outlast_journal::agent::{AgentRequest, AgentSpec, CallClass, ModelChoice};
use outlast_journal::{Containment, Spec, Tier};
use serde_json::{Value, json};

fn agent() -> AgentSpec {
    AgentSpec {
        request: AgentRequest {
            model: ModelChoice {
                provider: "openai_chat".to_owned(),
                name: "m".to_owned(),
                ..ModelChoice::default()
            },
            ..AgentRequest::default()
        },
        turns_max: 1,
        call_env_names: vec!["PATH".to_owned()],
        has_sub_agents: true,
    }
}

fn spec(bench: &Bench, contained: bool) -> Spec {
    let mut spec = bench.around.store.spec(&bench.around.run).unwrap();
    spec.cwd = bench.home.work().to_string_lossy().into_owned();
    spec.containment = contained.then(|| Containment::new(Tier::SandboxEdit));
    spec
}

fn with_runs(agent: &AgentSpec, contained: bool) -> Bench {
    let mut bench = Bench::new();
    let spec = spec(&bench, contained);
    let store = &bench.around.store;
    let environment = vec![("PATH".into(), "/bin".into()), ("KEY".into(), "k".into())];
    let runs = Runs::of(&spec, agent, store, spec.id, environment);
    let runs = runs.map(std::sync::Arc::new);
    bench.tools = crate::tools::Toolbox::new(bench.around.clone()).with_runs(runs);
    bench
}

fn offered(bench: &Bench) -> Vec<String> {
    let specs = bench.tools.specs().into_iter();
    let names = specs.map(|spec| spec.name);
    names
        .filter(|name| name.starts_with("background"))
        .collect()
}

#[test]
fn a_run_at_top_level_starts_commands_and_agents_and_one_below_commands_alone() {
    let bench = with_runs(&agent(), true);
    let all = [
        "background_run",
        "background_agent",
        "background_list",
        "background_output",
        "background_cancel",
    ];
    assert_eq!(offered(&bench), all);
    let below = AgentSpec {
        has_sub_agents: false,
        ..agent()
    };
    let mut bench = with_runs(&below, true);
    assert!(!offered(&bench).contains(&"background_agent".to_owned()));
    let shown = bench.refused("background_agent", &json!({"task": "x"}));
    assert!(shown.starts_with("refused unknown_tool"), "{shown}");
}

#[test]
fn a_local_run_starts_nothing() {
    let mut local = agent();
    local.request.is_local = true;
    let bench = with_runs(&local, false);
    assert!(offered(&bench).is_empty());
    let mut bench = Bench::with(|around| around.is_local = true);
    let shown = bench.refused("background_run", &json!({"command": "true"}));
    assert!(shown.starts_with("refused local_reads_only"), "{shown}");
}

#[test]
fn a_contained_command_stays_in_the_workspace() {
    for (contained, has_directory) in [(true, false), (false, true)] {
        let mut bench = with_runs(&agent(), contained);
        let specs = bench.tools.specs();
        let run = specs.iter().find(|spec| spec.name == "background_run");
        let properties = &run.unwrap().schema["properties"];
        assert_eq!(properties.get("cwd").is_some(), has_directory);
        assert!(properties.get("lifetime").is_none());
        let shown = bench.refused("background_run", &json!({"command": "true", "cwd": "/x"}));
        let is_unknown = shown.contains("there is no argument `cwd`");
        assert_eq!(is_unknown, !has_directory, "{shown}");
    }
}

#[test]
fn what_the_library_refuses_is_shown_as_it_says() {
    let mut bench = with_runs(&agent(), false);
    let outcome = bench.call("background_run", &json!({"command": "true"}));
    let answer: Value = serde_json::from_str(&outcome.shown).unwrap();
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["error"]["code"], "supervisor_not_initialised");
    assert_eq!(
        outcome.brief,
        "background_run true: supervisor_not_initialised"
    );
    assert_eq!(outcome.started_run, None);
    let listed = bench.shown("background_list", &json!({}));
    assert!(listed.contains("\"count\":0"), "{listed}");
    let shown = bench.shown("background_output", &json!({"id": "nonesuch"}));
    assert!(shown.contains("\"found\":false"), "{shown}");
    let refused = bench.refused(
        "background_agent",
        &json!({"task": "x", "model": "anthropic/y"}),
    );
    assert!(!refused.is_empty());
}

#[test]
fn a_start_that_comes_again_is_seen() {
    let bench = with_runs(&agent(), false);
    for (name, class) in [
        ("background_run", CallClass::Idempotent),
        ("background_agent", CallClass::Idempotent),
        ("background_list", CallClass::Read),
        ("background_output", CallClass::Read),
        ("background_cancel", CallClass::Idempotent),
    ] {
        assert_eq!(bench.tools.class(name), class, "{name}");
    }
}
