//! The guide to agents, run as it is written, with a model that plays its part.
//!
//! Each line of it that is typed is typed here, in its order, and prints what the guide shows;
//! ids, times and numbers are others at each run.

use crate::{
    agent_ground::Agents,
    case_ground::{OUTLAST, SOON},
};
use outlast_testkit::{
    capture, eventually,
    model::{Gate, Script, Turn},
};
use serde_json::{Value, json};
use std::{env, fs, path::Path, process::Command};

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/agents.md");

/// Returns what is typed in the guide, each line with what it shows.
fn typed(guide: &str) -> Vec<(&str, Vec<&str>)> {
    let blocks = guide.split("```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|text| text.strip_prefix("text\n"));
    let mut typed: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix("$ "), typed.last_mut()) {
            (Some(line), _) => typed.push((line, Vec::new())),
            (None, Some((_, shown))) => shown.push(line),
            (None, None) => panic!("nothing is typed before `{line}`"),
        }
    }
    typed
}

/// Returns a word as it is at every run: numbers and ids are others each time.
fn steady_word(word: &str) -> &str {
    let is_id = matches!(word.len(), 4 | 16)
        && word
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_number = word.bytes().any(|byte| byte.is_ascii_digit());
    if is_id || is_number { "N" } else { word }
}

/// Returns a line as it is at every run.
fn steady_line(line: &str) -> String {
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(line) {
        return steady(value).to_string();
    }
    let words: Vec<&str> = line.split_whitespace().map(steady_word).collect();
    words.join(" ")
}

fn steady(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            // What is bound depends on the machine.
            .filter(|(name, _)| name != "sandbox")
            .map(|(name, value)| (name, steady(value)))
            .collect(),
        Value::Array(values) => values.into_iter().map(steady).collect(),
        Value::String(text) if text.len() == 16 => json!(steady_word(&text)),
        Value::Number(number) if number.is_f64() => json!(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn shell(agents: &Agents, line: &str) -> Command {
    let surroundings = agents.command(&[]);
    let mut command = agents.ground.other("sh", &["-c", line]);
    for (name, value) in surroundings.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let folder = Path::new(OUTLAST).parent().expect("it lies in a folder");
    let path = env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", folder.display()));
    command
}

fn script(gate: &Gate) -> Script {
    let edit = json!({
        "path": "add.sh",
        "old": "$1 - $2",
        "new": "$1 + $2",
    });
    let never = || Turn::text("never heard").held_at(gate);
    Script::new()
        .call("read_file", json!({"path": "notes.txt"}))
        .text("A list of three things to buy.")
        .call("read_file", json!({"path": "add.sh"}))
        // The worker is killed here, and the next one with its supervisor.
        .turn(never())
        .turn(never())
        .call("edit_file", edit)
        .text("add.sh adds its arguments now.")
        .call(
            "write_file",
            json!({"path": "NEWS", "content": "add.sh adds.\n"}),
        )
        .text("NEWS is written.")
}

#[test]
fn the_guide_to_agents_answers_as_it_is_written() {
    let agents = Agents::new();
    let gate = Gate::new();
    agents.model.play(script(&gate));
    let guide = fs::read_to_string(GUIDE).expect("the guide is there");
    let typed = typed(&guide);
    assert!(typed.len() > 12, "{typed:#?}");
    for (line, shown) in typed {
        if line.contains("__work") {
            agents.model.wait_for_turn(3, SOON);
        }
        if line.contains("__supervise") {
            agents.model.wait_for_turn(4, SOON);
        }
        if line.starts_with("outlast asks") {
            eventually("it is asked", SOON, || {
                let asks = capture(shell(&agents, "outlast asks --json"));
                asks.stdout.contains("NEWS")
            });
        }
        let output = capture(shell(&agents, line));
        assert_eq!(output.code, Some(0), "{line}: {output:#?}");
        let told: Vec<String> = output.stdout.lines().map(steady_line).collect();
        let shown: Vec<String> = shown.into_iter().map(steady_line).collect();
        assert_eq!(told, shown, "{line}: {output:#?}");
    }
    gate.open();
    agents.model.assert_histories();
}
