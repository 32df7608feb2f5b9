//! `find_files`: files whose path fits a pattern.

use super::arguments::Arguments;
use super::walk::Walk;
use super::workspace::Workspace;
use super::{Outcome, Refusal};
use globset::{GlobBuilder, GlobMatcher};
use outlast_journal::limits::{FIND_FILES_MAX, PATTERN_CHARS_MAX};
use serde_json::{Value, json};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": {
                "type": "string", "minLength": 1,
                "description": "glob: `*.rs` fits names, `src/**/*.rs` fits paths",
            },
            "path": {"type": "string", "description": "directory to look in"},
            "with_ignored": {"type": "boolean", "description": "also what ignore files name"},
        },
        "required": ["pattern"],
        "additionalProperties": false,
    })
}

/// Lists the files that fit, in the order of their paths.
pub(super) fn find(workspace: &Workspace, arguments: &Arguments) -> Result<Outcome, Refusal> {
    let pattern = arguments.required("pattern");
    let fits = Fits::new(pattern)?;
    let from = workspace.locate(arguments.text("path").unwrap_or_default())?;
    let walk = Walk::new(workspace, arguments.is_set("with_ignored"));
    let mut text = String::new();
    let mut count = 0;
    let cut = walk.files(&from, &mut |path| {
        let beneath = path.strip_prefix(&from).unwrap_or(path);
        if !fits.is_fit(path) && !fits.is_fit(beneath) {
            return ControlFlow::Continue(());
        }
        if count == FIND_FILES_MAX {
            return ControlFlow::Break(());
        }
        count += 1;
        writeln!(text, "{}", path.display()).ok();
        ControlFlow::Continue(())
    })?;
    if let Some(cut) = cut {
        writeln!(text, "[the first {count} files: {}]", cut.words()).ok();
    } else if count == 0 {
        text.push_str("[no file fits; ignored ones are shown with `with_ignored`]\n");
    }
    Ok(Outcome::done(
        text,
        &format!("find_files {pattern}: {count} files"),
    ))
}

/// A glob over names, or over paths if it has a `/`.
pub(super) struct Fits {
    glob: GlobMatcher,
    is_path: bool,
}

impl Fits {
    /// Reads a glob.
    ///
    /// # Errors
    ///
    /// Refuses one that means nothing or is too long.
    pub(super) fn new(pattern: &str) -> Result<Self, Refusal> {
        if pattern.chars().count() > PATTERN_CHARS_MAX {
            let why = format!("the pattern is longer than {PATTERN_CHARS_MAX} characters");
            return Err(Refusal::new("bad_pattern", why));
        }
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let built = GlobBuilder::new(pattern).literal_separator(true).build();
        let glob = built.map_err(|error| {
            Refusal::new(
                "bad_pattern",
                format!("`{pattern}` is no glob: {}", error.kind()),
            )
        })?;
        Ok(Self {
            glob: glob.compile_matcher(),
            is_path: pattern.contains('/'),
        })
    }

    /// Returns whether a file fits.
    pub(super) fn is_fit(&self, path: &Path) -> bool {
        if self.is_path {
            return self.glob.is_match(path);
        }
        path.file_name()
            .is_some_and(|name| self.glob.is_match(Path::new(name)))
    }
}

#[cfg(test)]
mod tests;
