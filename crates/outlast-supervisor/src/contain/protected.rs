//! Names below a workspace that a run may read and not change: what programs outside of it
//! take orders from.
//!
//! Names that are absent cannot be held: what appears under one is reported.

use outlast_journal::{Git, limits};
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// Configuration that other programs obey, directly below the workspace.
pub(super) const NAMES: [&str; 8] = [
    ".outlast.toml",
    ".outlast",
    ".claude",
    ".codex",
    ".vscode",
    ".mcp.json",
    ".envrc",
    ".husky",
];
/// What of a repository's own directory stays as it is when a run may commit.
const OF_GIT: [&str; 5] = ["hooks", "config", "config.worktree", "modules", "info"];
/// Directories in which no repository is looked for.
const NOT_SEARCHED: [&str; 2] = ["node_modules", "target"];

/// A path that becomes a mount of its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pinned {
    pub(super) path: PathBuf,
    /// Else it is only pinned: a mount can be neither moved nor removed.
    pub(super) is_read_only: bool,
}

/// Returns what is to be protected, each after the directories that it lies in.
pub(super) fn of(workspace: &Path, git: Git) -> Vec<Pinned> {
    let mut pinned = Vec::new();
    let mut add = |path: PathBuf, is_read_only| {
        if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_symlink()) {
            pinned.push(Pinned { path, is_read_only });
        }
    };
    let own = workspace.join(".git");
    match git {
        Git::Write => {}
        Git::Commit if own.is_dir() => {
            for name in OF_GIT {
                add(own.join(name), true);
            }
        }
        // The file of a linked worktree says where its repository is.
        Git::Commit | Git::Read => add(own, true),
    }
    for name in NAMES {
        add(workspace.join(name), true);
    }
    if git != Git::Write {
        for nested in nested_repositories(workspace) {
            add(nested, true);
        }
    }
    with_parents(workspace, pinned)
}

/// Returns the names of a workspace that would be protected and are not there.
pub(super) fn absent(workspace: &Path) -> Vec<PathBuf> {
    let own = workspace.join(".git");
    // Without a repository its parts are not missing one by one.
    let parts = OF_GIT.iter().filter(|_| own.is_dir());
    let parts = parts.map(|name| own.join(name));
    let names = NAMES.iter().map(|name| workspace.join(name));
    let all = names.chain([own.clone()]).chain(parts);
    all.filter(|path| fs::symlink_metadata(path).is_err())
        .collect()
}

/// Returns what stays as it is of the repository of a linked worktree.
pub(super) fn of_repository(repository: &Path, git: Git) -> Vec<Pinned> {
    let whole = Pinned {
        path: repository.to_owned(),
        is_read_only: git == Git::Read,
    };
    let parts = OF_GIT.iter().filter(|_| git == Git::Commit);
    let parts = parts.map(|name| repository.join(name));
    let parts = parts.filter(|path| fs::symlink_metadata(path).is_ok());
    let parts = parts.map(|path| Pinned {
        path,
        is_read_only: true,
    });
    std::iter::once(whole).chain(parts).collect()
}

/// Puts before each path the directories between it and the workspace, so that none of them can
/// be moved away and another be put in its place.
fn with_parents(workspace: &Path, protected: Vec<Pinned>) -> Vec<Pinned> {
    let mut all: Vec<Pinned> = Vec::new();
    for one in protected {
        let mut between: Vec<&Path> = one
            .path
            .ancestors()
            .skip(1)
            .take_while(|parent| *parent != workspace)
            .collect();
        between.reverse();
        for parent in between {
            if !all.iter().any(|known| known.path == parent) {
                all.push(Pinned {
                    path: parent.to_owned(),
                    is_read_only: false,
                });
            }
        }
        all.push(one);
    }
    all
}

/// Finds repositories below the workspace's own, nearest first, as far as the limits go.
fn nested_repositories(workspace: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut to_visit = VecDeque::from([(workspace.to_owned(), 0)]);
    let mut visited = 0;
    while let Some((dir, depth)) = to_visit.pop_front() {
        visited += 1;
        if visited > limits::PROTECTED_DIRS_MAX || found.len() >= limits::PROTECTED_REPOSITORIES_MAX
        {
            break;
        }
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name == ".git" {
                if dir != workspace {
                    found.push(entry.path());
                }
                continue;
            }
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_searched = !NOT_SEARCHED.iter().any(|not| name == *not);
            if is_dir && is_searched && depth < limits::PROTECTED_DEPTH_MAX {
                to_visit.push_back((entry.path(), depth + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
