//! A run and its parts, as answers have them.

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
    /// What was asked for, of an agent its task.
    command: String,
    /// The same of an agent: what is to be done.
    task: Option<String>,
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
    /// Agent run that it goes on with.
    #[schema(required = false)]
    resumes: String,
    status: Status,
    /// Code of the main process, if it exited.
    #[schema(required = false)]
    exit_code: i32,
    /// What somebody must say before an agent run goes on.
    #[schema(required = false)]
    needs_approval: NeedsApproval,
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
    /// Session that a sub-agent has in its own program.
    #[schema(required = false)]
    child_session_id: String,
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
    /// `host` when nothing contains it, else `contained`.
    mode: String,
    /// What contains it: `native`, `bwrap`, `landlock`, `container`.
    #[schema(required = false)]
    backend: String,
    /// `ReadOnly`, `SandboxEdit` or `FullAccess`.
    tier: String,
    /// `none`, `allow:HOST,…` or `full`.
    network: String,
    /// The workspace.
    #[schema(required = false)]
    root: String,
    /// How the workspace is mounted: `rw` or `ro`.
    #[schema(required = false)]
    mount: String,
    /// Image of its container.
    #[schema(required = false)]
    image: String,
    /// Names below the workspace that are read-only.
    #[schema(required = false)]
    protected: Vec<String>,
    /// Names that would be protected, were absent at the start, and are there at the end.
    #[schema(required = false)]
    appeared: Vec<String>,
    /// Its limits, by name.
    #[schema(required = false)]
    limits: BTreeMap<String, LimitBound>,
    /// What was seen to hold, from inside.
    #[schema(required = false)]
    guarantees: Vec<String>,
    /// What was asked for and does not hold.
    #[schema(required = false)]
    missing: Vec<String>,
    /// Why less was bound than is best, if so.
    #[schema(required = false)]
    fallback_notice: String,
}

/// A limit, as bound.
#[derive(ToSchema)]
pub(super) struct LimitBound {
    /// Bytes, processes, or thousandths of a processor.
    value: u64,
    /// What enforces it: `cgroup2`, `cgroup1`, `rlimit`, `watchdog`.
    enforced_by: String,
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
    /// Tokens of the model of an agent run, in and out.
    #[schema(required = false)]
    tokens: u64,
    /// What they cost, in US dollars; absent where there is no price.
    #[schema(required = false)]
    cost: f64,
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
    /// What somebody must say before an agent run goes on.
    #[schema(required = false)]
    needs_approval: NeedsApproval,
}

/// An ask that holds an agent run up.
#[derive(ToSchema)]
pub(super) struct NeedsApproval {
    /// The ask.
    ask: String,
    /// The tool that would run.
    tool: String,
    /// What it would do.
    question: String,
    /// When it was asked.
    #[schema(format = DateTime)]
    since: String,
    /// When it counts as denied.
    #[schema(format = DateTime)]
    expires: String,
    /// Asks of the same run that are open beside it.
    #[schema(required = false)]
    more: u64,
}
