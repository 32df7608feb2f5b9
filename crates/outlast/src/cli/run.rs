//! Arguments of `run`.

use super::bounds::{Bounds, CONTAINMENT};
use crate::values::{Deadline, Pair, SandboxWord, deadline, duration_ms, pair, size_bytes};
use clap::{Args, ValueEnum};
use outlast_journal::{Leftovers, Lifetime, Stdin};
use std::{ffi::OsString, path::PathBuf};

const COMMAND: &str = "Command";
const TIME: &str = "Time";
const STOP: &str = "Stopping";
const LIFE: &str = "Life";

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(
    override_usage = "outlast run [OPTIONS] [--] PROG [ARG]...\n       outlast run [OPTIONS] -c TEXT",
    after_help = "\
Examples:
  outlast run -- cargo test
  outlast run --label build --timeout 30m -- make -j8
  outlast run -c 'make 2>&1 | tee make.log'
  generate | outlast run -c -          a text of up to 4 MiB from stdin
  outlast run --wait -- ./deploy.sh    ^C ends the wait, not the run
  outlast run --queue --idempotency-key nightly -- ./nightly.sh
  outlast run --sandbox edit -- npm test    it writes this directory, has no network

Options stand before the command. Without --wait the id is all that is printed."
)]
pub(crate) struct RunArguments {
    /// The program and its arguments; with -c one text for the shell
    #[arg(
        value_name = "PROG ARG",
        required = true,
        trailing_var_arg = true,
        value_hint = clap::ValueHint::CommandWithArguments
    )]
    pub(crate) words: Vec<OsString>,
    /// Run the one word as a text for `bash -c`, or `sh -c` where there is no bash; `-` reads it from stdin
    #[arg(short = 'c', help_heading = COMMAND)]
    pub(crate) is_shell: bool,
    /// With -c: by a login shell
    #[arg(long, requires = "is_shell", help_heading = COMMAND)]
    pub(crate) login: bool,
    /// With -c: a pipe fails when any part of it does
    #[arg(long, requires = "is_shell", help_heading = COMMAND)]
    pub(crate) pipefail: bool,
    /// Name for lists [default: made from the command]
    #[arg(long, value_name = "TEXT", help_heading = COMMAND)]
    pub(crate) label: Option<String>,
    /// Directory to run in [default: this one]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, help_heading = COMMAND)]
    pub(crate) cwd: Option<PathBuf>,
    /// Set an environment variable
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, help_heading = COMMAND)]
    pub(crate) env: Vec<Pair>,
    /// Hand this variable down and mask its value wherever output is shown
    #[arg(long, value_name = "NAME", help_heading = COMMAND)]
    pub(crate) secret_env: Vec<String>,
    /// What the command reads: nothing, or what `send` writes
    #[arg(long, value_name = "WHAT", default_value = "null", help_heading = COMMAND)]
    pub(crate) stdin: StdinWord,
    /// Output kept; the middle of more is dropped [default: 64MiB, or as configured]
    #[arg(long, value_name = "SIZE", value_parser = size_bytes, allow_hyphen_values = true, help_heading = COMMAND)]
    pub(crate) max_output: Option<u64>,

    /// Wait for the end, print the output as it comes, exit with the run's code
    #[arg(long)]
    pub(crate) wait: bool,
    /// Print the record as one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    /// Stop it after this long, counted from its start in awake time
    #[arg(long = "timeout", id = "timeout_ms", value_name = "TIME", value_parser = duration_ms, allow_hyphen_values = true, help_heading = TIME)]
    pub(crate) timeout_ms: Option<u64>,
    /// Stop it at this time: RFC 3339 with an offset, or the next HH:MM
    #[arg(long, value_name = "WHEN", value_parser = deadline, allow_hyphen_values = true, help_heading = TIME)]
    pub(crate) deadline: Option<Deadline>,
    /// Stop it when nobody read it for this long
    #[arg(long = "idle-ttl", id = "idle_ttl_ms", value_name = "TIME", value_parser = duration_ms, allow_hyphen_values = true, help_heading = TIME)]
    pub(crate) idle_ttl_ms: Option<u64>,
    /// Wait for a place rather than be refused, at most this long if a time is given
    #[arg(
        long = "queue",
        id = "queue_ms",
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        value_parser = duration_ms,
        help_heading = TIME
    )]
    #[expect(
        clippy::option_option,
        reason = "absent, bare, and with a time are three things"
    )]
    pub(crate) queue_ms: Option<Option<u64>>,

    /// Time between TERM and KILL [default: 5s, or as configured]
    #[arg(long = "grace", id = "grace_ms", value_name = "TIME", value_parser = duration_ms, allow_hyphen_values = true, help_heading = STOP)]
    pub(crate) grace_ms: Option<u64>,
    /// Signal in place of TERM
    #[arg(long, value_name = "SIGNAL", help_heading = STOP)]
    pub(crate) stop_signal: Option<String>,
    /// Shell text to run first when it is stopped
    #[arg(long, value_name = "TEXT", help_heading = STOP)]
    pub(crate) stop_command: Option<String>,
    /// What becomes of processes that outlive the command
    #[arg(long, value_name = "WHAT", default_value = "report", help_heading = STOP)]
    pub(crate) leftovers: LeftoversWord,

    /// Whether it goes on when its session is gone
    #[arg(long, value_name = "WHAT", default_value = "detached", help_heading = LIFE)]
    pub(crate) lifetime: LifetimeWord,
    /// Process whose end ends the run; with --lifetime session
    #[arg(long, value_name = "PID", help_heading = LIFE)]
    pub(crate) session_pid: Option<i32>,
    /// Session that it belongs to
    #[arg(long, value_name = "NAME", help_heading = LIFE)]
    pub(crate) session: Option<String>,
    /// Start nothing if a run with this key is there already: print that one
    #[arg(long, value_name = "KEY", help_heading = LIFE)]
    pub(crate) idempotency_key: Option<String>,

    /// How far it is contained
    #[arg(long, value_name = "HOW", help_heading = CONTAINMENT)]
    pub(crate) sandbox: Option<SandboxWord>,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
    /// Container image that it runs in
    #[arg(long, value_name = "IMAGE", help_heading = CONTAINMENT)]
    pub(crate) image: Option<String>,
}

/// What the command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StdinWord {
    /// Nothing
    Null,
    /// What `send` writes
    Pipe,
}

impl From<StdinWord> for Stdin {
    fn from(word: StdinWord) -> Self {
        match word {
            StdinWord::Null => Self::Null,
            StdinWord::Pipe => Self::Pipe,
        }
    }
}

/// What becomes of processes that outlive the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LeftoversWord {
    /// The run ends with its command, and names what is left
    Report,
    /// The run ends when all its processes have
    Wait,
    /// What is left is stopped
    Stop,
}

impl From<LeftoversWord> for Leftovers {
    fn from(word: LeftoversWord) -> Self {
        match word {
            LeftoversWord::Report => Self::Report,
            LeftoversWord::Wait => Self::Wait,
            LeftoversWord::Stop => Self::Stop,
        }
    }
}

/// Whether a run goes on when its session is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LifetimeWord {
    /// It does
    Detached,
    /// It is cancelled with --session-pid, or with this --wait
    Session,
}

impl From<LifetimeWord> for Lifetime {
    fn from(word: LifetimeWord) -> Self {
        match word {
            LifetimeWord::Detached => Self::Detached,
            LifetimeWord::Session => Self::Session,
        }
    }
}
