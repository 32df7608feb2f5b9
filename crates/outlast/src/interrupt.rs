//! ^C and TERM, as something that a wait can watch.
//!
//! Both end a wait, never a run.

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    low_level::pipe,
};
use std::{
    io::{self, PipeReader},
    os::fd::{AsFd, BorrowedFd},
};

/// Signals that came since it was made.
#[derive(Debug)]
pub(crate) struct Interrupt {
    reader: PipeReader,
}

impl Interrupt {
    /// Takes INT, TERM and HUP from now on; they do not end the process any more.
    ///
    /// # Errors
    ///
    /// Fails when there are no descriptors left.
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            pipe::register(signal, writer.try_clone()?)?;
        }
        Ok(Self { reader })
    }

    /// Returns a descriptor that is readable once a signal came.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}
