//! Chooses the part of a log that one answer shows as text: the newest, or a page onward.
//!
//! A part begins and ends where a line does; where lines are too long for
//! that, it cuts them between characters, never inside of an escape sequence
//! or of a secret. `window` makes the text; patterns are `search`'s.

use super::log::Log;
use super::window::Window;
use outlast_journal::mask::Masker;
use outlast_journal::{limits, text};
use std::io;
use std::ops::Range;

/// How much more is read when a block did not do.
const BLOCK_GROWTH: u64 = 4;

/// How much one answer may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Bytes of text; more only where one character, mask or gap line is longer.
    pub(super) bytes_max: usize,
    /// Lines.
    pub(super) lines_max: usize,
}

/// A part of a log as text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct View {
    /// What a reader sees.
    pub(super) text: String,
    /// The raw bytes that the text stands for.
    pub(super) raw: Range<u64>,
    /// Whether the line of the gap is in the text.
    pub(super) has_gap_line: bool,
    /// Whether there is more after `raw` now.
    pub(super) has_more: bool,
}

/// Returns the newest part of `log` that fits `room`.
///
/// Lines are whole when those that fit fill at least half of the room; else the
/// oldest one lacks its beginning.
pub(super) fn newest(log: &Log<'_>, masker: &Masker, room: Room) -> io::Result<View> {
    let end = log.total_bytes();
    let scan_from = log.back(end, limits::VIEW_SCAN_BYTES_MAX)?;
    let mut block_bytes = limits::VIEW_BLOCK_BYTES;
    loop {
        let from = log.back(end, block_bytes)?.max(scan_from);
        let window = Window::load(log, masker, from..end)?;
        let newest = Newest {
            end: last_cut(log, &window, end),
            first: match from {
                0 => Some(0),
                _ if from == scan_from => Some(window.ceil(limits::ESCAPE_BYTES_MAX)),
                _ => None,
            },
            window: &window,
            room,
        };
        if let Some(start) = newest.start() {
            return Ok(view(&window, start..newest.end.max(start), false));
        }
        block_bytes = block_bytes.saturating_mul(BLOCK_GROWTH);
    }
}

/// Returns the part of `log` that begins at `from` and fits `room`.
///
/// Its text begins a little later when `from` is inside of a character, an escape
/// sequence or a secret. Parts that follow each other show every kept byte once.
pub(super) fn onward(log: &Log<'_>, masker: &Masker, from: u64, room: Room) -> io::Result<View> {
    let from = from.min(log.total_bytes());
    let scan_end = log.ahead(from, limits::VIEW_SCAN_BYTES_MAX)?;
    let mut block_bytes = limits::VIEW_BLOCK_BYTES;
    loop {
        let end = log.ahead(from, block_bytes)?.min(scan_end);
        let window = Window::load(log, masker, look_back(from)..end)?;
        let begin = window.position(from);
        let is_last = end == scan_end;
        let onward = Onward {
            begin,
            last: is_last.then(|| last_cut(log, &window, end).max(begin)),
            window: &window,
            room,
        };
        if let Some(stop) = onward.stop() {
            let has_more = onward.last != Some(stop) || end < log.total_bytes();
            let mut view = view(&window, onward.begin..stop, has_more);
            view.raw.start = from;
            view.raw.end = view.raw.end.max(from);
            return Ok(view);
        }
        block_bytes = block_bytes.saturating_mul(BLOCK_GROWTH);
    }
}

/// Returns the last line of `log` with ink on it, at most `SUMMARY_CHARS` long.
///
/// Looks at the last `VIEW_BLOCK_BYTES` only.
pub(super) fn last_line(log: &Log<'_>, masker: &Masker) -> io::Result<Option<String>> {
    let total = log.total_bytes();
    let from = log.back(total, limits::VIEW_BLOCK_BYTES)?;
    let window = Window::load(log, masker, from..total)?;
    let mut end = last_cut(log, &window, total);
    while end > 0 {
        let start = window.line_start(end);
        let line = window.text(start..end);
        let line = line.trim();
        if !line.is_empty() && !window.is_gap_line(start) {
            return Ok(Some(text::cut_chars(line, limits::SUMMARY_CHARS)));
        }
        end = start;
    }
    Ok(None)
}

/// Returns an offset so little before `from` that what crosses `from` is seen.
pub(super) fn look_back(from: u64) -> u64 {
    from.saturating_sub(limits::ESCAPE_BYTES_MAX as u64)
}

/// Returns the last place of a window that ends at the raw byte `end` where a page may end.
///
/// What is not finished at the end of a log is shown only when nothing can finish it.
pub(super) fn last_cut(log: &Log<'_>, window: &Window<'_>, end: u64) -> usize {
    if end >= log.total_bytes() && !log.can_grow() {
        window.len()
    } else {
        window.floor(window.len())
    }
}

/// The search for the beginning of the newest part.
struct Newest<'a> {
    window: &'a Window<'a>,
    room: Room,
    end: usize,
    /// Where the part begins at the earliest; `None` when more can be read before it.
    first: Option<usize>,
}

impl Newest<'_> {
    /// Returns where the part begins, `None` when that lies before the window.
    fn start(&self) -> Option<usize> {
        let mut start = self.end;
        let mut used_bytes = 0;
        let mut lines = 0;
        let first = self.first.unwrap_or(0);
        while start > first && lines < self.room.lines_max {
            let line_start = self.window.line_start(start).max(first);
            let line_bytes = self.window.text(line_start..start).len();
            let room = self.room.bytes_max.saturating_sub(used_bytes);
            if line_bytes > room {
                let is_half_empty = used_bytes <= self.room.bytes_max / 2;
                return Some(if is_half_empty {
                    self.cut(line_start..start, room, used_bytes == 0)
                } else {
                    start
                });
            }
            if line_start == 0 && self.first.is_none() {
                return None;
            }
            used_bytes += line_bytes;
            lines += 1;
            start = line_start;
        }
        let is_known = start > first || self.first.is_some() || lines >= self.room.lines_max;
        is_known.then_some(start)
    }

    /// Returns where the longest end of `line` begins whose text fits `room` bytes.
    ///
    /// When none fits and something `must` be shown, that is the last character.
    fn cut(&self, line: Range<usize>, room: usize, must: bool) -> usize {
        let fits = |at: usize| self.window.text(at..line.end).len() <= room;
        let mut good = line.end;
        let mut bad = line.start;
        let mut step = room.max(1);
        while good.saturating_sub(step) > bad {
            let at = self.window.ceil(good - step);
            if at < good {
                if !fits(at) {
                    bad = at;
                    break;
                }
                good = at;
            }
            step = step.saturating_mul(2);
        }
        while good - bad > 1 {
            let middle = bad + (good - bad) / 2;
            let at = self.window.ceil(middle);
            if at < good && fits(at) {
                good = at;
            } else {
                bad = middle;
            }
        }
        if must && good > line.start && self.window.text(good..line.end).is_empty() {
            return self.window.floor(good - 1).max(line.start);
        }
        good
    }
}

/// The search for the end of a page onward.
struct Onward<'a> {
    window: &'a Window<'a>,
    room: Room,
    begin: usize,
    /// Where the page ends at the latest; `None` when more can be read after it.
    last: Option<usize>,
}

impl Onward<'_> {
    /// Returns where the page ends; `None` when more must be read to know.
    fn stop(&self) -> Option<usize> {
        let last = self.last.unwrap_or(self.window.len());
        let mut at = self.begin;
        let mut used_bytes = 0;
        let mut lines = 0;
        while at < last {
            if lines >= self.room.lines_max {
                return Some(at);
            }
            let room = self.room.bytes_max.saturating_sub(used_bytes);
            let line_end = self.window.line_end(at).filter(|end| *end <= last);
            let end = line_end.unwrap_or(last);
            let line_bytes = self.window.text(at..end).len();
            if line_end.is_none() && self.last.is_none() {
                // A redraw may still make a line short; nothing else does.
                let is_redrawn = self.window.redraw(at..end).is_some();
                if line_bytes <= room || is_redrawn {
                    return None;
                }
            }
            if line_bytes > room {
                let is_half_empty = used_bytes <= self.room.bytes_max / 2;
                return Some(if is_half_empty {
                    self.cut(at..end, room, used_bytes == 0)
                } else {
                    at
                });
            }
            used_bytes += line_bytes;
            lines += 1;
            at = end;
        }
        self.last
    }

    /// Returns where the longest beginning of `line` ends whose text fits `room` bytes.
    ///
    /// When none fits and something `must` be shown, that is the first character.
    fn cut(&self, line: Range<usize>, room: usize, must: bool) -> usize {
        let fits = |at: usize| self.window.text(line.start..at).len() <= room;
        let mut good = line.start;
        let mut bad = line.end;
        // What is drawn over needs no room.
        if let Some(redraw) = self.window.redraw(line.clone()) {
            let at = self.window.floor(redraw);
            if at > good && fits(at) {
                good = at;
            }
        }
        let mut step = room.max(1);
        while good.saturating_add(step) < bad {
            let at = self.window.floor(good + step);
            if at > good {
                if !fits(at) {
                    bad = at;
                    break;
                }
                good = at;
            }
            step = step.saturating_mul(2);
        }
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            let at = self.window.floor(middle);
            if at > good && fits(at) {
                good = at;
            } else {
                bad = middle;
            }
        }
        if must && good < line.end && self.window.text(line.start..good).is_empty() {
            return self.window.ceil(good + 1).min(line.end);
        }
        good
    }
}

/// Returns the part of `window` in `range`, line by line.
fn view(window: &Window<'_>, range: Range<usize>, has_more: bool) -> View {
    let mut text = String::new();
    let mut at = range.start;
    while at < range.end {
        let end = window.line_end(at).unwrap_or(range.end).min(range.end);
        text.push_str(&window.text(at..end));
        at = end;
    }
    View {
        text,
        raw: window.raw_at(range.start)..window.raw_at(range.end),
        has_gap_line: window.has_gap_line(&range),
        has_more,
    }
}

#[cfg(test)]
mod tests;
