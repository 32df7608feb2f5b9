//! Takes connections, a bounded number at once, and lets them end in a bounded time.

use super::{app::App, connection};
use crate::failure::{Failure, exit};
use outlast_lib::limits;
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// Pause after a connection that could not be taken: descriptors are rare then.
const RETRY_MS: u64 = 100;

/// How long somebody who is told that there is no room may take to read it, in milliseconds.
const REFUSAL_MS: u64 = 1_000;

/// Serves connections until `stop` is cancelled, then lets them finish for `HTTP_LEAVE_MS`.
pub(super) async fn serve(listener: TcpListener, app: Arc<App>, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(limits::HTTP_CONNECTIONS_MAX));
    let refusals = Arc::new(Semaphore::new(limits::HTTP_REFUSALS_MAX));
    let refusal: Arc<[u8]> = refusal().into();
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = stop.cancelled() => break,
        };
        let Ok((stream, _)) = accepted else {
            let pause = Duration::from_millis(RETRY_MS);
            timeout(pause, stop.cancelled()).await.ok();
            continue;
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let (app, stop) = (Arc::clone(&app), stop.clone());
            connections.spawn(async move {
                let open = app.meters.connections.open();
                connection::serve(stream, &app, &stop).await;
                drop((open, place));
            });
        } else {
            app.meters.refused.add();
            // Whoever cannot even be told is let go.
            if let Ok(place) = Arc::clone(&refusals).try_acquire_owned() {
                let refusal = Arc::clone(&refusal);
                connections.spawn(async move {
                    turn_away(stream, &refusal).await;
                    drop(place);
                });
            }
        }
    }
    drop(listener);
    let finish = async { while connections.join_next().await.is_some() {} };
    let leave = Duration::from_millis(limits::HTTP_LEAVE_MS);
    timeout(leave, finish).await.ok();
    connections.shutdown().await;
}

/// Returns what somebody is told for whom there is no room.
fn refusal() -> Vec<u8> {
    let most = limits::HTTP_CONNECTIONS_MAX;
    let failure = Failure::plain(
        "too_many_connections",
        format!("{most} connections are open, which is the limit"),
        "close some, or try again in a moment",
        exit::ERROR,
    );
    let body = serde_json::to_string(&failure.document());
    let body = body.expect("our documents have texts as keys");
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    answer.into_bytes()
}

/// Tells somebody that there is no room, and hears them out so that the answer arrives.
async fn turn_away(mut stream: TcpStream, refusal: &[u8]) {
    let tell = async {
        stream.write_all(refusal).await?;
        stream.shutdown().await?;
        let mut unread = [0; 1_024];
        while stream.read(&mut unread).await? > 0 {}
        Ok::<(), std::io::Error>(())
    };
    timeout(Duration::from_millis(REFUSAL_MS), tell).await.ok();
}
