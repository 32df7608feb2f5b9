//! Walks the files of a workspace in the order of their names, without those that ignore files name.
//!
//! The walk goes by directory handles beneath the workspace and reads ignore files
//! itself, so that neither a link nor a pipe can lead it astray. `.git` is left out.

use super::Refusal;
use super::workspace::Workspace;
use cap_std::fs::{Dir, DirEntry};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use outlast_journal::limits::{IGNORE_FILE_BYTES_MAX, SEARCH_MS, WALK_DEPTH_MAX, WALK_ENTRIES_MAX};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where git keeps its own.
const GIT: &str = ".git";
/// Files with patterns of what to leave out, the strongest last.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Why a walk did not see everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Whoever asked had enough.
    Enough,
    /// `WALK_ENTRIES_MAX` names were looked at.
    Entries,
    /// `SEARCH_MS` are over.
    Time,
}

impl Cut {
    /// Returns the reason in words, for the end of a sentence.
    pub(super) fn words(self) -> String {
        match self {
            Self::Enough => "there is more".to_owned(),
            Self::Entries => format!("only {WALK_ENTRIES_MAX} names were looked at"),
            Self::Time => format!("the search was ended after {} s", SEARCH_MS / 1_000),
        }
    }
}

/// One walk.
pub(super) struct Walk<'a> {
    workspace: &'a Workspace,
    with_ignored: bool,
    until: Instant,
    looked_at: usize,
    cut: Option<Cut>,
}

impl<'a> Walk<'a> {
    /// Returns a walk; `with_ignored` shows also what ignore files name.
    pub(super) fn new(workspace: &'a Workspace, with_ignored: bool) -> Self {
        Self {
            workspace,
            with_ignored,
            until: Instant::now() + Duration::from_millis(SEARCH_MS),
            looked_at: 0,
            cut: None,
        }
    }

    /// Calls `visit` for each regular file at or below `from`, with its path; returns why it
    /// did not see all, if so. Directories that cannot be read are left out.
    pub(super) fn files(
        mut self,
        from: &Path,
        visit: &mut dyn FnMut(&Path) -> ControlFlow<()>,
    ) -> Result<Option<Cut>, Refusal> {
        if self.is_file(from) {
            if visit(from).is_break() {
                self.cut = Some(Cut::Enough);
            }
            return Ok(self.cut);
        }
        let dir = self.workspace.open_dir(from)?;
        let mut rules = self.rules_above(from);
        Ok(match self.enter(&dir, from, &mut rules, visit) {
            ControlFlow::Continue(()) => None,
            ControlFlow::Break(()) => self.cut,
        })
    }

    fn is_file(&self, path: &Path) -> bool {
        let metadata = self.workspace.dir().metadata(path);
        metadata.is_ok_and(|metadata| metadata.is_file())
    }

    /// Returns the rules of the directories above `from`, the nearest last.
    fn rules_above(&self, from: &Path) -> Vec<Gitignore> {
        let mut rules = Vec::new();
        if self.with_ignored || from.as_os_str().is_empty() {
            return rules;
        }
        let mut above: Vec<&Path> = from.ancestors().skip(1).collect();
        above.reverse();
        for dir in above {
            if let Ok(opened) = self.workspace.open_dir(dir) {
                self.add_rules(&opened, dir, &mut rules);
            }
        }
        rules
    }

    fn enter(
        &mut self,
        dir: &Dir,
        path: &Path,
        rules: &mut Vec<Gitignore>,
        visit: &mut dyn FnMut(&Path) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let before = rules.len();
        self.add_rules(dir, path, rules);
        for entry in self.entries(dir)? {
            let below = path.join(entry.file_name());
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if entry.file_name() == GIT || is_ignored(rules, &below, kind.is_dir()) {
                continue;
            }
            if kind.is_file() && visit(&below).is_break() {
                return self.stop(Cut::Enough);
            }
            if kind.is_dir() && below.components().count() <= WALK_DEPTH_MAX {
                // By the path, not by the entry: the store is looked for there.
                if let Ok(inner) = self.workspace.open_dir(&below) {
                    self.enter(&inner, &below, rules, visit)?;
                }
            }
        }
        rules.truncate(before);
        ControlFlow::Continue(())
    }

    /// Returns the entries of a directory by name.
    fn entries(&mut self, dir: &Dir) -> ControlFlow<(), Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in dir.entries().into_iter().flatten().flatten() {
            self.looked_at += 1;
            if self.looked_at > WALK_ENTRIES_MAX {
                self.stop(Cut::Entries)?;
            }
            if Instant::now() > self.until {
                self.stop(Cut::Time)?;
            }
            entries.push(entry);
        }
        entries.sort_by_cached_key(DirEntry::file_name);
        ControlFlow::Continue(entries)
    }

    fn stop(&mut self, cut: Cut) -> ControlFlow<()> {
        self.cut = Some(cut);
        ControlFlow::Break(())
    }

    fn add_rules(&self, dir: &Dir, path: &Path, rules: &mut Vec<Gitignore>) {
        if self.with_ignored {
            return;
        }
        if path.as_os_str().is_empty() {
            rules.extend(self.rules_of(dir, path, &[".git/info/exclude"]));
        }
        rules.extend(self.rules_of(dir, path, &IGNORE_FILES));
    }

    /// Returns the rules of the ignore files `names` of a directory, if it has any.
    fn rules_of(&self, dir: &Dir, path: &Path, names: &[&str]) -> Option<Gitignore> {
        let mut builder = GitignoreBuilder::new(rooted(path));
        for name in names {
            if dir.symlink_metadata(name).is_err() {
                continue;
            }
            let Ok(opened) = self.workspace.open_file(&path.join(name)) else {
                continue;
            };
            let mut text = Vec::new();
            let mut bounded = opened.file.take(IGNORE_FILE_BYTES_MAX);
            bounded.read_to_end(&mut text).ok();
            for line in String::from_utf8_lossy(&text).lines() {
                // A pattern that means nothing ignores nothing, as with git.
                builder.add_line(None, line).ok();
            }
        }
        let built = builder.build().ok();
        built.filter(|built| !built.is_empty())
    }
}

fn is_ignored(rules: &[Gitignore], path: &Path, is_dir: bool) -> bool {
    let path = rooted(path);
    let decided = rules.iter().rev().find_map(|rules| {
        let found = rules.matched(&path, is_dir);
        (!found.is_none()).then(|| found.is_ignore())
    });
    decided.unwrap_or(false)
}

/// Returns the path as if the workspace were the root of all files.
fn rooted(path: &Path) -> PathBuf {
    Path::new("/").join(path)
}

#[cfg(test)]
mod tests;
