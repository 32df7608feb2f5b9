//! Looks for a pattern in output as it grows, line by line, from byte 0.

use crate::{Store, WaitError};
use outlast_journal::mask::Masker;
use outlast_journal::{Gap, Spec, names, text};
use regex::Regex;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes read at once.
const BLOCK_BYTES: usize = 64 << 10;

/// Longest line that is matched as one, in bytes; the rest of it is a line of its own.
const LINE_BYTES_MAX: usize = 64 << 10;

/// A pattern and how far it has looked.
pub(crate) struct Matcher {
    pattern: Regex,
    masker: Option<Masker>,
    /// First byte of the line that `line` begins.
    line_at: u64,
    /// What is known of that line.
    line: Vec<u8>,
}

impl Matcher {
    /// Returns a matcher that has looked at nothing yet.
    pub(crate) fn new(store: &Store, spec: &Spec, pattern: &str) -> Result<Self, WaitError> {
        let compiled = Regex::new(pattern).map_err(|source| WaitError::BadPattern {
            pattern: pattern.to_owned(),
            source: Box::new(source),
        })?;
        let masker = if spec.secrets.is_empty() {
            None
        } else {
            Some(Masker::new(&store.key()?, &spec.secrets))
        };
        Ok(Self {
            pattern: compiled,
            masker,
            line_at: 0,
            line: Vec::new(),
        })
    }

    /// Looks at what came since; returns the first matching line and its offset.
    ///
    /// A line that is not ended yet is matched as far as it goes: prompts have no end.
    pub(crate) fn advance(&mut self, dir: &Path) -> io::Result<Option<(u64, String)>> {
        let file = match File::open(dir.join(names::OUTPUT)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let at = self.line_at + self.line.len() as u64;
            let read = file.read_at(&mut block, at)?;
            // Looked at after the read: what was freed meanwhile reads as zeroes.
            let gap = fs::read(dir.join(names::GAP))
                .ok()
                .and_then(|bytes| Gap::from_file(&bytes));
            if let Some(gap) = gap.filter(|gap| at < gap.to && at + read as u64 > gap.from) {
                self.line.clear();
                self.line_at = gap.to;
                continue;
            }
            if read == 0 {
                return Ok(self.test().map(|line| (self.line_at, line)));
            }
            if let Some(found) = self.take(block.get(..read).unwrap_or_default()) {
                return Ok(Some(found));
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Option<(u64, String)> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend(piece);
            if piece.ends_with(b"\n") || self.line.len() >= LINE_BYTES_MAX {
                if let Some(line) = self.test() {
                    return Some((self.line_at, line));
                }
                self.line_at += self.line.len() as u64;
                self.line.clear();
            }
        }
        None
    }

    fn test(&self) -> Option<String> {
        let ended = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        if ended.is_empty() && self.line.is_empty() {
            return None;
        }
        let line = match &self.masker {
            Some(masker) => text::plain_line(&masker.mask(ended)),
            None => text::plain_line(ended),
        };
        self.pattern.is_match(&line).then_some(line)
    }
}
