//! Claude Code: `claude -p`, a model that speaks messages, the stanza in the project.

use super::{Host, Kind, killed_in_the_middle, reads_its_stanza, starts_ends_and_comes_back};
use std::process::Command;

static CLAUDE_CODE: Kind = Kind {
    name: "Claude Code",
    variable: "OUTLAST_CLAUDE_CODE",
    stanza: include_str!("../../../../../examples/hosts/claude-code.json"),
    place: "work/.mcp.json",
    prepare,
    turn,
};

fn prepare(host: &Host) {
    host.configure(&host.stanza("mcpServers", "env").to_string());
}

fn turn(host: &Host, mut command: Command) -> Command {
    command
        .args(["-p", "go", "--output-format", "json", "--strict-mcp-config"])
        .args(["--allowedTools", "mcp__outlast", "--mcp-config"])
        .arg(host.home(CLAUDE_CODE.place))
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
fn claude_code_reads_the_stanza_that_users_are_given() {
    reads_its_stanza(&CLAUDE_CODE);
}

#[test]
fn claude_code_starts_a_run_ends_and_a_new_process_of_it_reads_the_result() {
    starts_ends_and_comes_back(&CLAUDE_CODE);
}

#[test]
fn a_run_lives_when_claude_code_is_killed_in_the_middle_of_it() {
    killed_in_the_middle(&CLAUDE_CODE);
}
