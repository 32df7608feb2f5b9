//! The only place with `unsafe`: thin, safe calls into the kernel.
//!
//! Each function does one system call or one sequence that must not be taken
//! apart. What they are for stands in the modules that call them.
#![expect(unsafe_code, reason = "system calls that std does not offer")]

pub(crate) mod clock;
pub(crate) mod confine;
pub(crate) mod file;
pub(crate) mod files;
pub(crate) mod lock;
pub(crate) mod mount;
pub(crate) mod pidfd;
pub(crate) mod poll;
pub(crate) mod process;
pub(crate) mod signal;
pub(crate) mod socket;
pub(crate) mod spawn;
pub(crate) mod worker;

use std::io;

/// Turns the result of a system call into a `Result`.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Repeats a call that a signal interrupted.
fn retry(mut call: impl FnMut() -> libc::ssize_t) -> io::Result<usize> {
    loop {
        let result = call();
        if result >= 0 {
            return Ok(result.unsigned_abs());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
