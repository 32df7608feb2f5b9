//! Which trees of the host a run sees, and how: collected before anything is mounted, so that
//! nothing mounted later can stand in for one of them.

use super::launcher::{Broken, step};
use super::protected;
use crate::platform::mount;
use outlast_journal::policy::Policy;
use outlast_journal::{Git, Network, Tier};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// A tree of the host, cloned and not yet put anywhere.
pub(super) struct Tree {
    pub(super) mount: OwnedFd,
    pub(super) at: PathBuf,
    pub(super) is_read_only: bool,
    pub(super) is_dir: bool,
}

/// Clones everything that stays visible, parents before what lies in them.
pub(super) fn collect(policy: &Policy) -> Result<Vec<Tree>, Broken> {
    let mut trees = Vec::new();
    for path in &policy.shown {
        // What was there when the policy was made may be gone: then it is not shown.
        add_if_there(&mut trees, Path::new(path), true)?;
    }
    let asked = &policy.containment;
    let workspace = Path::new(&asked.workspace);
    let is_read_only = asked.tier == Tier::ReadOnly;
    step("open", add(&mut trees, workspace, is_read_only))?;
    if !is_read_only {
        for one in protected::of(workspace, asked.git) {
            add_if_there(&mut trees, &one.path, one.is_read_only)?;
        }
    }
    if let Some(repository) = &policy.repository {
        let git = if is_read_only { Git::Read } else { asked.git };
        for one in protected::of_repository(Path::new(repository), git) {
            add_if_there(&mut trees, &one.path, one.is_read_only)?;
        }
    }
    if asked.network == Network::Full {
        // Names are looked up by what this link often points at, in a directory that is hidden.
        if let Ok(path) = fs::canonicalize("/etc/resolv.conf") {
            add_if_there(&mut trees, &path, true)?;
        }
    }
    Ok(trees)
}

fn add_if_there(trees: &mut Vec<Tree>, path: &Path, is_read_only: bool) -> Result<(), Broken> {
    match add(trees, path, is_read_only) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => step(&format!("open: {}", path.display()), other),
    }
}

fn add(trees: &mut Vec<Tree>, path: &Path, is_read_only: bool) -> io::Result<()> {
    if trees.iter().any(|tree| tree.at == path) {
        return Ok(());
    }
    let opened = mount::open_path(path)?;
    // Asked of the path, but no link is in it, as the opening has shown.
    let is_dir = fs::symlink_metadata(path)?.is_dir();
    trees.push(Tree {
        mount: mount::clone_tree(&opened)?,
        at: path.to_owned(),
        is_read_only,
        is_dir,
    });
    Ok(())
}

/// Returns the names that are to be read-only, relative to the workspace: those among the trees,
/// or, where another program has mounted them, those that are there.
pub(super) fn protected(trees: Option<&[Tree]>, policy: &Policy) -> Vec<String> {
    let asked = &policy.containment;
    let workspace = Path::new(&asked.workspace);
    if asked.tier == Tier::ReadOnly {
        return Vec::new();
    }
    let paths: Vec<PathBuf> = if let Some(trees) = trees {
        let read_only = trees.iter().filter(|tree| tree.is_read_only);
        read_only.map(|tree| tree.at.clone()).collect()
    } else {
        let pinned = protected::of(workspace, asked.git).into_iter();
        let read_only = pinned.filter(|one| one.is_read_only);
        read_only.map(|one| one.path).collect()
    };
    let names = paths.iter().filter_map(|path| {
        let name = path.strip_prefix(workspace).ok()?;
        Some(name.to_string_lossy().into_owned())
    });
    names.filter(|name| !name.is_empty()).collect()
}
