//! What a reader is told of an ask that is open.

use crate::{OpenAsk, Timestamp, limits, text};
use serde::{Deserialize, Serialize};

/// An ask that holds an agent run up until somebody answers it, or it expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedsApproval {
    /// The ask.
    pub ask: String,
    /// The tool that would run.
    pub tool: String,
    /// What it would do.
    pub question: String,
    /// When it was asked.
    pub since: Timestamp,
    /// When it counts as denied.
    pub expires: Timestamp,
    /// Asks of the same run that are open beside it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl NeedsApproval {
    /// Returns what is told of the oldest of these asks; `None` where there is none.
    pub fn of(asks: &[OpenAsk]) -> Option<Self> {
        let (first, others) = asks.split_first()?;
        Some(Self {
            ask: first.asked.ask.clone(),
            tool: first.asked.tool.clone(),
            question: first.asked.question.clone(),
            since: first.since,
            expires: first.asked.expires,
            more: others.len() as u64,
        })
    }

    /// Returns the same for a list, with a question of one line.
    pub(crate) fn short(&self) -> Self {
        Self {
            question: text::first_line_label(&self.question, limits::LABEL_GIVEN_CHARS),
            ..self.clone()
        }
    }
}
