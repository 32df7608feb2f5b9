//! What is said between an agent run and its model, in no provider's words.
//!
//! These forms go into the journal, and a conversation that is read back from it
//! makes the same request as before, byte for byte. What only the provider
//! understands (signatures, encrypted reasoning) is carried in `opaque`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// The task, an input, a notice.
    User {
        /// What is said.
        text: String,
    },
    /// What the model said.
    Assistant {
        /// All text of it.
        text: String,
        /// The calls that it asks for, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ModelCall>,
        /// The same in the provider's own parts; null for a message that no model wrote.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        opaque: Value,
    },
    /// What came of a call. Each call of a message has exactly one, before the next turn.
    Result {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// What the model is shown. It has to say itself when the call failed.
        text: String,
        /// Whether the call did what it was to do. Kept for readers; no provider is told.
        ok: bool,
    },
}

/// A call that the model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// Unique in the conversation, also where the provider gives no ids.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// What it is to be called with.
    pub arguments: Arguments,
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// An object.
    Json(Value),
    /// No object, or one that was cut. The call must not run; the model is told why.
    Malformed {
        /// What came, at most `MALFORMED_ARGUMENTS_CHARS` of it.
        text: String,
        /// What is wrong, in words for the model.
        why: String,
    },
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub schema: Value,
}

/// Tokens of a turn, as the provider counts them. Absent means unknown, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// All that the model read, `cached_input` and `cache_write` included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// All that it wrote, `reasoning` included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The part of the input that came from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<u64>,
    /// The part of the input that was written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// The part of the output that was reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

/// Why the model stopped. Whether there is more to do is told by the calls, not by this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    Done,
    /// It waits for calls.
    Calls,
    /// It reached the limit of its output or of its window: the end is missing.
    Length,
    /// The provider, or the model, refused to go on.
    Refused,
    /// Something else, in the provider's word.
    Other(String),
}

/// What one request to a model brought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// All text.
    pub text: String,
    /// The calls, in order. After [`StopReason::Length`] the last is malformed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ModelCall>,
    /// The same in the provider's own parts, for [`Message::Assistant`].
    pub opaque: Value,
    /// What it took.
    pub usage: TokenUsage,
    /// Why it ended.
    pub stop: StopReason,
    /// The model, as the provider names it in its answer.
    pub model: String,
}

impl Turn {
    /// Returns the message that goes into the conversation.
    pub fn message(&self) -> Message {
        Message::Assistant {
            text: self.text.clone(),
            calls: self.calls.clone(),
            opaque: self.opaque.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
