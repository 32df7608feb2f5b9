//! `read_file`: numbered lines of a text file, and the hash of what it holds.

use super::arguments::Arguments;
use super::seen::{Saw, hex};
use super::workspace::{OpenFile, Workspace, shown};
use super::{Outcome, Refusal};
use outlast_journal::limits::{
    EDIT_FILE_BYTES_MAX, READ_LINES_MAX, READ_SCAN_BYTES_MAX, READ_SHOWN_BYTES, SHOWN_LINE_BYTES,
};
use outlast_journal::text::char_floor;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Bytes at the beginning of a file in which a NUL says that it is no text.
const PROBE_BYTES: usize = 8 << 10;

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "beneath the workspace"},
            "offset": {"type": "integer", "minimum": 1, "description": "first line, from 1"},
            "limit": {"type": "integer", "minimum": 1, "maximum": READ_LINES_MAX},
        },
        "required": ["path"],
        "additionalProperties": false,
    })
}

/// Reads lines of a file. The first `READ_SHOWN_BYTES` of them are shown.
pub(super) fn read(workspace: &Workspace, arguments: &Arguments) -> Result<Outcome, Refusal> {
    let path = workspace.locate(arguments.required("path"))?;
    let wanted = Wanted {
        from: arguments.number("offset").unwrap_or(1),
        lines_max: arguments.number("limit").unwrap_or(READ_LINES_MAX),
    };
    let opened = workspace.open_file(&path)?;
    let page = page(opened, &path, wanted)?;
    if page.lines > 0 && page.from > page.lines && page.is_to_end {
        let why = format!(
            "`{}` has {} lines, and `offset` is {}",
            shown(&path),
            page.lines,
            page.from
        );
        return Err(Refusal::new("beyond_the_end", why));
    }
    Ok(page.outcome(&path))
}

#[derive(Clone, Copy)]
struct Wanted {
    from: u64,
    lines_max: u64,
}

/// What was read of a file.
struct Page {
    text: String,
    from: u64,
    /// The last line that is shown; `from` less one where none is.
    to: u64,
    /// Lines that were seen: all of them with `is_to_end`.
    lines: u64,
    is_to_end: bool,
    hash: Option<String>,
    bytes: u64,
    has_crlf: bool,
    is_lossy: bool,
    is_full: bool,
}

fn page(opened: OpenFile, path: &Path, wanted: Wanted) -> Result<Page, Refusal> {
    let failed = |error: io::Error| super::workspace::trouble(path, &error);
    let mut reader = BufReader::with_capacity(64 << 10, opened.file.take(READ_SCAN_BYTES_MAX));
    let probe = reader.fill_buf().map_err(failed)?;
    if probe.iter().take(PROBE_BYTES).any(|byte| *byte == 0) {
        let why = format!(
            "`{}` is no text: it has NUL bytes ({} bytes in all)",
            shown(path),
            opened.bytes
        );
        return Err(Refusal::new("binary_file", why));
    }
    let mut page = Page {
        text: String::new(),
        from: wanted.from,
        to: wanted.from - 1,
        lines: 0,
        is_to_end: true,
        hash: None,
        bytes: opened.bytes,
        has_crlf: false,
        is_lossy: false,
        is_full: false,
    };
    let mut hash = Sha256::new();
    let mut read = 0_u64;
    let mut line = Vec::new();
    while next_line(&mut reader, &mut line, &mut hash, &mut read).map_err(failed)? {
        page.take(&line, wanted);
    }
    page.is_to_end = read < READ_SCAN_BYTES_MAX;
    // A hash is what allows an edit; a file that cannot be edited needs none.
    if page.is_to_end && read <= EDIT_FILE_BYTES_MAX {
        page.hash = Some(hex(&hash.finalize()));
    }
    Ok(page)
}

/// Reads one line, of which a long one is kept in part; returns whether there was one.
fn next_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    hash: &mut Sha256,
    read: &mut u64,
) -> io::Result<bool> {
    line.clear();
    let mut is_there = false;
    loop {
        let ready = reader.fill_buf()?;
        if ready.is_empty() {
            return Ok(is_there);
        }
        is_there = true;
        let end = ready.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(ready.len(), |end| end + 1);
        let part = ready.get(..taken).unwrap_or(ready);
        hash.update(part);
        // Of a longer line only whether it ends in CR would matter.
        if line.len() <= 4 * SHOWN_LINE_BYTES {
            line.extend_from_slice(part);
        }
        *read += taken as u64;
        reader.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
    }
}

impl Page {
    fn take(&mut self, line: &[u8], wanted: Wanted) {
        self.lines += 1;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let without = line.strip_suffix(b"\r").unwrap_or(line);
        self.has_crlf |= without.len() < line.len();
        let is_wanted = self.lines >= wanted.from && self.lines - wanted.from < wanted.lines_max;
        if !is_wanted || self.is_full {
            return;
        }
        let end = if without.len() > SHOWN_LINE_BYTES {
            char_floor(without, SHOWN_LINE_BYTES)
        } else {
            without.len()
        };
        let kept = without.get(..end).unwrap_or(without);
        let text = String::from_utf8_lossy(kept);
        self.is_lossy |= matches!(text, std::borrow::Cow::Owned(_));
        let cut = without.len() - kept.len();
        let mut shown = format!("{:>6}\t{text}", self.lines);
        if cut > 0 {
            write!(shown, "…[the line goes on]").ok();
        }
        shown.push('\n');
        if self.text.len() + shown.len() > READ_SHOWN_BYTES && !self.text.is_empty() {
            self.is_full = true;
            return;
        }
        self.text.push_str(&shown);
        self.to = self.lines;
    }

    fn outcome(self, path: &Path) -> Outcome {
        let path = shown(path);
        let mut text = self.text;
        let mut notes = Vec::new();
        if self.lines == 0 {
            notes.push("the file is empty".to_owned());
        } else if self.to < self.lines || self.from > 1 || !self.is_to_end {
            let count = if self.is_to_end { "" } else { "more than " };
            let lines = self.lines;
            notes.push(format!("lines {}–{} of {count}{lines}", self.from, self.to));
        }
        if self.to < self.lines {
            notes.push(format!("read on with offset {}", self.to + 1));
        }
        if self.has_crlf {
            notes.push("lines end in CRLF".to_owned());
        }
        if self.is_lossy {
            notes.push("bytes that are no UTF-8 are shown as U+FFFD".to_owned());
        }
        if self.hash.is_none() {
            notes.push(format!("{} bytes: too large for edit_file", self.bytes));
        }
        if !notes.is_empty() {
            writeln!(text, "[{}]", notes.join("; ")).ok();
        }
        let saw = self.hash.map(|hash| Saw {
            path: path.clone(),
            hash,
            from: self.from,
            to: self.to,
            lines: self.lines,
        });
        let count = (self.to + 1).saturating_sub(self.from);
        let mut outcome = Outcome::done(text, &format!("read_file {path}: {count} lines"));
        outcome.saw = saw.map(|saw| json!(saw));
        outcome
    }
}

#[cfg(test)]
mod tests;
