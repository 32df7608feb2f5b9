//! Signals as input: blocked, and read from a descriptor.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A signal that came, and who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Came {
    /// Its number.
    pub(crate) signal: i32,
    /// The sender; 0 when it lives outside this PID namespace or is the kernel.
    pub(crate) from_pid: i32,
}

/// Blocks every signal that can be, and returns a descriptor on which CHLD, TERM, INT and HUP come.
///
/// What the caller ignored is ignored no longer: an ignored CHLD would have the kernel reap the
/// children, and their wait statuses would be lost.
pub(crate) fn block_and_open() -> io::Result<OwnedFd> {
    // SAFETY: sets of zeroes are valid, all pointers live through their calls, and the
    // descriptor is new and owned by nobody else.
    unsafe {
        let mut all: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&raw mut all);
        super::check(libc::sigprocmask(
            libc::SIG_SETMASK,
            &raw const all,
            std::ptr::null_mut(),
        ))?;
        reset_actions();
        let mut heard: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut heard);
        for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&raw mut heard, signal);
        }
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        let raw = super::check(libc::signalfd(-1, &raw const heard, flags))?;
        Ok(OwnedFd::from_raw_fd(raw))
    }
}

/// Reads the next signal, if one came.
pub(crate) fn next(descriptor: &OwnedFd) -> Option<Came> {
    // SAFETY: a signalfd_siginfo of zeroes is valid; pointer and length are its own.
    let (info, read) = unsafe {
        let mut info: libc::signalfd_siginfo = mem::zeroed();
        let size = size_of_val(&info);
        let read = libc::read(descriptor.as_raw_fd(), (&raw mut info).cast(), size);
        (info, read)
    };
    (usize::try_from(read) == Ok(size_of_val(&info))).then(|| Came {
        signal: i32::try_from(info.ssi_signo).unwrap_or(0),
        from_pid: i32::try_from(info.ssi_pid).unwrap_or(0),
    })
}

/// Runs `act` while no signal can be delivered to this thread, glibc's own included.
pub(super) fn with_all_blocked<T>(act: impl FnOnce() -> T) -> T {
    let set = |new: &[u64; 1], old: &mut [u64; 1]| {
        // SAFETY: both are the kernel's signal sets of 8 bytes and live through the call.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigprocmask,
                libc::SIG_SETMASK,
                new.as_ptr(),
                old.as_mut_ptr(),
                8_usize,
            );
        }
    };
    let mut before = [0];
    set(&[u64::MAX], &mut before);
    let result = act();
    set(&before, &mut [0]);
    result
}

/// Sets every signal of this process to its default and unblocks all.
///
/// For a child between fork and exec: only system calls.
pub(super) fn reset_all() {
    reset_actions();
    let none = [0_u64; 1];
    // SAFETY: `none` is the kernel's empty signal set of 8 bytes, and no old one is asked for.
    unsafe {
        let old: *mut u64 = std::ptr::null_mut();
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            none.as_ptr(),
            old,
            8_usize,
        );
    }
}

/// Sets every signal of this process to its default.
///
/// glibc refuses 32 and 33 in `sigaction`, and std's posix_spawn leaves them ignored, so the
/// raw call is used.
fn reset_actions() {
    let default = [0_u64; 4];
    // SAFETY: `default` has the size of the kernel's sigaction, all zeroes: default
    // action, no flags; no old one is asked for.
    unsafe {
        for signal in 1..=64 {
            let old: *mut u64 = std::ptr::null_mut();
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                old,
                8_usize,
            );
        }
    }
}
