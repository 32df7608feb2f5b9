//! Text from output bytes, made at read time.
//!
//! The log keeps what a command wrote. This makes the view of it for people
//! and models: whole characters, no escapes, of a redrawn line its last state.
//! A line is read on its own, so a reader may begin at any line. Which bytes
//! to read and how much of the text to show is left to others.

mod shell;
#[cfg(test)]
mod tests;

use crate::limits::SUMMARY_CHARS;
use std::mem;

pub use shell::{ends_in_pipe, quote_words};

/// The character that stands for what was cut.
const ELLIPSIS: char = '…';

/// Returns the text view of `bytes`.
///
/// Of each line the last state that shows something stays: what a carriage
/// return draws over is gone, a backspace takes the character before it.
/// Escape sequences and other control characters but tab are removed; one that
/// is not finished ends with its line. Invalid UTF-8 becomes U+FFFD, one for
/// each maximal invalid sequence. Takes time and memory linear in `bytes`.
pub fn plain(bytes: &[u8]) -> String {
    let mut view = View::default();
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            view.take(letter);
        }
        if !chunk.invalid().is_empty() {
            view.take(char::REPLACEMENT_CHARACTER);
        }
    }
    view.finish()
}

/// Returns the text view of one line, without the line break at its end.
pub fn plain_line(bytes: &[u8]) -> String {
    plain(bytes.strip_suffix(b"\n").unwrap_or(bytes))
}

/// Returns the last line of the text view that is not blank, or `None` when all are.
///
/// White space at its end is removed, and it is cut to `SUMMARY_CHARS` characters.
pub fn last_line(bytes: &[u8]) -> Option<String> {
    bytes.rsplit(|byte| *byte == b'\n').find_map(shown)
}

/// Returns the first line of the text view that is not blank, or `None` when all are; cut as
/// [`last_line`] is.
pub fn first_line(bytes: &[u8]) -> Option<String> {
    bytes.split(|byte| *byte == b'\n').find_map(shown)
}

fn shown(line: &[u8]) -> Option<String> {
    let text = plain(line);
    let shown = text.trim_end();
    (!shown.is_empty()).then(|| cut_chars(shown, SUMMARY_CHARS))
}

/// Returns `text`, or its beginning with `…` as the last of `chars_max` characters.
pub fn cut_chars(text: &str, chars_max: usize) -> String {
    if text.chars().nth(chars_max).is_none() {
        return text.to_owned();
    }
    let Some(kept) = chars_max.checked_sub(1) else {
        return String::new();
    };
    text.chars().take(kept).chain([ELLIPSIS]).collect()
}

/// Returns the largest index up to `at` that is not inside a character.
///
/// A character is a UTF-8 sequence that is valid, or that more bytes may make
/// valid. The index is never more than `bytes.len()` and never more than three
/// below `at`: pages of four bytes and more always advance. Between bytes that
/// are no UTF-8 it is `at`.
pub fn char_floor(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    let is_start = |index: &usize| bytes[*index] & 0xc0 != 0x80;
    let Some(start) = (at.saturating_sub(3)..at).rev().find(is_start) else {
        return at;
    };
    let length = match bytes[start] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    if start + length <= at {
        return at;
    }
    let end = bytes.len().min(start + length);
    match str::from_utf8(&bytes[start..end]) {
        Err(error) if error.error_len().is_some() => at,
        Ok(_) | Err(_) => start,
    }
}

/// Returns the first line of `text` that is not blank, made fit to name something.
///
/// Runs of white space become one space, control characters are removed, and
/// it is cut to `chars_max` characters. Empty when no line shows anything.
pub fn first_line_label(text: &str, chars_max: usize) -> String {
    text.lines()
        .map(folded)
        .find(|line| !line.is_empty())
        .map(|line| cut_chars(&line, chars_max))
        .unwrap_or_default()
}

fn folded(line: &str) -> String {
    let is_shown = |letter: &char| letter.is_whitespace() || !letter.is_control();
    let shown: String = line.chars().filter(is_shown).collect();
    let words: Vec<&str> = shown.split_whitespace().collect();
    words.join(" ")
}

/// Where in an escape sequence (ECMA-48, and what xterm adds) the next character stands.
#[derive(Clone, Copy, Default)]
enum Place {
    /// In none.
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate character, as in the choice of a character set.
    Intermediate,
    /// In a control sequence, after `ESC [`.
    Control,
    /// In a string that BEL or ST ends, as a title.
    Inside,
    /// After an ESC in such a string.
    InsideEscape,
}

/// The view as it grows, a character at a time.
#[derive(Default)]
struct View {
    text: String,
    /// The last state of this line, before the one being drawn, that showed something.
    drawn: String,
    drawing: String,
    place: Place,
}

impl View {
    fn take(&mut self, letter: char) {
        if letter == '\n' {
            self.end_line();
            self.text.push('\n');
            return;
        }
        match self.place {
            Place::Text => self.show(letter),
            Place::Intermediate => self.take_intermediate(letter),
            Place::Control => self.take_control(letter),
            Place::Inside => self.take_inside(letter),
            Place::InsideEscape if letter == '\\' => self.place = Place::Text,
            // An ESC that does not end its string cuts it short and begins a sequence.
            Place::Escape | Place::InsideEscape => self.take_escape(letter),
        }
    }

    fn show(&mut self, letter: char) {
        match letter {
            '\r' => self.redraw(),
            '\u{8}' => drop(self.drawing.pop()),
            '\u{1b}' => self.place = Place::Escape,
            '\u{9b}' => self.place = Place::Control,
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.place = Place::Inside,
            '\t' => self.drawing.push(letter),
            _ if letter.is_control() => {}
            _ => self.drawing.push(letter),
        }
    }

    fn take_escape(&mut self, letter: char) {
        match letter {
            '[' => self.place = Place::Control,
            ']' | 'P' | 'X' | '^' | '_' => self.place = Place::Inside,
            _ => self.take_intermediate(letter),
        }
    }

    fn take_intermediate(&mut self, letter: char) {
        self.place = match letter {
            ' '..='/' => Place::Intermediate,
            _ => Place::Text,
        };
        if !matches!(letter, ' '..='~') {
            self.show(letter);
        }
    }

    fn take_control(&mut self, letter: char) {
        match letter {
            ' '..='?' => {}
            '@'..='~' | '\u{18}' | '\u{1a}' => self.place = Place::Text,
            // A terminal obeys a control character here and reads on.
            _ if letter.is_control() => self.show(letter),
            _ => {
                self.place = Place::Text;
                self.show(letter);
            }
        }
    }

    fn take_inside(&mut self, letter: char) {
        match letter {
            '\u{7}' | '\u{9c}' | '\u{18}' | '\u{1a}' => self.place = Place::Text,
            '\u{1b}' => self.place = Place::InsideEscape,
            _ => {}
        }
    }

    fn redraw(&mut self) {
        if !self.drawing.is_empty() {
            mem::swap(&mut self.drawn, &mut self.drawing);
            self.drawing.clear();
        }
    }

    fn end_line(&mut self) {
        self.redraw();
        self.text.push_str(&self.drawn);
        self.drawn.clear();
        self.place = Place::Text;
    }

    fn finish(mut self) -> String {
        self.end_line();
        self.text
    }
}
