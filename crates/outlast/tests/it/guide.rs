//! The guide for agents, run as it is written.
//!
//! Each call of its script is made in its order, by a server of its own, and
//! answers what the guide shows; ids and times are others at each run.

use crate::case_ground::{Ground, OUTLAST, write};
use outlast_testkit::capture;
use serde_json::{Value, json};
use std::{env, fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

const GUIDE: &str = include_str!("../../../../docs/guide/from-an-agent.md");

/// Returns the blocks of this language, without their fences.
fn blocks(language: &str) -> impl Iterator<Item = &str> {
    let texts = GUIDE.split("```").skip(1).step_by(2);
    texts.filter_map(move |text| text.strip_prefix(language)?.strip_prefix('\n'))
}

/// Replaces what differs from run to run.
fn steady(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| match name.as_str() {
                "id" => (name, json!("ID")),
                "created" | "updated" => (name, json!("TIME")),
                "elapsed_ms" => (name, json!(0)),
                _ => (name, steady(value)),
            })
            .collect(),
        Value::Array(values) => values.into_iter().map(steady).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Returns a command of the guide, in the surroundings of the ground.
fn typed(ground: &Ground, line: &str) -> Command {
    let mut command = ground.other("sh", &["-c", line]);
    let folder = Path::new(OUTLAST).parent().expect("it lies in a folder");
    let path = env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", folder.display()));
    command
}

#[test]
fn the_guide_for_agents_answers_as_it_is_written() {
    let ground = Ground::new();
    let script = ground.home.work().join("ask.sh");
    let text = blocks("sh").find(|text| text.starts_with("#!"));
    write(&script, text.expect("the guide has the script"));
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it is ours");

    let (mut calls, mut others) = (0, 0);
    for block in blocks("text") {
        let mut lines = block.lines();
        while let Some(line) = lines.next() {
            let Some(line) = line.strip_prefix("$ ") else {
                continue;
            };
            let output = capture(typed(&ground, line));
            assert_eq!(output.code, Some(0), "{line}: {output:#?}");
            if !line.starts_with("./ask.sh") {
                others += 1;
                assert!(output.stdout.contains("✓ 0    tests"), "{output:#?}");
                continue;
            }
            calls += 1;
            let answer: Value = serde_json::from_str(&output.stdout).expect("an answer");
            let answer = &answer["result"]["structuredContent"];
            let shown = lines.next().expect("the guide shows the answer");
            let shown: Value = serde_json::from_str(shown).expect("as JSON");
            assert_eq!(steady(answer.clone()), steady(shown), "{line}");
        }
    }
    assert_eq!((calls, others), (5, 1), "each call of the guide was made");
}
