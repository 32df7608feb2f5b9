//! Cancelling a run, or what is left of one that ended.

use crate::subscribe;
use crate::{Advice, ReadError, Store};
use outlast_journal::control::{Answer, Ask};
use outlast_journal::{RunId, Status, StopCause, limits};
use outlast_supervisor::{client, clock};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long beyond grace and killing the answer may take, in milliseconds.
const ANSWER_EXTRA_MS: u64 = 10_000;

/// How long a supervisor that does not answer may take to be gone, in milliseconds.
const LEAVING_MS: u64 = 2_000;

/// How to cancel.
#[derive(Clone, Debug, Default)]
pub struct CancelQuery {
    /// Time until KILL in milliseconds; the run's own when absent, 0 for KILL at once.
    pub grace_ms: Option<u64>,
    /// Who asks, for the record.
    pub by: Option<String>,
    /// Return at once rather than when the tree is gone.
    pub no_wait: bool,
}

/// What a cancel did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// Where the run was when it was asked.
    pub was: Status,
    /// Where it is now.
    pub status: Status,
    /// Whether this run ends as cancelled.
    pub cancelled: bool,
    /// Whether it was asked to and still finishes what it is at: an agent run does.
    pub is_cancelling: bool,
    /// Processes that had outlived the end of the run and were stopped.
    pub leftovers_stopped: u64,
}

/// Why a run could not be cancelled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CancelError {
    /// The run cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The supervisor lives and could not be asked.
    #[error("the supervisor of run `{id}` does not answer")]
    NoAnswer {
        /// The run.
        id: RunId,
        /// Why.
        source: io::Error,
    },
}

impl Advice for CancelError {
    fn code(&self) -> &'static str {
        match self {
            Self::Read(error) => error.code(),
            Self::NoAnswer { .. } => "supervisor_silent",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Read(error) => error.hint(),
            Self::NoAnswer { .. } => "try again; `outlast show` tells where the run is".into(),
        }
    }
}

impl Store {
    /// Cancels a run and returns when its whole tree is gone; of an agent run, when it was asked.
    ///
    /// An agent run's calls are stopped, a request to its model ends, and its document still tells
    /// what was done; it has [`limits::AGENT_CANCEL_MS`] for that. Without a grace it is stopped
    /// as every other.
    ///
    /// Of a run that has ended, what is left is stopped, and its state does not change.
    /// The tree of a run whose supervisor died is found by its marks and stopped, and its
    /// container taken away.
    ///
    /// # Errors
    ///
    /// Fails when there is no such run, or its supervisor lives and does not answer.
    pub fn cancel(&self, id: &RunId, query: &CancelQuery) -> Result<Cancelled, CancelError> {
        let before = self.record(id)?;
        self.mark_read(id);
        let dir = self.existing_dir(id)?;
        let spec = self.spec(id)?;
        let grace_ms = query.grace_ms.unwrap_or(spec.grace_ms);
        let is_asked = spec.agent.is_some() && grace_ms > 0 && !before.status.is_ended();
        let query = &CancelQuery {
            no_wait: query.no_wait || is_asked,
            ..query.clone()
        };
        let give_up_at = clock::monotonic_ms() + LEAVING_MS;
        let leftovers_stopped = loop {
            match ask(&dir, grace_ms, query) {
                Ok(stopped) => break stopped,
                // Nobody is there: the run has ended, or is now found to be interrupted.
                Err(_) if self.record(id)?.status.is_ended() => {
                    break (self.sweep(id, grace_ms) + self.clear_container(id)) as u64;
                }
                Err(source) if clock::monotonic_ms() >= give_up_at => {
                    return Err(CancelError::NoAnswer { id: *id, source });
                }
                Err(_) => {
                    let soon = clock::monotonic_ms() + 5;
                    subscribe::sleep(&[], None, Some(soon)).ok();
                }
            }
        };
        let mut after = self.record(id)?;
        // The supervisor answers, then writes down what it was asked.
        while is_asked
            && !after.cancelling
            && !after.status.is_ended()
            && clock::monotonic_ms() < give_up_at
        {
            let soon = clock::monotonic_ms() + 5;
            subscribe::sleep(&[], None, Some(soon)).ok();
            after = self.record(id)?;
        }
        let status = after.status;
        Ok(Cancelled {
            was: before.status,
            status,
            // The first cause decides how a run ends.
            cancelled: !before.status.is_ended()
                && (status == Status::Cancelled || is_asked && after.cancelling),
            is_cancelling: is_asked && after.cancelling,
            leftovers_stopped,
        })
    }
}

/// Asks a supervisor to stop its run; returns how many leftovers it stopped.
fn ask(dir: &Path, grace_ms: u64, query: &CancelQuery) -> io::Result<u64> {
    let mut stream = client::connect(dir)?;
    let ask = Ask::Cancel {
        cause: StopCause::Cancel,
        grace_ms: Some(grace_ms),
        by: query.by.clone(),
    };
    let patience = grace_ms + limits::UNKILLABLE_MS + limits::NESTED_EXTRA_MS + ANSWER_EXTRA_MS;
    stream.set_read_timeout(Some(Duration::from_millis(patience)))?;
    stream.write_all(&ask.to_bytes())?;
    let mut reader = BufReader::new(stream);
    let first = answer(&mut reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    if !first.ok {
        return Err(io::Error::other(first.message.unwrap_or_default()));
    }
    if query.no_wait || first.done == Some(true) {
        return Ok(first.leftovers_stopped.unwrap_or(0));
    }
    // The end of the connection says as much: the supervisor leaves with its tree.
    let last = answer(&mut reader)?;
    Ok(last.and_then(|last| last.leftovers_stopped).unwrap_or(0))
}

fn answer(reader: &mut BufReader<UnixStream>) -> io::Result<Option<Answer>> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Ok(None);
    }
    Answer::from_bytes(&line)
        .map(Some)
        .map_err(io::Error::other)
}
