//! One request from its head to its answer: gate, route, body, verb.

use super::{
    api,
    body::{Held, Room},
    gate::Gate,
    metrics::{self, Meters},
    reply::{self, Reply},
    routes::{self, Act, Found, Verb},
    stream,
    work::{Span, Workers},
};
use crate::{
    failure::{Failure, exit},
    mcp::Endpoint,
    surroundings::Surroundings,
};
use http_body_util::Full;
use hyper::{
    Method, Request, StatusCode,
    body::Incoming,
    header::{ALLOW, CONTENT_TYPE, HeaderValue},
    http::request::Parts,
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The API's description, which a test keeps as the code is.
const OPENAPI: &str = include_str!("../../openapi.json");

/// What a server answers with.
pub(super) struct App {
    gate: Gate,
    pub(super) mcp: Endpoint,
    room: Room,
    pub(super) meters: Meters,
    pub(super) workers: Workers,
}

impl App {
    /// Makes what answers behind `gate`.
    ///
    /// # Errors
    ///
    /// Fails when there is no directory to stand in.
    pub(super) fn new(
        surroundings: &Surroundings,
        session: Option<String>,
        gate: Gate,
        stop: CancellationToken,
    ) -> Result<Self, Failure> {
        let names = (gate.hosts(), gate.origins());
        let mcp = Endpoint::new(surroundings, session, (names.0, &names.1), stop.clone())?;
        Ok(Self {
            gate,
            mcp,
            room: Room::new(),
            meters: Meters::default(),
            workers: Workers::new(stop),
        })
    }

    /// Answers a request.
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Reply {
        let (head, body) = request.into_parts();
        let answered = Self::try_answer(&self, head, body).await;
        let reply = answered.unwrap_or_else(|failure| reply::refused(&failure));
        self.meters.note_answer(reply.status());
        reply
    }

    async fn try_answer(self: &Arc<Self>, head: Parts, body: Incoming) -> Result<Reply, Failure> {
        let refused = |error| Failure::new(&error, exit::USAGE);
        self.gate.check_names(&head).map_err(refused)?;
        let found = routes::find(&head.method, head.uri.path());
        if let Found::Verb(Verb::Health, _) = found {
            let text = HeaderValue::from_static("text/plain; charset=utf-8");
            return Ok(reply::whole(StatusCode::OK, text, b"ok\n".to_vec()));
        }
        // Before the route is told: whoever has no token learns nothing of the server.
        self.gate.check_token(&head.headers).map_err(refused)?;
        let (verb, id) = match found {
            Found::Verb(verb, id) => (verb, id),
            Found::Methods(methods) => return Ok(other_method(&methods)),
            Found::Nothing => return Err(no_route()),
        };
        match verb {
            Verb::Health | Verb::OpenApi => {
                let json = HeaderValue::from_static("application/json");
                Ok(reply::whole(
                    StatusCode::OK,
                    json,
                    OPENAPI.as_bytes().to_vec(),
                ))
            }
            Verb::Metrics => {
                let app = Arc::clone(self);
                let page = self.workers.run(Span::Short, move |_| metrics::page(&app));
                let page = page.await??;
                let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                Ok(reply::whole(StatusCode::OK, text, page.into_bytes()))
            }
            Verb::Mcp => self.mcp(head, body).await,
            Verb::Api(Act::Events) if stream::is_asked(&head.headers) => {
                stream::answer(self, &head, id.unwrap_or_default()).await
            }
            Verb::Api(act) => {
                let held = self.body(&head, body).await?;
                self.api(act, id, head, held).await
            }
        }
    }

    /// Answers a request of MCP. Its body is read here, within our bounds.
    async fn mcp(&self, head: Parts, body: Incoming) -> Result<Reply, Failure> {
        let held = self.room.read(body).await?;
        let request = Request::from_parts(head, Full::new(held.bytes.clone()));
        Ok(self.mcp.answer(request).await)
    }

    /// Reads the body of a request that changes something. It must say that it is JSON, which
    /// pages of other sites cannot send unasked.
    async fn body(&self, head: &Parts, body: Incoming) -> Result<Held, Failure> {
        let held = self.room.read(body).await?;
        let kind = head.headers.get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if held.bytes.is_empty() || kind.eq_ignore_ascii_case("application/json") {
            return Ok(held);
        }
        Err(Failure::plain(
            "not_json",
            "the body is not said to be JSON".to_owned(),
            "send the header `Content-Type: application/json`",
            exit::USAGE,
        ))
    }

    async fn api(
        self: &Arc<Self>,
        act: Act,
        id: Option<String>,
        head: Parts,
        held: Held,
    ) -> Result<Reply, Failure> {
        let app = Arc::clone(self);
        let span = api::span(act, &head);
        let waits = api::is_wait(act, span).then(|| self.meters.waits.open());
        let answered = self.workers.run(span, move |interrupt| {
            let asked = api::Asked {
                id: id.as_deref(),
                head: &head,
                body: &held.bytes,
                interrupt,
            };
            api::answer(&app.mcp, act, &asked)
        });
        let answer = answered.await??;
        drop(waits);
        Ok(answer.into_reply())
    }
}

fn other_method(methods: &[Method]) -> Reply {
    let names: Vec<&str> = methods.iter().map(Method::as_str).collect();
    let names = names.join(", ");
    let failure = Failure::plain(
        "method_not_allowed",
        "this path is not asked by that method".to_owned(),
        &format!("use {names}"),
        exit::USAGE,
    );
    let mut reply = reply::refused(&failure);
    if let Ok(names) = HeaderValue::from_str(&names) {
        reply.headers_mut().insert(ALLOW, names);
    }
    reply
}

fn no_route() -> Failure {
    Failure::plain(
        "no_route",
        "there is nothing at this path".to_owned(),
        "the paths stand in `/api/openapi.json`; MCP is at `/mcp`",
        exit::USAGE,
    )
}
