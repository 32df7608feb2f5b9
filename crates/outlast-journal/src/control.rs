//! What is said over a supervisor's socket: one JSON object a line, versioned.
//!
//! A subscriber reads single bytes after its answer: [`HINT_STARTED`],
//! [`HINT_OUTPUT`], [`HINT_ENDED`]; end of file means that the supervisor is
//! gone. A hint is a reason to read the journal or the log, never news itself.

use crate::{FORMAT_VERSION, StopCause};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The command is executing.
pub const HINT_STARTED: u8 = b's';
/// Output came.
pub const HINT_OUTPUT: u8 = b'o';
/// The end is written.
pub const HINT_ENDED: u8 = b'e';

/// What a client asks of a supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ask {
    /// Stop the run, or what is left of it.
    Cancel {
        /// Why.
        cause: StopCause,
        /// Time until KILL in milliseconds; the run's own when absent.
        grace_ms: Option<u64>,
        /// Who asks.
        by: Option<String>,
    },
    /// Send hints until the connection closes.
    Subscribe {
        /// Also when output comes.
        output: bool,
    },
    /// Write the bytes that follow the line to the run's stdin.
    Send {
        /// How many follow.
        bytes: usize,
        /// Close stdin after them.
        eof: bool,
    },
    /// Answer what an agent run asks. The first answer counts.
    Answer {
        /// Which ask; the only open one when absent.
        ask: Option<String>,
        /// Whether it may be done.
        is_approved: bool,
        /// Words of who answers.
        text: Option<String>,
        /// Who answers.
        by: Option<String>,
    },
    /// Give an agent run's model a text with its next turn.
    Input {
        /// The text.
        text: String,
        /// Who gives it.
        by: Option<String>,
    },
}

#[derive(Default, Serialize, Deserialize)]
struct Message {
    v: u32,
    verb: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grace_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    eof: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    is_approved: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Ask {
    /// Returns the line that asks this, newline included.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut message = Message {
            v: FORMAT_VERSION,
            ..Message::default()
        };
        match self {
            Self::Cancel {
                cause,
                grace_ms,
                by,
            } => {
                "cancel".clone_into(&mut message.verb);
                message.cause = serde_json::to_value(cause).ok();
                message.grace_ms = *grace_ms;
                message.by.clone_from(by);
            }
            Self::Subscribe { output } => {
                "subscribe".clone_into(&mut message.verb);
                message.output = Some(*output);
            }
            Self::Send { bytes, eof } => {
                "send".clone_into(&mut message.verb);
                message.bytes = Some(*bytes);
                message.eof = Some(*eof);
            }
            Self::Answer {
                ask,
                is_approved,
                text,
                by,
            } => {
                "answer".clone_into(&mut message.verb);
                message.ask.clone_from(ask);
                message.is_approved = Some(*is_approved);
                message.text.clone_from(text);
                message.by.clone_from(by);
            }
            Self::Input { text, by } => {
                "input".clone_into(&mut message.verb);
                message.text = Some(text.clone());
                message.by.clone_from(by);
            }
        }
        to_line(&message)
    }

    /// Reads one line, without its newline.
    ///
    /// # Errors
    ///
    /// Fails when the line is no JSON object of this form, or its verb is not known here.
    pub fn from_bytes(line: &[u8]) -> Result<Self, AskError> {
        let message: Message = serde_json::from_slice(line).map_err(AskError::Form)?;
        match message.verb.as_str() {
            "cancel" => Ok(Self::Cancel {
                // A cause of a later version is a cancel here: it must not be refused.
                cause: message
                    .cause
                    .and_then(|cause| StopCause::deserialize(cause).ok())
                    .unwrap_or(StopCause::Cancel),
                grace_ms: message.grace_ms,
                by: message.by,
            }),
            "subscribe" => Ok(Self::Subscribe {
                output: message.output.unwrap_or(false),
            }),
            "send" => Ok(Self::Send {
                bytes: message.bytes.unwrap_or(0),
                eof: message.eof.unwrap_or(false),
            }),
            "answer" => Ok(Self::Answer {
                ask: message.ask,
                // What is not said to be approved is not.
                is_approved: message.is_approved.unwrap_or(false),
                text: message.text,
                by: message.by,
            }),
            "input" => Ok(Self::Input {
                text: message.text.unwrap_or_default(),
                by: message.by,
            }),
            _ => Err(AskError::Verb(message.verb)),
        }
    }
}

/// A control message that cannot be understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// It is not of the form.
    #[error("the message is no control message")]
    Form(#[source] serde_json::Error),
    /// Its verb is of a later version, or none.
    #[error("the verb `{0}` is not known")]
    Verb(String),
}

/// What a supervisor answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Format version.
    pub v: u32,
    /// Whether it was done, or will be.
    pub ok: bool,
    /// Stable name of what went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The system's number for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// What to do about it, where that depends on what was found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The last answer to a cancel: the tree is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<bool>,
    /// Processes that outlived the end and were stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leftovers_stopped: Option<u64>,
    /// Bytes that stdin took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_bytes: Option<usize>,
    /// The answer to an answer: the ask that it was to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// The answer to a start: the run waits for its places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<bool>,
}

impl Answer {
    /// Returns the plain answer that all is well.
    pub fn ok() -> Self {
        Self {
            v: FORMAT_VERSION,
            ok: true,
            ..Self::default()
        }
    }

    /// Returns the answer that something went wrong.
    pub fn error(code: &str, message: String) -> Self {
        Self {
            v: FORMAT_VERSION,
            ok: false,
            code: Some(code.to_owned()),
            message: Some(message),
            ..Self::default()
        }
    }

    /// Returns the line that says this, newline included.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_line(self)
    }

    /// Reads one line, without its newline.
    ///
    /// # Errors
    ///
    /// Fails when the line is no answer.
    pub fn from_bytes(line: &[u8]) -> Result<Self, AskError> {
        serde_json::from_slice(line).map_err(AskError::Form)
    }
}

fn to_line<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(value).expect("control messages have only string keys");
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests;
