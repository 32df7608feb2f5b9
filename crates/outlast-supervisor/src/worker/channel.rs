//! The socket between a supervisor and its worker: lines in, lines out, none without bound.

use crate::platform::poll::Watch;
use crate::platform::{self, process};
use outlast_journal::limits;
use outlast_journal::worker::Said;
use std::io;
use std::mem;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// A line of this length leaves memory behind that is worth giving back, in bytes.
const LARGE_LINE_BYTES: usize = 256 << 10;

/// What came from a worker.
#[derive(Debug)]
pub(crate) enum Heard {
    /// It said this, in so many bytes.
    Said(Said, usize),
    /// What it sent is nothing that a worker says.
    Broken(&'static str),
}

/// One end of the way to a worker.
pub(crate) struct Channel {
    socket: UnixStream,
    read: Vec<u8>,
    /// Where in `read` the next line begins.
    at: usize,
    /// How far from there it was looked for a newline.
    looked: usize,
    unsent: Vec<u8>,
    is_over: bool,
}

impl Channel {
    /// Returns the end that `socket` is.
    pub(crate) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            read: Vec::new(),
            at: 0,
            looked: 0,
            unsent: Vec::new(),
            is_over: false,
        })
    }

    /// Adds what is to be watched. A worker that is behind with reading is not read.
    pub(crate) fn watch(&self, watches: &mut Vec<Watch>) {
        if !self.is_over && !self.is_behind() {
            watches.push(Watch::read(self.socket.as_fd()));
        }
        if !self.unsent.is_empty() {
            watches.push(Watch::write(self.socket.as_fd()));
        }
    }

    /// Whether nothing more comes.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    fn is_behind(&self) -> bool {
        self.unsent.len() > limits::WORKER_BEHIND_BYTES
    }

    /// Reads what came, a turn's worth at most.
    pub(crate) fn receive(&mut self) {
        self.flush();
        if self.is_over || self.is_behind() {
            return;
        }
        self.read.drain(..self.at);
        self.at = 0;
        let mut buffer = [0; 16 << 10];
        let mut left = limits::WORKER_TURN_BYTES;
        while left > 0 {
            match platform::file::read(&self.socket, &mut buffer) {
                Ok(0) => self.is_over = true,
                Ok(read) => {
                    self.read.extend(buffer.get(..read).unwrap_or_default());
                    left = left.saturating_sub(read);
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.is_over = true,
            }
            return;
        }
    }

    /// Returns the next whole line of what was read.
    pub(crate) fn next(&mut self) -> Option<Heard> {
        let rest = self.read.get(self.at..).unwrap_or_default();
        let fresh = rest.get(self.looked..).unwrap_or_default();
        let Some(end) = fresh.iter().position(|byte| *byte == b'\n') else {
            self.looked = rest.len();
            if rest.len() > limits::WORKER_LINE_BYTES_MAX {
                return Some(Heard::Broken("it sent a line that is too long"));
            }
            if rest.is_empty() && self.read.capacity() > limits::WORKER_TURN_BYTES {
                (self.read, self.at) = (Vec::new(), 0);
            }
            return None;
        };
        let end = self.looked + end;
        let line = rest.get(..end).unwrap_or_default();
        let bytes = line.len();
        if bytes > limits::WORKER_LINE_BYTES_MAX {
            return Some(Heard::Broken("it sent a line that is too long"));
        }
        let said = Said::from_bytes(line);
        self.at += end + 1;
        self.looked = 0;
        Some(match said {
            Ok(said) => Heard::Said(said, bytes),
            Err(_) => Heard::Broken("it sent what no worker says"),
        })
    }

    /// Gives back what a line of this many bytes took, if it was a large one.
    pub(crate) fn forget(&mut self, bytes: usize) {
        if bytes < LARGE_LINE_BYTES {
            return;
        }
        let rest = self.read.split_off(self.at);
        drop(mem::replace(&mut self.read, rest));
        self.at = 0;
        process::give_memory_back();
    }

    /// Says a line; false when too much is unread already.
    pub(crate) fn send(&mut self, line: &[u8]) -> bool {
        self.unsent.extend(line);
        self.flush();
        self.unsent.len() <= limits::WORKER_UNREAD_BYTES_MAX
    }

    fn flush(&mut self) {
        while !self.unsent.is_empty() {
            match platform::socket::send(&self.socket, &self.unsent, &[]) {
                Ok(sent) => {
                    self.unsent.drain(..sent);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Nobody is there to read it, and nobody will be.
                Err(_) => self.unsent.clear(),
            }
        }
        self.unsent = Vec::new();
    }
}

#[cfg(test)]
mod tests;
