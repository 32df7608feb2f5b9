//! OFD locks: they belong to the open description and travel with it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

fn whole_file() -> libc::flock {
    // SAFETY: a flock of zeroes is valid: a read lock on the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::c_short::try_from(libc::F_WRLCK).unwrap_or(1);
    lock
}

/// Takes the lock; false when somebody else holds it.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    let lock = whole_file();
    // SAFETY: the pointer lives through the call, which only reads it.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) };
    match super::check(result) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Returns whether another open description holds the lock; takes nothing.
pub(crate) fn is_locked(file: &File) -> io::Result<bool> {
    let mut lock = whole_file();
    // SAFETY: the pointer lives through the call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    super::check(result)?;
    Ok(libc::c_int::from(lock.l_type) != libc::F_UNLCK)
}
