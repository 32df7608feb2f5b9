//! One connection: HTTP/1.1 with a limit on everything that a client may draw out.

use super::app::App;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use outlast_lib::limits;
use std::{
    convert::Infallible,
    future::Future,
    io::{self, IoSlice},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// Serves a connection until it ends; after `stop` it ends with the answer that is under way.
pub(super) async fn serve(stream: TcpStream, app: &Arc<App>, stop: &CancellationToken) {
    // Answers are small and whole; where it cannot be set they only come later.
    stream.set_nodelay(true).ok();
    let service = service_fn(|request| {
        let app = Arc::clone(app);
        async move { Ok::<_, Infallible>(app.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(limits::HTTP_HEAD_MS))
        .max_buf_size(2 * limits::HTTP_HEAD_BYTES_MAX)
        .max_header_size(limits::HTTP_HEAD_BYTES_MAX);
    let io = TokioIo::new(Impatient::new(stream));
    let mut connection = pin!(builder.serve_connection(io, service));
    tokio::select! {
        // How a connection ended does not matter: nobody is there to be told.
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    connection.await.ok();
}

/// A stream that fails once its client has left what was written unread for too long.
struct Impatient {
    stream: TcpStream,
    /// When it fails; absent while the client reads.
    limit: Option<Pin<Box<Sleep>>>,
}

impl Impatient {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            limit: None,
        }
    }

    /// Passes on how a write went, or fails where the client does not read.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.limit = None;
            return written;
        }
        let limit = self.limit.get_or_insert_with(|| {
            let patience = Duration::from_millis(limits::HTTP_WRITE_MS);
            Box::pin(sleep_until(Instant::now() + patience))
        });
        match limit.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.watch(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, parts);
        this.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
