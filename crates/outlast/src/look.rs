//! How a page is drawn: width, colours, the time it is, and whose clock.
//!
//! Values only, so that a page is a function of its record and can be tested.

use jiff::tz::TimeZone;
use outlast_journal::Timestamp;
use std::path::PathBuf;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a page is drawn for.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// Columns of the terminal; absent when there is none, and nothing is cut.
    pub(crate) width: Option<usize>,
    /// Whether colours are wanted.
    pub(crate) is_coloured: bool,
    /// The time it is.
    pub(crate) now: Timestamp,
    /// Where the reader is.
    pub(crate) zone: TimeZone,
    /// Directory that is written as `~`.
    pub(crate) home: Option<PathBuf>,
}

/// A colour or weight of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// As it is.
    Plain,
    /// It is going well.
    Green,
    /// It went wrong.
    Red,
    /// Somebody should look.
    Yellow,
    /// It is going on.
    Cyan,
    /// Less important.
    Dim,
    /// More important.
    Bold,
}

impl Paint {
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Green => Some("32"),
            Self::Red => Some("31"),
            Self::Yellow => Some("33"),
            Self::Cyan => Some("36"),
            Self::Dim => Some("2"),
            Self::Bold => Some("1"),
        }
    }
}

impl Look {
    /// Returns `text` in its colour, where colours are wanted.
    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        match paint.code().filter(|_| self.is_coloured) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text.to_owned(),
        }
    }

    /// Returns `path` with the reader's home as `~`, harmless to a terminal.
    pub(crate) fn path(&self, path: &str) -> String {
        let home = self.home.as_ref().and_then(|home| home.to_str());
        let rest = home
            .filter(|home| home.len() > 1)
            .and_then(|home| path.strip_prefix(home));
        match rest {
            Some("") => "~".to_owned(),
            Some(rest) if rest.starts_with('/') => clean(&format!("~{rest}")),
            Some(_) | None => clean(path),
        }
    }

    /// Returns `text` cut to the columns that are left after `used`.
    pub(crate) fn fit(&self, text: &str, used: usize) -> String {
        match self.width {
            Some(width) => cut(text, width.saturating_sub(used)),
            None => text.to_owned(),
        }
    }
}

/// Returns the columns that `text` takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Returns the beginning of `text` that fits in `columns_max`, with `…` where it was cut.
pub(crate) fn cut(text: &str, columns_max: usize) -> String {
    if text.width() <= columns_max {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let width = letter.width().unwrap_or(0);
        // One column is kept for the mark.
        if used + width + 1 > columns_max {
            break;
        }
        used += width;
        kept.push(letter);
    }
    if columns_max > 0 {
        kept.push('…');
    }
    kept
}

/// Returns `text` filled up to `width` columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

/// Returns `text` moved to the right edge of `width` columns.
pub(crate) fn pad_left(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.width());
    format!("{}{text}", " ".repeat(missing))
}

/// Returns `text` as one line that a terminal takes for nothing but text.
///
/// Labels, paths and output come from anywhere. Control characters could move
/// the cursor or hide what is there, and so could marks that turn the direction.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '\t' | '\n' => ' ',
            letter if letter.is_control() || is_direction(letter) => '\u{fffd}',
            letter => letter,
        })
        .collect()
}

fn is_direction(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
pub(crate) mod tests;
