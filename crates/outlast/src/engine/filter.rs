//! The filter of system calls, as each engine takes it: docker as a text, podman as a file.

use super::refusal::Refusal;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::process;

/// What an engine's option begins with.
const OPTION: &str = "seccomp=";

/// A filter that can be handed to an engine as long as this lives.
pub(super) struct Filter {
    text: String,
    file: File,
}

impl Filter {
    /// Returns the filter that says `text`, in the OCI's form.
    pub(super) fn new(text: String) -> Result<Self, Refusal> {
        let made = memfd_create("outlast-filter", MemfdFlags::CLOEXEC).map(File::from);
        let made = made.map_err(std::io::Error::from).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            Ok(file)
        });
        match made {
            Ok(file) => Ok(Self { text, file }),
            Err(error) => Err(Refusal::engine(
                format!("there is no memory for the filter of system calls: {error}"),
                "try again",
            )),
        }
    }

    /// Returns the option for one engine.
    pub(super) fn option(&self, program: &str) -> String {
        if program == "podman" {
            // It reads the file when the container is made, and knows this process as we do.
            let (pid, number) = (process::id(), self.file.as_raw_fd());
            return format!("{OPTION}/proc/{pid}/fd/{number}");
        }
        format!("{OPTION}{}", self.text)
    }

    /// Whether an engine's option is this filter.
    pub(super) fn is_in(&self, option: &str) -> bool {
        ["docker", "podman"]
            .iter()
            .any(|program| self.option(program) == option)
    }
}
