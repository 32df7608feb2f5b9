//! What callers see of a run: the record, its short form, and its events.

use crate::{
    Failure, Gap, Kind, Lifetime, Line, Origin, Posture, RunId, Seq, Shell, Spec, State, Status,
    Survives, Timestamp, Usage, approval::NeedsApproval, limits, signal_number, text,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a reader saw beside spec and journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// Bytes that the log has now.
    pub output_bytes: u64,
    /// What of them is not kept.
    pub gap: Option<Gap>,
    /// When the log last grew.
    pub last_output_at: Option<Timestamp>,
    /// Last line of output so far, of a run that goes on.
    pub last_line: Option<String>,
    /// Awake time since exec in milliseconds, of a run that goes on.
    pub elapsed_ms: Option<u64>,
    /// Processes of the tree that are alive now, of an ended run; absent: not looked at.
    pub leftovers: Option<Vec<LeftoverRecord>>,
    /// Runs before it in its queue.
    pub queue_position: Option<u64>,
}

/// Output in a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputRecord {
    /// Bytes that the run wrote until its end.
    pub bytes: u64,
    /// How many of them are kept.
    pub kept: u64,
    /// Which are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
    /// When output last came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_output_at: Option<Timestamp>,
    /// Bytes that leftovers wrote after the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_end: Option<u64>,
    /// Bytes that the disk did not take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
}

/// A process that is left, in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftoverRecord {
    /// Process id.
    pub pid: i32,
    /// Its command line, cut.
    pub command: String,
}

/// A run as callers see it: `outlast.run/1`. Absent means unknown, never zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Always `outlast.run/1`.
    pub schema: String,
    /// The run.
    pub id: RunId,
    /// What its root is.
    pub kind: Kind,
    /// Label.
    pub label: String,
    /// What was asked for, of an agent its task.
    pub command: String,
    /// The same of an agent: what is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Directory that it belongs to.
    pub project: String,
    /// Directory in which it runs.
    pub cwd: String,
    /// Session that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Run inside which it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// Agent run that it goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<RunId>,
    /// Where it is in its life.
    pub status: Status,
    /// Code of the main process, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Which rule made the code: `direct`, `shell`, `pipefail` or `last_of_pipe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_rule: Option<String>,
    /// Signal that killed the main process, its name without SIG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Who or what ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// Why it could not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// One line about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What somebody must say before an agent run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_approval: Option<NeedsApproval>,
    /// When it was born.
    pub created: Timestamp,
    /// When its command was executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// When it last changed.
    pub updated: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// Awake time since exec, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// Output.
    pub output: OutputRecord,
    /// Processes of the tree alive after the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<LeftoverRecord>,
    /// Runs started inside it that were alive at its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs_inside: Vec<RunId>,
    /// Processes that could not be killed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unkillable: Vec<i32>,
    /// What it may touch, as bound.
    pub posture: Posture,
    /// Who started it.
    pub origin: Origin,
    /// Session that a sub-agent has in its own program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_session_id: Option<String>,
    /// What it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Time limit in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_secs: Option<f64>,
    /// Wall-clock time at which it is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Longest time in seconds without a reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ttl_secs: Option<f64>,
    /// Whether it outlives its session.
    pub lifetime: Lifetime,
    /// The shell, absent for a direct command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<Shell>,
    /// A stop was asked for and the tree is not gone yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cancelling: bool,
    /// Runs before it in its queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<u64>,
    /// What it outlasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survives: Option<Survives>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// The short form of a record, for lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortRecord {
    /// The run.
    pub id: RunId,
    /// What its root is.
    pub kind: Kind,
    /// Label.
    pub label: String,
    /// Where it is in its life.
    pub status: Status,
    /// When it was born.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// Code of the main process, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// One line about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Session that a sub-agent has in its own program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_session_id: Option<String>,
    /// Awake time since exec, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// What somebody must say before an agent run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_approval: Option<NeedsApproval>,
}

/// The schema name of [`Record`].
pub const RUN_SCHEMA: &str = "outlast.run/1";

#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53 ms")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

impl Record {
    /// Returns the record of a run from its spec, its journal, and what the reader saw beside.
    pub fn build(spec: &Spec, state: &State, live: Live) -> Self {
        let status = state.status();
        let end = state.end.as_deref();
        let output = output_record(state, &live);
        let summary = match end {
            Some(end) => Some(end.summary.clone()),
            None => live.last_line,
        };
        let running_update = live.last_output_at.filter(|_| end.is_none());
        let updated = state.updated_at.max(running_update).unwrap_or(spec.created);
        let at_end = end.map(|end| {
            end.leftovers.iter().map(|left| LeftoverRecord {
                pid: left.process.pid,
                command: left.command.clone(),
            })
        });
        let leftovers = match (live.leftovers, at_end) {
            (Some(now), _) => now,
            (None, Some(at_end)) => at_end.collect(),
            (None, None) => Vec::new(),
        };
        Self {
            schema: RUN_SCHEMA.to_owned(),
            id: spec.id,
            kind: spec.kind,
            label: spec.label.clone(),
            command: spec.command.clone(),
            task: (spec.kind == Kind::Agent).then(|| spec.command.clone()),
            project: spec.project.clone(),
            cwd: spec.cwd.clone(),
            session: spec.session.clone(),
            parent: spec.parent,
            resumes: spec.agent.as_ref().and_then(|agent| agent.request.resumes),
            status,
            exit_code: end.and_then(|end| end.exit_code),
            exit_rule: end.and_then(|end| end.exit_code).map(|_| exit_rule(spec)),
            signal: end.and_then(|end| end.signal.clone()),
            ended_by: end.map(|end| end.ended_by.clone()),
            failure: end.and_then(|end| end.failure.clone()),
            summary,
            needs_approval: NeedsApproval::of(&state.asks),
            created: spec.created,
            started: state.started_at,
            updated,
            ended: state.ended_at,
            elapsed_ms: end.map_or(live.elapsed_ms, |end| end.elapsed_ms),
            output,
            leftovers,
            runs_inside: end.map(|end| end.runs_inside.clone()).unwrap_or_default(),
            unkillable: end.map(|end| end.unkillable.clone()).unwrap_or_default(),
            posture: posture(spec, state),
            origin: spec.origin.clone(),
            child_session_id: spec.child_session_id.clone(),
            usage: end.and_then(|end| end.usage),
            timeout_secs: spec.timeout_ms.map(seconds),
            deadline: spec.deadline,
            idle_ttl_secs: spec.idle_ttl_ms.map(seconds),
            lifetime: spec.lifetime,
            shell: spec.shell.clone(),
            cancelling: !status.is_ended() && state.stop.is_some(),
            queue_position: live.queue_position,
            survives: spec.survives,
        }
    }

    /// Returns the short form.
    pub fn short(&self) -> ShortRecord {
        ShortRecord {
            id: self.id,
            kind: self.kind,
            label: self.label.clone(),
            status: self.status,
            created: self.created,
            updated: self.updated,
            exit_code: self.exit_code,
            summary: self.summary.clone(),
            child_session_id: self.child_session_id.clone(),
            elapsed_ms: self.elapsed_ms,
            needs_approval: self.needs_approval.as_ref().map(NeedsApproval::short),
        }
    }

    /// Returns the code that `wait` exits with for this run (`CONTRACT.md` §2).
    pub fn wait_code(&self) -> u8 {
        match self.status {
            Status::Completed => 0,
            Status::Cancelled => 130,
            Status::TimedOut => 124,
            Status::Interrupted => 125,
            Status::Queued | Status::Running => 75,
            Status::Failed => self.failed_code(),
        }
    }

    fn failed_code(&self) -> u8 {
        if let Some(code) = self.exit_code.filter(|code| *code != 0) {
            return u8::try_from(code & 0xff).unwrap_or(1);
        }
        if let Some(signal) = &self.signal {
            return signal_number(signal).map_or(1, |number| 128_u8.saturating_add(number));
        }
        match &self.failure {
            Some(failure) if failure.code == "no_such_program" => 127,
            Some(failure) if failure.code == "engine_lost" => 125,
            // It began, and how its worker's process ended says nothing.
            Some(_) | None if self.kind == Kind::Agent && self.started.is_some() => 1,
            Some(_) | None => 126,
        }
    }
}

/// What was bound, else what was asked for, with what is known of it at the end.
fn posture(spec: &Spec, state: &State) -> Posture {
    let started = state.started.as_ref();
    let bound = started.and_then(|started| started.posture.as_deref());
    let mut posture = bound.unwrap_or(&spec.posture).clone();
    if let Some(end) = state.end.as_deref() {
        posture.appeared.clone_from(&end.appeared);
    }
    posture
}

fn output_record(state: &State, live: &Live) -> OutputRecord {
    let end = state.end.as_deref();
    // Nobody froze a count when the supervisor died.
    let bytes = end
        .filter(|end| end.status != Status::Interrupted)
        .map_or(live.output_bytes, |end| end.output_bytes);
    let lost = end.map_or(0, |end| end.output_lost_bytes);
    let gap_inside = live
        .gap
        .map_or(0, |gap| gap.to.min(bytes).saturating_sub(gap.from));
    OutputRecord {
        bytes,
        // What was lost lies in the gap, unless the disk had no room to say so.
        kept: bytes.saturating_sub(gap_inside.max(lost)),
        gap: live.gap,
        last_output_at: live
            .last_output_at
            .or_else(|| end.and_then(|end| end.last_output_at)),
        after_end: Some(live.output_bytes.saturating_sub(bytes)).filter(|after| *after > 0),
        lost: Some(lost).filter(|lost| *lost > 0),
    }
}

fn exit_rule(spec: &Spec) -> String {
    let rule = match &spec.shell {
        None => "direct",
        Some(shell) if shell.pipefail => "pipefail",
        // Of a text that was cut, the end is not known here.
        Some(_) if spec.command.len() > limits::COMMAND_SPEC_BYTES_MAX => "shell",
        Some(_) if text::ends_in_pipe(&spec.command) => "last_of_pipe",
        Some(_) => "shell",
    };
    rule.to_owned()
}

/// One event as readers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its position.
    pub seq: Seq,
    /// When it was written.
    pub ts: Timestamp,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Part of the run's life.
    pub phase: Option<String>,
    /// The event in words.
    pub message: Option<String>,
    /// Its details.
    pub data: Value,
}

impl Event {
    /// Returns the event that a line records, or `None` for a fact that is none.
    pub fn from_line(line: Line) -> Option<Self> {
        Some(Self {
            seq: line.seq?,
            ts: line.ts,
            kind: line.kind,
            phase: line.phase,
            message: line.message,
            // Readers are told an object always, also of a fact without details.
            data: match line.data {
                Value::Null => Value::Object(Map::new()),
                data @ (Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_)
                | Value::Object(_)) => data,
            },
        })
    }
}

/// Returns the label of a run: the given one, or one made from its command.
pub fn label(given: Option<&str>, command: &str) -> String {
    match given.map(str::trim).filter(|given| !given.is_empty()) {
        Some(given) => text::first_line_label(given, limits::LABEL_GIVEN_CHARS),
        None => text::first_line_label(command, limits::LABEL_CHARS),
    }
}

#[cfg(test)]
mod tests;
