//! Arguments of the verbs that look and change nothing.

use crate::completions;
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use outlast_journal::Status;

/// Arguments of `ps`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast ps                           the newest 50 runs of this project
  outlast ps -a --status running       what goes on anywhere
  outlast ps --json | jq '.runs[].id'")]
pub(crate) struct PsArguments {
    /// Runs of all projects
    #[arg(short = 'a', long)]
    pub(crate) all: bool,
    /// Only runs in this state; may be given more than once
    #[arg(long, value_name = "STATE")]
    pub(crate) status: Vec<StatusWord>,
    /// Only runs of this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// At most this many
    #[arg(short = 'n', value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Print the records as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// A state that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum StatusWord {
    /// It waits for a place
    Queued,
    /// It executes
    Running,
    /// It exited with 0
    Completed,
    /// It exited otherwise, or could not start
    Failed,
    /// It was stopped because somebody asked
    Cancelled,
    /// It was stopped at its time limit
    TimedOut,
    /// Its supervisor or the machine died
    Interrupted,
}

impl From<StatusWord> for Status {
    fn from(word: StatusWord) -> Self {
        match word {
            StatusWord::Queued => Self::Queued,
            StatusWord::Running => Self::Running,
            StatusWord::Completed => Self::Completed,
            StatusWord::Failed => Self::Failed,
            StatusWord::Cancelled => Self::Cancelled,
            StatusWord::TimedOut => Self::TimedOut,
            StatusWord::Interrupted => Self::Interrupted,
        }
    }
}

/// Arguments of `show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast show m3qd
  outlast show --json m3qd | jq .exit_code
  outlast show --env m3qd              names of its variables, never their values")]
pub(crate) struct ShowArguments {
    /// Run: an id, the start of one, or a label
    #[arg(value_name = "ID", add = ArgValueCompleter::new(completions::ids))]
    pub(crate) id: String,
    /// Print the names of its environment variables instead
    #[arg(long)]
    pub(crate) env: bool,
    /// Print the record as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `logs`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast logs m3qd                    all that is kept, as text
  outlast logs -f m3qd                 and what is still to come
  outlast logs -n 20 m3qd              the last 20 lines
  outlast logs --grep 'error|warning' --context 2 m3qd
  outlast logs --raw m3qd > log        the bytes as they came, and nothing else

Text has no colour codes and only the last state of a line that was redrawn.")]
pub(crate) struct LogsArguments {
    /// Run: an id, the start of one, or a label
    #[arg(value_name = "ID", add = ArgValueCompleter::new(completions::ids))]
    pub(crate) id: String,
    /// Go on with what is still to come, until the run ends
    #[arg(short = 'f', long)]
    pub(crate) follow: bool,
    /// Only the last N lines, or matches
    #[arg(short = 'n', value_name = "N", conflicts_with_all = ["raw", "since_byte"])]
    pub(crate) lines: Option<usize>,
    /// Only lines that match this pattern
    #[arg(long, value_name = "RE", conflicts_with = "raw")]
    pub(crate) grep: Option<String>,
    /// Lines before and after each match
    #[arg(long, value_name = "N", default_value_t = 0, requires = "grep")]
    pub(crate) context: usize,
    /// Begin at this byte of the output
    #[arg(long, value_name = "N")]
    pub(crate) since_byte: Option<u64>,
    /// The kept bytes and nothing else
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print one page of text with its byte offsets as one JSON document
    #[arg(long, conflicts_with_all = ["raw", "follow"])]
    pub(crate) json: bool,
}

/// Arguments of `events`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast events m3qd
  outlast events --jsonl -f m3qd       one event a line, until the run ends")]
pub(crate) struct EventsArguments {
    /// Run: an id, the start of one, or a label
    #[arg(value_name = "ID", add = ArgValueCompleter::new(completions::ids))]
    pub(crate) id: String,
    /// Begin at the event with this number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) since: u64,
    /// Go on until the run ends
    #[arg(short = 'f', long)]
    pub(crate) follow: bool,
    /// Print one JSON document a line
    #[arg(long)]
    pub(crate) jsonl: bool,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  outlast export m3qd > run.json

The document has the record, the spec, the events and the kept output; of an agent run also its
result and the whole journal: messages, calls, outcomes and times. Secrets are masked.")]
pub(crate) struct ExportArguments {
    /// Run: an id, the start of one, or a label
    #[arg(value_name = "ID", add = ArgValueCompleter::new(completions::ids))]
    pub(crate) id: String,
}
