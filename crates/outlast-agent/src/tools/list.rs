//! `list_dir`: what lies in one directory.

use super::arguments::Arguments;
use super::workspace::{Workspace, shown, trouble};
use super::{Outcome, Refusal};
use cap_std::fs::{Dir, DirEntry};
use outlast_journal::limits::{LIST_ENTRIES_MAX, WALK_ENTRIES_MAX};
use serde_json::{Value, json};
use std::fmt::Write;

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "the workspace itself when absent"},
        },
        "additionalProperties": false,
    })
}

/// Lists a directory by name: directories end in `/`, links show where they lead.
pub(super) fn list(workspace: &Workspace, arguments: &Arguments) -> Result<Outcome, Refusal> {
    let path = workspace.locate(arguments.text("path").unwrap_or_default())?;
    let dir = workspace.open_dir(&path)?;
    let failed = |error| trouble(&path, &error);
    let mut entries: Vec<DirEntry> = Vec::new();
    let mut is_all = true;
    for entry in dir.entries().map_err(failed)? {
        if entries.len() >= WALK_ENTRIES_MAX {
            is_all = false;
            break;
        }
        entries.push(entry.map_err(failed)?);
    }
    entries.sort_by_cached_key(DirEntry::file_name);
    let mut text = String::new();
    for entry in entries.iter().take(LIST_ENTRIES_MAX) {
        writeln!(text, "{}", line(&dir, entry)).ok();
    }
    let count = entries.len();
    if count > LIST_ENTRIES_MAX {
        let more = if is_all { "" } else { " and more" };
        writeln!(
            text,
            "[the first {LIST_ENTRIES_MAX} of {count}{more} entries; `find_files` narrows it down]"
        )
        .ok();
    }
    if count == 0 {
        text.push_str("[the directory is empty]\n");
    }
    let path = shown(&path);
    Ok(Outcome::done(
        text,
        &format!("list_dir {path}: {count} entries"),
    ))
}

fn line(dir: &Dir, entry: &DirEntry) -> String {
    let name = entry.file_name();
    let shown = name.to_string_lossy().replace(char::is_control, "?");
    let Ok(kind) = entry.file_type() else {
        return shown;
    };
    if kind.is_dir() {
        return format!("{shown}/");
    }
    if kind.is_symlink() {
        let target = dir.read_link_contents(&name).unwrap_or_default();
        return format!("{shown} -> {}", target.display());
    }
    match entry.metadata() {
        Ok(metadata) if kind.is_file() => format!("{shown} ({} bytes)", metadata.len()),
        Ok(_) | Err(_) => format!("{shown} (no regular file)"),
    }
}

#[cfg(test)]
mod tests;
