//! Claude Code: `claude -p`, a model that speaks messages, the configuration in a file.

use super::{Host, Kind, killed_in_the_middle, starts_ends_and_comes_back};
use crate::case_ground::write;
use std::process::Command;

const STANZA: &str = include_str!("../../../../../examples/hosts/claude-code.json");

static CLAUDE_CODE: Kind = Kind {
    name: "Claude Code",
    variable: "OUTLAST_CLAUDE_CODE",
    prepare,
    turn,
};

fn prepare(host: &Host) {
    let config = host.stanza(STANZA, "mcpServers", "env");
    write(&host.home("mcp.json"), &config.to_string());
}

fn turn(host: &Host, mut command: Command) -> Command {
    command
        .args(["-p", "go", "--output-format", "json", "--strict-mcp-config"])
        .args(["--allowedTools", "mcp__outlast", "--mcp-config"])
        .arg(host.home("mcp.json"))
        .env("ANTHROPIC_BASE_URL", host.model.url())
        .env("ANTHROPIC_API_KEY", "none")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("ENABLE_TOOL_SEARCH", "false")
        // Else it refuses to work as root.
        .env("IS_SANDBOX", "1");
    command
}

#[test]
fn claude_code_starts_a_run_ends_and_a_new_process_of_it_reads_the_result() {
    starts_ends_and_comes_back(&CLAUDE_CODE);
}

#[test]
fn a_run_lives_when_claude_code_is_killed_in_the_middle_of_it() {
    killed_in_the_middle(&CLAUDE_CODE);
}
