//! The events of a run, in pages, read from the end of its journal.
//!
//! Only the newest are replayed, so only they are read: what a page costs does
//! not grow with what came before them. Secrets are masked here.

use crate::read::{Seen, unreadable};
use crate::{ReadError, Store};
use outlast_journal::agent::document::mask_value;
use outlast_journal::mask::Masker;
use outlast_journal::{Event, Line, Peek, RunId, Seq, limits, names};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How much more is read where the end of a journal holds too few events.
const GROWTH: u64 = 4;

/// What stands in place of a text whose secrets cannot be recognised.
const HIDDEN: &str = "[outlast: not shown, since the secrets of this run cannot be recognised]";

/// Some events of a run, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct EventPage {
    /// The events.
    pub events: Vec<Event>,
    /// Where the next page begins.
    pub next_seq: Seq,
    /// Whether there is a next page already.
    pub more: bool,
    /// Events after the asked position that are too old to be replayed.
    pub skipped: u64,
    /// Lines of the journal that cannot be read, of the whole run.
    pub damaged_lines: u64,
}

impl Store {
    /// Returns the events at or after `since`, at most `events_max` of them.
    ///
    /// Only the newest `POLL_EVENTS_MAX` are replayed; `skipped` counts what that leaves out.
    /// Secrets of the run are masked in them.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::record`] does.
    pub fn events(
        &self,
        id: &RunId,
        since: Seq,
        events_max: usize,
    ) -> Result<EventPage, ReadError> {
        let dir = self.existing_dir(id)?;
        let seen = self.look(&dir, id)?;
        let mut left = events_max;
        self.page(&dir, &seen, since, |_| {
            let fits = left > 0;
            left = left.saturating_sub(1);
            fits
        })
    }

    /// Returns the events at or after `since` for as long as each `fits`.
    pub(crate) fn page(
        &self,
        dir: &Path,
        seen: &Seen,
        since: Seq,
        fits: impl FnMut(&mut Event) -> bool,
    ) -> Result<EventPage, ReadError> {
        let tail = Tail::read(dir, since)?;
        let unwritten = seen.unwritten.as_deref();
        let total = match unwritten.and_then(|line| line.seq) {
            Some(seq) => tail.total.max(seq.0.saturating_add(1)),
            None => tail.total,
        };
        let first = first_kept(total).max(since.0);
        let masker = self.masker(&seen.spec);
        let mut fits = fits;
        let mut events = Vec::new();
        let mut more = false;
        let lines = tail.events(first).chain(unwritten.cloned());
        let lines = lines.filter(|line| line.seq.is_some_and(|seq| seq.0 >= first));
        for mut event in lines.filter_map(Event::from_line) {
            mask(&mut event, masker.as_ref());
            more = !fits(&mut event);
            if more {
                break;
            }
            events.push(event);
        }
        Ok(EventPage {
            next_seq: Seq(events
                .last()
                .map_or(first, |event: &Event| event.seq.0.saturating_add(1))),
            events,
            more,
            skipped: first - since.0,
            damaged_lines: seen.state.damaged_lines,
        })
    }
}

/// Returns the oldest of `total` events that is replayed.
fn first_kept(total: u64) -> u64 {
    let kept_max = u64::try_from(limits::POLL_EVENTS_MAX).unwrap_or(u64::MAX);
    total.saturating_sub(kept_max)
}

fn mask(event: &mut Event, masker: Option<&Masker>) {
    let Some(masker) = masker else {
        event.message = event.message.take().map(|_| hidden());
        event.data = serde_json::json!({});
        return;
    };
    if masker.is_empty() {
        return;
    }
    let of = |text: &str| masked(masker, text);
    event.message = event.message.as_deref().map(of);
    mask_value(&mut event.data, &of);
}

/// Returns what stands in place of a text whose secrets cannot be recognised.
pub(crate) fn hidden() -> String {
    HIDDEN.to_owned()
}

/// Returns a text without the secrets that `masker` knows.
pub(crate) fn masked(masker: &Masker, text: &str) -> String {
    String::from_utf8_lossy(&masker.mask(text.as_bytes())).into_owned()
}

/// The end of a journal: whole lines, the newest of them last.
struct Tail {
    bytes: Vec<u8>,
    /// How many events the journal has.
    total: u64,
}

impl Tail {
    /// Reads as much of the end as holds the events at or after `since` that are replayed.
    fn read(dir: &Path, since: Seq) -> Result<Self, ReadError> {
        let path = dir.join(names::JOURNAL);
        let read = File::open(&path).and_then(|file| Self::of(&file, since));
        match read {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self {
                bytes: Vec::new(),
                total: 0,
            }),
            other => other.map_err(|source| unreadable(&path, source)),
        }
    }

    fn of(file: &File, since: Seq) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let mut block = limits::EVENTS_BLOCK_BYTES;
        loop {
            let from = length.saturating_sub(block);
            let mut bytes = vec![0; usize::try_from(length - from).unwrap_or(usize::MAX)];
            file.read_exact_at(&mut bytes, from)?;
            // Space that was reserved reads as NUL, and the last line may be in the making.
            let written = bytes
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |end| end + 1);
            bytes.truncate(written);
            if from > 0 {
                let line_end = bytes.iter().position(|byte| *byte == b'\n');
                bytes.drain(..line_end.map_or(bytes.len(), |end| end + 1));
            }
            let newest = lines(&bytes).rev().find_map(seq_of);
            let total = newest.map_or(0, |seq| seq.saturating_add(1));
            let oldest = lines(&bytes).find_map(seq_of);
            let wanted = first_kept(total).max(since.0);
            if from == 0 || oldest.is_some_and(|oldest| oldest <= wanted) {
                return Ok(Self { bytes, total });
            }
            block = block.saturating_mul(GROWTH);
        }
    }

    /// Returns the lines of the events at or after `first`.
    fn events(&self, first: u64) -> impl Iterator<Item = Line> {
        let wanted = lines(&self.bytes).filter(move |line| match Peek::of(line) {
            Some(head) => head.seq.is_some_and(|seq| seq.0 >= first),
            None => true,
        });
        wanted.filter_map(|line| Line::from_bytes(line).ok())
    }
}

fn lines(bytes: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n')
}

fn seq_of(line: &[u8]) -> Option<u64> {
    let seq = match Peek::of(line) {
        Some(head) => head.seq,
        None => Line::from_bytes(line).ok()?.seq,
    };
    seq.map(|seq| seq.0)
}

#[cfg(test)]
mod tests;
