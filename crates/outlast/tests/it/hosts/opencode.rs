//! opencode: `opencode run`, a provider that speaks chat, configuration in its home.

use super::{Host, Kind, killed_in_the_middle, reads_its_stanza, starts_ends_and_comes_back};
use serde_json::json;
use std::process::Command;

static OPENCODE: Kind = Kind {
    name: "opencode",
    variable: "OUTLAST_OPENCODE",
    stanza: include_str!("../../../../../examples/hosts/opencode.json"),
    place: ".config/opencode/opencode.json",
    prepare,
    turn,
};

fn prepare(host: &Host) {
    let mut config = host.stanza("mcp", "environment");
    config["provider"] = json!({"scripted": {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": format!("{}/v1", host.model.url()), "apiKey": "none"},
        "models": {"scripted": {"name": "scripted"}},
    }});
    config["model"] = json!("scripted/scripted");
    config["autoupdate"] = json!(false);
    config["share"] = json!("disabled");
    host.configure(&config.to_string());
}

fn turn(_: &Host, mut command: Command) -> Command {
    command
        .args(["run", "--format", "json", "go"])
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1");
    command
}

#[test]
fn opencode_reads_the_stanza_that_users_are_given() {
    reads_its_stanza(&OPENCODE);
}

#[test]
fn opencode_starts_a_run_ends_and_a_new_process_of_it_reads_the_result() {
    starts_ends_and_comes_back(&OPENCODE);
}

#[test]
fn a_run_lives_when_opencode_is_killed_in_the_middle_of_it() {
    killed_in_the_middle(&OPENCODE);
}
