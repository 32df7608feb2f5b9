//! TERM, INT and HUP, as a token that is cancelled.

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    low_level::pipe,
};
use std::{io, os::unix::net::UnixStream as Pipe};
use tokio::{io::Interest, net::UnixStream};
use tokio_util::sync::CancellationToken;

/// Cancels `stop` once one of the signals comes; they do not end the process any more.
///
/// # Errors
///
/// Fails when there are no descriptors left.
pub(super) fn cancel_on_signal(stop: CancellationToken) -> io::Result<()> {
    let (reader, writer) = Pipe::pair()?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        pipe::register(signal, writer.try_clone()?)?;
    }
    reader.set_nonblocking(true)?;
    let reader = UnixStream::from_std(reader)?;
    // Ends with the runtime, which ends with the server.
    tokio::spawn(async move {
        reader.ready(Interest::READABLE).await.ok();
        stop.cancel();
    });
    Ok(())
}
