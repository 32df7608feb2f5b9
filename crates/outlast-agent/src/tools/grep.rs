//! `grep_files`: lines that match a regular expression.

use super::arguments::Arguments;
use super::find::Fits;
use super::walk::Walk;
use super::workspace::Workspace;
use super::{Outcome, Refusal};
use outlast_journal::limits::{
    CALL_SHOWN_BYTES, GREP_FILE_BYTES_MAX, GREP_LINE_BYTES, GREP_LINES_MAX, TOOL_CONTEXT_LINES_MAX,
};
use outlast_journal::text::char_floor;
use regex::bytes::{Regex, RegexBuilder};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

/// Bytes at the beginning of a file in which a NUL says that it is no text.
const PROBE_BYTES: usize = 8 << 10;
/// A compiled expression, in bytes.
const COMPILED_BYTES_MAX: usize = 4 << 20;

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "description": "regular expression"},
            "path": {"type": "string", "description": "file, or directory to look in"},
            "glob": {"type": "string", "description": "only files that fit, as with find_files"},
            "ignore_case": {"type": "boolean"},
            "context": {"type": "integer", "maximum": TOOL_CONTEXT_LINES_MAX},
            "with_ignored": {"type": "boolean", "description": "also what ignore files name"},
        },
        "required": ["pattern"],
        "additionalProperties": false,
    })
}

/// Shows the lines that match, file by file in the order of their paths.
pub(super) fn grep(workspace: &Workspace, arguments: &Arguments) -> Result<Outcome, Refusal> {
    let pattern = arguments.required("pattern");
    let regex = expression(pattern, arguments.is_set("ignore_case"))?;
    let fits = arguments.text("glob").filter(|glob| !glob.is_empty());
    let fits = fits.map(Fits::new).transpose()?;
    let from = workspace.locate(arguments.text("path").unwrap_or_default())?;
    let walk = Walk::new(workspace, arguments.is_set("with_ignored"));
    let context = arguments.number("context").unwrap_or(0);
    let mut found = Found {
        context: usize::try_from(context).unwrap_or_default(),
        ..Found::default()
    };
    let cut = walk.files(&from, &mut |path| {
        if fits.as_ref().is_some_and(|fits| !fits.is_fit(path)) {
            return ControlFlow::Continue(());
        }
        found.look(workspace, path, &regex)
    })?;
    let mut text = found.text;
    if let Some(cut) = cut {
        let count = found.lines;
        writeln!(text, "[the first {count} matching lines: {}]", cut.words()).ok();
    } else if found.lines == 0 {
        text.push_str("[no line matches; ignored files are searched with `with_ignored`]\n");
    }
    if found.too_large > 0 {
        let count = found.too_large;
        let bytes = GREP_FILE_BYTES_MAX;
        writeln!(
            text,
            "[{count} files larger than {bytes} bytes were left out]"
        )
        .ok();
    }
    let brief = format!(
        "grep_files {pattern}: {} lines in {} files",
        found.lines, found.files
    );
    Ok(Outcome::done(text, &brief))
}

fn expression(pattern: &str, ignores_case: bool) -> Result<Regex, Refusal> {
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(ignores_case);
    builder.multi_line(true).crlf(true);
    builder
        .size_limit(COMPILED_BYTES_MAX)
        .build()
        .map_err(|error| {
            let why = format!(
                "`{pattern}` is no regular expression; write a backslash before each of \
             `.+*?()[]{{}}|^$\\` that stands for itself ({error})"
            );
            Refusal::new("bad_pattern", why)
        })
}

#[derive(Default)]
struct Found {
    text: String,
    context: usize,
    lines: usize,
    files: usize,
    too_large: usize,
}

impl Found {
    fn look(&mut self, workspace: &Workspace, path: &Path, regex: &Regex) -> ControlFlow<()> {
        let Ok(opened) = workspace.open_file(path) else {
            return ControlFlow::Continue(());
        };
        if opened.bytes > GREP_FILE_BYTES_MAX {
            self.too_large += 1;
            return ControlFlow::Continue(());
        }
        let mut bytes = Vec::new();
        let mut bounded = opened.file.take(GREP_FILE_BYTES_MAX);
        let is_read = bounded.read_to_end(&mut bytes).is_ok();
        let is_binary = bytes.iter().take(PROBE_BYTES).any(|byte| *byte == 0);
        // Most files have no match: one pass over all bytes says so.
        if !is_read || is_binary || !regex.is_match(&bytes) {
            return ControlFlow::Continue(());
        }
        self.show(path, &lines(&bytes), regex)
    }

    fn show(&mut self, path: &Path, lines: &[&[u8]], regex: &Regex) -> ControlFlow<()> {
        let is_match = |line: &&[u8]| regex.is_match(line);
        let hits: Vec<usize> = (0..lines.len())
            .filter(|at| lines.get(*at).is_some_and(is_match))
            .collect();
        if hits.is_empty() {
            return ControlFlow::Continue(());
        }
        if self.lines == GREP_LINES_MAX {
            return ControlFlow::Break(());
        }
        self.files += 1;
        writeln!(self.text, "{}", path.display()).ok();
        let mut next = 0;
        for hit in &hits {
            if self.lines == GREP_LINES_MAX || self.text.len() > CALL_SHOWN_BYTES {
                return ControlFlow::Break(());
            }
            self.lines += 1;
            let from = hit.saturating_sub(self.context).max(next);
            if self.context > 0 && next > 0 && from > next {
                self.text.push_str("   --\n");
            }
            let to = (hit + self.context + 1).min(lines.len());
            for at in from..to {
                let is_match = hits.binary_search(&at).is_ok();
                let line = lines.get(at).copied().unwrap_or_default();
                self.line(at, line, is_match.then_some(regex));
            }
            next = to.max(next);
        }
        ControlFlow::Continue(())
    }

    fn line(&mut self, at: usize, line: &[u8], regex: Option<&Regex>) {
        let found = regex.and_then(|regex| regex.find(line));
        let sign = if found.is_some() { ':' } else { '-' };
        let text = around(line, found.map_or(0, |found| found.start()));
        writeln!(self.text, "{:>6}{sign} {text}", at + 1).ok();
    }
}

/// Returns a line as it is shown: of a long one what is around byte `at`.
fn around(line: &[u8], at: usize) -> String {
    if line.len() <= GREP_LINE_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    let from = char_floor(line, at.saturating_sub(GREP_LINE_BYTES / 4));
    let to = char_floor(line, from + GREP_LINE_BYTES);
    let kept = line.get(from..to).unwrap_or_default();
    let before = if from > 0 { "…" } else { "" };
    let after = if to < line.len() { "…" } else { "" };
    format!("{before}{}{after}", String::from_utf8_lossy(kept))
}

/// Returns the lines without their ends.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = body.split(|byte| *byte == b'\n');
    lines
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect()
}

#[cfg(test)]
mod tests;
