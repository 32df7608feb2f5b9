//! Finds the lines of a log that match a pattern, with the lines around them.
//!
//! The pattern sees what a reader sees: cleaned and masked lines. An answer
//! holds the first matches from an offset on, or the newest ones of the log;
//! what did not fit is said. Which lines go into it is `matches`' business.

use super::lines::{Line, Walk};
use super::log::Log;
use super::matches::{Keep, Matches};
use super::view::Room;
use outlast_journal::limits;
use outlast_journal::mask::Masker;
use regex::Regex;
use std::io;
use std::ops::Range;

/// What is looked for.
pub(super) struct Search<'a> {
    /// The pattern, matched against one line at a time.
    pub(super) pattern: &'a Regex,
    /// Lines shown before and after each match.
    pub(super) context: usize,
    /// How much the answer may hold; its lines are counted as matches.
    pub(super) room: Room,
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The lines, each with a line feed.
    pub(super) text: String,
    /// The raw bytes that the answer speaks for.
    pub(super) raw: Range<u64>,
    /// Offset and number of each line that matched.
    pub(super) matches: Vec<(u64, Option<u64>)>,
    /// Whether there may be matches that are not in the answer.
    pub(super) is_cut: bool,
    /// Whether the search came to the end of the log.
    pub(super) is_at_end: bool,
}

/// Finds the first matches at or after `from`.
pub(super) fn onward(
    log: &Log<'_>,
    masker: &Masker,
    from: u64,
    search: &Search<'_>,
) -> io::Result<Found> {
    let from = from.min(log.total_bytes());
    let end = log.ahead(from, limits::GREP_SCAN_BYTES_MAX)?;
    let mut matches = Matches::new(Keep::First, search.context, search.room);
    let mut next_byte = from;
    Walk::new(log, masker, from..end).each(&mut |line| {
        let found = search.find(&line);
        next_byte = next_search(&line, found.as_ref());
        matches.take(&line, found)
    })?;
    let is_full = matches.left_out_from();
    let is_at_end = is_full.is_none() && end == log.total_bytes();
    Ok(Found {
        raw: from..is_full.unwrap_or(next_byte).max(from),
        matches: matches.offsets(),
        text: matches.into_text(),
        is_cut: !is_at_end,
        is_at_end,
    })
}

/// Finds the newest matches of the log.
pub(super) fn newest(log: &Log<'_>, masker: &Masker, search: &Search<'_>) -> io::Result<Found> {
    let end = log.total_bytes();
    let from = log.back(end, limits::GREP_SCAN_BYTES_MAX)?;
    let mut matches = Matches::new(Keep::Newest, search.context, search.room);
    let mut next_byte = from;
    Walk::new(log, masker, from..end).each(&mut |line| {
        let found = search.find(&line);
        next_byte = next_search(&line, found.as_ref());
        matches.take(&line, found)
    })?;
    let is_full = matches.left_out_from().is_some();
    Ok(Found {
        raw: matches.first_byte().unwrap_or(from)..next_byte,
        matches: matches.offsets(),
        text: matches.into_text(),
        is_cut: is_full || from > 0,
        is_at_end: true,
    })
}

impl Search<'_> {
    /// Returns where in the text of `line` the pattern matches. What we say ourselves does not.
    fn find(&self, line: &Line) -> Option<Range<usize>> {
        let found = self.pattern.find(&line.text)?;
        (!line.is_gap).then(|| found.range())
    }
}

/// Returns where a search goes on after `line`.
fn next_search(line: &Line, found: Option<&Range<usize>>) -> u64 {
    // What is still to come of an open line may make it match, so the next
    // search begins with it.
    if line.is_open && found.is_none() {
        line.byte
    } else {
        line.next_byte
    }
}

#[cfg(test)]
mod tests;
