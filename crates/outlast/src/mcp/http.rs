//! The protocol over HTTP: one endpoint that keeps no session.
//!
//! `serve` owns the connections and hands over whole requests. Each is answered
//! by itself, so any server of the store answers for any other. A response
//! whose reader is gone lets go of a wait; no run hears of it.

use super::{desk::Desk, wire::Server};
use crate::{
    failure::{Failure, exit},
    surroundings::Surroundings,
};
use http_body_util::{Full, combinators::BoxBody};
use hyper::{Request, Response, body::Bytes, header::USER_AGENT, http::request::Parts};
use outlast_lib::{Store, limits};
use rmcp::{
    RoleServer,
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use std::{convert::Infallible, path::PathBuf, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Characters of a program's name for itself that are kept.
const HOST_CHARS: usize = 80;

/// Where requests of MCP are answered.
pub(crate) struct Endpoint {
    service: StreamableHttpService<Arc<Server>, NeverSessionManager>,
    server: Arc<Server>,
    desk: Arc<Desk>,
}

impl Endpoint {
    /// Makes the endpoint for these names of the server and origins of pages.
    ///
    /// Streams and waits end once `stop` is cancelled.
    ///
    /// # Errors
    ///
    /// Fails when there is no directory to stand in.
    pub(crate) fn new(
        surroundings: &Surroundings,
        session: Option<String>,
        (hosts, origins): (&[String], &[String]),
        stop: CancellationToken,
    ) -> Result<Self, Failure> {
        let desk = Desk::shared(surroundings, session)
            .map_err(|error| Failure::new(&error, exit::ERROR))?;
        let desk = Arc::new(desk);
        let server = Arc::new(Server::new(Arc::clone(&desk)));
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_allowed_hosts(hosts)
            .with_allowed_origins(origins)
            .enforce_origin_validation()
            .with_max_request_body_bytes(limits::HTTP_BODY_BYTES_MAX)
            .with_sse_keep_alive(Some(Duration::from_millis(limits::HTTP_ALIVE_MS)))
            .with_cancellation_token(stop);
        let each = Arc::clone(&server);
        let service = StreamableHttpService::new(
            move || Ok(Arc::clone(&each)),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        Ok(Self {
            service,
            server,
            desk,
        })
    }

    /// Answers a request. The answer may be a stream.
    pub(crate) async fn answer(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        self.service.handle(request).await
    }

    /// Opens the store as it is now.
    ///
    /// # Errors
    ///
    /// Fails as the configuration and `Store::open` do.
    pub(crate) fn open(&self) -> Result<Store, Failure> {
        self.desk.open()
    }

    /// Returns the project's root.
    pub(crate) fn project(&self) -> &str {
        self.desk.project()
    }

    /// Returns the directory to run in.
    pub(crate) fn cwd(&self, asked: Option<&str>) -> PathBuf {
        self.desk.cwd(asked)
    }

    /// Counts a run that was started beside the tools.
    pub(crate) fn note_start(&self) {
        self.desk.note_start();
    }

    /// Returns how many runs were started.
    pub(crate) fn starts(&self) -> u64 {
        self.desk.starts()
    }

    /// Returns how many calls of tools wait now.
    pub(crate) fn waiting(&self) -> usize {
        self.server.waiting()
    }
}

/// Returns what the host of a request calls itself.
///
/// Before revision 2026-07-28 only the first request has that name. Over HTTP there is no session
/// that would remember it, so the rest is known by its `User-Agent`.
pub(super) fn host(context: &RequestContext<RoleServer>) -> Option<String> {
    let Some(parts) = context.extensions.get::<Parts>() else {
        return context.client_info().map(|host| host.name);
    };
    let named = context.meta.client_info().map(|host| host.name);
    named.or_else(|| {
        let agent = parts.headers.get(USER_AGENT)?.to_str().ok()?;
        let name = agent.split(['/', ' ']).next().unwrap_or_default();
        let name: String = name.chars().take(HOST_CHARS).collect();
        Some(name).filter(|name| !name.is_empty())
    })
}
