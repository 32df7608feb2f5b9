//! What requests are answered with.

use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Where a run is in its life.
#[derive(ToSchema, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Queued,
    Running,
    Completed,
    Failed,
    Cancelled,
    TimedOut,
    Interrupted,
}

/// What the root of a run is.
#[derive(ToSchema, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Command,
    Agent,
}

/// Whether a run outlives its session.
#[derive(ToSchema, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Lifetime {
    Detached,
    Session,
}

/// A run: `outlast.run/1`.
#[derive(ToSchema)]
pub(super) struct Run {
    /// Always `outlast.run/1`.
    schema: String,
    /// The run.
    id: String,
    kind: Kind,
    /// Name.
    label: String,
    /// What was asked for.
    command: String,
    /// Directory that it belongs to.
    project: String,
    /// Directory in which it runs.
    cwd: String,
    /// Session that it counts for.
    #[schema(required = false)]
    session: String,
    /// Run inside which it was started.
    #[schema(required = false)]
    parent: String,
    status: Status,
    /// Code of the main process, if it exited.
    #[schema(required = false)]
    exit_code: i32,
    /// Which rule made the code: `direct`, `shell`, `pipefail` or `last_of_pipe`.
    #[schema(required = false)]
    exit_rule: String,
    /// Signal that killed the main process, without SIG.
    #[schema(required = false)]
    signal: String,
    /// Who or what ended it.
    #[schema(required = false)]
    ended_by: String,
    /// Why it could not start.
    #[schema(required = false)]
    failure: Failure,
    /// One line about it.
    #[schema(required = false)]
    summary: String,
    /// When it was born.
    #[schema(format = DateTime)]
    created: String,
    /// When its command was executed.
    #[schema(required = false, format = DateTime)]
    started: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    updated: String,
    /// When it ended.
    #[schema(required = false, format = DateTime)]
    ended: String,
    /// Awake time since exec, in milliseconds.
    #[schema(required = false)]
    elapsed_ms: u64,
    output: Output,
    /// Processes of its tree that outlived its main process and are alive.
    #[schema(required = false)]
    leftovers: Vec<Leftover>,
    /// Runs started inside it that were alive at its end.
    #[schema(required = false)]
    runs_inside: Vec<String>,
    /// Processes that could not be killed.
    #[schema(required = false)]
    unkillable: Vec<i32>,
    posture: Posture,
    origin: Origin,
    #[schema(required = false)]
    usage: Usage,
    /// Time limit in seconds.
    #[schema(required = false)]
    timeout_secs: f64,
    /// Time at which it is stopped.
    #[schema(required = false, format = DateTime)]
    deadline: String,
    /// Longest time in seconds without a reader.
    #[schema(required = false)]
    idle_ttl_secs: f64,
    lifetime: Lifetime,
    #[schema(required = false)]
    shell: Shell,
    /// A stop was asked for and the tree is not gone yet.
    #[schema(required = false)]
    cancelling: bool,
    /// Runs before it in its queue.
    #[schema(required = false)]
    queue_position: u64,
    #[schema(required = false)]
    survives: Survives,
}

/// Why a command could not start.
#[derive(ToSchema)]
pub(super) struct Failure {
    /// Stable name.
    code: String,
    /// The fact.
    message: String,
    /// The system's number for it.
    #[schema(required = false)]
    errno: i32,
}

/// Output in a record.
#[derive(ToSchema)]
pub(super) struct Output {
    /// Bytes that the run wrote until its end.
    bytes: u64,
    /// How many of them are kept.
    kept: u64,
    #[schema(required = false)]
    gap: Gap,
    /// When output last came.
    #[schema(required = false, format = DateTime)]
    last_output_at: String,
    /// Bytes that leftovers wrote after the end.
    #[schema(required = false)]
    after_end: u64,
    /// Bytes that the disk did not take.
    #[schema(required = false)]
    lost: u64,
}

/// Bytes that are not kept: `from` up to, not with, `to`.
#[derive(ToSchema)]
pub(super) struct Gap {
    from: u64,
    to: u64,
}

/// A process that is left.
#[derive(ToSchema)]
pub(super) struct Leftover {
    pid: i32,
    /// Its command line, cut.
    command: String,
}

/// What a run may touch, as bound.
#[derive(ToSchema)]
pub(super) struct Posture {
    /// `host` when nothing contains it.
    mode: String,
    /// `ReadOnly`, `SandboxEdit` or `FullAccess`.
    tier: String,
    /// `none`, `allow` or `full`.
    network: String,
}

/// Who started a run.
#[derive(ToSchema)]
pub(super) struct Origin {
    /// Surface or host.
    #[schema(required = false)]
    host: String,
    /// The host's own session.
    #[schema(required = false)]
    session: String,
    /// The host's own thread.
    #[schema(required = false)]
    thread: String,
    /// Names of the agents that led here, oldest first.
    #[schema(required = false)]
    ancestry: Vec<String>,
}

/// What a run used.
#[derive(ToSchema)]
pub(super) struct Usage {
    /// Processor time, in milliseconds.
    cpu_ms: u64,
    /// Largest memory of one process.
    peak_rss_bytes: u64,
}

/// The shell of a run; absent for a direct command.
#[derive(ToSchema)]
pub(super) struct Shell {
    /// Its path.
    program: String,
    /// Whether it reads the login files.
    login: bool,
    /// Whether a pipe fails with its first failing part.
    pipefail: bool,
}

/// What a run outlasts.
#[derive(ToSchema)]
pub(super) struct Survives {
    /// The end of the process that started it.
    host_exit: bool,
    /// The end of the terminal.
    terminal: bool,
    /// A restart of the systemd unit that it was started from.
    unit_restart: bool,
}

/// A run in short.
#[derive(ToSchema)]
pub(super) struct ShortRun {
    /// The run.
    id: String,
    kind: Kind,
    /// Name.
    label: String,
    status: Status,
    /// When it was born.
    #[schema(format = DateTime)]
    created: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    updated: String,
    /// Code of the main process, if it exited.
    #[schema(required = false)]
    exit_code: i32,
    /// One line about it.
    #[schema(required = false)]
    summary: String,
    /// Awake time since exec, in milliseconds.
    #[schema(required = false)]
    elapsed_ms: u64,
}

/// A run that was started, or that a key belongs to.
#[derive(ToSchema)]
pub(super) struct Started {
    /// Always `outlast.started/1`.
    schema: String,
    /// Whether the key belonged to this run already, so that nothing was started.
    replayed: bool,
    run: Run,
    /// What was done otherwise than asked.
    #[schema(required = false)]
    notices: Vec<String>,
}

/// Runs, newest change first.
#[derive(ToSchema)]
pub(super) struct List {
    /// Always `outlast.runs/1`.
    schema: String,
    runs: Vec<Run>,
    /// Whether there are more than asked for.
    more: bool,
    /// What could not be read.
    #[schema(required = false)]
    damaged: Vec<Trouble>,
    /// What was done otherwise than asked.
    #[schema(required = false)]
    notices: Vec<String>,
}

/// What could not be read.
#[derive(ToSchema)]
pub(super) struct Trouble {
    /// The file or directory.
    path: String,
    /// What is wrong with it.
    what: String,
}

/// Where runs stand after a wait, in the order that they were asked for.
#[derive(ToSchema)]
pub(super) struct Waited {
    /// Always `outlast.runs/1`.
    schema: String,
    runs: Vec<Run>,
    #[schema(required = false)]
    matched: Matched,
    /// What was done otherwise than asked.
    #[schema(required = false)]
    notices: Vec<String>,
}

/// The line that a wait was for.
#[derive(ToSchema)]
pub(super) struct Matched {
    /// The run.
    id: String,
    /// The line.
    line: String,
    /// Offset of its first byte in the output.
    byte: u64,
}

/// Events of a run.
#[derive(ToSchema)]
pub(super) struct Events {
    /// Always `outlast.events/1`.
    schema: String,
    /// The run.
    id: String,
    status: Status,
    events: Vec<Event>,
    /// `since` of the next request.
    next_seq: u64,
    /// Whether there are more already.
    more: bool,
    /// Events after `since` that are too old to be told.
    skipped: u64,
    /// Whether the run has ended; without `more`, there will be no other events.
    has_ended: bool,
    /// What was done otherwise than asked.
    #[schema(required = false)]
    notices: Vec<String>,
}

/// One event. `completed` and `failed` are the last.
#[derive(ToSchema)]
pub(super) struct Event {
    /// Its number.
    seq: u64,
    /// When it was written.
    #[schema(format = DateTime)]
    ts: String,
    /// `started`, `main_exited`, `note`, `completed`, `failed` and others.
    #[schema(rename = "type")]
    kind: String,
    /// Part of the run's life.
    phase: Option<String>,
    /// The event in words.
    message: Option<String>,
    /// Details, by type.
    #[schema(value_type = Object)]
    data: BTreeMap<String, serde_json::Value>,
}

/// A part of the output of a run, as text.
#[derive(ToSchema)]
pub(super) struct OutputPage {
    /// Always `outlast.output/1`.
    schema: String,
    /// The run.
    id: String,
    /// UTF-8 without escape sequences and secrets, each line in its last state.
    output: String,
    /// Offset of the first raw byte that the text stands for.
    from_byte: u64,
    /// `since_byte` of the next request.
    next_byte: u64,
    /// Raw bytes that the run has written.
    total_bytes: u64,
    /// Whether something is left out.
    truncated: bool,
    #[schema(required = false)]
    gap: Gap,
    /// The lines that matched.
    matches: Vec<Match>,
    /// What was done otherwise than asked.
    #[schema(required = false)]
    notices: Vec<String>,
}

/// A line that matched.
#[derive(ToSchema)]
pub(super) struct Match {
    /// Raw offset where it begins.
    byte: u64,
    /// Its number from 1.
    #[schema(required = false)]
    line_number: u64,
}

/// What stdin took.
#[derive(ToSchema)]
pub(super) struct Sent {
    /// Always `outlast.sent/1`.
    schema: String,
    /// The run.
    id: String,
    accepted_bytes: u64,
}

/// What a cancel did.
#[derive(ToSchema)]
pub(super) struct Cancelled {
    /// Always `outlast.cancelled/1`.
    schema: String,
    /// The run.
    runs: Vec<CancelledRun>,
}

/// What a cancel did to a run.
#[derive(ToSchema)]
pub(super) struct CancelledRun {
    /// The run.
    id: String,
    was: Status,
    status: Status,
    /// Whether it ends as cancelled.
    cancelled: bool,
    /// Processes that had outlived its end and were stopped.
    leftovers_stopped: u64,
}

/// What was removed.
#[derive(ToSchema)]
pub(super) struct Removed {
    /// Always `outlast.removed/1`.
    schema: String,
    removed: Vec<String>,
}

/// Ends that were not told of, newest first.
#[derive(ToSchema)]
pub(super) struct Notices {
    /// Always `outlast.notices/1`.
    schema: String,
    runs: Vec<ShortRun>,
    /// What was done otherwise than asked.
    #[schema(required = false)]
    notices: Vec<String>,
}

/// What was noted.
#[derive(ToSchema)]
pub(super) struct Acknowledged {
    /// Always `outlast.acknowledged/1`.
    schema: String,
    acknowledged: Vec<String>,
}

/// Why a request was refused.
#[derive(ToSchema)]
pub(super) struct Error {
    error: ErrorFields,
}

/// The parts of a refusal.
#[derive(ToSchema)]
pub(super) struct ErrorFields {
    /// Stable name.
    code: String,
    /// The fact.
    message: String,
    /// The next step.
    hint: String,
    /// The run that records it.
    #[schema(required = false)]
    id: String,
}
