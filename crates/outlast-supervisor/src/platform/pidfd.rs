//! Descriptors of processes: they cannot come to mean another process.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Opens the process `pid`.
pub(crate) fn open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed; the descriptor is new and owned by nobody else.
    unsafe {
        let raw = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        let raw = super::check(libc::c_int::try_from(raw).unwrap_or(-1))?;
        Ok(OwnedFd::from_raw_fd(raw))
    }
}

/// Sends `signal` to the process.
pub(crate) fn send_signal(pidfd: &OwnedFd, signal: i32) -> io::Result<()> {
    let info: *const libc::siginfo_t = std::ptr::null();
    // SAFETY: a null siginfo means the same as kill.
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            signal,
            info,
            0,
        )
    };
    super::check(libc::c_int::try_from(result).unwrap_or(-1)).map(drop)
}
