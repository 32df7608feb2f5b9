//! Following the output of a run as it comes.

use crate::subscribe::{self, News, Subscription};
use crate::{ReadError, Store, WaitError};
use outlast_journal::{Gap, RunId, names};
use outlast_supervisor::clock;
use std::fs::{self, File};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Most bytes that one call gives.
const CHUNK_BYTES: usize = 64 << 10;

/// How long to wait before a look that no supervisor asked for, in milliseconds.
const LOOK_MS: u64 = 10;

/// A reader that stays at the end of a log.
#[derive(Debug)]
pub struct Follow<'a> {
    store: &'a Store,
    id: RunId,
    dir: PathBuf,
    at: u64,
    subscription: Option<Subscription>,
    is_last_look: bool,
}

/// What following brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// Output, in the caller's buffer.
    Output {
        /// Offset of its first byte.
        from_byte: u64,
        /// Bytes before it that are not kept.
        skipped: u64,
    },
    /// The run has ended and all of its output was given.
    Ended,
    /// The descriptor given as interrupt can be read.
    Interrupted,
}

impl Store {
    /// Follows the output of a run from the byte `from` on.
    ///
    /// # Errors
    ///
    /// Fails when there is no such run.
    pub fn follow(&self, id: &RunId, from: u64) -> Result<Follow<'_>, ReadError> {
        let dir = self.existing_dir(id)?;
        Ok(Follow {
            store: self,
            id: *id,
            subscription: Subscription::open(&dir, true),
            dir,
            at: from,
            is_last_look: false,
        })
    }
}

impl Follow<'_> {
    /// Returns the offset of the next byte.
    pub fn next_byte(&self) -> u64 {
        self.at
    }

    /// Waits for output and puts it into `buffer`, which is emptied first: bytes as they came.
    ///
    /// Memory is bounded by 64 KiB whatever the run writes. Waiting costs no CPU.
    ///
    /// # Errors
    ///
    /// Fails when the run cannot be read any more.
    pub fn next(
        &mut self,
        buffer: &mut Vec<u8>,
        interrupt: Option<BorrowedFd<'_>>,
    ) -> Result<Followed, WaitError> {
        loop {
            if let Some(output) = self.read(buffer)? {
                self.store.mark_read(&self.id);
                return Ok(output);
            }
            if self.is_last_look {
                return Ok(Followed::Ended);
            }
            let is_over = match &mut self.subscription {
                Some(subscription) => subscription.news() == News::Over,
                None => true,
            };
            if is_over {
                // Output that came before the end is in the log before the end is written.
                self.is_last_look = self.store.record(&self.id)?.status.is_ended();
                if self.is_last_look {
                    continue;
                }
                self.subscription = Subscription::open(&self.dir, true);
            }
            // With nobody to hear from, the supervisor is leaving or just coming up.
            let blind = self.subscription.is_none();
            let until = blind.then(|| clock::monotonic_ms() + LOOK_MS);
            let listening: Vec<&Subscription> = self.subscription.iter().collect();
            if subscribe::sleep(&listening, interrupt, until)? {
                return Ok(Followed::Interrupted);
            }
        }
    }

    fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<Followed>> {
        let file = match File::open(self.dir.join(names::OUTPUT)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mut skipped = 0;
        loop {
            buffer.resize(CHUNK_BYTES, 0);
            let read = file.read_at(buffer, self.at)?;
            buffer.truncate(read);
            // Looked at after the read: what was freed meanwhile reads as zeroes.
            let gap = gap(&self.dir).filter(|gap| self.at < gap.to);
            let end = self.at + read as u64;
            match gap {
                Some(gap) if self.at >= gap.from => {
                    skipped += gap.to - self.at;
                    self.at = gap.to;
                    continue;
                }
                Some(gap) if end > gap.from => {
                    buffer.truncate(usize::try_from(gap.from - self.at).unwrap_or(0));
                }
                Some(_) | None => {}
            }
            if buffer.is_empty() {
                return Ok(None);
            }
            let from_byte = self.at;
            self.at += buffer.len() as u64;
            return Ok(Some(Followed::Output { from_byte, skipped }));
        }
    }
}

fn gap(dir: &Path) -> Option<Gap> {
    let bytes = fs::read(dir.join(names::GAP)).ok()?;
    Gap::from_file(&bytes)
}
