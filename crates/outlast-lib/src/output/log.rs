//! Reads the kept bytes of an output log while its supervisor may write and free them.
//!
//! Offsets are those of the output as the run wrote it, for ever. What the gap
//! holds is never handed out: the gap is looked at again after each read. What
//! the bytes look like as text is left to `window`.

use outlast_journal::{Gap, names};
use outlast_supervisor::lock;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How often a gap file that is being written is read again.
const GAP_READS_MAX: u32 = 64;

/// Looks at the gap as it is now.
type GapLook<'a> = Box<dyn Fn() -> io::Result<Option<Gap>> + 'a>;

/// An output log as it was when it was opened; what is written later is not seen.
pub(super) struct Log<'a> {
    file: Option<File>,
    total_bytes: u64,
    can_grow: bool,
    gap: GapLook<'a>,
}

/// Bytes of a log that follow each other.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Offset of the first one.
    pub(super) from: u64,
    /// The bytes.
    pub(super) bytes: Vec<u8>,
}

/// What is kept of a range of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// The bytes, in order, without those of the gap.
    pub(super) segments: Vec<Segment>,
    /// The gap after the bytes were read.
    pub(super) gap: Option<Gap>,
}

impl Log<'_> {
    /// Opens the log of the run in `run_dir`. A run without one has an empty log.
    ///
    /// # Errors
    ///
    /// Fails when the log is there and cannot be opened.
    pub(super) fn open(run_dir: &Path) -> io::Result<Self> {
        // The lock is looked at before the size: a free lock means that the
        // size read after it is final.
        let can_grow = is_locked(&run_dir.join(names::LOCK));
        let gap = run_dir.join(names::GAP);
        Self::open_files(&run_dir.join(names::OUTPUT), gap, can_grow)
    }

    /// Opens the log of a call that has ended. A call without one has an empty log.
    ///
    /// # Errors
    ///
    /// Fails when the log is there and cannot be opened.
    pub(super) fn open_call(log: &Path) -> io::Result<Self> {
        Self::open_files(log, log.with_extension("gap"), false)
    }

    /// Opens a text that does not stand in a file as a log that is whole.
    ///
    /// # Errors
    ///
    /// Fails when the system has no memory for it.
    pub(super) fn of_text(text: &str) -> io::Result<Self> {
        let mut file = File::from(memfd_create("text", MemfdFlags::CLOEXEC)?);
        file.write_all(text.as_bytes())?;
        Ok(Self {
            total_bytes: text.len() as u64,
            file: Some(file),
            can_grow: false,
            gap: Box::new(|| Ok(None)),
        })
    }

    fn open_files(log: &Path, gap: PathBuf, can_grow: bool) -> io::Result<Self> {
        let file = match File::open(log) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let total_bytes = match &file {
            Some(file) => file.metadata()?.len(),
            None => 0,
        };
        Ok(Self {
            file,
            total_bytes,
            can_grow,
            gap: Box::new(move || read_gap(&gap)),
        })
    }

    /// Returns how many bytes the run has written.
    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Returns whether more bytes may come after those.
    pub(super) fn can_grow(&self) -> bool {
        self.can_grow
    }

    /// Returns the gap as it is now, `None` when every byte is kept.
    pub(super) fn gap(&self) -> io::Result<Option<Gap>> {
        let gap = (self.gap)()?.map(|gap| Gap {
            from: gap.from.min(self.total_bytes),
            to: gap.to.min(self.total_bytes),
        });
        Ok(gap.filter(|gap| gap.bytes() > 0))
    }

    /// Returns what is kept of `range`.
    pub(super) fn kept(&self, range: Range<u64>) -> io::Result<Kept> {
        let before = self.gap()?;
        let mut segments = Vec::new();
        for part in outside(range, before) {
            segments.push(self.read(part)?);
        }
        // The gap grows before its bytes go, so bytes that were read and are
        // outside of the gap now were whole when they were read.
        let after = self.gap()?.or(before);
        if after != before {
            segments = segments
                .iter()
                .flat_map(|segment| without(segment, after))
                .collect();
        }
        segments.retain(|segment| !segment.bytes.is_empty());
        Ok(Kept {
            segments,
            gap: after,
        })
    }

    /// Returns the offset before `at` that leaves `bytes` kept bytes between them, or 0.
    pub(super) fn back(&self, at: u64, bytes: u64) -> io::Result<u64> {
        let near = at.saturating_sub(bytes);
        Ok(match self.gap()? {
            Some(gap) if near < gap.to && at > gap.from => {
                near.saturating_sub(gap.to.min(at) - gap.from)
            }
            Some(_) | None => near,
        })
    }

    /// Returns the offset after `at` that leaves `bytes` kept bytes between them, or the end.
    pub(super) fn ahead(&self, at: u64, bytes: u64) -> io::Result<u64> {
        let near = at.saturating_add(bytes);
        let ahead = match self.gap()? {
            Some(gap) if near > gap.from && at < gap.to => {
                near.saturating_add(gap.to - gap.from.max(at))
            }
            Some(_) | None => near,
        };
        Ok(ahead.min(self.total_bytes))
    }

    /// Writes the kept bytes of `range` to `sink` and returns how many there were.
    ///
    /// Reads `block_bytes` at a time.
    pub(super) fn copy(
        &self,
        range: Range<u64>,
        block_bytes: u64,
        sink: &mut dyn Write,
    ) -> Result<u64, CopyError> {
        let end = range.end.min(self.total_bytes);
        let mut at = range.start;
        let mut written_bytes = 0;
        while at < end {
            let block_end = at.saturating_add(block_bytes).min(end);
            let kept = self.kept(at..block_end).map_err(CopyError::Read)?;
            for segment in &kept.segments {
                sink.write_all(&segment.bytes).map_err(CopyError::Write)?;
                written_bytes += segment.bytes.len() as u64;
            }
            at = match kept.gap {
                Some(gap) if (gap.from..gap.to).contains(&block_end) => gap.to,
                Some(_) | None => block_end,
            };
        }
        Ok(written_bytes)
    }

    fn read(&self, range: Range<u64>) -> io::Result<Segment> {
        let mut bytes = vec![0; index(range.end - range.start)];
        let mut filled = 0;
        while let (Some(file), Some(rest)) = (&self.file, bytes.get_mut(filled..)) {
            match file.read_at(rest, range.start + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok(Segment {
            from: range.start,
            bytes,
        })
    }
}

#[cfg(test)]
impl<'a> Log<'a> {
    /// Opens `file` as a log whose gap is what `gap` returns each time it is looked at.
    pub(super) fn with_gap(file: File, can_grow: bool, gap: impl Fn() -> Option<Gap> + 'a) -> Self {
        Self {
            total_bytes: file.metadata().expect("an open file").len(),
            file: Some(file),
            can_grow,
            gap: Box::new(move || Ok(gap())),
        }
    }
}

/// Why bytes were not copied.
#[derive(Debug)]
pub(super) enum CopyError {
    /// The log could not be read.
    Read(io::Error),
    /// The sink did not take them.
    Write(io::Error),
}

impl Segment {
    /// Returns the offset of the first byte after it.
    pub(super) fn to(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }

    /// Returns the bytes at the offsets of `range` that it has.
    pub(super) fn slice(&self, range: &Range<u64>) -> &[u8] {
        let from = index(range.start.clamp(self.from, self.to()) - self.from);
        let to = index(range.end.clamp(self.from, self.to()) - self.from);
        self.bytes.get(from..to.max(from)).unwrap_or_default()
    }
}

/// Returns `bytes` as an index into memory.
pub(super) fn index(bytes: u64) -> usize {
    usize::try_from(bytes).expect("only what fits into memory is read at once")
}

/// Returns whether somebody holds the lock at `path`; when it cannot be known, yes.
fn is_locked(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => lock::is_locked(&file).unwrap_or(true),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// Reads a gap file. A missing one, or one that stays half written, is no gap.
fn read_gap(path: &Path) -> io::Result<Option<Gap>> {
    for _ in 0..GAP_READS_MAX {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let gap = Gap::from_file(&bytes);
        if gap.is_some() || bytes.is_empty() {
            return Ok(gap);
        }
        std::thread::yield_now();
    }
    Ok(None)
}

/// Returns the parts of `range` that are not in the gap, in order, none of them empty.
fn outside(range: Range<u64>, gap: Option<Gap>) -> Vec<Range<u64>> {
    let parts = match gap {
        Some(gap) => vec![
            range.start..range.end.min(gap.from),
            range.start.max(gap.to)..range.end,
        ],
        None => vec![range],
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

/// Returns what of `segment` is not in the gap.
fn without(segment: &Segment, gap: Option<Gap>) -> Vec<Segment> {
    outside(segment.from..segment.to(), gap)
        .into_iter()
        .map(|part| Segment {
            from: part.start,
            bytes: segment.slice(&part).to_vec(),
        })
        .collect()
}

#[cfg(test)]
mod tests;
