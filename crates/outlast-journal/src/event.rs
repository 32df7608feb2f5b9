//! The facts of a journal, one line each, and their form on disk.

use crate::agent::{Told, Work};
use crate::worker::{Answered, CallClaimed, CallEnded, WorkerStarted};
use crate::{FORMAT_VERSION, Posture, RunId, Status, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Position of an event in one run's journal, counted from zero.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessRef {
    /// Process id.
    pub pid: i32,
    /// When it began, in clock ticks since boot.
    pub start_ticks: u64,
}

/// A supervisor has taken the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    /// The supervisor.
    pub supervisor: ProcessRef,
    /// Boot that the process ids belong to.
    pub boot_id: String,
    /// PID namespace that the process ids belong to.
    pub pid_namespace: u64,
    /// Version of the program.
    #[serde(default)]
    pub version: String,
}

/// The run waits for its places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// Its number in the queue.
    pub ticket: u64,
}

/// The command is executing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The main process, also the id of its session.
    pub main: ProcessRef,
    /// Milliseconds of awake time between birth and exec, for queued runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_ms: Option<u64>,
    /// Monotonic clock at exec, in milliseconds since boot without sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monotonic_ms: Option<u64>,
    /// What the run may touch, as bound; absent when nothing contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posture: Option<Box<Posture>>,
}

/// The main process ended while its tree goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MainExit {
    /// Code, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Signal that killed it, its name without SIG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// Why a run is stopped. The first cause decides the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// A caller asked.
    Cancel,
    /// The time limit passed.
    Timeout,
    /// The wall-clock deadline passed.
    Deadline,
    /// Nobody read it for its idle budget.
    Idle,
    /// Its session is gone.
    Session,
    /// The host stops its processes.
    Host,
    /// It waited for a place for as long as it may.
    QueueLimit,
    /// It used more memory than it may.
    MemoryLimit,
}

impl StopCause {
    /// Returns the word for `ended_by`.
    pub fn ended_by(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Timeout => "timeout",
            Self::Deadline => "deadline",
            Self::Idle => "idle",
            Self::Session => "session",
            Self::Host => "host",
            Self::QueueLimit => "limit:queue",
            Self::MemoryLimit => "limit:memory",
        }
    }

    /// Returns the state that a run stopped for this cause ends in.
    pub fn status(self) -> Status {
        match self {
            Self::Cancel | Self::Idle | Self::Session | Self::Host => Status::Cancelled,
            Self::Timeout | Self::Deadline => Status::TimedOut,
            Self::QueueLimit | Self::MemoryLimit => Status::Failed,
        }
    }
}

/// A stop was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// Why.
    pub cause: StopCause,
    /// Time until KILL, in milliseconds.
    pub grace_ms: u64,
    /// Who asked, if a caller did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Something worth knowing that changes no state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// A stop, when the note tells of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// A signal that was noted and ignored, its name without SIG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored_signal: Option<String>,
    /// Process that sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_pid: Option<i32>,
}

/// A process of the tree that was alive at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// The process.
    #[serde(rename = "process")]
    pub process: ProcessRef,
    /// Its command line, cut.
    pub command: String,
}

/// What the tree used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time of all processes that were reaped, in milliseconds.
    pub cpu_ms: u64,
    /// Largest memory of one process, in bytes.
    pub peak_rss_bytes: u64,
    /// Tokens of the model of an agent run, in and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// What they cost, in US dollars; absent where there is no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// Why a command could not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Stable name.
    pub code: String,
    /// The fact.
    pub message: String,
    /// The system's number for it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
}

/// The end of a run: always the last line, written once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// How it ended.
    pub status: Status,
    /// Code of the main process, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Signal that killed the main process, its name without SIG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Who or what ended it.
    pub ended_by: String,
    /// One line for a list.
    pub summary: String,
    /// Bytes of output until the end.
    #[serde(default)]
    pub output_bytes: u64,
    /// Bytes of output that the disk did not take.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output_lost_bytes: u64,
    /// When output last came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_output_at: Option<Timestamp>,
    /// Awake time since exec, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// What the tree used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Processes still alive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<Leftover>,
    /// Leftovers beyond those named.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub leftovers_more: u64,
    /// Runs started inside this one that were still alive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs_inside: Vec<RunId>,
    /// Processes that could not be killed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unkillable: Vec<i32>,
    /// Names that would be protected, were absent at the start of a contained run, and are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub appeared: Vec<String>,
    /// Why it could not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl End {
    /// Returns an end with only its verdict filled in.
    pub fn new(status: Status, ended_by: &str, summary: String) -> Self {
        Self {
            status,
            exit_code: None,
            signal: None,
            ended_by: ended_by.to_owned(),
            summary,
            output_bytes: 0,
            output_lost_bytes: 0,
            last_output_at: None,
            elapsed_ms: None,
            usage: None,
            leftovers: Vec::new(),
            leftovers_more: 0,
            runs_inside: Vec::new(),
            unkillable: Vec::new(),
            appeared: Vec::new(),
            failure: None,
        }
    }
}

/// One fact about a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fact {
    /// A supervisor has taken the run. No event.
    Claimed(Claimed),
    /// The run waits for its places. No event.
    Queued(Queued),
    /// The command is executing.
    Started(Started),
    /// The main process ended while its tree goes on.
    MainExited(MainExit),
    /// Something worth knowing.
    Note(Note),
    /// A worker of an agent run began. No event.
    WorkerStarted(WorkerStarted),
    /// A call of a worker was taken to be run. No event.
    CallClaimed(CallClaimed),
    /// A call of a worker ended. No event.
    CallEnded(Box<CallEnded>),
    /// An ask of a worker was answered.
    Answered(Answered),
    /// What a worker told; its data is looked into by those who fold agent runs.
    Told(Told),
    /// The end.
    Ended(Box<End>),
    /// A fact of a later version, kept and ignored.
    Unknown,
}

impl Fact {
    /// Returns whether readers see the fact as a numbered event.
    pub fn is_event(&self) -> bool {
        match self {
            Self::Claimed(_)
            | Self::Queued(_)
            | Self::WorkerStarted(_)
            | Self::CallClaimed(_)
            | Self::CallEnded(_)
            | Self::Unknown => false,
            Self::Started(_)
            | Self::MainExited(_)
            | Self::Note(_)
            | Self::Answered(_)
            | Self::Ended(_) => true,
            Self::Told(told) => told.is_event(),
        }
    }
}

/// One line of a journal, in the form of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Format version.
    pub v: u32,
    /// Position among the events; absent for a fact that is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// When it was written.
    pub ts: Timestamp,
    /// Kind of fact.
    #[serde(rename = "type")]
    pub kind: String,
    /// Part of the run's life: `start`, `run`, `stop` or `end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The fact in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its details.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl Line {
    /// Returns the line that records `fact`, to be numbered `seq` if it is an event.
    pub fn new(fact: &Fact, seq: Seq, ts: Timestamp) -> Self {
        let (kind, phase, message, data) = match fact {
            Fact::Claimed(data) => ("claimed", None, None, to_value(data)),
            Fact::Queued(data) => ("queued", None, None, to_value(data)),
            Fact::Started(data) => {
                let message = format!("started as process {}", data.main.pid);
                ("started", Some("start"), Some(message), to_value(data))
            }
            Fact::MainExited(data) => {
                let message = "the main process ended; its tree goes on".to_owned();
                ("main_exited", Some("run"), Some(message), to_value(data))
            }
            Fact::Note(data) => {
                let phase = if data.stop.is_some() { "stop" } else { "run" };
                ("note", Some(phase), Some(note_words(data)), to_value(data))
            }
            Fact::Ended(data) => {
                let completed = data.status == Status::Completed;
                let kind = if completed { "completed" } else { "failed" };
                (
                    kind,
                    Some("end"),
                    Some(data.summary.clone()),
                    to_value(data),
                )
            }
            Fact::WorkerStarted(data) => ("worker.started", None, None, to_value(data)),
            Fact::CallClaimed(data) => ("call.claimed", None, None, to_value(data)),
            Fact::CallEnded(data) => ("call.ended", None, None, to_value(data)),
            Fact::Answered(data) => {
                let word = if data.is_approved {
                    "approved"
                } else {
                    "denied"
                };
                let message = format!("{word} by {}", data.by);
                ("answered", Some("run"), Some(message), to_value(data))
            }
            Fact::Told(told) => {
                let phase = told.is_event().then_some("run");
                let mut data = told.data.clone();
                data.sort_all_objects();
                (told.kind.as_str(), phase, told.message.clone(), data)
            }
            Fact::Unknown => ("unknown", None, None, Value::Null),
        };
        Self {
            v: FORMAT_VERSION,
            seq: fact.is_event().then_some(seq),
            ts,
            kind: kind.to_owned(),
            phase: phase.map(str::to_owned),
            message,
            data,
        }
    }

    /// Returns the line as it stands on disk, newline included.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("a line has only string keys");
        bytes.push(b'\n');
        bytes
    }

    /// Reads one line, without its newline.
    ///
    /// # Errors
    ///
    /// Fails when the bytes are no journal line of any version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LineError> {
        serde_json::from_slice(bytes).map_err(LineError)
    }

    /// Returns the fact that the line records; [`Fact::Unknown`] for kinds of later versions.
    ///
    /// # Errors
    ///
    /// Fails when the kind is known and its data is not of that kind.
    pub fn fact(&self) -> Result<Fact, LineError> {
        fn read<T: DeserializeOwned>(data: &Value) -> Result<T, LineError> {
            T::deserialize(data).map_err(LineError)
        }
        Ok(match self.kind.as_str() {
            "claimed" => Fact::Claimed(read(&self.data)?),
            "queued" => Fact::Queued(read(&self.data)?),
            "started" => Fact::Started(read(&self.data)?),
            "main_exited" => Fact::MainExited(read(&self.data)?),
            // Of a worker's note there may be nothing but its words.
            "note" if self.data.is_null() => Fact::Note(Note::default()),
            "note" => Fact::Note(read(&self.data)?),
            "worker.started" => Fact::WorkerStarted(read(&self.data)?),
            "call.claimed" => Fact::CallClaimed(read(&self.data)?),
            "call.ended" => Fact::CallEnded(Box::new(read(&self.data)?)),
            "answered" => Fact::Answered(read(&self.data)?),
            "completed" | "failed" => match self.later_end() {
                Some(end) => Fact::Ended(Box::new(end)),
                None => Fact::Ended(Box::new(read(&self.data)?)),
            },
            kind if Work::EVENTS.contains(&kind) || Work::OTHERS.contains(&kind) => {
                Fact::Told(Told {
                    kind: self.kind.clone(),
                    message: self.message.clone(),
                    data: self.data.clone(),
                })
            }
            _ => Fact::Unknown,
        })
    }

    /// Returns the end whose status only a later version knows, as far as it is told here.
    ///
    /// Passed over, it would leave the run without an end, to be closed a second time.
    fn later_end(&self) -> Option<End> {
        let word = self.data.get("status")?.as_str()?;
        if Status::from_word(word).is_some() {
            return None;
        }
        let summary = self.message.clone().unwrap_or_else(|| word.to_owned());
        Some(End::new(Status::Failed, "unknown", summary))
    }
}

fn to_value<T: Serialize>(data: &T) -> Value {
    let mut value = serde_json::to_value(data).expect("facts have only string keys");
    // A line on disk looks the same whether the program was built to keep the order of keys or not.
    value.sort_all_objects();
    value
}

fn note_words(note: &Note) -> String {
    if let Some(stop) = &note.stop {
        let by = stop.by.as_deref().map(|by| format!(" by {by}"));
        return format!(
            "stop asked for: {}{}",
            stop.cause.ended_by(),
            by.unwrap_or_default()
        );
    }
    match (&note.ignored_signal, note.from_pid) {
        (Some(signal), Some(pid)) => format!("SIG{signal} from process {pid} ignored"),
        (Some(signal), None) => format!("SIG{signal} ignored"),
        (None, _) => "note".to_owned(),
    }
}

/// A journal line that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("a journal line cannot be read")]
pub struct LineError(#[source] serde_json::Error);

#[cfg(test)]
mod tests;
