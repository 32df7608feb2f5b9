//! Gathers matching lines and the lines around them into an answer of bounded size.
//!
//! Plain data in, plain data out. The answer keeps the first lines and says
//! where it became full, or keeps the newest and lets go of the oldest.

use super::lines::Line;
use super::view::Room;
use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};

/// Stands where a long line was cut.
const CUT: &str = "…";
/// Stands between lines that do not follow each other.
const BREAK: &str = "--\n";

/// Which lines stay when there is no room for all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// The first; the answer is complete when it is full.
    First,
    /// The last.
    Newest,
}

/// The lines of an answer, as many as there is room for.
pub(super) struct Matches {
    keep: Keep,
    context: usize,
    room: Room,
    entries: VecDeque<Entry>,
    entries_bytes: usize,
    /// How many of the entries match.
    found: usize,
    /// The last lines that are not in the answer, in case that a match follows.
    before: VecDeque<Entry>,
    before_bytes: usize,
    /// How many of the next lines belong to the last match.
    after_lines: usize,
    ordinal: u64,
    left_out_from: Option<u64>,
}

/// A line of the answer.
struct Entry {
    byte: u64,
    number: Option<u64>,
    /// How many lines of the walk come before it.
    ordinal: u64,
    /// What is shown, with a line feed.
    text: String,
    is_match: bool,
    /// Whether lines between it and the entry before are not shown.
    is_after_break: bool,
}

impl Matches {
    /// Makes an empty answer; `context` lines are shown before and after each match.
    pub(super) fn new(keep: Keep, context: usize, room: Room) -> Self {
        Self {
            keep,
            context,
            room,
            entries: VecDeque::new(),
            entries_bytes: 0,
            found: 0,
            before: VecDeque::new(),
            before_bytes: 0,
            after_lines: 0,
            ordinal: 0,
            left_out_from: None,
        }
    }

    /// Takes the next line, which matches at `found` of its text; breaks when the answer is full.
    pub(super) fn take(&mut self, line: &Line, found: Option<Range<usize>>) -> ControlFlow<()> {
        self.ordinal += 1;
        let is_match = found.is_some();
        if !is_match && self.after_lines == 0 && self.context == 0 {
            return ControlFlow::Continue(());
        }
        let line_bytes_max = self.room.bytes_max.saturating_sub(1);
        let mut text = excerpt(&line.text, &found.unwrap_or(0..0), line_bytes_max);
        text.push('\n');
        let entry = Entry {
            byte: line.byte,
            number: line.number,
            ordinal: self.ordinal,
            text,
            is_match,
            is_after_break: false,
        };
        if is_match {
            self.after_lines = self.context;
            self.add_match(entry)
        } else if self.after_lines > 0 {
            self.after_lines -= 1;
            self.add(entry)
        } else {
            self.remember(entry);
            ControlFlow::Continue(())
        }
    }

    /// Returns the offset of a line that was left out for want of room: the first
    /// after the answer, or one before it.
    pub(super) fn left_out_from(&self) -> Option<u64> {
        self.left_out_from
    }

    /// Returns the offset of the first line of the answer.
    pub(super) fn first_byte(&self) -> Option<u64> {
        self.shown().next().map(|entry| entry.byte)
    }

    /// Returns offset and number of each line that matches.
    pub(super) fn offsets(&self) -> Vec<(u64, Option<u64>)> {
        self.shown()
            .filter(|entry| entry.is_match)
            .map(|entry| (entry.byte, entry.number))
            .collect()
    }

    /// Returns the answer as text, with a line of `--` where lines between are left out.
    pub(super) fn into_text(self) -> String {
        let mut text = String::with_capacity(self.entries_bytes);
        for entry in self.shown() {
            if entry.is_after_break && !text.is_empty() {
                text.push_str(BREAK);
            }
            text.push_str(&entry.text);
        }
        text
    }

    /// Returns the lines of the answer without those whose match had to go.
    fn shown(&self) -> impl Iterator<Item = &Entry> {
        let first_match = self.entries.iter().find(|entry| entry.is_match);
        let first_match = first_match.map_or(u64::MAX, |entry| entry.ordinal);
        let first = first_match.saturating_sub(self.context as u64);
        self.entries
            .iter()
            .filter(move |entry| entry.ordinal >= first)
    }

    fn add_match(&mut self, entry: Entry) -> ControlFlow<()> {
        let mut group = std::mem::take(&mut self.before);
        self.before_bytes = 0;
        group.push_back(entry);
        if self.keep == Keep::First && !self.has_room_for(&mut group) {
            self.left_out_from = group.front().map(|first| first.byte);
            return ControlFlow::Break(());
        }
        self.found += 1;
        for entry in group {
            self.push(entry);
        }
        ControlFlow::Continue(())
    }

    /// Returns whether a match fits with the lines before it, of which the answer's first
    /// match loses those that do not.
    fn has_room_for(&self, group: &mut VecDeque<Entry>) -> bool {
        if self.found >= self.room.lines_max {
            return false;
        }
        loop {
            let lines_bytes: usize = group.iter().map(|entry| entry.text.len()).sum();
            let first = group.front().map_or(0, |first| first.ordinal);
            let break_bytes = if self.is_break_before(first) {
                BREAK.len()
            } else {
                0
            };
            if self.entries_bytes + break_bytes + lines_bytes <= self.room.bytes_max {
                return true;
            }
            if !self.entries.is_empty() {
                return false;
            }
            if group.len() <= 1 {
                return true;
            }
            group.pop_front();
        }
    }

    fn is_break_before(&self, ordinal: u64) -> bool {
        let last = self.entries.back().map(|last| last.ordinal);
        self.context > 0 && last.is_some_and(|last| last + 1 != ordinal)
    }

    fn add(&mut self, entry: Entry) -> ControlFlow<()> {
        let is_full = self.entries_bytes + entry.text.len() > self.room.bytes_max;
        if self.keep == Keep::First && is_full {
            self.left_out_from = Some(entry.byte);
            return ControlFlow::Break(());
        }
        self.push(entry);
        ControlFlow::Continue(())
    }

    fn push(&mut self, mut entry: Entry) {
        entry.is_after_break = self.is_break_before(entry.ordinal);
        self.entries_bytes += entry.bytes();
        self.entries.push_back(entry);
        if self.keep == Keep::Newest {
            self.make_room();
        }
    }

    fn make_room(&mut self) {
        while self.found > self.room.lines_max {
            self.drop_first();
        }
        while self.entries_bytes > self.room.bytes_max && self.entries.len() > 1 {
            let is_last_match = self.found == 1;
            if is_last_match && self.entries.front().is_some_and(|first| first.is_match) {
                // What comes after the only match goes before the match does.
                self.after_lines = 0;
                let dropped = self.entries.pop_back();
                self.entries_bytes -= dropped.map_or(0, |entry| entry.bytes());
            } else {
                self.drop_first();
            }
        }
    }

    fn drop_first(&mut self) {
        let Some(first) = self.entries.pop_front() else {
            return;
        };
        self.entries_bytes -= first.bytes();
        if first.is_match {
            self.found -= 1;
            self.left_out_from = Some(first.byte);
        }
        if let Some(first) = self.entries.front_mut() {
            self.entries_bytes -= first.bytes();
            first.is_after_break = false;
            self.entries_bytes += first.bytes();
        }
    }

    fn remember(&mut self, entry: Entry) {
        self.before_bytes += entry.text.len();
        self.before.push_back(entry);
        while self.before.len() > self.context || self.before_bytes > self.room.bytes_max {
            let Some(first) = self.before.pop_front() else {
                break;
            };
            self.before_bytes -= first.text.len();
        }
    }
}

impl Entry {
    /// Returns how many bytes it takes in the answer.
    fn bytes(&self) -> usize {
        let break_bytes = if self.is_after_break { BREAK.len() } else { 0 };
        self.text.len() + break_bytes
    }
}

/// Returns the part of `text` around `found` that fits `bytes_max`, with `…` where it was cut.
///
/// At least one character of it is shown.
fn excerpt(text: &str, found: &Range<usize>, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let room = bytes_max.saturating_sub(2 * CUT.len());
    let lead = room.saturating_sub(found.len()) / 4;
    let start = text.floor_char_boundary(found.start.saturating_sub(lead));
    let mut end = text.floor_char_boundary(start.saturating_add(room));
    if end <= start {
        end = text.ceil_char_boundary(start.saturating_add(1));
    }
    let head = if start > 0 { CUT } else { "" };
    let tail = if end < text.len() { CUT } else { "" };
    format!("{head}{}{tail}", text.get(start..end).unwrap_or_default())
}

#[cfg(test)]
mod tests;
