//! Landlock and seccomp alone, where no namespace can be made: the launcher becomes the command.
//!
//! It sees what the host's other processes are, and may outlive its supervisor.
//! What is written, read and reached is bounded all the same; permissions and
//! times of files that it owns are not.

use super::launcher::{Broken, say, step};
use super::{check, harden};
use crate::command::Command;
use crate::launch::variable;
use crate::platform::confine;
use outlast_journal::policy::{Policy, Report};
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Variables that name the private directory.
const PRIVATE: [&str; 4] = ["HOME", "TMPDIR", "TMP", "TEMP"];

/// Binds what can be and executes the command; returns only when a step could not be done.
pub(super) fn contain(policy: &Policy, environment: &[u8], status: &OwnedFd) -> Result<(), Broken> {
    let private = policy.alone_in.as_deref().unwrap_or_default();
    step("private", fs::read_dir(private).map(drop))?;
    if policy.pids_max.is_some() {
        // In the namespace of all users it would count what is none of the run's.
        return step("limits", Err(io::Error::from_raw_os_error(libc::EPERM)));
    }
    step(
        "directory",
        std::env::set_current_dir(Path::new(&policy.cwd)),
    )?;
    harden::harden_alone(policy)?;
    step("descriptors", confine::close_at_exec_from(3))?;
    let holds = check::check_alone(policy)?;
    let running = Report::Running {
        holds,
        protected: Vec::new(),
        notice: None,
    };
    say(status, &running);
    if policy.argv.is_empty() {
        confine::leave(0);
    }
    let environment = with_private(environment, private);
    let command = Command {
        argv: &policy.argv,
        environment: &environment,
        cwd: &policy.cwd,
    };
    let failure = match command.paths() {
        Ok(paths) => {
            let (index, error) = exec(policy, &paths, &environment);
            command.failure_of(&paths, index, &error)
        }
        Err(failure) => failure,
    };
    say(status, &Report::ExecFailed { failure });
    confine::leave(127)
}

fn exec(policy: &Policy, paths: &[CString], environment: &[u8]) -> (usize, io::Error) {
    let words = policy.argv.iter();
    let words = words.filter_map(|word| CString::new(word.as_bytes()).ok());
    let words: Vec<CString> = words.collect();
    let argv: Vec<&CStr> = words.iter().map(CString::as_c_str).collect();
    let entries = environment.split_inclusive(|byte| *byte == 0);
    let entries: Vec<&CStr> = entries
        .filter_map(|entry| CStr::from_bytes_with_nul(entry).ok())
        .collect();
    confine::exec(paths, &argv, &entries)
}

/// Returns the environment with the private directory as its home and for temporary files.
fn with_private(environment: &[u8], private: &str) -> Vec<u8> {
    let is_replaced = |entry: &[u8]| PRIVATE.iter().any(|name| variable(entry, name).is_some());
    let kept = environment.split_inclusive(|byte| *byte == 0);
    let mut all: Vec<u8> = kept
        .filter(|entry| !is_replaced(entry))
        .flatten()
        .copied()
        .collect();
    for name in PRIVATE {
        all.extend(format!("{name}={private}\0").bytes());
    }
    all
}
