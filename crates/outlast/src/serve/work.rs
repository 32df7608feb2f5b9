//! Work that blocks, on threads of its own. It hears when nobody waits for it any more.

use crate::failure::{Failure, exit};
use outlast_lib::limits;
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};
use tokio::{
    sync::Semaphore,
    task::{JoinError, spawn_blocking},
};
use tokio_util::sync::CancellationToken;

/// How long work may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// It reads files. Some at once keep the disk busy; the others wait for a thread.
    Short,
    /// It waits for something, and must not hold up the rest.
    Long,
}

/// Threads for work.
pub(super) struct Workers {
    short: Semaphore,
    /// Cancelled when the server is to end.
    stop: CancellationToken,
}

impl Workers {
    /// Makes threads whose waits end once `stop` is cancelled.
    pub(super) fn new(stop: CancellationToken) -> Self {
        Self {
            short: Semaphore::new(limits::HTTP_LOOKS_MAX),
            stop,
        }
    }

    /// Returns whether the server is to end.
    pub(super) fn is_over(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Does `work` on a thread and returns what it gives.
    ///
    /// The descriptor that `work` is given can be read once the server is to end, or once this
    /// future is dropped: what waits then returns. A thread is not waited for by whoever drops
    /// the future.
    ///
    /// # Errors
    ///
    /// Fails when there are no descriptors left, and when `work` panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        span: Span,
        work: impl FnOnce(BorrowedFd<'_>) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let place = match span {
            Span::Short => self.short.acquire().await.ok(),
            Span::Long => None,
        };
        let (interrupt, hold) = io::pipe().map_err(|error| busy(&error))?;
        let mut work = spawn_blocking(move || work(interrupt.as_fd()));
        let done = tokio::select! {
            done = &mut work => Some(done),
            () = self.stop.cancelled() => None,
        };
        drop(hold);
        let done = match done {
            Some(done) => done,
            None => work.await,
        };
        drop(place);
        done.map_err(|error| broken(&error))
    }
}

fn busy(error: &io::Error) -> Failure {
    Failure::plain(
        "server_busy",
        format!("the server has no descriptors left: {error}"),
        "try again in a moment",
        exit::ERROR,
    )
}

fn broken(error: &JoinError) -> Failure {
    Failure::plain(
        "server_broken",
        format!("the request could not be answered: {error}"),
        "try again; if it stays, report it with the request",
        exit::ERROR,
    )
}
