//! What a call gives back: one JSON object whose keys stand in a fixed order.

use crate::failure::Failure;
use outlast_lib::{Record, RunId, ShortRecord};
use serde_json::{Map, Value, json};

/// The answer of one call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    /// The object. Its keys are in the order in which they were put.
    pub(super) object: Map<String, Value>,
    /// Whether the call was refused.
    pub(super) is_refusal: bool,
    /// Runs whose end it tells.
    pub(super) told: Vec<RunId>,
}

impl Answer {
    /// Returns an answer that says so far that all is well.
    pub(super) fn fine() -> Self {
        let mut object = Map::new();
        object.insert("ok".to_owned(), json!(true));
        Self {
            object,
            is_refusal: false,
            told: Vec::new(),
        }
    }

    /// Returns the answer to what could not be done.
    pub(super) fn refused(failure: &Failure) -> Self {
        let mut object = Map::new();
        object.insert("ok".to_owned(), json!(false));
        let document = serde_json::to_value(failure.document()).unwrap_or_default();
        if let Value::Object(fields) = document {
            object.extend(fields);
        }
        Self {
            object,
            is_refusal: true,
            told: Vec::new(),
        }
    }

    /// Returns the answer with one more field.
    pub(super) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.object.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the answer with a field that is left out where there is nothing to say.
    pub(super) fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Returns the answer with a list that is left out where it is empty.
    pub(super) fn with_list(self, key: &str, list: Vec<Value>) -> Self {
        if list.is_empty() {
            return self;
        }
        self.with(key, list)
    }

    /// Returns the answer as one that tells where a run is, and its end if it has ended.
    pub(super) fn telling(mut self, record: &Record) -> Self {
        if record.status.is_ended() {
            self.told.push(record.id);
        }
        self.with("status", record.status.to_string())
            .with_some("exit_code", record.exit_code)
    }

    /// Returns the answer with a list put before its last field, which is the message.
    pub(super) fn with_list_before_message(mut self, key: &str, list: Vec<Value>) -> Self {
        let message = self.object.shift_remove("message");
        self = self.with_list(key, list);
        self.with_some("message", message)
    }
}

/// Returns a short record as a value.
pub(super) fn short(record: &ShortRecord) -> Value {
    serde_json::to_value(record).expect("a record is a document")
}

/// Returns seconds as a whole number where they are one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time limit is positive and below 2^53"
)]
pub(super) fn seconds(seconds: Option<f64>) -> Value {
    match seconds {
        None => json!(0),
        Some(seconds) if seconds.fract() == 0.0 => json!(seconds as u64),
        Some(seconds) => json!(seconds),
    }
}
