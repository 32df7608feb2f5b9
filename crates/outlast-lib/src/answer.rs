//! What agent runs ask, and the answers to it.
//!
//! An ask is open from the event that tells it to the one that answers it; the
//! run's supervisor alone decides which answer was the first.

use crate::send::{converse, refusal_code};
use crate::{Advice, ListQuery, ReadError, Store};
use outlast_journal::agent::{Asked, Work};
use outlast_journal::control::Ask;
use outlast_journal::{Fact, Line, RunId, Status, Timestamp, limits};
use std::io;

/// Something that a run asks and nobody has answered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAsk {
    /// The run.
    pub run: RunId,
    /// Its label.
    pub label: String,
    /// When it asked.
    pub asked_at: Timestamp,
    /// What it asks.
    pub asked: Asked,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerQuery {
    /// Which ask; the only open one when absent.
    pub ask: Option<String>,
    /// Whether it may be done.
    pub is_approved: bool,
    /// Words for the model.
    pub text: Option<String>,
    /// Who answers, for the record.
    pub by: String,
}

impl Store {
    /// Returns what the live runs of the store ask, oldest first.
    ///
    /// # Errors
    ///
    /// Fails when the store cannot be listed. A run that cannot be read asks nothing.
    pub fn asks(&self) -> Result<Vec<OpenAsk>, ReadError> {
        let query = ListQuery {
            statuses: vec![Status::Running],
            limit: usize::MAX,
            ..ListQuery::default()
        };
        let listing = self.list(&query)?;
        let runs = listing.records.iter();
        let mut open: Vec<OpenAsk> = runs
            .filter(|record| record.kind == outlast_journal::Kind::Agent)
            .flat_map(|record| self.asks_of(&record.id).unwrap_or_default())
            .collect();
        open.sort_by_key(|ask| ask.asked_at);
        Ok(open)
    }

    /// Returns what a run asks, oldest first; a run that has ended asks nothing.
    ///
    /// # Errors
    ///
    /// Fails when there is no such run, or its files cannot be read.
    pub fn asks_of(&self, id: &RunId) -> Result<Vec<OpenAsk>, ReadError> {
        let dir = self.existing_dir(id)?;
        let seen = self.look(&dir, id)?;
        if seen.spec.agent.is_none() || seen.state.is_ended() {
            return Ok(Vec::new());
        }
        let mut open: Vec<OpenAsk> = Vec::new();
        let journal = crate::read::read_journal(&dir)?;
        for line in journal.split(|byte| *byte == b'\n') {
            let Ok(line) = Line::from_bytes(line) else {
                continue;
            };
            match (line.kind.as_str(), line.fact()) {
                ("answered", Ok(Fact::Answered(answered))) => {
                    open.retain(|ask| ask.asked.ask != answered.ask);
                }
                ("ask", _) => {
                    let words = line.message.as_deref();
                    if let Some(Work::Ask(asked)) = Work::read(&line.kind, words, &line.data) {
                        open.retain(|ask| ask.asked.ask != asked.ask);
                        open.push(OpenAsk {
                            run: *id,
                            label: seen.spec.label.clone(),
                            asked_at: line.ts,
                            asked,
                        });
                    }
                }
                _ => {}
            }
        }
        Ok(open)
    }

    /// Answers what a run asks, and returns which ask that was. The first answer counts.
    ///
    /// # Errors
    ///
    /// Fails when the run has no such ask open, or several and none is named.
    pub fn answer(&self, id: &RunId, query: &AnswerQuery) -> Result<String, AnswerError> {
        self.mark_read(id);
        let status = self.record(id)?.status;
        if status.is_ended() {
            return Err(AnswerError::Ended { id: *id, status });
        }
        let bytes = query.text.as_deref().map_or(0, str::len);
        if bytes > limits::SEND_BYTES_MAX {
            let most = limits::SEND_BYTES_MAX;
            return Err(AnswerError::Refused {
                code: "too_long",
                message: format!("{bytes} bytes in one message and the limit is {most}"),
            });
        }
        let ask = Ask::Answer {
            ask: query.ask.clone(),
            is_approved: query.is_approved,
            text: query.text.clone(),
            by: Some(query.by.clone()),
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
