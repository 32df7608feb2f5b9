//! Writing to a run's stdin.

use crate::{Advice, ReadError, Store};
use outlast_journal::control::{Answer, Ask};
use outlast_journal::{RunId, Status, Stdin, limits};
use outlast_supervisor::client;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::time::Duration;

/// How long beyond the supervisor's own limit its answer may take, in milliseconds.
const ANSWER_EXTRA_MS: u64 = 5_000;

/// Why input could not be sent. `accepted` bytes of it were.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The run cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The run was started without an open stdin.
    #[error("run `{id}` has no open stdin")]
    NoStdin {
        /// The run.
        id: RunId,
    },
    /// The run has ended.
    #[error("run `{id}` has ended as `{status}`")]
    Ended {
        /// The run.
        id: RunId,
        /// How.
        status: Status,
    },
    /// The bytes are more than an agent run takes at once, or no text.
    #[error("{bytes} bytes are no text that an agent run takes: {why}")]
    NotAText {
        /// How many they are.
        bytes: usize,
        /// Why not.
        why: &'static str,
    },
    /// The agent run takes nothing any more, or its store takes nothing.
    #[error("{message}")]
    Refused {
        /// Stable name.
        code: &'static str,
        /// The fact.
        message: String,
    },
    /// The run has closed its stdin.
    #[error("run `{id}` has closed its stdin; it took {accepted} bytes of this")]
    Closed {
        /// The run.
        id: RunId,
        /// Bytes that it took.
        accepted: usize,
    },
    /// The run does not read.
    #[error("run `{id}` does not read its stdin; it took {accepted} bytes of this")]
    NotRead {
        /// The run.
        id: RunId,
        /// Bytes that it took.
        accepted: usize,
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

impl Advice for SendError {
    fn code(&self) -> &'static str {
        match self {
            Self::Read(error) => error.code(),
            Self::NoStdin { .. } => "no_stdin",
            Self::Ended { .. } => "run_ended",
            Self::NotAText { .. } => "not_a_text",
            Self::Refused { code, .. } => code,
            Self::Closed { .. } => "stdin_closed",
            Self::NotRead { .. } => "stdin_not_read",
            Self::NoAnswer { .. } => "supervisor_silent",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Read(error) => error.hint(),
            Self::NoStdin { .. } => "start it with `--stdin pipe` to send to it".into(),
            Self::Ended { .. } | Self::Closed { .. } => "start another run".into(),
            Self::NotAText { .. } => {
                "send UTF-8 text in parts; put more into a file of the workspace".into()
            }
            Self::Refused { .. } => "see `outlast show`".into(),
            Self::NotRead { .. } => "send the rest when the run reads again".into(),
            Self::NoAnswer { .. } => "try again; `outlast show` tells where the run is".into(),
        }
    }
}

impl Store {
    /// Writes `bytes` to the run's stdin, and closes it after them if `eof`.
    ///
    /// Returns how many bytes the pipe took: all of them, or this is an error. Of an agent run
    /// they are a text for its model, which comes with its next turn; what it asks is answered
    /// by [`Self::answer`].
    ///
    /// # Errors
    ///
    /// Fails when the run has no stdin, has closed it, has ended, or does not read for
    /// [`limits::SEND_WAIT_MS`].
    pub fn send(&self, id: &RunId, bytes: &[u8], eof: bool) -> Result<usize, SendError> {
        let spec = self.spec(id)?;
        if spec.agent.is_some() {
            return self.send_to_agent(id, bytes);
        }
        self.mark_read(id);
        if spec.stdin != Stdin::Pipe {
            return Err(SendError::NoStdin { id: *id });
        }
        let status = self.record(id)?.status;
        if status.is_ended() {
            return Err(SendError::Ended { id: *id, status });
        }
        let dir = self.existing_dir(id)?;
        let mut accepted = 0;
        loop {
            let left = bytes.get(accepted..).unwrap_or_default();
            let part = left.get(..limits::SEND_BYTES_MAX).unwrap_or(left);
            let is_last = part.len() == left.len();
            let answer = ask(&dir, part, eof && is_last);
            let answer = answer.map_err(|source| SendError::NoAnswer { id: *id, source })?;
            let taken = answer.accepted_bytes.unwrap_or(0);
            accepted += taken;
            match answer.code.as_deref() {
                Some("no_stdin") => return Err(SendError::NoStdin { id: *id }),
                Some(_) => return Err(SendError::Closed { id: *id, accepted }),
                None if taken < part.len() => {
                    return Err(SendError::NotRead { id: *id, accepted });
                }
                None if is_last => return Ok(accepted),
                None => {}
            }
        }
    }
}

impl Store {
    fn send_to_agent(&self, id: &RunId, bytes: &[u8]) -> Result<usize, SendError> {
        self.mark_read(id);
        let count = bytes.len();
        let not_a_text = |why| SendError::NotAText { bytes: count, why };
        let text = str::from_utf8(bytes).map_err(|_| not_a_text("they are not UTF-8"))?;
        if text.trim().is_empty() {
            return Err(not_a_text("they are blank"));
        }
        if count > limits::SEND_BYTES_MAX {
            return Err(not_a_text("they are too many"));
        }
        let status = self.record(id)?.status;
        if status.is_ended() {
            return Err(SendError::Ended { id: *id, status });
        }
        let input = Ask::Input {
            text: text.to_owned(),
            by: None,
        };
        let answer = converse(&self.existing_dir(id)?, &input.to_bytes());
        let answer = answer.map_err(|source| SendError::NoAnswer { id: *id, source })?;
        match answer.code.as_deref() {
            None => Ok(count),
            Some(code) => Err(SendError::Refused {
                code: refusal_code(code),
                message: answer.message.unwrap_or_default(),
            }),
        }
    }
}

/// The codes by which a supervisor takes no words, as stable names of an error.
pub(crate) fn refusal_code(code: &str) -> &'static str {
    const CODES: [&str; 8] = [
        "ask_ambiguous",
        "journal_full",
        "no_agent",
        "no_open_ask",
        "not_begun",
        "run_stopping",
        "store_unwritable",
        "too_long",
    ];
    let known = CODES.into_iter().find(|known| *known == code);
    known.unwrap_or("refused")
}

fn ask(dir: &Path, part: &[u8], eof: bool) -> io::Result<Answer> {
    let ask = Ask::Send {
        bytes: part.len(),
        eof,
    };
    converse(dir, &[&ask.to_bytes(), part].concat())
}

/// Says something to a supervisor and returns what it answers.
pub(crate) fn converse(dir: &Path, message: &[u8]) -> io::Result<Answer> {
    let mut stream = client::connect(dir)?;
    let patience = Duration::from_millis(limits::SEND_WAIT_MS + ANSWER_EXTRA_MS);
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(message)?;
    let mut line = Vec::new();
    BufReader::new(stream).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Answer::from_bytes(&line).map_err(io::Error::other)
}
