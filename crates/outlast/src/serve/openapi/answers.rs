//! What requests are answered with.

use super::record::{Gap, Run, ShortRun, Status};
use std::collections::BTreeMap;
use utoipa::ToSchema;

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

/// What is new of a run, and what it came to.
#[derive(ToSchema)]
pub(super) struct Polled {
    /// Always `outlast.poll/1`.
    schema: String,
    /// The run.
    run_id: String,
    status: Handle,
    /// Whether it was asked to stop and has not ended yet.
    cancelling: bool,
    /// The document `car.do/1` of an agent run that has ended.
    #[schema(required = false, value_type = Object)]
    result: serde_json::Value,
    run: Run,
    events: Vec<Event>,
    /// Where the next poll begins.
    next_seq: u64,
    /// Whether there are more events already.
    more: bool,
    /// Events from `since_seq` on that are too old to be replayed.
    events_skipped: u64,
    /// What was done otherwise than asked.
    #[schema(required = false)]
    notices: Vec<String>,
}

/// State of a handle. `ok`: it came to an end of its own, which `result` tells.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum Handle {
    Running,
    Ok,
    Error,
    Cancelled,
}

/// Asks that are open, the oldest first.
#[derive(ToSchema)]
pub(super) struct Asks {
    /// Always `outlast.asks/1`.
    schema: String,
    asks: Vec<OpenAsk>,
}

/// What a run asks.
#[derive(ToSchema)]
pub(super) struct OpenAsk {
    /// The run.
    id: String,
    /// Its name.
    label: String,
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
    more: u64,
}

/// What was answered.
#[derive(ToSchema)]
pub(super) struct Answered {
    /// Always `outlast.answered/1`.
    schema: String,
    /// The run.
    id: String,
    /// The ask.
    ask: String,
    /// Whether it may be done.
    approved: bool,
}
