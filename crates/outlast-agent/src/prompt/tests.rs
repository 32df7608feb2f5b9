//! What the model is told before anything else.

use super::*;
use serde_json::json;

fn spec(request: &serde_json::Value, containment: Option<serde_json::Value>) -> Spec {
    let mut agent = json!({"task": "t", "model": {"provider": "", "name": ""}});
    for (name, value) in request.as_object().expect("members") {
        agent[name] = value.clone();
    }
    let mut spec = json!({
        "v": 1, "id": "0123456789abcdef", "created": "2026-01-01T00:00:00.000Z", "argv": [],
        "command": "", "label": "", "cwd": "/w", "project": "/w", "grace_ms": 1,
        "output_bytes_max": 1, "agent": {"request": agent, "turns_max": 50},
    });
    if let Some(containment) = containment {
        spec["containment"] = containment;
    }
    Spec::from_json(spec.to_string().as_bytes()).expect("a spec")
}

fn text(request: &serde_json::Value, containment: Option<serde_json::Value>) -> String {
    let spec = spec(request, containment);
    system(&spec, spec.agent.as_deref().expect("an agent"))
}

#[test]
fn the_surroundings_say_what_is_bound() {
    let edit = json!({"tier": "SandboxEdit", "network": "none"});
    let shown = text(&json!({}), Some(edit));
    assert!(
        shown.contains("read and write below this directory"),
        "{shown}"
    );
    assert!(shown.contains("Network: none, for commands."), "{shown}");
    assert!(text(&json!({}), None).contains("on the machine itself"));
    let local = text(&json!({"is_local": true}), None);
    assert!(local.contains("you only read"), "{local}");
    assert!(!local.contains("Network"), "{local}");
    assert!(text(&json!({"asks": true}), None).contains("waits until a person"));
}

#[test]
fn the_goal_stands_there_word_for_word() {
    let shown = text(
        &json!({"until": "make -k \"all tests\" && echo '-----'"}),
        None,
    );
    let whole = "\n------\nmake -k \"all tests\" && echo '-----'\n------\n";
    assert!(shown.contains(whole), "{shown}");
}

#[test]
fn the_prompt_is_the_same_every_time() {
    let once = text(
        &json!({"schema": {"type": "object", "required": ["a"]}}),
        None,
    );
    let twice = text(
        &json!({"schema": {"type": "object", "required": ["a"]}}),
        None,
    );
    assert_eq!(once, twice);
    assert!(
        once.ends_with("{\"type\":\"object\",\"required\":[\"a\"]}")
            || once.ends_with("{\"required\":[\"a\"],\"type\":\"object\"}"),
        "{once}"
    );
}

#[test]
fn a_task_is_quoted_by_a_line_that_is_not_in_it() {
    assert_eq!(
        opening("a\n-----\nb", Some("- note")),
        "The task, between the lines:\n------\na\n-----\nb\n------\n\nNotes of earlier runs in \
         this project, which may be out of date:\n-----\n- note\n-----"
    );
}
