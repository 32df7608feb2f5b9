//! Work that blocks, on threads of its own. It hears when nobody waits for it any more.

use crate::failure::{Failure, exit};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::sync::CancellationToken;

/// Does `work` on a thread and returns what it gives.
///
/// The descriptor that `work` is given can be read once `stop` is cancelled, or once this future
/// is dropped: what waits then returns. A thread is not waited for by whoever drops the future.
///
/// # Errors
///
/// Fails when there are no descriptors left, and when `work` panics.
pub(super) async fn on_thread<T: Send + 'static>(
    stop: &CancellationToken,
    work: impl FnOnce(BorrowedFd<'_>) -> T + Send + 'static,
) -> Result<T, Failure> {
    let (interrupt, hold) = io::pipe().map_err(|error| busy(&error))?;
    let mut work = spawn_blocking(move || work(interrupt.as_fd()));
    let done = tokio::select! {
        done = &mut work => Some(done),
        () = stop.cancelled() => None,
    };
    drop(hold);
    let done = match done {
        Some(done) => done,
        None => work.await,
    };
    done.map_err(|error| broken(&error))
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
