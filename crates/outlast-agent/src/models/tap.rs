//! Looks at the raw events of an answer for what the client library does not pass on:
//! the model's name, and how an answer was refused.

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use outlast_journal::limits;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// Where the forms have the model's name.
const NAMES: [&str; 4] = [
    "/message/model",
    "/response/model",
    "/model",
    "/modelVersion",
];

/// What was seen of one answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// How many events had data.
    pub(super) events: u64,
    /// How many bytes they had.
    bytes: usize,
    /// The model, as the provider names it.
    pub(super) model: Option<String>,
    /// Why the provider did not let the model see the conversation.
    pub(super) blocked: Option<String>,
    /// How the response failed, where the form has an event for that.
    pub(super) failure: Option<Value>,
    /// Whether it ended for its content, not for its length.
    pub(super) is_filtered: bool,
    /// What the model said in refusal.
    pub(super) refusal: String,
    /// Whether reasoning came under the name under which it may be given back.
    pub(super) has_reasoning_content: bool,
}

/// Collects it.
#[derive(Debug, Default)]
pub(super) struct Tap {
    seen: Mutex<Seen>,
}

impl Tap {
    /// Returns what was seen so far.
    pub(super) fn seen(&self) -> Seen {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns whether more came than any answer has.
    pub(super) fn is_too_long(&self) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.bytes > limits::MODEL_ANSWER_BYTES_MAX
    }
}

impl ChatFrameSink for Tap {
    fn on_frame(&self, _of: &FrameCtx, frame: RawFrameRef<'_>) {
        if frame.data.is_empty() {
            return;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.note(frame.data);
    }
}

impl Seen {
    fn note(&mut self, data: &str) {
        self.events = self.events.saturating_add(1);
        self.bytes = self.bytes.saturating_add(data.len());
        // A look into each event costs as much as the library's own: only where a word
        // says that something is there.
        let has = |word: &str| data.contains(word);
        self.has_reasoning_content |= has("\"reasoning_content\"");
        let is_told = has("\"refusal\"")
            || has("\"blockReason\"")
            || has("response.refusal.delta")
            || has("response.failed")
            || has("response.incomplete");
        if self.model.is_some() && !is_told {
            return;
        }
        let Ok(event) = serde_json::from_str::<Value>(data) else {
            return;
        };
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
        if self.model.is_none() {
            self.model = NAMES.iter().find_map(|name| text(name)).map(str::to_owned);
        }
        if let Some(reason) = text("/promptFeedback/blockReason") {
            self.blocked = Some(reason.to_owned());
        }
        match event["type"].as_str() {
            Some("response.refusal.delta") => {
                self.refusal.push_str(text("/delta").unwrap_or_default());
            }
            Some("response.failed") => {
                self.failure = event.pointer("/response/error").cloned();
            }
            Some("response.incomplete") => {
                self.is_filtered =
                    text("/response/incomplete_details/reason") == Some("content_filter");
            }
            Some(_) | None => {
                let refusal = text("/choices/0/delta/refusal").unwrap_or_default();
                self.refusal.push_str(refusal);
            }
        }
    }
}
