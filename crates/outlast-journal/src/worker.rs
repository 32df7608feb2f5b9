//! What a worker and its supervisor say to each other: one JSON object a line, versioned.
//!
//! The supervisor writes what it is told and runs the calls that it is asked
//! for. It knows calls, not agents.

use crate::{FORMAT_VERSION, StopCause};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is executed for a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallProgram {
    /// A shell text, by `bash -c`, or `sh -c` where there is no bash.
    Shell(String),
    /// Our own program as a hand (`outlast __hand`), told on stdin what to do.
    Hand,
}

/// A call that a worker wants to have run. The same id is never run twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAsk {
    /// The call, unique within the run: letters, digits, `.`, `-`; at most
    /// [`CALL_ID_BYTES_MAX`](crate::limits::CALL_ID_BYTES_MAX) of them, a letter or digit first.
    pub call: String,
    /// What is executed, in the run's directory, under the run's posture.
    pub program: CallProgram,
    /// Text on its stdin; none is `/dev/null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Time limit in milliseconds.
    pub timeout_ms: u64,
    /// Time between TERM and KILL in milliseconds.
    pub grace_ms: u64,
    /// Whether it runs on the host as it is although the run is contained. Only a call whose
    /// ask, which has the call's id, was approved is run so.
    #[serde(default)]
    pub is_on_host: bool,
}

/// Why a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// Its process ended.
    Exited,
    /// It ran into its time limit and was stopped.
    TimedOut,
    /// It was stopped because the run is, or the worker asked.
    Cancelled,
    /// It could not be executed.
    NotStarted,
}

impl CallAsk {
    /// Returns whether `call` can be the id of a call, and with it the name of a file.
    pub fn is_id(call: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        call.len() <= crate::limits::CALL_ID_BYTES_MAX
            && call.bytes().all(is_plain)
            && call
                .bytes()
                .next()
                .is_some_and(|first| first.is_ascii_alphanumeric())
    }
}

/// How a call ended; journal kind `call.ended`, and told to the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallEnded {
    /// The call.
    pub call: String,
    /// Why.
    pub end: CallEnd,
    /// Code, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Signal that killed it, its name without SIG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Whether it was killed since it used up the memory that the run may use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_out_of_memory: bool,
    /// Bytes of output, all in `calls/<call>.log` but for its gap.
    #[serde(default)]
    pub output_bytes: u64,
    /// Milliseconds that it took.
    #[serde(default)]
    pub elapsed_ms: u64,
    /// Why it could not be executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<crate::Failure>,
}

/// A call was taken to be run; journal kind `call.claimed`, synced before it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallClaimed {
    /// The call.
    pub call: String,
}

/// A worker began; journal kind `worker.started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStarted {
    /// Its process.
    pub process: crate::ProcessRef,
    /// How many workers the run has had, this one included.
    pub number: u32,
    /// How the one before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<crate::MainExit>,
    /// What the one before did wrong, if it was killed for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// An ask was answered; event `answered`. The first answer counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The ask.
    pub ask: String,
    /// Whether it may be done.
    pub is_approved: bool,
    /// Words of who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Who answered: a surface's word, or `timeout`.
    pub by: String,
}

/// What a worker says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Said {
    /// The worker is there. The first thing that it says.
    Hello {
        /// Format version.
        v: u32,
    },
    /// A fact for the journal: one of the kinds of [`crate::agent::Work`].
    Fact {
        /// Number by which it is answered, from 1 for each worker.
        n: u64,
        /// Kind.
        kind: String,
        /// The fact in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Its data.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        data: Value,
    },
    /// Run this call, or tell of it again if it was run or runs.
    Call(CallAsk),
    /// Stop a call that runs.
    EndCall {
        /// The call.
        call: String,
    },
    /// Nobody answered an ask in time: it counts as denied.
    AskExpired {
        /// The ask.
        ask: String,
    },
}

/// What a supervisor says to its worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Heard {
    /// The answer to hello, and the first thing that a worker hears: everything is in the journal
    /// up to here.
    Welcome {
        /// Format version.
        v: u32,
        /// Whether the run is being cancelled.
        is_cancelling: bool,
        /// Calls that run now.
        running: Vec<String>,
    },
    /// A fact stands in the journal.
    Wrote {
        /// Its number.
        n: u64,
    },
    /// A fact was not written.
    NotWritten {
        /// Its number.
        n: u64,
        /// Why.
        why: String,
    },
    /// A call ended, now or before.
    CallEnded(CallEnded),
    /// A call was claimed by a supervisor before this one's time, and nobody knows its end.
    CallUnknown {
        /// The call.
        call: String,
    },
    /// Somebody wants the run cancelled: finish the model's request, start nothing more, tell
    /// what was done, and leave.
    Cancel {
        /// Why.
        cause: StopCause,
        /// Who.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// An ask was answered.
    Answered(Answered),
    /// A text for the model.
    Input(crate::agent::Input),
}

impl CallEnded {
    /// Returns the end of a call that was not executed, since `code` says why.
    pub fn not_started(call: &str, code: &str, message: String) -> Self {
        Self {
            failure: Some(crate::Failure {
                code: code.to_owned(),
                message,
                errno: None,
            }),
            ..Self::new(call, CallEnd::NotStarted)
        }
    }

    /// Returns an end of which only the way is known.
    pub fn new(call: &str, end: CallEnd) -> Self {
        Self {
            call: call.to_owned(),
            end,
            exit_code: None,
            signal: None,
            is_out_of_memory: false,
            output_bytes: 0,
            elapsed_ms: 0,
            failure: None,
        }
    }
}

impl Said {
    /// Returns the greeting.
    pub fn hello() -> Self {
        Self::Hello { v: FORMAT_VERSION }
    }

    /// Returns the line that says this, newline included.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_line(self)
    }

    /// Reads one line, without its newline.
    ///
    /// # Errors
    ///
    /// Fails when the line is none of this form.
    pub fn from_bytes(line: &[u8]) -> Result<Self, TalkError> {
        serde_json::from_slice(line).map_err(TalkError)
    }
}

impl Heard {
    /// Returns the line that says this, newline included.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_line(self)
    }

    /// Reads one line, without its newline.
    ///
    /// # Errors
    ///
    /// Fails when the line is none of this form.
    pub fn from_bytes(line: &[u8]) -> Result<Self, TalkError> {
        serde_json::from_slice(line).map_err(TalkError)
    }
}

fn to_line<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(value).expect("these have only string keys");
    bytes.push(b'\n');
    bytes
}

/// A line between worker and supervisor that cannot be understood.
#[derive(Debug, thiserror::Error)]
#[error("the line is not understood")]
pub struct TalkError(#[source] serde_json::Error);
