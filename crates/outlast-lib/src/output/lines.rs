//! Walks through a log line by line, in memory that does not grow with the log.
//!
//! Each line comes cleaned and masked, with the offset where it begins. What is
//! looked for in it is left to `search`.

use super::log::Log;
use super::view::{last_cut, look_back};
use super::window::Window;
use outlast_journal::limits;
use outlast_journal::mask::Masker;
use std::io;
use std::ops::{ControlFlow, Range};

/// One line of a log, or a part of one that is longer than a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Offset where it begins.
    pub(super) byte: u64,
    /// Offset after it.
    pub(super) next_byte: u64,
    /// Which line of the log it is, from 1; `None` where lines before it are not known.
    pub(super) number: Option<u64>,
    /// What a reader sees of it, without a line feed.
    pub(super) text: String,
    /// Whether it tells of the gap, which no run wrote.
    pub(super) is_gap: bool,
    /// Whether more of it may still come.
    pub(super) is_open: bool,
}

/// A walk through a part of a log.
pub(super) struct Walk<'a> {
    log: &'a Log<'a>,
    masker: &'a Masker,
    end: u64,
    at: u64,
    /// Where the line begins that `at` is in, when its first redraws were left out.
    redrawn_from: Option<u64>,
    number: Option<u64>,
}

impl<'a> Walk<'a> {
    /// Begins a walk through `range`.
    pub(super) fn new(log: &'a Log<'a>, masker: &'a Masker, range: Range<u64>) -> Self {
        Self {
            log,
            masker,
            end: range.end.min(log.total_bytes()),
            at: range.start,
            redrawn_from: None,
            number: (range.start == 0).then_some(1),
        }
    }

    /// Hands each line to `visit` until that breaks or the part ends.
    ///
    /// # Errors
    ///
    /// Fails when the log cannot be read.
    pub(super) fn each(mut self, visit: &mut dyn FnMut(Line) -> ControlFlow<()>) -> io::Result<()> {
        while self.at < self.end {
            let block_end = self
                .log
                .ahead(self.at, limits::SCAN_BLOCK_BYTES)?
                .min(self.end);
            let from = look_back(self.at);
            let window = Window::load(self.log, self.masker, from..block_end)?;
            let is_last = block_end >= self.end;
            if self.block(&window, is_last, visit).is_break() || is_last {
                break;
            }
        }
        Ok(())
    }

    fn block(
        &mut self,
        window: &Window<'_>,
        is_last: bool,
        visit: &mut dyn FnMut(Line) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let begin = window.position(self.at);
        let mut at = begin;
        while let Some(end) = window.line_end(at) {
            visit(self.line(window, at..end, false))?;
            at = end;
        }
        let last = last_cut(self.log, window, if is_last { self.end } else { 0 });
        if is_last {
            if at < last {
                visit(self.line(window, at..last, self.log.can_grow()))?;
            }
        } else if at > begin {
            self.at = window.raw_at(at);
        } else if let Some(redraw) = window.redraw(begin..last)
            && redraw > begin
        {
            self.redrawn_from.get_or_insert(window.raw_at(begin));
            self.at = window.raw_at(redraw);
        } else {
            visit(self.line(window, begin..last, false))?;
            self.at = window.raw_at(last);
        }
        ControlFlow::Continue(())
    }

    fn line(&mut self, window: &Window<'_>, range: Range<usize>, is_open: bool) -> Line {
        let text = window.text(range.clone());
        let is_gap = window.is_gap_line(range.start);
        let is_whole = window.line_end(range.start) == Some(range.end);
        if is_gap {
            self.number = None;
        }
        let number = self.number;
        if is_whole {
            self.number = number.map(|number| number + 1);
        }
        let byte = window.raw_at(range.start);
        Line {
            byte: self.redrawn_from.take().unwrap_or(byte),
            next_byte: window.raw_at(range.end),
            number,
            text: text.trim_end_matches('\n').to_owned(),
            is_gap,
            is_open,
        }
    }
}

#[cfg(test)]
mod tests;
