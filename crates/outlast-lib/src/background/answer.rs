//! What a call gives back: one JSON object whose keys stand in a fixed order.

use crate::{Advice, Record, RunId};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The answer to one call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    object: Map<String, Value>,
    is_error: bool,
}

impl Answer {
    /// Returns whether the call was refused; the object then has `error {code, message, hint}`.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// Returns the answer as a value, an object that begins with `ok`.
    pub fn value(&self) -> Value {
        Value::Object(self.object.clone())
    }

    /// Returns the answer as the text that a model is given: JSON on one line.
    pub fn text(&self) -> String {
        self.value().to_string()
    }

    pub(super) fn fine() -> Self {
        let mut object = Map::new();
        object.insert("ok".to_owned(), json!(true));
        Self {
            object,
            is_error: false,
        }
    }

    pub(super) fn refused(error: &impl Advice) -> Self {
        Self::refused_with_hint(error, &error.hint())
    }

    /// Returns a refusal whose next step is another here than elsewhere.
    pub(super) fn refused_with_hint(error: &impl Advice, hint: &str) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            write!(message, ": {error}").ok();
            cause = error.source();
        }
        let mut answer = Self::fine();
        answer.is_error = true;
        answer.with("ok", false).with(
            "error",
            json!({"code": error.code(), "message": message, "hint": hint}),
        )
    }

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

    /// Returns the answer with notes that are left out where there are none.
    pub(super) fn with_notices(self, notices: Vec<String>) -> Self {
        if notices.is_empty() {
            return self;
        }
        self.with("notices", notices)
    }

    /// Returns the answer with where a run stands.
    pub(super) fn about(self, record: &Record) -> Self {
        self.with("id", record.id.as_str())
            .with("status", record.status.as_str())
            .with_some("exit_code", record.exit_code)
            .with_some("exit_rule", record.exit_rule.clone())
            .with_some("summary", record.summary.clone())
    }

    /// Returns the answer with the run that records a refusal.
    pub(super) fn of_run(mut self, id: &RunId) -> Self {
        if let Some(Value::Object(error)) = self.object.get_mut("error") {
            error.insert("id".to_owned(), json!(id.as_str()));
        }
        self
    }
}
