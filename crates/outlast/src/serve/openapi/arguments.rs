//! What requests are asked with.

use super::record::Lifetime;
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

/// What to start: `command` or `argv`, and how.
#[derive(ToSchema, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    /// A text for a shell: `bash`, or `sh` where there is none.
    #[schema(required = false)]
    command: String,
    /// A program and its arguments, executed as they are.
    #[schema(required = false)]
    argv: Vec<String>,
    /// Directory; a relative one is taken from the server's project. Default: that project.
    #[schema(required = false)]
    cwd: String,
    /// Name. Default: the command, cut.
    #[schema(required = false)]
    label: String,
    /// Session that the run counts for. Default: none.
    #[schema(required = false)]
    session: String,
    /// Who asks, for the record. Default: `http`.
    #[schema(required = false)]
    host: String,
    /// Variables on top of the server's own environment.
    #[schema(required = false)]
    env: BTreeMap<String, String>,
    /// The same, never written down and masked in what is shown.
    #[schema(required = false)]
    secret_env: BTreeMap<String, String>,
    /// Whether the shell reads the login files. Default: true.
    #[schema(required = false)]
    login: bool,
    /// Whether a pipe fails with its first failing part. Default: false.
    #[schema(required = false)]
    pipefail: bool,
    #[schema(required = false)]
    stdin: Stdin,
    #[schema(required = false)]
    leftovers: Leftovers,
    /// Only `detached` over HTTP.
    #[schema(required = false)]
    lifetime: Lifetime,
    /// Time limit in seconds, up to 30 days; 0 is none. Default: none.
    #[schema(required = false)]
    timeout_secs: u64,
    /// Time at which it is stopped, RFC 3339.
    #[schema(required = false, format = DateTime)]
    deadline: String,
    /// Time between TERM and KILL in seconds. Default: as configured.
    #[schema(required = false)]
    grace_secs: u64,
    /// Signal in place of TERM.
    #[schema(required = false)]
    stop_signal: String,
    /// Shell text that runs first when the run is stopped.
    #[schema(required = false)]
    stop_command: String,
    /// Output kept, in bytes. Default: as configured.
    #[schema(required = false)]
    max_output_bytes: u64,
    /// Longest time in seconds without a reader. Default: none.
    #[schema(required = false)]
    idle_ttl_secs: u64,
    /// At the limit wait for a place, else refused. Default: false.
    #[schema(required = false)]
    queue: bool,
    /// Longest wait for a place in seconds; asks for the queue too.
    #[schema(required = false)]
    queue_secs: u64,
    /// What contains the run. Default: as configured, else `host`.
    #[schema(required = false)]
    sandbox: Sandbox,
    /// `none`, `full` or `allow:HOST,HOST`. Default: as configured.
    #[schema(required = false)]
    network: String,
    /// What a contained run may do with the project's history. Default: `commit`.
    #[schema(required = false)]
    git: Git,
    /// Memory that a contained run may use: bytes, or such as `512MiB`. Default: no limit.
    #[schema(required = false)]
    memory: String,
    /// Processes that a contained run may have, from 1. Default: no limit.
    #[schema(required = false)]
    pids: u32,
    /// Processors that a contained run may use, such as 1.5. Default: no limit.
    #[schema(required = false)]
    cpu: f64,
    /// Image of docker or podman that it runs in, contained as `edit` unless `sandbox` says less.
    #[schema(required = false)]
    image: String,
}

/// What a run may do with the project's history.
#[derive(ToSchema, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Git {
    Read,
    Commit,
    Write,
}

/// What the run reads.
#[derive(ToSchema, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stdin {
    Null,
    Pipe,
}

/// What becomes of processes that outlive the command.
#[derive(ToSchema, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Leftovers {
    Report,
    Wait,
    Stop,
}

/// What contains the run.
#[derive(ToSchema, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sandbox {
    Read,
    Edit,
    Host,
}

/// What to write to stdin: `text`, `eof` or both.
#[derive(ToSchema, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Send {
    /// Written as it is.
    #[schema(required = false)]
    text: String,
    /// Close stdin afterwards.
    #[schema(required = false)]
    eof: bool,
}

/// How to stop.
#[derive(ToSchema, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cancel {
    /// KILL without TERM.
    #[schema(required = false)]
    now: bool,
    /// Time between TERM and KILL in seconds, in place of the run's own.
    #[schema(required = false)]
    grace_secs: u64,
    /// Who asks, for the record. Default: `http`.
    #[schema(required = false)]
    by: String,
}

/// What an agent is to do, and how.
#[derive(ToSchema, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartAgent {
    /// Complete instruction.
    task: String,
    /// Directory to work in; a relative one is taken from the server's project. Default: that project.
    #[schema(required = false)]
    cwd: String,
    /// Go on until this shell text exits with 0.
    #[schema(required = false)]
    until: String,
    /// Turns of the model, 1 to 200. Default: 50, or as configured.
    #[schema(required = false)]
    max_turns: u64,
    /// On the host, read-only: shell and writes are refused. Default: false.
    #[schema(required = false)]
    local: bool,
    /// Default: as configured, else the first that is there.
    #[schema(required = false)]
    model: String,
    /// Ask before a call that the sandbox forbids, else deny it. Default: false.
    #[schema(required = false)]
    ask: bool,
    /// JSON Schema that the final answer keeps.
    #[schema(required = false, value_type = Object)]
    json_schema: serde_json::Value,
    /// Name of the agent that asks.
    #[schema(required = false)]
    invoked_by: String,
    /// Longest time in seconds without a reader. Default: none.
    #[schema(required = false)]
    idle_ttl_secs: u64,
    /// Time limit in seconds, up to 30 days; 0 is none. Default: none.
    #[schema(required = false)]
    timeout_secs: u64,
    /// Name. Default: the task, cut.
    #[schema(required = false)]
    label: String,
    /// Session that the run counts for. Default: none.
    #[schema(required = false)]
    session: String,
    /// What contains its calls. Default: `edit`, or less as configured.
    #[schema(required = false)]
    sandbox: Sandbox,
    /// `none`, `full` or `allow:HOST,HOST`. Default: `none`.
    #[schema(required = false)]
    network: String,
}

/// What is said to what a run asks.
#[derive(ToSchema, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    /// Whether it may be done.
    approve: bool,
    /// Which ask. Default: the only open one.
    #[schema(required = false)]
    ask: String,
    /// Words for the model.
    #[schema(required = false)]
    text: String,
    /// Who answers, for the record. Default: `http`.
    #[schema(required = false)]
    by: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PollQuery {
    /// First event, `next_seq` of the poll before. Default: 0.
    #[param(required = false)]
    since_seq: u64,
    /// Events in bytes, up to 16384; 0 for none. Default: 8192.
    #[param(required = false)]
    max_bytes: u64,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AsksQuery {
    /// Runs of all projects. Default: false.
    #[param(required = false)]
    all: bool,
}

/// Which ends a session was told of.
#[derive(ToSchema, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Acknowledge {
    /// Runs: an id, the beginning of one, or a label.
    ids: Vec<String>,
    /// The session.
    session: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Only runs of this project, a directory.
    #[param(required = false)]
    project: String,
    /// Only runs of this session.
    #[param(required = false)]
    session: String,
    /// Only runs in this state; `live` and `ended` are all of one half.
    #[param(required = false, inline)]
    status: StatusWord,
    /// At most so many, up to 1000. Default: 50.
    #[param(required = false)]
    limit: u64,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum StatusWord {
    Queued,
    Running,
    Completed,
    Failed,
    Cancelled,
    TimedOut,
    Interrupted,
    Live,
    Ended,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// First event. Default: 0.
    #[param(required = false)]
    since: u64,
    /// At most so many, up to 2000. Not of a stream.
    #[param(required = false)]
    limit: u64,
    /// Wait so long for an event, up to 280 s. Default: 0. Not of a stream.
    #[param(required = false)]
    wait_secs: u64,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OutputQuery {
    /// Read forward from this byte. Default: the newest part.
    #[param(required = false)]
    since_byte: u64,
    /// Longest text in bytes, 1 to 1048576. Default: 16384.
    #[param(required = false)]
    max_bytes: u64,
    /// Newest lines, or matches, at most.
    #[param(required = false)]
    lines: u64,
    /// Only lines that match this regular expression.
    #[param(required = false)]
    grep: String,
    /// Lines around each match.
    #[param(required = false)]
    context: u64,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WaitQuery {
    /// Runs: an id, the beginning of one, or a label; several times.
    id: Vec<String>,
    /// Until one has ended; else until all have. Default: true.
    #[param(required = false)]
    any: bool,
    /// Longest wait, up to 280 s. Default: 45.
    #[param(required = false)]
    wait_secs: u64,
    /// Or until a line of output, old or new, matches this regular expression.
    #[param(required = false)]
    until_output: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct NoticesQuery {
    /// Runs of this session that it was not told of.
    #[param(required = false)]
    session: String,
    /// Runs of this project that nobody was told of. Default: the server's project.
    #[param(required = false)]
    project: String,
    /// At most so many, up to 1000. Default: 50.
    #[param(required = false)]
    limit: u64,
}
