//! What an agent run costs beside its model.

use super::release;
use crate::case_ground::{SOON, command_line};
use outlast_testkit::model::{Gate, ScriptedModel, Turn};
use outlast_testkit::{capture, processes_with};
use serde_json::json;
use std::{
    fs,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// Turns with a call before the last one.
const TURNS: usize = 24;
/// Twice the budget of a turn with a contained call.
const TURN_MAX: Duration = Duration::from_millis(30);
const WORKER_KIB_MAX: u64 = 40 << 10;

#[test]
fn a_turn_costs_little_beyond_its_model_and_a_worker_little_memory() {
    let Some((home, program)) = release("agent") else {
        return;
    };
    let model = ScriptedModel::new();
    let asked_at = Arc::new(Mutex::new(Vec::new()));
    let end = Gate::new();
    let (times, gate) = (Arc::clone(&asked_at), end.clone());
    model.answer_all(move |_| {
        let mut times = times.lock().expect("nobody panics");
        times.push(Instant::now());
        match times.len() {
            number if number <= TURNS => {
                Turn::call("shell", json!({"command": format!("true # {number}")}))
            }
            _ => Turn::text("done").held_at(&gate),
        }
    });
    let mut command = program.command(&["do", "call true"]);
    command
        .env("OPENAI_API_KEY", "sk-test")
        .env("OPENAI_BASE_URL", format!("{}/v1", model.url()))
        .env("OUTLAST_MODEL", "scripted");
    let started = capture(command);
    assert_eq!(started.code, Some(0), "{started:?}");
    let id = started.stdout.trim();
    model.wait_for_turn(TURNS, SOON);

    let worker = processes_with(&home.mark()).into_iter().find(|pid| {
        let words = command_line(*pid);
        words.iter().any(|word| word == "__work")
    });
    let status = worker.map(|pid| fs::read_to_string(format!("/proc/{pid}/status")));
    let status = status.expect("a worker").expect("it waits");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|line| line.split_whitespace().next());
    let peak: u64 = peak.expect("a number").parse().expect("a number");
    end.open();
    let waited = program.run(&["wait", id]);
    assert_eq!(waited.code, Some(0), "{waited:?}");

    let times = asked_at.lock().expect("nobody panics");
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    let least = gaps.min().expect("there are turns");
    println!("agent: {least:?} a turn with a contained call, worker {peak} KiB");
    assert!(least <= TURN_MAX, "{least:?} a turn, {TURN_MAX:?} allowed");
    assert!(
        peak <= WORKER_KIB_MAX,
        "{peak} KiB for a worker, {WORKER_KIB_MAX} allowed"
    );
}
