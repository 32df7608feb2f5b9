//! The protocol over HTTP: one endpoint that keeps no session.
//!
//! Who owns the connections hands over whole requests. Each is answered by
//! itself, so any server of the store answers for any other. A response whose
//! reader is gone lets go of a wait; no run hears of it.

use super::{offer::Offer, server::Server};
use http_body_util::{Full, combinators::BoxBody};
use hyper::{Request, Response, body::Bytes, header::USER_AGENT, http::request::Parts};
use outlast_lib::limits;
use rmcp::{
    RoleServer,
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Characters of a program's name for itself that are kept.
const HOST_CHARS: usize = 80;

/// Where requests of the protocol are answered.
pub(crate) struct Http<O: Offer> {
    service: StreamableHttpService<Arc<Server<O>>, NeverSessionManager>,
    server: Arc<Server<O>>,
}

impl<O: Offer> Http<O> {
    /// Makes the endpoint for these names of the server and origins of pages.
    ///
    /// Streams and waits end once `stop` is cancelled.
    pub(crate) fn new(
        offer: Arc<O>,
        (hosts, origins): (&[String], &[String]),
        stop: CancellationToken,
    ) -> Self {
        let server = Arc::new(Server::new(offer));
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
        Self { service, server }
    }

    /// Answers a request. The answer may be a stream.
    pub(crate) async fn answer(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        self.service.handle(request).await
    }

    /// Returns how many calls wait now.
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
