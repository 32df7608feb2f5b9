//! Waiting for several descriptors at once.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// What is waited for on one descriptor, and what came.
#[repr(transparent)]
pub(crate) struct Watch(libc::pollfd);

impl Watch {
    /// Waits for something to read, or for the other side to leave.
    pub(crate) fn read(descriptor: BorrowedFd<'_>) -> Self {
        Self::new(descriptor, libc::POLLIN)
    }

    /// Waits for room to write.
    pub(crate) fn write(descriptor: BorrowedFd<'_>) -> Self {
        Self::new(descriptor, libc::POLLOUT)
    }

    fn new(descriptor: BorrowedFd<'_>, events: libc::c_short) -> Self {
        Self(libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events,
            revents: 0,
        })
    }

    /// Whether something came.
    pub(crate) fn is_ready(&self) -> bool {
        self.0.revents != 0
    }
}

/// Waits until one of `watches` is ready or `timeout_ms` passed; for ever without one.
pub(crate) fn poll(watches: &mut [Watch], timeout_ms: Option<u64>) -> io::Result<()> {
    let timeout = timeout_ms.map_or(-1, |ms| {
        libc::c_int::try_from(ms).unwrap_or(libc::c_int::MAX)
    });
    let count = libc::nfds_t::try_from(watches.len()).unwrap_or(0);
    // SAFETY: `Watch` has the layout of a pollfd (`repr(transparent)`);
    // pointer and length are those of `watches`.
    let result = unsafe { libc::poll(watches.as_mut_ptr().cast(), count, timeout) };
    match super::check(result) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            for watch in watches {
                watch.0.revents = 0;
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Returns whether a descriptor, if there is one, is ready to be read at this instant.
pub(crate) fn is_ready(descriptor: Option<&std::os::fd::OwnedFd>) -> io::Result<bool> {
    use std::os::fd::AsFd;
    let Some(descriptor) = descriptor else {
        return Ok(false);
    };
    let mut watches = [Watch::read(descriptor.as_fd())];
    poll(&mut watches, Some(0))?;
    Ok(watches[0].is_ready())
}
