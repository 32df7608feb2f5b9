//! What a launcher and its process 1 say, read line by line as it comes.

use crate::clock;
use crate::platform;
use crate::platform::poll::{self, Watch};
use outlast_journal::limits::CONTROL_LINE_BYTES_MAX;
use outlast_journal::policy::Report;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// What process 1 says, read line by line.
pub(crate) struct Reports {
    pub(super) socket: UnixStream,
    read: Vec<u8>,
    pub(super) is_over: bool,
}

impl Reports {
    /// Reads `socket`, whose other end the launcher has.
    pub(super) fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            read: Vec::new(),
            is_over: false,
        }
    }

    /// Returns the next report, waiting for it until this time at most; `None` when there is none.
    pub(super) fn next(&mut self, give_up_at: u64) -> Option<Report> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Report::from_bytes(&line);
            }
            let left = give_up_at.saturating_sub(clock::monotonic_ms());
            let mut watches = [Watch::read(self.socket.as_fd())];
            poll::poll(&mut watches, Some(left)).ok()?;
            if !watches[0].is_ready() {
                if left == 0 {
                    return None;
                }
                continue;
            }
            let mut buffer = [0; 1_024];
            let read = platform::file::read(&self.socket, &mut buffer).ok()?;
            if read == 0 || self.read.len() > CONTROL_LINE_BYTES_MAX * 4 {
                self.is_over = true;
                return None;
            }
            self.read.extend(buffer.get(..read).unwrap_or_default());
        }
    }

    /// Returns a report that is there already.
    pub(crate) fn now(&mut self) -> Option<Report> {
        self.next(0)
    }

    /// Whether there will be no more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// What is ready when there is something to hear.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
