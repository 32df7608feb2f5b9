//! Stdio: one host on two pipes, until it hangs up or dies.

use super::{
    frames::{Ends, Frames},
    offer::Offer,
    server::Server,
};
use outlast_lib::{Advice, limits};
use rmcp::{
    service::{ServerInitializeError, serve_server_with_ct},
    transport::stdio_pipes,
};
use rustix::process::{PidfdFlags, getppid, pidfd_open};
use std::{
    future::pending,
    io,
    os::fd::{AsFd, OwnedFd},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, Interest, ReadBuf, unix::AsyncFd},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// Serves on stdio until it ends or the parent is gone.
///
/// # Errors
///
/// Fails when whoever is on the other side does not speak the protocol.
pub(crate) async fn serve<O: Offer>(offer: Arc<O>) -> Result<(), SpeechError> {
    let gone = CancellationToken::new();
    let (reader, writer) = stdio_pipes();
    let reader = Watched {
        reader,
        gone: gone.clone(),
    };
    let ends = Ends {
        hung_up: Box::pin(hung_up()),
        gone: gone.clone(),
    };
    let frames = Frames::new(reader, writer, ends);
    let server = Server::new(offer);
    let serving = async {
        match serve_server_with_ct(server, frames, gone.clone()).await {
            Ok(running) => {
                // How the loop ended does not matter: it has.
                running.waiting().await.ok();
                Ok(())
            }
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                Ok(())
            }
            // What came is not repeated: it may be long, and hold anything.
            Err(ServerInitializeError::ExpectedInitializeRequest(_)) => Err(SpeechError::NoRequest),
            Err(_) => Err(SpeechError::NotAnswered),
        }
    };
    tokio::select! {
        outcome = serving => outcome,
        () = left(&gone) => Ok(()),
    }
}

/// Why no session was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SpeechError {
    /// What came first was something else.
    #[error("no session was opened: the first message is no request")]
    NoRequest,
    /// The answer could not be made or sent.
    #[error("no session was opened: the first request was not answered")]
    NotAnswered,
}

impl Advice for SpeechError {
    fn code(&self) -> &'static str {
        "not_mcp"
    }

    fn hint(&self) -> String {
        "name `outlast mcp` as an MCP server on stdio in the host's configuration".to_owned()
    }
}

/// Returns a moment after the host has left: answers that are nearly there may still go out.
async fn left(gone: &CancellationToken) {
    tokio::select! {
        () = gone.cancelled() => {}
        () = parent_gone() => gone.cancel(),
    }
    let limit = Duration::from_millis(limits::TOOL_LEAVE_MS);
    timeout(limit, pending::<()>()).await.ok();
}

/// Returns when the parent of this process ends; never where it cannot be watched.
async fn parent_gone() {
    let pidfd = getppid().and_then(|parent| pidfd_open(parent, PidfdFlags::NONBLOCK).ok());
    match pidfd.and_then(watch) {
        Some(pidfd) => wait_readable(&pidfd).await,
        None => pending().await,
    }
}

/// Returns when the other side has closed stdin; never where that cannot be watched.
async fn hung_up() {
    let stdin = io::stdin().as_fd().try_clone_to_owned().ok();
    let Some(stdin) = stdin.and_then(watch) else {
        return pending().await;
    };
    while let Ok(mut news) = stdin.readable().await {
        if news.ready().is_read_closed() {
            return;
        }
        // There is something to read, which somebody else does.
        news.clear_ready();
    }
    pending::<()>().await;
}

#[expect(
    deprecated,
    reason = "its successor is unsafe for types whose descriptor may change; an owned one is fixed"
)]
fn watch(pidfd: OwnedFd) -> Option<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(pidfd, Interest::READABLE).ok()
}

async fn wait_readable(pidfd: &AsyncFd<OwnedFd>) {
    if pidfd.readable().await.is_err() {
        pending::<()>().await;
    }
}

/// A reader that tells when there is nothing more to come.
struct Watched<R> {
    reader: R,
    gone: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let outcome = ready!(Pin::new(&mut this.reader).poll_read(context, buffer));
        if outcome.is_err() || (buffer.filled().len() == before && buffer.remaining() > 0) {
            this.gone.cancel();
        }
        Poll::Ready(outcome)
    }
}
