//! Which shell runs a command text: bash where there is one, else sh; sh in an image.

use super::StartError;
use outlast_journal::Shell;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Looked at after PATH, which a run may have emptied.
const USUAL_FOLDERS: [&str; 3] = ["/bin", "/usr/bin", "/usr/local/bin"];

/// Finds the shell for a run with this environment.
pub(super) fn find(
    environment: &[(OsString, OsString)],
    login: bool,
    pipefail: bool,
    is_of_image: bool,
) -> Result<Shell, StartError> {
    if is_of_image {
        // What is in an image only its engine knows; every one with a shell has sh.
        let program = if pipefail { "bash" } else { "sh" };
        return Ok(Shell {
            program: program.to_owned(),
            login,
            pipefail,
        });
    }
    let path = environment.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(""), |(_, path)| path.as_os_str());
    // sh need not know pipefail, and a run that asked for it must not run without.
    let wanted: &[&str] = if pipefail { &["bash"] } else { &["bash", "sh"] };
    let program = wanted.iter().find_map(|name| look_up(path, name));
    match program.and_then(|program| program.to_str().map(str::to_owned)) {
        Some(program) => Ok(Shell {
            program,
            login,
            pipefail,
        }),
        None => Err(StartError::NoShell { pipefail }),
    }
}

fn look_up(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .chain(USUAL_FOLDERS.map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
