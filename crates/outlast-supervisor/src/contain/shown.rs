//! Which directories outside of the workspace a run sees: the toolchains on its PATH.
//!
//! A home is hidden as a whole; what lies on PATH in it, and what such a
//! program needs beside itself, is shown read-only.

use super::mounts::SYSTEM;
use outlast_journal::Surroundings;
use std::fs;
use std::path::{Path, PathBuf};

/// Toolchains as they lie below a home, shown whole where PATH leads into them.
const TOOLCHAINS: [&str; 34] = [
    ".asdf",
    ".bun",
    ".cabal",
    ".cargo",
    ".deno",
    ".dotnet",
    ".elan",
    ".foundry",
    ".fnm",
    ".ghcup",
    ".go",
    ".jenv",
    ".juliaup",
    ".krew",
    ".local/bin",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/uv",
    ".nix-profile",
    ".nodenv",
    ".npm-global",
    ".nvm",
    ".opam",
    ".poetry",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".volta",
    "anaconda3",
    "go",
    "miniconda3",
];
/// What goes with a toolchain that is shown.
const TOGETHER: [(&str, &[&str]); 3] = [
    (".cargo", &[".rustup"]),
    (".local/bin", &[".local/lib", ".local/share/pipx"]),
    (".jenv", &[".sdkman"]),
];
/// What lies beside the directory of a program that is no toolchain we know.
const BESIDE: [&str; 2] = ["lib", "libexec"];
/// Files within toolchains that hold keys: covered.
const KEYS: [&str; 2] = ["credentials", "credentials.toml"];

/// Returns what is shown to a run with these surroundings, without what lies in the workspace.
pub(super) fn of(surroundings: &Surroundings, workspace: &Path) -> Vec<PathBuf> {
    let mut shown = Vec::new();
    let home = surroundings.home.as_deref().map(Path::new);
    let folders = surroundings.path.iter().map(Path::new);
    for folder in folders.filter(|folder| folder.is_absolute()) {
        add_folder(&mut shown, folder, home);
    }
    for toolchain in &surroundings.toolchains {
        add(&mut shown, Path::new(toolchain));
    }
    let is_outside = |path: &PathBuf| {
        // Neither the home itself nor anything that would show it, nor the workspace's own.
        let shows_home = home.is_some_and(|home| home.starts_with(path));
        !shows_home && !path.starts_with(workspace) && !workspace.starts_with(path)
    };
    shown.retain(is_outside);
    shown
}

/// Returns the files to cover in what is shown.
pub(super) fn keys(shown: &[PathBuf]) -> Vec<PathBuf> {
    let inside = |path: &PathBuf| KEYS.map(|name| path.join(name));
    let keys = shown.iter().flat_map(inside);
    keys.filter(|path| path.is_file()).collect()
}

fn add_folder(shown: &mut Vec<PathBuf>, folder: &Path, home: Option<&Path>) {
    let Ok(real) = fs::canonicalize(folder) else {
        return;
    };
    if is_system(&real) {
        return;
    }
    let below_home = home.and_then(|home| real.strip_prefix(home).ok());
    let toolchain =
        below_home.and_then(|below| TOOLCHAINS.iter().find(|name| below.starts_with(name)));
    let (Some(home), Some(toolchain)) = (home, toolchain) else {
        add(shown, &real);
        for name in BESIDE {
            if let Some(parent) = real.parent().filter(|parent| Some(*parent) != home) {
                add(shown, &parent.join(name));
            }
        }
        return;
    };
    add(shown, &home.join(toolchain));
    let together = TOGETHER.iter().filter(|(name, _)| name == toolchain);
    for name in together.flat_map(|(_, names)| *names) {
        add(shown, &home.join(name));
    }
}

fn add(shown: &mut Vec<PathBuf>, path: &Path) {
    let Ok(real) = fs::canonicalize(path) else {
        return;
    };
    let is_covered = is_system(&real) || shown.iter().any(|known| real.starts_with(known));
    if !is_covered && real.is_dir() {
        shown.push(real);
    }
}

/// Whether a path lies where programs of the system are, which every run sees.
fn is_system(path: &Path) -> bool {
    const PRIVATE: [&str; 5] = ["dev", "proc", "run", "sys", "tmp"];
    let first = path.components().nth(1);
    let first = first.and_then(|first| first.as_os_str().to_str());
    first.is_some_and(|first| SYSTEM.contains(&first) && !PRIVATE.contains(&first))
}

#[cfg(test)]
mod tests;
