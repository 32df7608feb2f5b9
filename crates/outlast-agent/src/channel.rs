//! The worker's end of the socket to its supervisor.
//!
//! What it hears, it hears in the order of the journal: a fact counts as told when its number
//! comes back, and whatever came before that stands before it. So a worker that takes
//! everything in this order knows what its successor would read.

use outlast_journal::agent::Work;
use outlast_journal::limits;
use outlast_journal::worker::{CallAsk, Heard, Said, TalkError};
use std::collections::VecDeque;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// A socket over which a worker tells facts and hears of its calls.
#[derive(Debug)]
pub(crate) struct Channel {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    /// What was read and is no whole line yet, from `begun` on.
    buffer: Vec<u8>,
    begun: usize,
    /// Facts that were told and are not known to stand, with their numbers.
    open: VecDeque<(u64, Work)>,
    told: u64,
}

/// Something that stands in the journal now, or that the supervisor says.
#[derive(Debug)]
pub(crate) enum News {
    /// A fact of this worker stands in the journal.
    Stands(Work),
    /// Something else.
    Heard(Heard),
}

impl Channel {
    /// Returns the channel over `stream`.
    ///
    /// # Errors
    ///
    /// Fails when the socket cannot be waited for.
    pub(crate) fn new(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let (reader, writer) = UnixStream::from_std(stream)?.into_split();
        Ok(Self {
            reader,
            writer,
            buffer: Vec::new(),
            begun: 0,
            open: VecDeque::new(),
            told: 0,
        })
    }

    /// Greets the supervisor.
    pub(crate) async fn greet(&mut self) -> Result<(), ChannelError> {
        self.say(&Said::hello()).await
    }

    /// Tells a fact. It stands once [`Self::news`] has brought it back.
    pub(crate) async fn tell(&mut self, work: Work) -> Result<(), ChannelError> {
        self.told += 1;
        let (kind, message) = (work.kind(), work.message());
        let mut data = work.data();
        // In the journal, members stand in the order of their names. A worker takes what it
        // told in the form in which its successor will read it.
        data.sort_all_objects();
        let work = Work::read(kind, message.as_deref(), &data).unwrap_or(work);
        let said = Said::Fact {
            n: self.told,
            kind: kind.to_owned(),
            message,
            data,
        };
        self.open.push_back((self.told, work));
        self.say(&said).await
    }

    /// Asks for a call to be run, or to be told of again.
    pub(crate) async fn call(&mut self, ask: CallAsk) -> Result<(), ChannelError> {
        self.say(&Said::Call(ask)).await
    }

    /// Says that nobody answered an ask in time.
    pub(crate) async fn expire(&mut self, ask: &str) -> Result<(), ChannelError> {
        let ask = ask.to_owned();
        self.say(&Said::AskExpired { ask }).await
    }

    /// Returns whether facts were told that are not known to stand.
    pub(crate) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Waits for the next thing. Nothing is lost when the wait is dropped.
    pub(crate) async fn news(&mut self) -> Result<News, ChannelError> {
        let line = self.line().await?;
        let heard = Heard::from_bytes(&line).map_err(ChannelError::NotUnderstood)?;
        if let Heard::Wrote { n } = heard {
            return match self.open.pop_front() {
                Some((number, work)) if number == n => Ok(News::Stands(work)),
                Some(_) | None => Err(ChannelError::OutOfOrder { n }),
            };
        }
        if let Heard::NotWritten { n, why } = heard {
            self.open.retain(|(number, _)| *number != n);
            return Err(ChannelError::NotWritten { n, why });
        }
        Ok(News::Heard(heard))
    }

    async fn say(&mut self, said: &Said) -> Result<(), ChannelError> {
        let bytes = said.to_bytes();
        if bytes.len() > limits::WORKER_LINE_BYTES_MAX {
            return Err(ChannelError::TooLong { bytes: bytes.len() });
        }
        self.writer
            .write_all(&bytes)
            .await
            .map_err(ChannelError::Gone)
    }

    async fn line(&mut self) -> Result<Vec<u8>, ChannelError> {
        let mut looked = self.begun;
        loop {
            let rest = self.buffer.get(looked..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                let end = looked + at;
                let line = self.buffer.get(self.begun..end).unwrap_or_default();
                let line = line.to_vec();
                self.begun = end + 1;
                return Ok(line);
            }
            self.buffer.drain(..self.begun);
            self.begun = 0;
            looked = self.buffer.len();
            if looked > limits::WORKER_LINE_BYTES_MAX {
                return Err(ChannelError::TooLong { bytes: looked });
            }
            self.buffer.reserve(READ_BYTES);
            let read = self.reader.read_buf(&mut self.buffer).await;
            if read.map_err(ChannelError::Gone)? == 0 {
                return Err(ChannelError::Gone(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }
}

/// Why worker and supervisor do not hear each other any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ChannelError {
    /// The supervisor is gone.
    #[error("the supervisor is gone")]
    Gone(#[source] io::Error),
    /// A line is longer than a line may be.
    #[error("a line of {bytes} bytes is too long")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// A line has no meaning.
    #[error("the supervisor is not understood")]
    NotUnderstood(#[source] TalkError),
    /// A fact came back that was not the next.
    #[error("fact {n} came back out of order")]
    OutOfOrder {
        /// Its number.
        n: u64,
    },
    /// The journal does not take a fact.
    #[error("fact {n} was not written: {why}")]
    NotWritten {
        /// Its number.
        n: u64,
        /// Why.
        why: String,
    },
}

#[cfg(test)]
mod tests;
