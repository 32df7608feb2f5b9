//! The journal on disk: one writer, one line a fact, room kept for the end.

use crate::{clock, fault, fsio, platform};
use outlast_journal::{Fact, Line, Seq, limits, names};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The journal of the run in the current directory, open to append.
pub(crate) struct JournalFile {
    file: File,
    next_seq: Seq,
    bytes: u64,
    /// Up to here room is kept on the disk.
    reserved: u64,
    is_synced: bool,
}

impl JournalFile {
    /// Makes the journal and reserves room, so that the end can be written on a full disk.
    pub(crate) fn create(run_dir: &Path) -> io::Result<Self> {
        let file = fsio::open_append(&run_dir.join(names::JOURNAL))?;
        match platform::file::reserve(&file, limits::JOURNAL_RESERVE_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Err(error),
            // A file system that cannot reserve gives no such promise.
            Ok(()) | Err(_) => {}
        }
        Ok(Self {
            file,
            next_seq: Seq(0),
            bytes: 0,
            reserved: limits::JOURNAL_RESERVE_BYTES,
            is_synced: true,
        })
    }

    /// Appends one fact in one write.
    pub(crate) fn append(&mut self, fact: &Fact) -> io::Result<()> {
        let line = Line::new(fact, self.next_seq, clock::now());
        let bytes = line.to_bytes();
        if fault::is_armed(&format!("torn_{}", line.kind)) {
            self.file
                .write_all(bytes.get(..bytes.len() / 2).unwrap_or_default())?;
            fault::point(&format!("torn_{}", line.kind));
        }
        self.keep_room(fact, bytes.len() as u64)?;
        if let Err(error) = self.file.write_all(&bytes) {
            // A full disk may have taken a part; the next line must not continue it.
            self.file.set_len(self.bytes).ok();
            return Err(error);
        }
        self.bytes += bytes.len() as u64;
        if line.seq.is_some() {
            self.next_seq = Seq(self.next_seq.0 + 1);
        }
        self.is_synced = false;
        Ok(())
    }

    /// Keeps room for the end behind what a worker tells, of which there is no bound that a disk
    /// would know. Without that room it is not written.
    fn keep_room(&mut self, fact: &Fact, length: u64) -> io::Result<()> {
        if !matches!(fact, Fact::Told(_) | Fact::CallClaimed(_)) {
            return Ok(());
        }
        let needed = self.bytes + length + limits::JOURNAL_RESERVE_BYTES;
        if needed <= self.reserved {
            return Ok(());
        }
        let most = needed + limits::JOURNAL_RESERVE_BYTES;
        match platform::file::reserve(&self.file, most) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Err(error),
            // A file system that cannot reserve gives no such promise.
            Ok(()) | Err(_) => self.reserved = most,
        }
        Ok(())
    }

    /// Whether everything appended is known to be on disk.
    pub(crate) fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// Gives back the room that was kept for the end. Nothing is appended after this.
    pub(crate) fn finish(&mut self) {
        // Its own length, so that nothing is cut that another hand has added.
        let length = self.file.metadata().map(|journal| journal.len());
        length.and_then(|length| self.file.set_len(length)).ok();
        self.sync();
    }

    /// Waits until everything appended is on disk. A failure changes nothing for a command.
    pub(crate) fn sync(&mut self) {
        self.file.sync_data().ok();
        self.is_synced = true;
    }
}

#[cfg(test)]
mod tests;
