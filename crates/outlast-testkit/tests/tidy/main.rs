//! Checks of the tree that no other tool makes: who may depend on whom and
//! under which licence, what a file looks like, and that what the documents
//! say of the tree is so.

#![cfg(test)]

mod cases;
mod crates;
mod docs;
mod files;
mod graph;
mod licences;
mod reference;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The top of the tree.
fn root() -> &'static Path {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).unwrap()
}

/// Every file beneath `directory` whose name ends in `.extension`, by path.
///
/// Hidden directories are left out, and those that tools fill (cargo marks its
/// own with `CACHEDIR.TAG`).
fn files_beneath(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(directory, extension, &mut found);
    found.sort();
    found
}

fn collect(directory: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let is_hidden = path.file_name().unwrap().as_encoded_bytes()[0] == b'.';
        let is_filled_by_tools =
            path.join("CACHEDIR.TAG").exists() || path.ends_with("node_modules");
        if path.is_dir() && !is_hidden && !is_filled_by_tools {
            collect(&path, extension, found);
        } else if path.is_file() && path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
}

/// The path as people name it: from the top of the tree.
fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Fails with every fault at once, one a line.
#[track_caller]
fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
