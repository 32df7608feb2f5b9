//! What the end of a worker's work means for the run.

use outlast_journal::agent::Final;
use outlast_journal::{Failure, Status, StopCause, limits, text};

/// How a run with a worker ends by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The state.
    pub(crate) status: Status,
    /// Who or what ended it.
    pub(crate) ended_by: String,
    /// One line for a list.
    pub(crate) summary: String,
    /// What went wrong, if it was an error.
    pub(crate) failure: Option<Failure>,
}

/// Longest name of who or what ended a run, in characters.
const ENDED_BY_CHARS: usize = 64;

impl Verdict {
    /// Returns what the worker's last word means.
    pub(crate) fn of(told: &Final) -> Self {
        let status = match told.status.as_str() {
            "success" => Status::Completed,
            "cancelled" => Status::Cancelled,
            _ => Status::Failed,
        };
        let ended_by = match (status, told.ended_by.trim()) {
            (Status::Cancelled, _) => StopCause::Cancel.ended_by(),
            (_, "") => "self",
            (_, by) => by,
        };
        let failure = (told.status == "error").then(|| Failure {
            code: told.error.clone().unwrap_or_else(|| "error".to_owned()),
            message: told.message.clone().unwrap_or_else(|| told.summary.clone()),
            errno: None,
        });
        let summary = Some(told.summary.trim()).filter(|summary| !summary.is_empty());
        Self {
            status,
            ended_by: text::cut_chars(ended_by, ENDED_BY_CHARS),
            summary: text::first_line_label(summary.unwrap_or(&told.status), limits::SUMMARY_CHARS),
            failure,
        }
    }

    /// Returns the end of a run whose workers all died.
    pub(crate) fn died(restarts: usize) -> Self {
        let message = format!("the run's worker died {} times", restarts + 1);
        Self {
            status: Status::Failed,
            ended_by: "unknown".to_owned(),
            summary: message.clone(),
            failure: Some(Failure {
                code: "run_task_died".to_owned(),
                message,
                errno: None,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
