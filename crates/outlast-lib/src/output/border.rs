//! Finds what may not be cut apart in raw output: characters and escape sequences.
//!
//! Works on bytes around one position and looks only a little back, so that a
//! cut costs the same in a log of any size. What the sequences mean is left to
//! `outlast_journal::text`.

use outlast_journal::{limits, text};
use std::ops::Range;

/// Begins every escape sequence.
const ESC: u8 = 0x1b;
/// Ends a string, such as a title.
const BELL: u8 = 0x07;
/// End any sequence.
const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;

/// Returns the character or escape sequence that has bytes on both sides of `at`.
///
/// At the end of `bytes`, that is one that is not finished; its range then ends
/// beyond them. A sequence longer than `ESCAPE_BYTES_MAX` is not seen.
pub(super) fn around(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    character_around(bytes, at).or_else(|| escape_around(bytes, at))
}

/// Returns how many bytes at the beginning of `bytes` belong to a character begun before them.
pub(super) fn torn_front(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take(3)
        .take_while(|byte| (0x80..0xc0).contains(*byte))
        .count()
}

/// Returns how many bytes at the end of `bytes` belong to a character that goes on after them.
pub(super) fn torn_back(bytes: &[u8]) -> usize {
    bytes.len() - text::char_floor(bytes, bytes.len())
}

fn character_around(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let start = text::char_floor(bytes, at);
    let is_border = |end: &usize| text::char_floor(bytes, *end) == *end;
    let end = || (at + 1..at + 4).find(is_border).unwrap_or(usize::MAX);
    (start < at).then(|| start..end())
}

fn escape_around(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let reach = at.saturating_sub(limits::ESCAPE_BYTES_MAX);
    let near = bytes.get(reach..at)?;
    let starts = near.iter().enumerate().rev();
    for (index, _) in starts.filter(|(_, byte)| **byte == ESC) {
        let start = reach + index;
        let rest = bytes.get(start..).unwrap_or_default();
        let end = match rest.get(..limits::ESCAPE_BYTES_MAX) {
            Some(rest) => escape_bytes(rest).map_or(0, |length| start + length),
            None => escape_bytes(rest).map_or(usize::MAX, |length| start + length),
        };
        if end > at {
            return Some(start..end);
        }
    }
    None
}

/// Returns how long the sequence at the beginning of `bytes` is, `None` when it is not finished.
///
/// A line feed, and an ESC that begins another one, ends a sequence that has no end of its own.
fn escape_bytes(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'[' => control_bytes(bytes),
        b']' | b'P' | b'X' | b'^' | b'_' => string_bytes(bytes),
        0x20..=0x2f => {
            let rest = bytes.iter().enumerate().skip(2);
            let (last, byte) = rest
                .into_iter()
                .find(|(_, byte)| !(0x20..0x30).contains(*byte))?;
            Some(if (0x30..0x7f).contains(byte) {
                last + 1
            } else {
                last
            })
        }
        0x30..=0x7e => Some(2),
        0..=0x1f | 0x7f..=0xff => Some(1),
    }
}

fn control_bytes(bytes: &[u8]) -> Option<usize> {
    for (index, byte) in bytes.iter().enumerate().skip(2) {
        match byte {
            0x40..=0x7e | &CANCEL | &SUBSTITUTE => return Some(index + 1),
            b'\n' | &ESC | 0x80..=0xff => return Some(index),
            // A terminal obeys other control characters here and reads on.
            0..=0x3f | 0x7f => {}
        }
    }
    None
}

fn string_bytes(bytes: &[u8]) -> Option<usize> {
    for (index, byte) in bytes.iter().enumerate().skip(2) {
        match byte {
            &BELL | &CANCEL | &SUBSTITUTE => return Some(index + 1),
            b'\n' => return Some(index),
            &ESC => {
                return bytes.get(index + 1).map(|next| {
                    // Together they are the string's own end; else a new sequence begins.
                    if *next == b'\\' { index + 2 } else { index }
                });
            }
            0..=0xff => {}
        }
    }
    None
}

#[cfg(test)]
mod tests;
