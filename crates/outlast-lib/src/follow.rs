//! Following the output of a run as it comes.

use crate::subscribe::{self, News, Subscription};
use crate::{ReadError, Store, WaitError, wait};
use outlast_journal::mask::Masker;
use outlast_journal::{Gap, RunId, limits, names};
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
pub struct Follow<'a> {
    store: &'a Store,
    id: RunId,
    dir: PathBuf,
    at: u64,
    mark_ms: Option<u64>,
    subscription: Option<Subscription>,
    masker: Option<Masker>,
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
    /// Follows the output of a run from the byte `from` on, its secrets masked.
    ///
    /// Of a run that has secrets, the end of a line that is not ended yet is held back for as
    /// long as it could be the beginning of one.
    ///
    /// # Errors
    ///
    /// Fails when there is no such run, or what its secrets are known by cannot be read.
    pub fn follow(&self, id: &RunId, from: u64) -> Result<Follow<'_>, ReadError> {
        let spec = self.spec(id)?;
        let mut follow = self.follow_raw(id, from)?;
        if !spec.secrets.is_empty() {
            let key = self.key().map_err(|error| {
                crate::read::unreadable(&self.root().join(names::STORE_KEY), error)
            })?;
            follow.masker = Some(Masker::new(&key, &spec.secrets));
        }
        Ok(follow)
    }

    /// Follows the output of a run from the byte `from` on, byte for byte as it is kept.
    ///
    /// # Errors
    ///
    /// Fails when there is no such run.
    pub fn follow_raw(&self, id: &RunId, from: u64) -> Result<Follow<'_>, ReadError> {
        let dir = self.existing_dir(id)?;
        Ok(Follow {
            masker: None,
            store: self,
            id: *id,
            mark_ms: wait::mark_ms(&self.spec(id)?),
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

    /// Waits for output and puts it into `buffer`, which is emptied first.
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
            if self.mark_ms.is_some() {
                self.store.mark_read(&self.id);
            }
            if let Some(output) = self.read(buffer)? {
                return Ok(output);
            }
            if self.is_last_look {
                return Ok(Followed::Ended);
            }
            let is_over = match &mut self.subscription {
                Some(subscription) => subscription.news() == News::Over,
                None => true,
            };
            let mut is_crowded = false;
            if is_over {
                // Output that came before the end is in the log before the end is written.
                self.is_last_look = self.store.record(&self.id)?.status.is_ended();
                if self.is_last_look {
                    continue;
                }
                let last = self.subscription.take();
                is_crowded = last.is_some_and(|last| !last.was_served());
                if !is_crowded {
                    self.subscription = Subscription::open(&self.dir, true);
                }
            }
            // With nobody to hear from, the supervisor is leaving or just coming up, or has no
            // room for us.
            let look = match (&self.subscription, is_crowded) {
                (Some(_), _) => None,
                (None, false) => Some(LOOK_MS),
                (None, true) => Some(limits::CROWDED_LOOK_MS),
            };
            let first = [look, self.mark_ms].into_iter().flatten().min();
            let until = first.map(|ms| clock::monotonic_ms() + ms);
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
                Some(_) | None => buffer.truncate(self.showable(buffer)),
            }
            if buffer.is_empty() {
                return Ok(None);
            }
            let from_byte = self.at;
            self.at += buffer.len() as u64;
            if let Some(masker) = &self.masker {
                *buffer = masker.mask(buffer).into_owned();
            }
            return Ok(Some(Followed::Output { from_byte, skipped }));
        }
    }
}

impl Follow<'_> {
    /// Returns how many of `bytes` can be shown without showing the beginning of a secret.
    fn showable(&self, bytes: &[u8]) -> usize {
        let Some(masker) = self.masker.as_ref().filter(|_| !self.is_last_look) else {
            return bytes.len();
        };
        let line_end = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let held_back = masker.longest().saturating_sub(1);
        line_end.max(bytes.len().saturating_sub(held_back))
    }
}

fn gap(dir: &Path) -> Option<Gap> {
    let bytes = fs::read(dir.join(names::GAP)).ok()?;
    Gap::from_file(&bytes)
}
