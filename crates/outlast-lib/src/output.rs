//! The output of a run, read from its log at any time: newest part, pages, matches, raw bytes.
//!
//! Bytes stay on disk as they came. Here they become text: redraws collapse,
//! escape sequences go, secrets are masked, and what is not kept is said.
//! Offsets are those of the raw bytes, for ever.

mod border;
mod calls;
mod lines;
mod log;
mod matches;
mod message;
mod search;
mod view;
mod window;

use crate::{ReadError, Store};
use log::{CopyError, Log};
use outlast_journal::error::Advice;
use outlast_journal::mask::Masker;
use outlast_journal::{Gap, RunId, limits};
use regex::Regex;
use search::Search;
use std::io::{self, Write};
use std::path::PathBuf;
use view::Room;

/// Which part of the output is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputFrom {
    /// The newest part.
    #[default]
    Newest,
    /// From this raw byte on.
    Byte(u64),
}

/// What is asked of the output of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputQuery {
    /// Which part.
    pub from: OutputFrom,
    /// Longest text, in bytes; 0 is refused.
    pub bytes_max: usize,
    /// Most lines, or most matches with `grep`; `None` is no bound of its own.
    pub lines: Option<usize>,
    /// A regular expression: only lines that match it are shown.
    pub grep: Option<String>,
    /// Lines shown before and after each match.
    pub context: usize,
}

impl Default for OutputQuery {
    fn default() -> Self {
        Self {
            from: OutputFrom::Newest,
            bytes_max: limits::OUTPUT_ANSWER_BYTES,
            lines: None,
            grep: None,
            context: 0,
        }
    }
}

/// A part of the output as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPage {
    /// The text: UTF-8, without escape sequences and secrets, each line in its last state.
    ///
    /// Where bytes are not kept, a line of its own says `[outlast: bytes A–B not kept]`;
    /// A is the first and B the last of them (`gap.to` less one).
    pub text: String,
    /// Offset of the first raw byte that the text stands for; with `grep`, of the part searched.
    pub from_byte: u64,
    /// Offset from which a reader goes on.
    ///
    /// It is never inside of a character, an escape sequence or a known secret, save at the end
    /// of the log of an ended run.
    pub next_byte: u64,
    /// Raw bytes that the run has written.
    pub total_bytes: u64,
    /// Whether something is left out: before a newest part or inside it, after a page onward.
    pub truncated: bool,
    /// What of the raw output is not kept, wherever the page is.
    pub gap: Option<Gap>,
    /// The lines that matched, in order.
    pub matches: Vec<LineMatch>,
    /// Whether the page or the search came to the end of what there is now.
    pub scanned_to_end: bool,
}

impl OutputPage {
    /// Returns how to read what the page of `query` leaves out, in the words of the arguments of
    /// `background_output` and with a blank before it; nothing where nothing is left out.
    pub fn way_on(&self, query: &OutputQuery) -> String {
        let (next, total) = (self.next_byte, self.total_bytes);
        let is_onward = matches!(query.from, OutputFrom::Byte(_));
        match (self.truncated, is_onward, query.grep.is_some()) {
            (false, _, _) => String::new(),
            (true, true, _) => format!(" More follows: since_byte {next} (of {total})."),
            (true, false, true) => {
                " Not all matches are shown: fewer context lines, or since_byte 0.".to_owned()
            }
            (true, false, false) => {
                let from = self.from_byte;
                format!(" Shown from byte {from} of {total}; for the rest grep, or since_byte 0.")
            }
        }
    }
}

/// A line that matched a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineMatch {
    /// Raw offset where the line begins.
    pub byte: u64,
    /// Its number from 1; absent where not every line before it was seen.
    pub line_number: Option<u64>,
}

impl Store {
    /// Returns a part of the output of a run as text. Counts as reading the run.
    ///
    /// The newest part begins where a line does if the whole lines fill half of `bytes_max`;
    /// else the oldest line lacks its beginning. Pages from `Byte(n)` to `next_byte` on show
    /// every kept byte once. A text is longer than `bytes_max` only where one character, mask
    /// or gap line is. One answer looks at `VIEW_SCAN_BYTES_MAX` kept bytes at most, with `grep`
    /// at `GREP_SCAN_BYTES_MAX`. A secret of which only a part is written yet is not known.
    ///
    /// # Errors
    ///
    /// Fails when there is no such run, when `bytes_max` is 0, when `grep` is no regular
    /// expression, and when spec or log cannot be read.
    pub fn output(&self, id: &RunId, query: &OutputQuery) -> Result<OutputPage, OutputError> {
        let pattern = check(query)?;
        let (run_dir, masker) = self.output_of(id)?;
        self.mark_read(id);
        let log = Log::open(&run_dir).map_err(OutputError::Unreadable)?;
        page(&log, &masker, query, pattern.as_ref()).map_err(OutputError::Unreadable)
    }

    /// Writes the kept bytes from `from` up to, not with, `to` as they are; returns how many.
    ///
    /// Without `to`, up to what is written now. The gap is skipped, secrets are not masked.
    /// Counts as reading the run.
    ///
    /// # Errors
    ///
    /// Fails when there is no such run, when the log cannot be read, and when `sink` fails.
    pub fn raw_output(
        &self,
        id: &RunId,
        from: u64,
        to: Option<u64>,
        sink: &mut dyn Write,
    ) -> Result<u64, OutputError> {
        let run_dir = self.run_dir(id).ok_or(OutputError::NotFound { id: *id })?;
        self.mark_read(id);
        let log = Log::open(&run_dir).map_err(OutputError::Unreadable)?;
        let range = from..to.unwrap_or(u64::MAX);
        log.copy(range, limits::SCAN_BLOCK_BYTES, sink)
            .map_err(|error| match error {
                CopyError::Read(source) => OutputError::Unreadable(source),
                CopyError::Write(source) => OutputError::Sink(source),
            })
    }

    /// Returns the last line of output that is not blank, cleaned, masked and at most
    /// `SUMMARY_CHARS` long; `None` when there is none or it cannot be read.
    pub fn last_line(&self, id: &RunId) -> Option<String> {
        let (run_dir, masker) = self.output_of(id).ok()?;
        let log = Log::open(&run_dir).ok()?;
        view::last_line(&log, &masker).ok().flatten()
    }

    /// Returns where the run lies, and what finds its secrets.
    fn output_of(&self, id: &RunId) -> Result<(PathBuf, Masker), OutputError> {
        let run_dir = self.run_dir(id).ok_or(OutputError::NotFound { id: *id })?;
        let secrets = self.spec(id).map_err(OutputError::Spec)?.secrets;
        // A store may have no key as long as no run has secrets.
        let key = if secrets.is_empty() {
            [0; 32]
        } else {
            self.key().map_err(OutputError::Key)?
        };
        Ok((run_dir, Masker::new(&key, &secrets)))
    }
}

/// Why output was not given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// No run has this id.
    #[error("there is no run `{id}`")]
    NotFound {
        /// The run.
        id: RunId,
    },
    /// No byte of text was allowed.
    #[error("`max_bytes` is 0")]
    ZeroBytes,
    /// The pattern is no regular expression.
    #[error("`{pattern}` is no regular expression")]
    BadPattern {
        /// What was given.
        pattern: String,
        /// What is wrong with it.
        source: Box<regex::Error>,
    },
    /// The run's spec cannot be read, so its secrets are not known.
    #[error("the secrets of the run are not known")]
    Spec(#[source] ReadError),
    /// The store's key cannot be read, so secrets cannot be found.
    #[error("the key of the store cannot be read")]
    Key(#[source] io::Error),
    /// The log cannot be read.
    #[error("the output cannot be read")]
    Unreadable(#[source] io::Error),
    /// What the raw bytes were written to failed.
    #[error("the output cannot be passed on")]
    Sink(#[source] io::Error),
}

impl Advice for OutputError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "no_such_run",
            Self::ZeroBytes => "zero_bytes",
            Self::BadPattern { .. } => "bad_pattern",
            Self::Spec(_) => "spec_unreadable",
            Self::Key(_) => "key_unreadable",
            Self::Unreadable(_) => "output_unreadable",
            Self::Sink(_) => "output_not_taken",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::NotFound { .. } => {
                "list the runs to see which there are; ended ones are removed after a while"
                    .to_owned()
            }
            Self::ZeroBytes => "ask for at least 1 byte, or leave it out".to_owned(),
            Self::BadPattern { .. } => {
                "write a backslash before each of `.+*?()[]{}|^$\\` that stands for itself"
                    .to_owned()
            }
            Self::Spec(_) | Self::Key(_) => {
                "read the raw output, in which secrets are not masked".to_owned()
            }
            Self::Unreadable(_) => "look at the permissions of the store and its disk".to_owned(),
            Self::Sink(_) => "look at where the output was to go".to_owned(),
        }
    }
}

/// Refuses what cannot be asked, and makes the pattern ready.
fn check(query: &OutputQuery) -> Result<Option<Regex>, OutputError> {
    if query.bytes_max == 0 {
        return Err(OutputError::ZeroBytes);
    }
    let Some(pattern) = &query.grep else {
        return Ok(None);
    };
    match Regex::new(pattern) {
        Ok(regex) => Ok(Some(regex)),
        Err(source) => Err(OutputError::BadPattern {
            pattern: pattern.clone(),
            source: Box::new(source),
        }),
    }
}

fn page(
    log: &Log<'_>,
    masker: &Masker,
    query: &OutputQuery,
    pattern: Option<&Regex>,
) -> io::Result<OutputPage> {
    match pattern {
        Some(pattern) => matching(log, masker, query, pattern),
        None => text(log, masker, query),
    }
}

fn text(log: &Log<'_>, masker: &Masker, query: &OutputQuery) -> io::Result<OutputPage> {
    let room = Room {
        bytes_max: query.bytes_max,
        lines_max: query.lines.unwrap_or(usize::MAX),
    };
    let (view, truncated) = match query.from {
        OutputFrom::Newest => {
            let view = view::newest(log, masker, room)?;
            let truncated = view.raw.start > 0 || view.has_gap_line;
            (view, truncated)
        }
        OutputFrom::Byte(from) => {
            let view = view::onward(log, masker, from, room)?;
            let truncated = view.has_more;
            (view, truncated)
        }
    };
    Ok(OutputPage {
        text: view.text,
        from_byte: view.raw.start,
        next_byte: view.raw.end,
        total_bytes: log.total_bytes(),
        truncated,
        gap: log.gap()?,
        matches: Vec::new(),
        scanned_to_end: !view.has_more,
    })
}

fn matching(
    log: &Log<'_>,
    masker: &Masker,
    query: &OutputQuery,
    pattern: &Regex,
) -> io::Result<OutputPage> {
    let matches_max = query.lines.unwrap_or(limits::GREP_MATCHES_MAX);
    let search = Search {
        pattern,
        context: query.context,
        room: Room {
            bytes_max: query.bytes_max,
            lines_max: matches_max.min(limits::GREP_MATCHES_MAX),
        },
    };
    let found = match query.from {
        OutputFrom::Newest => search::newest(log, masker, &search)?,
        OutputFrom::Byte(from) => search::onward(log, masker, from, &search)?,
    };
    let matches = found.matches.iter().map(|(byte, line_number)| LineMatch {
        byte: *byte,
        line_number: *line_number,
    });
    Ok(OutputPage {
        matches: matches.collect(),
        text: found.text,
        from_byte: found.raw.start,
        next_byte: found.raw.end,
        total_bytes: log.total_bytes(),
        truncated: found.is_cut,
        gap: log.gap()?,
        scanned_to_end: found.is_at_end,
    })
}

#[cfg(test)]
mod tests;
