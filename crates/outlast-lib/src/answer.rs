//! Answering what an agent run asks.
//!
//! An ask is open from the event that tells it to the one that answers it; the
//! run's supervisor alone decides which answer was the first.

use crate::send::{converse, refusal_code};
use crate::{Advice, ReadError, Store};
use outlast_journal::control::Ask;
use outlast_journal::{RunId, Status, limits};
use std::io;

impl Store {
    /// Answers an ask of a run, or the only one that is open, and returns which that was.
    ///
    /// The first answer counts. The text is told to the model.
    ///
    /// # Errors
    ///
    /// Fails when the run has no such ask open, or several and none is named.
    pub fn answer(
        &self,
        id: &RunId,
        ask: Option<&str>,
        is_approved: bool,
        text: Option<&str>,
        by: &str,
    ) -> Result<String, AnswerError> {
        self.mark_read(id);
        let status = self.record(id)?.status;
        if status.is_ended() {
            return Err(AnswerError::Ended { id: *id, status });
        }
        let bytes = text.map_or(0, str::len);
        if bytes > limits::SEND_BYTES_MAX {
            let most = limits::SEND_BYTES_MAX;
            return Err(AnswerError::Refused {
                code: "too_long",
                message: format!("{bytes} bytes in one message and the limit is {most}"),
            });
        }
        let ask = Ask::Answer {
            ask: ask.map(str::to_owned),
            is_approved,
            text: text.map(str::to_owned),
            by: Some(by.to_owned()),
        };
        let answer = converse(&self.existing_dir(id)?, &ask.to_bytes());
        let answer = answer.map_err(|source| AnswerError::NoAnswer { id: *id, source })?;
        match answer.code.as_deref() {
            None => Ok(answer.ask.unwrap_or_default()),
            Some(code) => Err(AnswerError::Refused {
                code: refusal_code(code),
                message: answer.message.unwrap_or_default(),
            }),
        }
    }
}

/// Why an answer was none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The run cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The run has ended.
    #[error("run `{id}` has ended as `{status}`")]
    Ended {
        /// The run.
        id: RunId,
        /// How.
        status: Status,
    },
    /// The supervisor takes no such answer.
    #[error("{message}")]
    Refused {
        /// Stable name.
        code: &'static str,
        /// The fact.
        message: String,
    },
    /// The supervisor did not answer.
    #[error("the supervisor of run `{id}` does not answer")]
    NoAnswer {
        /// The run.
        id: RunId,
        /// Why.
        source: io::Error,
    },
}

impl Advice for AnswerError {
    fn code(&self) -> &'static str {
        match self {
            Self::Read(error) => error.code(),
            Self::Ended { .. } => "run_ended",
            Self::Refused { code, .. } => code,
            Self::NoAnswer { .. } => "supervisor_silent",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Read(error) => error.hint(),
            Self::Ended { .. } => "nothing of it can be answered any more".into(),
            Self::Refused { code, .. } if *code == "ask_ambiguous" => "name the ask".into(),
            Self::Refused { .. } => "see `outlast asks` for what is open".into(),
            Self::NoAnswer { .. } => "try again; `outlast show` tells where the run is".into(),
        }
    }
}
