//! The filter of system calls, as each engine takes it: docker as a text, podman as a file.

use super::refusal::Refusal;
use outlast_journal::names;
use outlast_supervisor::fsio;
use std::fs;
use std::path::PathBuf;

/// What an engine's option begins with.
const OPTION: &str = "seccomp=";

/// A filter of system calls.
pub(super) struct Filter {
    text: String,
    path: PathBuf,
}

/// The file with a filter, for as long as this lives.
pub(super) struct Written {
    path: PathBuf,
}

impl Filter {
    /// Returns the filter that says `text`, in the OCI's form, of the run in this directory.
    pub(super) fn new(text: String, run_dir: Option<&str>) -> Self {
        let path = PathBuf::from(run_dir.unwrap_or_default()).join(names::FILTER);
        Self { text, path }
    }

    /// Writes the file, for an engine that reads one when it makes a container.
    pub(super) fn write(&self, program: &str) -> Result<Option<Written>, Refusal> {
        if program != PODMAN {
            return Ok(None);
        }
        let path = self.path.clone();
        match fsio::write_new(&path, self.text.as_bytes()) {
            Ok(()) => Ok(Some(Written { path })),
            Err(error) => Err(Refusal::engine(
                format!("`{}` cannot be written: {error}", path.display()),
                "see whether the disk is full",
            )),
        }
    }

    /// Returns the option for one engine.
    pub(super) fn option(&self, program: &str) -> String {
        if program == PODMAN {
            return format!("{OPTION}{}", self.path.display());
        }
        format!("{OPTION}{}", self.text)
    }

    /// Whether an engine's option is this filter.
    pub(super) fn is_in(&self, option: &str) -> bool {
        let programs = ["docker", PODMAN];
        programs.iter().any(|one| self.option(one) == option)
    }
}

const PODMAN: &str = "podman";

impl Drop for Written {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}
