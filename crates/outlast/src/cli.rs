//! The command line: verbs, options, help.
//!
//! Only its shape. What the words mean is in `values`, what the verbs do in `verbs`.

mod agent;
mod bounds;
mod look;
mod run;

pub(crate) use agent::{AnswerArguments, AsksArguments, DoArguments, ResumeArguments, Watch};
pub(crate) use look::{
    EventsArguments, ExportArguments, LogsArguments, PsArguments, ShowArguments,
};
pub(crate) use run::RunArguments;

use crate::{completions, values::duration_ms};
use clap::{Args, Command, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use std::{ffi::OsString, net::IpAddr, path::PathBuf};

/// Runs commands in the background that outlast the turn, the host and every other process
#[derive(Debug, Parser)]
#[command(
    name = "outlast",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    subcommand_required = true,
    after_help = EXAMPLES,
    after_long_help = EXAMPLES_AND_CODES
)]
pub(crate) struct Cli {
    /// What to do
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

impl Cli {
    /// Returns what `words` say, the program's name among them.
    ///
    /// # Errors
    ///
    /// Fails when they say nothing that can be done, or ask for help.
    pub(crate) fn read(words: &[OsString]) -> Result<Self, clap::Error> {
        // To describe every verb takes half as long as a spawn. Whatever is not plainly a
        // `run` is read by the whole description, which also knows how to refuse it.
        match run_alone(words) {
            Some(verb) => Ok(Self { verb }),
            None => Self::try_parse_from(words),
        }
    }
}

fn run_alone(words: &[OsString]) -> Option<Verb> {
    let words = words
        .get(1..)
        .filter(|words| words.first().is_some_and(|verb| verb == "run"))?;
    let command = RunArguments::augment_args(Command::new("run"));
    let mut matches = command.try_get_matches_from(words).ok()?;
    let arguments = RunArguments::from_arg_matches_mut(&mut matches).ok()?;
    Some(Verb::Run(Box::new(arguments)))
}

const EXAMPLES: &str = "\
Examples:
  outlast run -- cargo test            start a command, print its id
  outlast run --wait -c 'make | tee log'
  outlast do 'fix the build' --until make    hand a task to an agent
  outlast ps                           what runs here, what became of the rest
  outlast show m3qd                    one run: an id, the start of one, or a label
  outlast logs -f m3qd
  outlast wait m3qd && deploy";

const EXAMPLES_AND_CODES: &str = "\
Examples:
  outlast run -- cargo test            start a command, print its id
  outlast run --wait -c 'make | tee log'
  outlast do 'fix the build' --until make    hand a task to an agent
  outlast ps                           what runs here, what became of the rest
  outlast show m3qd                    one run: an id, the start of one, or a label
  outlast logs -f m3qd
  outlast wait m3qd && deploy

Exit codes:
  0 fine, 1 error, 2 usage, 3 no such run; `wait` and `run --wait` pass the run's own
  code (128+n for a signal), or 75 still running, 124 timed out, 125 outlast failed or
  the run was interrupted, 126 could not be started, 127 no such program, 130 cancelled

Environment:
  OUTLAST_HOME     directory of the store, else $XDG_STATE_HOME/outlast,
                   else ~/.local/state/outlast
  NO_COLOR         no colours";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Start a command and print its id
    Run(Box<RunArguments>),
    /// Hand a task to an agent that works in the background, and print the id of its run
    Do(Box<DoArguments>),
    /// Start an agent run that goes on where another ended
    Resume(ResumeArguments),
    /// List what agent runs wait to be told
    Asks(AsksArguments),
    /// Allow what an agent run asks to do
    Approve(AnswerArguments),
    /// Forbid what an agent run asks to do
    Deny(AnswerArguments),
    /// List runs, newest first
    Ps(PsArguments),
    /// Show all there is to know of one run
    Show(ShowArguments),
    /// Print the output of a run
    Logs(LogsArguments),
    /// Print the events of a run
    Events(EventsArguments),
    /// Print a run with everything it left as one JSON document
    Export(ExportArguments),
    /// Wait for runs to end and exit with their code
    Wait(WaitArguments),
    /// Stop runs with everything they started
    Cancel(CancelArguments),
    /// Write to the stdin of a run that was started with `--stdin pipe`
    Send(SendArguments),
    /// Remove ended runs
    Rm(RmArguments),
    /// Remove runs that ended long ago
    Gc(GcArguments),
    /// Build the index anew from the runs
    Reindex(JsonArguments),
    /// Serve the background tools to an AI host, by MCP on stdio
    Mcp(McpArguments),
    /// Serve the same tools and a JSON API to many hosts, over HTTP
    Serve(Box<ServeArguments>),
    /// Look for what could harm the runs, and say what to do
    Doctor(JsonArguments),
    /// Print the completions of a shell, ids included
    Completions(CompletionsArguments),
    /// Print the manual page
    Man(ManArguments),
    /// Print where the configuration is and what holds
    Config(JsonArguments),
}

/// Nothing but the form of the answer.
#[derive(Debug, Args)]
pub(crate) struct JsonArguments {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `wait`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast wait m3qd                    exits with the run's own code
  outlast wait --any m3qd z8zz         until the first of them ends
  outlast wait --for 45s m3qd          exits with 75 when it still runs then
  outlast wait --until-output 'listening on' server

^C ends the wait, not the run.")]
pub(crate) struct WaitArguments {
    /// Runs: an id, the start of one, or a label
    #[arg(required = true, value_name = "ID", add = ArgValueCompleter::new(completions::ids))]
    pub(crate) ids: Vec<String>,
    /// Wait for the first of them, not for all
    #[arg(long)]
    pub(crate) any: bool,
    /// Wait at most this long
    #[arg(long = "for", value_name = "TIME", value_parser = duration_ms, allow_hyphen_values = true)]
    pub(crate) limit_ms: Option<u64>,
    /// Wait until a line of output matches this pattern
    #[arg(long, value_name = "RE")]
    pub(crate) until_output: Option<String>,
    /// Print the records as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `cancel`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast cancel m3qd                  TERM to the whole tree, KILL after the grace
  outlast cancel --grace 30s m3qd z8zz
  outlast cancel --now m3qd            KILL at once

Returns when nothing of the tree is left. An ended run is cancelled to stop what it left behind.")]
pub(crate) struct CancelArguments {
    /// Runs: an id, the start of one, or a label
    #[arg(required = true, value_name = "ID", add = ArgValueCompleter::new(completions::live_ids))]
    pub(crate) ids: Vec<String>,
    /// KILL without TERM; the same as `--grace 0`
    #[arg(long, conflicts_with = "grace_ms")]
    pub(crate) now: bool,
    /// Time between TERM and KILL, in place of the run's own
    #[arg(long = "grace", id = "grace_ms", value_name = "TIME", value_parser = duration_ms, allow_hyphen_values = true)]
    pub(crate) grace_ms: Option<u64>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `send`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast send m3qd yes                the line `yes`
  tar c . | outlast send m3qd - --eof  stdin as it is, then the end")]
pub(crate) struct SendArguments {
    /// Run: an id, the start of one, or a label
    #[arg(value_name = "ID", add = ArgValueCompleter::new(completions::live_ids))]
    pub(crate) id: String,
    /// A line, sent with its newline; `-` sends stdin as it is
    #[arg(value_name = "TEXT", required_unless_present = "eof")]
    pub(crate) text: Option<String>,
    /// Close the run's stdin afterwards
    #[arg(long)]
    pub(crate) eof: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `rm`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast rm m3qd z8zz

A run that goes on, and one that left processes behind, is not removed: cancel it first.")]
pub(crate) struct RmArguments {
    /// Runs: an id, the start of one, or a label
    #[arg(required = true, value_name = "ID", add = ArgValueCompleter::new(completions::ended_ids))]
    pub(crate) ids: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `gc`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast gc --dry-run                 what would go
  outlast gc --older-than 7d --keep 100

A run of whose end nobody was told stays for its first seven days, whatever is asked. `wait`,
`run --wait`, `show` and `logs` tell of it.")]
pub(crate) struct GcArguments {
    /// Remove what ended longer ago than this [default: 30 days, or as configured]
    #[arg(long = "older-than", value_name = "TIME", value_parser = duration_ms, allow_hyphen_values = true)]
    pub(crate) older_than_ms: Option<u64>,
    /// Keep at least this many of the newest ended runs
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Remove nothing, say what would go
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `mcp`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast mcp                          what a host's configuration names as its server
  outlast mcp --session nightly

A host starts it and ends it. The runs that are started through it go on.")]
pub(crate) struct McpArguments {
    /// Session that the runs count for [default: the host's, else the project]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast serve                        on 127.0.0.1:27183; prints the URL, names the token's file
  outlast serve --port 0               on a port that is free
  curl -H \"Authorization: Bearer $(cat ~/.local/state/outlast/serve.token)\" \\
       http://127.0.0.1:27183/api/runs
  outlast serve --bind 10.0.0.5 --allow-remote --allow-host build.example.org

MCP is at /mcp, the API at /api, its description at /api/openapi.json. TERM ends the server; the
runs that are started through it go on.")]
pub(crate) struct ServeArguments {
    /// Port; 0 for one that is free [default: 27183, or as configured]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) bind: IpAddr,
    /// Listen on an address that other machines can reach
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Name by which the server may be called, beside localhost and its address
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Origin of pages that may call, beside those of this machine
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// File with the token, in place of the store's
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Session that the runs of tools count for [default: the host's, else the project]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo 'source <(outlast completions bash)' >> ~/.bashrc
  echo 'source <(outlast completions zsh)' >> ~/.zshrc
  outlast completions fish > ~/.config/fish/completions/outlast.fish")]
pub(crate) struct CompletionsArguments {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: ShellWord,
}

/// A shell that can complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellWord {
    /// Bash
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast man | man -l -
  outlast man run > outlast-run.1")]
pub(crate) struct ManArguments {
    /// Verb, for its own page
    #[arg(value_name = "VERB")]
    pub(crate) verb: Option<String>,
}

#[cfg(test)]
mod tests;
