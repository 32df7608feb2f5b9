//! Gemini CLI: `gemini -p`, a model that speaks Gemini, settings in its home.

use super::{Host, Kind, killed_in_the_middle, reads_its_stanza, starts_ends_and_comes_back};
use serde_json::json;
use std::process::Command;

static GEMINI_CLI: Kind = Kind {
    name: "Gemini CLI",
    variable: "OUTLAST_GEMINI_CLI",
    stanza: include_str!("../../../../../examples/hosts/gemini-cli.json"),
    place: ".gemini/settings.json",
    prepare,
    turn,
};

fn prepare(host: &Host) {
    let mut settings = host.stanza("mcpServers", "env");
    settings["privacy"] = json!({"usageStatisticsEnabled": false});
    settings["general"] = json!({"enableAutoUpdate": false});
    settings["security"] = json!({"auth": {"selectedType": "gemini-api-key"}});
    host.configure(&settings.to_string());
}

fn turn(host: &Host, mut command: Command) -> Command {
    command
        .args([
            "-p",
            "go",
            "--yolo",
            "-m",
            "gemini-2.5-pro",
            "--output-format",
            "json",
        ])
        .env("GEMINI_API_KEY", "none")
        .env("GOOGLE_GEMINI_BASE_URL", host.model.url())
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    command
}

#[test]
fn gemini_cli_reads_the_stanza_that_users_are_given() {
    reads_its_stanza(&GEMINI_CLI);
}

#[test]
fn gemini_cli_starts_a_run_ends_and_a_new_process_of_it_reads_the_result() {
    starts_ends_and_comes_back(&GEMINI_CLI);
}

#[test]
fn a_run_lives_when_gemini_cli_is_killed_in_the_middle_of_it() {
    killed_in_the_middle(&GEMINI_CLI);
}
