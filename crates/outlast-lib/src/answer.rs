//! Answering what an agent run asks.

use crate::{Advice, ReadError, Store};
use outlast_journal::{RunId, Status};
use std::io;

/// Why an ask could not be answered.
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
    /// Nothing is asked, or not this.
    #[error("run `{id}` asks nothing that is open")]
    NoOpenAsk {
        /// The run.
        id: RunId,
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
            Self::NoOpenAsk { .. } => "no_open_ask",
            Self::NoAnswer { .. } => "supervisor_silent",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Read(error) => error.hint(),
            Self::Ended { .. } => "start another run".into(),
            Self::NoOpenAsk { .. } => "see what is asked with `outlast asks`".into(),
            Self::NoAnswer { .. } => "try again; `outlast show` tells where the run is".into(),
        }
    }
}

impl Store {
    /// Stands in until the supervisor takes answers.
    ///
    /// # Errors
    ///
    /// Fails.
    pub fn answer(
        &self,
        id: &RunId,
        _ask: Option<&str>,
        _is_approved: bool,
        _text: Option<&str>,
        _by: &str,
    ) -> Result<String, AnswerError> {
        self.record(id)?;
        Err(AnswerError::NoOpenAsk { id: *id })
    }
}
