//! The fixtures' tasks: a few that sleep, fail or ask, kept in memory.

use crate::wire::{INTERNAL_ERROR, RequestError, Task, result};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How long tasks are kept, and when to look again, in milliseconds.
const KEPT_MS: u64 = 3_600_000;
const POLL_MS: u64 = 100;

/// All tasks, by id.
#[derive(Default)]
pub(crate) struct Jobs {
    jobs: Mutex<BTreeMap<String, Job>>,
}

/// What a task comes to.
#[derive(Clone)]
pub(crate) enum End {
    /// A text.
    Text(String),
    /// A tool that failed.
    ToolError(String),
    /// A request that failed.
    Error(String),
}

/// One task.
struct Job {
    created: Timestamp,
    begun: Instant,
    lasts: Duration,
    end: End,
    /// What it asks, until all is answered.
    asks: Map<String, Value>,
    is_cancelled: bool,
}

impl Jobs {
    /// Starts a task that lasts so long, and longer while it waits for answers.
    pub(crate) fn begin(&self, lasts: Duration, end: End, asks: Map<String, Value>) -> Task {
        let job = Job {
            created: Timestamp::now(),
            begun: Instant::now(),
            lasts,
            end,
            asks,
            is_cancelled: false,
        };
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let id = format!("job-{}", jobs.len());
        let task = job.task(&id);
        jobs.insert(id, job);
        task
    }

    /// Returns a task as it is now.
    pub(crate) fn task(&self, id: &str) -> Result<Task, RequestError> {
        self.with(id, |job| job.task(id))
    }

    /// Takes answers; a task that asks nothing more goes on.
    pub(crate) fn update(
        &self,
        id: &str,
        answers: &Map<String, Value>,
    ) -> Result<(), RequestError> {
        self.with(id, |job| {
            job.asks.retain(|key, _| !answers.contains_key(key));
        })
    }

    /// Ends a task that goes on.
    pub(crate) fn cancel(&self, id: &str) -> Result<(), RequestError> {
        self.with(id, |job| job.is_cancelled |= job.status() != "completed")
    }

    fn with<T>(&self, id: &str, act: impl FnOnce(&mut Job) -> T) -> Result<T, RequestError> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let job = jobs.get_mut(id);
        let job = job.ok_or_else(|| RequestError::params(format!("no task `{id}`")))?;
        Ok(act(job))
    }
}

impl Job {
    fn status(&self) -> &'static str {
        if self.is_cancelled {
            "cancelled"
        } else if !self.asks.is_empty() {
            "input_required"
        } else if self.begun.elapsed() < self.lasts {
            "working"
        } else {
            match self.end {
                End::Text(_) | End::ToolError(_) => "completed",
                End::Error(_) => "failed",
            }
        }
    }

    fn task(&self, id: &str) -> Task {
        let status = self.status();
        let mut detail = Map::new();
        let mut put = |name: &str, value| detail.insert(name.to_owned(), value);
        match (status, &self.end) {
            ("input_required", _) => {
                put("inputRequests", Value::Object(self.asks.clone()));
            }
            ("completed", End::Text(text)) => {
                put("result", text_result(text, false).into());
            }
            ("completed", End::ToolError(text)) => {
                put("result", text_result(text, true).into());
            }
            ("failed", End::Error(text)) => {
                put("error", json!({"code": INTERNAL_ERROR, "message": text}));
            }
            (_, End::Text(_) | End::ToolError(_) | End::Error(_)) => {}
        }
        Task {
            id: id.to_owned(),
            status,
            detail,
            message: format!("a fixture, {status}"),
            created_at: self.created.to_string(),
            updated_at: self.created.to_string(),
            ttl_ms: Some(KEPT_MS),
            poll_ms: POLL_MS,
        }
    }
}

/// Returns the result of a tool that says this text.
pub(crate) fn text_result(text: &str, is_error: bool) -> Map<String, Value> {
    let mut result = result(Map::new(), is_error);
    result.remove("structuredContent");
    result.insert(
        "content".to_owned(),
        json!([{"type": "text", "text": text}]),
    );
    result
}
