//! Which content of which file the model has read, so that it does not write over what it has not.
//!
//! Folded from the journal after a restart, so it holds no more than what calls told.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a read told of a file; it goes into the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Saw {
    /// The path beneath the workspace.
    pub(crate) path: String,
    /// Hash of the whole content.
    pub(crate) hash: String,
    /// First line that was shown, from 1.
    pub(crate) from: u64,
    /// Last line that was shown.
    pub(crate) to: u64,
    /// Lines of the file.
    pub(crate) lines: u64,
}

/// What a write told of a file; it goes into the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wrote {
    /// The path beneath the workspace.
    pub(crate) path: String,
    /// Hash of the content before; absent for a new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// Hash of the content after.
    pub(crate) after: String,
}

/// What is known of the files of a workspace.
#[derive(Debug, Default)]
pub(super) struct Seen(BTreeMap<String, File>);

#[derive(Debug)]
struct File {
    hash: String,
    /// Lines that were shown, in order and apart; empty once all were.
    shown: Vec<(u64, u64)>,
    is_whole: bool,
}

impl Seen {
    /// Notes a read.
    pub(super) fn note_read(&mut self, saw: &Saw) {
        let file = self.0.entry(saw.path.clone()).or_insert_with(|| File {
            hash: String::new(),
            shown: Vec::new(),
            is_whole: false,
        });
        if file.hash != saw.hash {
            file.hash.clone_from(&saw.hash);
            file.shown.clear();
            file.is_whole = false;
        }
        file.shown.push((saw.from, saw.to));
        file.shown = joined(&file.shown);
        file.is_whole |= saw.lines == 0 || file.shown == [(1, saw.lines)];
    }

    /// Notes a write: what the model has read of the file before, it knows of it now.
    pub(super) fn note_write(&mut self, wrote: &Wrote, is_whole: bool) {
        let before = self.0.remove(&wrote.path);
        let knew = before.is_some_and(|file| file.is_whole && Some(file.hash) == wrote.before);
        let file = File {
            hash: wrote.after.clone(),
            shown: Vec::new(),
            is_whole: is_whole || knew,
        };
        self.0.insert(wrote.path.clone(), file);
    }

    /// Returns the hash of the content that the model has read last, in part or whole.
    pub(super) fn hash(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(|file| file.hash.as_str())
    }

    /// Returns whether the model has read every line of that content.
    pub(super) fn is_whole(&self, path: &str) -> bool {
        self.0.get(path).is_some_and(|file| file.is_whole)
    }
}

/// Returns ranges in order, those that touch as one.
fn joined(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (from, to) in sorted {
        match joined.last_mut() {
            Some(last) if from <= last.1 + 1 => last.1 = last.1.max(to),
            Some(_) | None => joined.push((from, to)),
        }
    }
    joined
}

/// Returns the hash of `bytes` as it stands in journals.
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").ok();
        text
    })
}

#[cfg(test)]
mod tests;
