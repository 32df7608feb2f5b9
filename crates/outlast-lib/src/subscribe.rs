//! Listening to a live run: hints that something may be read, and the end of the supervisor.

use outlast_journal::control::{Ask, HINT_ENDED};
use outlast_supervisor::{client, clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Longest single sleep in milliseconds, so that no arithmetic overflows: a day.
const SLEEP_MS_MAX: u64 = 86_400_000;

/// A subscription to one run.
#[derive(Debug)]
pub(crate) struct Subscription {
    stream: UnixStream,
    has_answer: bool,
}

/// What a subscription brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing.
    Nothing,
    /// A reason to read again.
    Hint,
    /// The end is written, or the supervisor is gone.
    Over,
}

impl Subscription {
    /// Subscribes to the run in `dir`; `None` when no supervisor can be reached.
    pub(crate) fn open(dir: &Path, output: bool) -> Option<Self> {
        let mut stream = client::connect(dir).ok()?;
        stream
            .write_all(&Ask::Subscribe { output }.to_bytes())
            .ok()?;
        stream.set_nonblocking(true).ok()?;
        Some(Self {
            stream,
            has_answer: false,
        })
    }

    /// Reads what has come.
    pub(crate) fn news(&mut self) -> News {
        let mut news = News::Nothing;
        let mut buffer = [0; 256];
        loop {
            let read = match self.stream.read(&mut buffer) {
                Ok(0) => return News::Over,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return news,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return News::Over,
            };
            let mut came = buffer.get(..read).unwrap_or_default();
            if !self.has_answer {
                let end = came.iter().position(|byte| *byte == b'\n');
                let Some(end) = end else { continue };
                self.has_answer = true;
                came = came.get(end + 1..).unwrap_or_default();
            }
            if came.contains(&HINT_ENDED) {
                return News::Over;
            }
            if !came.is_empty() {
                news = News::Hint;
            }
        }
    }

    /// Returns whether the supervisor has answered: one that has no room hangs up without.
    pub(crate) fn was_served(&self) -> bool {
        self.has_answer
    }

    /// Returns what is polled for news.
    pub(crate) fn poll_fd(&self) -> PollFd<'_> {
        PollFd::new(&self.stream, PollFlags::IN)
    }
}

/// Sleeps until one of `subscriptions` has something, `interrupt` can be read, or the time comes.
///
/// Returns whether it was the interrupt. Costs no CPU.
pub(crate) fn sleep(
    subscriptions: &[&Subscription],
    interrupt: Option<BorrowedFd<'_>>,
    until_ms: Option<u64>,
) -> io::Result<bool> {
    let mut descriptors: Vec<PollFd<'_>> = subscriptions.iter().map(|one| one.poll_fd()).collect();
    if let Some(interrupt) = &interrupt {
        descriptors.push(PollFd::new(interrupt, PollFlags::IN));
    }
    let left = until_ms.map(|until| {
        until
            .saturating_sub(clock::monotonic_ms())
            .min(SLEEP_MS_MAX)
    });
    let time = left.map(|ms| Timespec {
        tv_sec: i64::try_from(ms / 1_000).unwrap_or(0),
        tv_nsec: i64::try_from(ms % 1_000 * 1_000_000).unwrap_or(0),
    });
    match poll(&mut descriptors, time.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let last = descriptors.last().filter(|_| interrupt.is_some());
    Ok(last.is_some_and(|one| !one.revents().is_empty()))
}
