//! Next steps in the words of the tools: who reads them has no command line.
//!
//! The library's words are for all surfaces and some name verbs. Each code
//! whose hint does has its own words here; one that is missed says less, and
//! never names a verb.

use crate::failure::Failure;

/// What is said where a hint names verbs and has no words here.
const PLAIN: &str = "see the message; background_list tells where the runs are";

/// Next steps by the code of the failure. What only a person can do says so.
const STEPS: [(&str, &str); 17] = [
    ("no_such_run", "background_list has the ids"),
    ("no_stdin", "start it with `stdin: pipe` to send to it"),
    (
        "supervisor_silent",
        "try again; background_output tells where the run is",
    ),
    (
        "spec_damaged",
        "the user can remove the run with `outlast rm`; background_list has the others",
    ),
    (
        "spec_unreadable",
        "the user can read the bytes as they are with `outlast logs --raw`",
    ),
    (
        "key_unreadable",
        "the user can read the bytes as they are with `outlast logs --raw`",
    ),
    (
        "store_full",
        "free space; the user can remove old runs with `outlast gc`",
    ),
    (
        "store_unwritable",
        "ask the user, whom `outlast doctor` tells what is wrong",
    ),
    (
        "could_not_start",
        "see the message; `outlast doctor` tells the user what this machine lacks",
    ),
    ("no_holder", "leave `lifetime` out"),
    ("environment_name", "give each name in `env` without `=`"),
    (
        "too_long",
        "shorten it; long text can stand in a file that the command reads",
    ),
    (
        "no_shell",
        "leave `pipefail` out, or ask the user to install bash",
    ),
    (
        "no_model",
        "give `model`, or ask the user, who can set OUTLAST_MODEL, ANTHROPIC_API_KEY, \
         OPENAI_API_KEY or GEMINI_API_KEY where this server starts, or run Ollama or llama.cpp",
    ),
    (
        "until_refused",
        "leave `until` out, or start it without `local`",
    ),
    (
        "no_open_ask",
        "it asks nothing now: assistant_poll tells where it is",
    ),
    (
        "bad_pattern",
        "write `\\` before each sign that stands for itself",
    ),
];

/// Returns a failure with its next step in the words of the tools.
pub(super) fn in_tools(failure: Failure) -> Failure {
    let own = STEPS.iter().find(|(code, _)| *code == failure.code());
    if let Some((_, step)) = own {
        return failure.with_hint((*step).to_owned());
    }
    let hint = failure.hint().replace("`--model`", "`model`");
    if failure.code() == "at_capacity" {
        let holders = hint.split_once("; active: ");
        let holders = holders.map_or_else(String::new, |(_, who)| format!("; active: {who}"));
        let ways = if failure.sentence().contains("agent run") {
            "background_wait for one, or assistant_cancel or background_cancel one"
        } else {
            "background_wait for one, background_cancel one, or start with `queue: true`"
        };
        return failure.with_hint(format!("{ways}{holders}"));
    }
    if names_a_verb(&hint) {
        return failure.with_hint(PLAIN.to_owned());
    }
    failure.with_hint(hint)
}

fn names_a_verb(hint: &str) -> bool {
    hint.contains("`outlast ") || hint.contains(" --") || hint.contains("`--")
}

#[cfg(test)]
mod tests;
