//! The descriptor over which a worker talks to its supervisor.

use outlast_journal::names::WORKER_CHANNEL;
use std::io::{self, ErrorKind};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Returns the socket to the supervisor of this process, which is a worker.
///
/// Programs that it executes do not get it. It is given once.
///
/// # Errors
///
/// Fails when it was given before, and when the descriptor is no open stream socket: nobody
/// started this process as a worker.
pub fn worker_channel() -> io::Result<UnixStream> {
    if IS_TAKEN.swap(true, Ordering::SeqCst) {
        return Err(ErrorKind::AlreadyExists.into());
    }
    // SAFETY: a system call on a number; it touches no memory of ours.
    super::check(unsafe { libc::fcntl(WORKER_CHANNEL, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: the call above has shown that the number is open, nothing else in this process
    // has it, since the supervisor put it there before exec, and the flag above makes this
    // the only owner.
    let owned = unsafe { OwnedFd::from_raw_fd(WORKER_CHANNEL) };
    let stream = UnixStream::from(owned);
    // Any other kind of file has no peer.
    stream.peer_addr()?;
    Ok(stream)
}
