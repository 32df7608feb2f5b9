//! What a contained run needs of git that lies outside of its workspace: who its user is, and
//! the repository of a linked worktree.
//!
//! Files are read here, git is not run: it would obey what stands in them.

use outlast_journal::limits;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Returns the lines of a configuration that say who the user of this home is, if it says so.
///
/// Nothing else of the configuration goes into the run: it may hold keys, and names of programs.
pub(super) fn identity(home: &Path) -> Option<String> {
    let places = [".config/git/config", ".gitconfig"];
    let (mut name, mut email) = (None, None);
    for place in places {
        let text = read_start(&home.join(place)).unwrap_or_default();
        name = value(&text, "name").or(name);
        email = value(&text, "email").or(email);
    }
    let quoted = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"");
    let line = |key: &str, value: Option<String>| {
        value.map_or_else(String::new, |value| {
            format!("\t{key} = \"{}\"\n", quoted(&value))
        })
    };
    let lines = line("name", name) + &line("email", email);
    (!lines.is_empty()).then(|| format!("[user]\n{lines}"))
}

fn read_start(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    let most = limits::GIT_FILE_BYTES_MAX;
    file.take(most).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}

/// Returns the last value of a key of the section `user`.
fn value(text: &str, key: &str) -> Option<String> {
    let mut is_user = false;
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            is_user = section.trim_end().eq_ignore_ascii_case("user]");
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_user)
            && name.trim().eq_ignore_ascii_case(key)
        {
            let value = value.trim().trim_matches('"').trim();
            found = Some(value.to_owned()).filter(|value| !value.is_empty());
        }
    }
    found
}

/// Returns the repository of a linked worktree, if both sides say that it is one.
///
/// The file in the workspace alone would let whoever wrote it choose what is shown to a run.
pub(super) fn repository(workspace: &Path) -> Option<PathBuf> {
    let link = workspace.join(".git");
    if !fs::symlink_metadata(&link).ok()?.is_file() {
        return None;
    }
    let text = read_start(&link)?;
    let own = workspace.join(text.strip_prefix("gitdir:")?.trim());
    let own = fs::canonicalize(own).ok()?;
    let back = read_start(&own.join("gitdir"))?;
    if fs::canonicalize(back.trim()).ok()? != fs::canonicalize(&link).ok()? {
        return None;
    }
    let common = read_start(&own.join("commondir"))?;
    let common = fs::canonicalize(own.join(common.trim())).ok()?;
    let is_its_own = own.starts_with(common.join("worktrees"));
    (is_its_own && common.join("HEAD").is_file()).then_some(common)
}

#[cfg(test)]
mod tests;
