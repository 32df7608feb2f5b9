//! Codex: `codex exec`, a provider that speaks responses, its own home.

use super::{Host, Kind, killed_in_the_middle, reads_its_stanza, starts_ends_and_comes_back};
use std::process::Command;

static CODEX: Kind = Kind {
    name: "Codex",
    variable: "OUTLAST_CODEX",
    stanza: include_str!("../../../../../examples/hosts/codex.toml"),
    place: ".codex/config.toml",
    prepare,
    turn,
};

fn prepare(host: &Host) {
    let url = host.model.url();
    let provider = format!(
        "model = \"scripted\"\n\
         model_provider = \"scripted\"\n\
         check_for_update_on_startup = false\n\
         [model_providers.scripted]\n\
         name = \"scripted\"\n\
         base_url = \"{url}/v1\"\n\
         wire_api = \"responses\"\n\
         env_key = \"SCRIPTED_KEY\"\n"
    );
    // Without a terminal nobody can be asked whether a tool may be called.
    let approval = "default_tools_approval_mode = \"approve\"\n";
    let [(store, at), (mark, home)] = host.variables();
    let environment = format!("env = {{ {store} = \"{at}\", {mark} = \"{home}\" }}\n");
    let stanza = CODEX.stanza;
    host.configure(&format!("{provider}{stanza}{approval}{environment}"));
}

fn turn(_: &Host, mut command: Command) -> Command {
    command
        .args(["exec", "--skip-git-repo-check", "--json", "go"])
        .env("SCRIPTED_KEY", "none");
    command
}

#[test]
fn codex_reads_the_stanza_that_users_are_given() {
    reads_its_stanza(&CODEX);
}

#[test]
fn codex_starts_a_run_ends_and_a_new_process_of_it_reads_the_result() {
    starts_ends_and_comes_back(&CODEX);
}

#[test]
fn a_run_lives_when_codex_is_killed_in_the_middle_of_it() {
    killed_in_the_middle(&CODEX);
}
