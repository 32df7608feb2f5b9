//! The conformance suite's fixture tools on our own transport and task code.
//!
//! Only `scripts/conformance` uses it; nothing installs it. It prints its
//! address and serves until it is ended. What is served is the module `wire` of
//! the program as it stands; `fixtures` takes the place of the store.

mod fixtures;
mod jobs;
#[expect(dead_code, unused_imports, reason = "the program needs more of it")]
#[path = "../../src/mcp/wire/mod.rs"]
mod wire;

use fixtures::Fixtures;
use http_body_util::{BodyExt, Full};
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{
    error::Error,
    io::{Write, stdout},
    net::Ipv4Addr,
    sync::Arc,
};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Builder,
    task::LocalSet,
};
use tokio_util::sync::CancellationToken;
use wire::Http;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, serve())
}

async fn serve() -> Outcome<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let hosts = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned);
    let origins = ["http://localhost:*", "http://127.0.0.1:*"].map(str::to_owned);
    let offer = Arc::new(Fixtures::default());
    let http = Http::new(offer, (&hosts, &origins), CancellationToken::new());
    let http = Arc::new(http);
    writeln!(stdout(), "http://{address}/mcp")?;
    loop {
        let (connection, _) = listener.accept().await?;
        tokio::task::spawn_local(converse(connection, Arc::clone(&http)));
    }
}

async fn converse(connection: TcpStream, http: Arc<Http<Fixtures>>) {
    let service = service_fn(|request: Request<Incoming>| {
        let http = Arc::clone(&http);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let request = Request::from_parts(head, Full::new(body));
            Ok::<_, hyper::Error>(http.answer(request).await)
        }
    });
    let serving = http1::Builder::new().serve_connection(TokioIo::new(connection), service);
    // A connection that breaks is the suite's to notice.
    serving.await.ok();
}
