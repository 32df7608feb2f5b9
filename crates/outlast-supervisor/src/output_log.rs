//! The output log: every byte at its offset, head and tail kept when it grows too long.
//!
//! The middle is freed by punching holes, after a small file beside the log has
//! said so. A disk that takes no more costs bytes, never the exit status: what
//! is lost is a part of the same gap.

use crate::{clock, fsio, platform};
use outlast_journal::{Gap, Timestamp, limits, names};
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Unit in which file systems free space.
const BLOCK_BYTES: u64 = 4_096;

/// The log of one run.
pub(crate) struct OutputLog {
    file: File,
    gap_path: PathBuf,
    gap_file: Option<File>,
    gap: Option<Gap>,
    is_gap_said: bool,
    bytes: u64,
    lost_bytes: u64,
    bytes_max: u64,
    can_punch: bool,
    /// Buffer for a run that writes much; empty while it does not.
    bulk: Vec<u8>,
    last_output_at: Option<Timestamp>,
}

impl OutputLog {
    /// Makes the log in `run_dir`, to keep about `bytes_max` bytes.
    pub(crate) fn create(run_dir: &Path, bytes_max: u64) -> io::Result<Self> {
        let (log, gap) = (run_dir.join(names::OUTPUT), run_dir.join(names::GAP));
        Self::create_at(&log, gap, bytes_max)
    }

    /// Makes the log `path`, to keep about `bytes_max` bytes; what is not is said in `gap_path`.
    pub(crate) fn create_at(path: &Path, gap_path: PathBuf, bytes_max: u64) -> io::Result<Self> {
        Ok(Self {
            file: fsio::open_private(path)?,
            gap_path,
            gap_file: None,
            gap: None,
            is_gap_said: true,
            bytes: 0,
            lost_bytes: 0,
            bytes_max,
            can_punch: true,
            bulk: Vec::new(),
            last_output_at: None,
        })
    }

    /// Bytes that came so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that the disk did not take.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// When output last came.
    pub(crate) fn last_output_at(&self) -> Option<Timestamp> {
        self.last_output_at
    }

    /// Takes at most `bytes_max` of what is in the pipe; returns how many bytes those were.
    ///
    /// 0 is the end of the pipe.
    pub(crate) fn take(&mut self, pipe: &OwnedFd, bytes_max: usize) -> io::Result<usize> {
        if self.bulk.is_empty() {
            return self.take_little(pipe, bytes_max);
        }
        let mut buffer = mem::take(&mut self.bulk);
        let most = bytes_max.min(buffer.len());
        let read = platform::file::read(pipe, buffer.get_mut(..most).unwrap_or_default());
        let length = *read.as_ref().unwrap_or(&0);
        if length > 0 {
            self.append(buffer.get(..length).unwrap_or_default());
        }
        // A run that has become quiet is supervised with little memory again.
        if read.is_err() || length >= limits::PIPE_BUFFER_BYTES {
            self.bulk = buffer;
        }
        read
    }

    // Not inlined, so that its buffer is no part of the loop of a run that is silent.
    #[inline(never)]
    fn take_little(&mut self, pipe: &OwnedFd, bytes_max: usize) -> io::Result<usize> {
        let mut buffer = [0; limits::PIPE_BUFFER_BYTES];
        let most = bytes_max.min(buffer.len());
        let read = platform::file::read(pipe, buffer.get_mut(..most).unwrap_or_default())?;
        if read > 0 {
            self.append(buffer.get(..read).unwrap_or_default());
        }
        if read == buffer.len() {
            self.bulk = vec![0; limits::PIPE_BULK_BYTES];
            // Whoever writes this much goes on while we write to the disk.
            platform::file::widen(pipe, limits::PIPE_WIDE_BYTES).ok();
        }
        Ok(read)
    }

    /// Takes what the run wrote.
    fn append(&mut self, bytes: &[u8]) {
        if self.is_full() {
            self.last_output_at = Some(clock::now());
            self.skip(bytes.len() as u64);
            return;
        }
        // What follows a hole that is not said would be read beside NULs.
        let said = if self.is_gap_said {
            Ok(())
        } else {
            self.gap.map_or(Ok(()), |gap| self.say_gap(gap))
        };
        let written = said.and_then(|()| self.file.write_all_at(bytes, self.bytes));
        if written.is_err() {
            self.lose(bytes.len() as u64);
        }
        self.count(written.map_or(0, |()| bytes.len()));
    }

    /// Counts bytes that were written, and frees what they push beyond the cap.
    fn count(&mut self, written: usize) {
        self.last_output_at = Some(clock::now());
        self.bytes += written as u64;
        self.trim(self.bytes_max / limits::CAP_SLACK_PARTS);
    }

    /// Whether no more bytes are written, since the middle cannot be freed.
    fn is_full(&self) -> bool {
        !self.can_punch && self.bytes >= self.bytes_max
    }

    /// Frees what is beyond the cap to the byte.
    pub(crate) fn trim_all(&mut self) {
        self.trim(0);
    }

    /// Reads up to the last `buffer.len()` bytes.
    pub(crate) fn tail(&self, buffer: &mut [u8]) -> usize {
        let length = (buffer.len() as u64).min(self.bytes);
        let length = usize::try_from(length).unwrap_or(0);
        let part = buffer.get_mut(..length).unwrap_or_default();
        let from = self.bytes - length as u64;
        if self.gap.is_some_and(|gap| gap.to > from) {
            return 0;
        }
        self.file.read_exact_at(part, from).map_or(0, |()| length)
    }

    /// Reads up to the first `buffer.len()` bytes, which a cap never takes.
    pub(crate) fn head(&self, buffer: &mut [u8]) -> usize {
        let length = (buffer.len() as u64).min(self.bytes);
        let length = usize::try_from(length).unwrap_or(0);
        let part = buffer.get_mut(..length).unwrap_or_default();
        self.file.read_exact_at(part, 0).map_or(0, |()| length)
    }

    fn trim(&mut self, slack: u64) {
        let kept = self.bytes - self.gap.map_or(0, Gap::bytes);
        if !self.can_punch || kept <= self.bytes_max + slack {
            return;
        }
        let head = self.bytes_max / 4 / BLOCK_BYTES * BLOCK_BYTES;
        let tail = self.bytes_max - head;
        let to = (self.bytes - tail)
            .next_multiple_of(BLOCK_BYTES)
            .min(self.bytes);
        // There is one gap: what is lost lies in it, wherever that was.
        let gap = self.gap.map_or(Gap { from: head, to }, |old| Gap {
            from: old.from.min(head),
            to: old.to.max(to),
        });
        // A reader may look between the two steps: said and not yet freed is true enough.
        if self.gap == Some(gap) || self.say_gap(gap).is_err() {
            return;
        }
        if platform::file::punch(&self.file, gap.from, gap.to).is_err() {
            self.can_punch = false;
        }
    }

    /// Counts bytes that are not written, since the file system cannot free the middle.
    fn skip(&mut self, bytes: u64) {
        let from = self.gap.map_or(self.bytes, |gap| gap.from);
        self.bytes += bytes;
        let to = self.bytes;
        self.say_gap(Gap { from, to }).ok();
        self.file.set_len(self.bytes).ok();
    }

    /// Counts bytes that a full or failing disk did not take.
    fn lose(&mut self, bytes: u64) {
        self.lost_bytes += bytes;
        let mut from = self.gap.map_or(self.bytes, |gap| gap.from);
        let to = self.bytes + bytes;
        if self.say_gap(Gap { from, to }).is_err() {
            // The last block of the log makes room for the word that it is gone.
            from = from.saturating_sub(1) / BLOCK_BYTES * BLOCK_BYTES;
            self.file.set_len(from).ok();
            if self.say_gap(Gap { from, to }).is_err() {
                self.gap = Some(Gap { from, to });
                self.is_gap_said = false;
            }
        }
        self.bytes = to;
        self.file.set_len(to).ok();
        // What the disk took in part is of no use to anybody.
        if self.can_punch {
            platform::file::punch(&self.file, from, to).ok();
        }
    }

    fn say_gap(&mut self, gap: Gap) -> io::Result<()> {
        if self.gap_file.is_none() {
            self.gap_file = Some(fsio::open_private(&self.gap_path)?);
        }
        if let Some(file) = &self.gap_file {
            file.write_all_at(&gap.to_file(), 0)?;
        }
        self.gap = Some(gap);
        self.is_gap_said = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
