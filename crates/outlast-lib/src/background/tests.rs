//! The tools as a model and a person see them, and what follows from options alone.

use super::*;
use crate::Limits;
use crate::testing::Fixture;
use serde_json::json;

#[test]
fn the_tools_have_their_order_names_and_arguments() {
    let tools: Vec<Tool> = tools::all(true).collect();
    let seen: Vec<(&str, &str)> = tools
        .iter()
        .map(|tool| (tool.name, tool.display_name))
        .collect();
    assert_eq!(
        seen,
        [
            ("background_run", "Background shell"),
            ("background_agent", "Sub-agent in background"),
            ("background_list", "List background tasks"),
            ("background_output", "Read background output"),
            ("background_cancel", "Cancel background task"),
        ]
    );
    let agent = &tools[1].schema;
    let names: Vec<&String> = agent["properties"]
        .as_object()
        .expect("an object")
        .keys()
        .collect();
    assert_eq!(names, ["task", "label", "model"]);
    assert_eq!(agent["required"], json!(["task"]));
    for tool in &tools {
        assert_eq!(tool.schema["type"], "object", "{}", tool.name);
        assert_eq!(tool.schema["additionalProperties"], false, "{}", tool.name);
    }
    let bytes: usize = tools
        .iter()
        .map(|tool| tool.description.len() + tool.schema.to_string().len())
        .sum();
    assert!(bytes < 6 << 10, "{bytes} bytes of every prompt");
}

#[test]
fn every_argument_of_a_schema_is_read_and_no_other() {
    let read: [(&str, &[&str]); 5] = [
        (tools::RUN, &tools::RUN_ARGUMENTS),
        (tools::AGENT, &tools::AGENT_ARGUMENTS),
        (tools::LIST, &tools::LIST_ARGUMENTS),
        (tools::OUTPUT, &tools::OUTPUT_ARGUMENTS),
        (tools::CANCEL, &tools::CANCEL_ARGUMENTS),
    ];
    for (tool, (name, arguments)) in tools::all(true).zip(read) {
        let properties = tool.schema["properties"].as_object().expect("an object");
        let offered: Vec<&str> = properties.keys().map(String::as_str).collect();
        assert_eq!((tool.name, offered.as_slice()), (name, arguments));
    }
}

#[test]
fn a_narration_names_what_it_is_about_in_a_few_characters() {
    let told = |tool: &str, given: Value| tools::narration(tool, &given);
    let said = |text: &str| Some(text.to_owned());
    for (tool, given, expected) in [
        (
            "background_run",
            json!({"command": "cargo test"}),
            "Run in background: cargo test",
        ),
        (
            "background_run",
            json!({"command": "cargo test", "label": "tests"}),
            "Run in background: tests",
        ),
        ("background_run", json!({"command": 7}), "Run in background"),
        (
            "background_agent",
            json!({"task": "look\ninto it", "label": " "}),
            "Run sub-agent in background: look",
        ),
        ("background_list", json!({}), "List background tasks"),
        (
            "background_output",
            json!({"id": "0123"}),
            "Read background output: 0123",
        ),
        ("background_cancel", json!(null), "Cancel background task"),
    ] {
        assert_eq!(told(tool, given), said(expected));
    }
    assert_eq!(told("rm", json!({})), None);
    let long = told("background_run", json!({"command": "é".repeat(100)})).expect("a tool");
    let named = long
        .strip_prefix("Run in background: ")
        .expect("the beginning");
    assert_eq!((named.chars().count(), named.ends_with("é…")), (48, true));
    let long = told("background_output", json!({"id": "x".repeat(100)})).expect("a tool");
    let named = long
        .strip_prefix("Read background output: ")
        .expect("the beginning");
    assert_eq!(named.chars().count(), 24);
}

/// Opens the session `s` in a store.
pub(super) fn open(fixture: &Fixture) -> Background {
    let store = Store::open(fixture.store.root(), Limits::default()).expect("it opens");
    in_store(store)
}

pub(super) fn in_store(store: Store) -> Background {
    let options = BackgroundOptions::default();
    Background::new(Arc::new(store), "s", "/", options).expect("it opens")
}

#[test]
fn a_session_opens_in_a_store_that_nobody_used() {
    let fixture = Fixture::new();
    let background = open(&fixture);
    assert_eq!(
        background.counts().expect("it can be read"),
        Counts::default()
    );
    assert_eq!(background.prompt_block().expect("it can be read"), None);
    assert_eq!(background.drain_finished().expect("it can be read"), []);
    assert!(
        !background
            .wait_for_end(Some(0), None)
            .expect("one can wait")
    );
    let text = background.command("background").expect("it is the command");
    assert_eq!(text, "No background tasks in this session.");
}

#[test]
fn a_command_runs_where_it_asks_and_as_the_options_say() {
    let fixture = Fixture::new();
    let home = fixture.home.path();
    let containment = Containment::new(outlast_journal::Tier::SandboxEdit);
    let options = BackgroundOptions {
        environment: vec![("A".into(), "b".into())],
        containment: Some(containment.clone()),
        timeout_ms: Some(7_000),
        ..BackgroundOptions::default()
    };
    let store = Store::open(fixture.store.root(), Limits::default()).expect("it opens");
    let background = Background::new(Arc::new(store), "s", home, options).expect("it opens");
    let asked = |given: Value| background.asked_run(&given);
    let plain = asked(json!({"command": "true"})).expect("it is fine");
    assert_eq!((plain.cwd.as_path(), plain.timeout_ms), (home, Some(7_000)));
    assert_eq!(plain.environment, [("A".into(), "b".into())]);
    assert_eq!(plain.containment, Some(containment));
    assert!(plain.is_for_tool && !plain.is_queued && plain.holder.is_none());
    let below = asked(json!({"command": "true", "cwd": "work", "lifetime": "session"}));
    let below = below.expect("it is fine");
    assert_eq!(below.cwd, fixture.home.work());
    assert_eq!(below.holder, Some(outlast_supervisor::process::own()));
    let elsewhere = asked(json!({"command": "true", "cwd": "/"})).expect("it is fine");
    assert_eq!(elsewhere.cwd, std::path::Path::new("/"));
}

/// This program does not call `init_supervisor`.
#[test]
fn a_start_that_the_library_refuses_is_an_answer() {
    let fixture = Fixture::new();
    let background = open(&fixture);
    let answer = background.call("background_run", &json!({"command": "true"}));
    assert!(answer.is_error());
    assert_eq!(
        answer.value()["error"]["code"],
        "supervisor_not_initialised"
    );
    assert!(
        answer
            .text()
            .starts_with("{\"ok\":false,\"error\":{\"code\":"),
        "{}",
        answer.text()
    );
}
