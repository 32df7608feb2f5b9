//! Arguments of the verbs for agent runs.

use super::bounds::{Bounds, CONTAINMENT};
use crate::{
    completions,
    values::{SandboxWord, duration_ms},
};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use std::path::PathBuf;

/// Arguments of `do`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast do 'make the tests pass' --until 'cargo test'
  outlast do --wait 'say what this project is for'
  outlast do --json 'list the TODOs' | jq .summary
  outlast do --model ollama/qwen3 --max-turns 20 'fix the typo in README.md'
  generate | outlast do -               the task from stdin

It works in this directory, which it may edit, in a sandbox without a network. Without --wait
the id is all that is printed; `outlast show ID` tells how it goes.")]
pub(crate) struct DoArguments {
    /// What is to be done; `-` reads it from stdin
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    /// Go on until this shell text exits with 0
    #[arg(long, value_name = "CHECK")]
    pub(crate) until: Option<String>,
    /// Model, as `NAME` or `PROVIDER/NAME` [default: as configured, else what is there]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Turns of the model, from 1 to 200 [default: 50, or as configured]
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u64>,
    /// Only read, on the host: shell and writes are refused
    #[arg(long, conflicts_with_all = ["sandbox", "network", "git", "memory", "pids", "cpu", "ask"])]
    pub(crate) local: bool,
    /// How far its calls are contained [default: edit]
    #[arg(long, value_name = "HOW", help_heading = CONTAINMENT)]
    pub(crate) sandbox: Option<SandboxWord>,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
    /// Name for lists [default: made from the task]
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Stop it after this long [default: never]
    #[arg(long = "timeout", id = "timeout_ms", value_name = "TIME", value_parser = duration_ms, allow_hyphen_values = true)]
    pub(crate) timeout_ms: Option<u64>,
    /// Directory to work in [default: this one]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Ask before a call that the sandbox forbids; `outlast asks` has the questions
    #[arg(long)]
    pub(crate) ask: bool,
    /// File with the JSON Schema of the final answer
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) json_schema: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) watch: Watch,
}

/// How an agent run is watched.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Watch {
    /// Wait for the end: its log on stderr as it comes, its final message on stdout
    #[arg(long)]
    pub(crate) wait: bool,
    /// Wait, print the result document on stdout and the events as JSON lines on stderr
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast resume m3qd                  a new run that goes on where this one ended
  outlast resume m3qd --max-turns 100 --wait

What was done stays done, and the counts of turns, tokens and checks go on. The old run keeps its
end. Resumed again, it answers with the same new run.")]
pub(crate) struct ResumeArguments {
    /// An agent run that ended without success: an id, the start of one, or a label
    #[arg(value_name = "ID", add = ArgValueCompleter::new(completions::ended_ids))]
    pub(crate) id: String,
    /// Another model [default: the same]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Turns of the whole chain of runs [default: the same]
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u64>,
    #[command(flatten)]
    pub(crate) watch: Watch,
}

/// Arguments of `asks`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast asks                         what runs of this project wait to be told
  outlast asks -a --json

A run asks only if it was started with --ask. An ask that nobody answers within an hour counts as
denied.")]
pub(crate) struct AsksArguments {
    /// Runs of all projects
    #[arg(short = 'a', long)]
    pub(crate) all: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `approve` and of `deny`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast asks                         shows the question
  outlast approve m3qd
  outlast deny m3qd 'use the staging host instead'")]
pub(crate) struct AnswerArguments {
    /// The run that asks: an id, the start of one, or a label
    #[arg(value_name = "ID", add = ArgValueCompleter::new(completions::live_ids))]
    pub(crate) id: String,
    /// Words for the model
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Which ask of the run [default: the oldest]
    #[arg(long, value_name = "ASK")]
    pub(crate) ask: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
