//! The caller's end of a supervisor's socket.

use outlast_journal::names;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Connects to the supervisor of the run in `run_dir`.
///
/// The way goes through a descriptor of the directory, since a socket's path may
/// have 107 bytes only and a store may lie deeper.
///
/// # Errors
///
/// Fails with `NotFound` or `ConnectionRefused` when the supervisor is gone.
pub fn connect(run_dir: &Path) -> io::Result<UnixStream> {
    let dir = File::open(run_dir)?;
    let short = format!("/proc/self/fd/{}/{}", dir.as_raw_fd(), names::CONTROL);
    UnixStream::connect(short)
}
