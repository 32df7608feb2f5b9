//! Requests and their answers. The functions only describe.

use super::{
    answers::{
        Acknowledged, Answered, Asks, Cancelled, Error, Events, List, Notices, OutputPage, Polled,
        Removed, Sent, Started, Waited,
    },
    arguments::{
        Acknowledge, Answer, AsksQuery, Cancel, EventsQuery, ListQuery, NoticesQuery, OutputQuery,
        PollQuery, Send, Start, StartAgent, WaitQuery,
    },
    record::Run,
};

/// Tell that the server is there. Needs no token.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "server",
    responses(
        (status = 200, description = "`ok`", body = String, content_type = "text/plain"),
    ),
    security(())
)]
pub(super) fn health() {}

/// Count runs, requests and connections, in the text form of Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "server",
    responses(
        (status = 200, description = "Counts", body = String, content_type = "text/plain"),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn metrics() {}

/// Give this description.
#[utoipa::path(
    get,
    path = "/api/openapi.json",
    tag = "server",
    responses(
        (status = 200, description = "OpenAPI 3.1", body = Object),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn openapi() {}

/// Start a run.
///
/// Answers once the command executes. With a key, a repeated request gives the same run.
#[utoipa::path(
    post,
    path = "/api/runs",
    tag = "runs",
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "The same key and request give the same run")
    ),
    request_body = Start,
    responses(
        (status = 201, description = "Started; `Location` is the run", body = Started),
        (status = 200, description = "The key belongs to this run already", body = Started),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn start() {}

/// List runs, newest change first.
#[utoipa::path(
    get,
    path = "/api/runs",
    tag = "runs",
    params(
        ListQuery
    ),
    responses(
        (status = 200, description = "Fine", body = List),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn list() {}

/// Show a run.
#[utoipa::path(
    get,
    path = "/api/runs/{id}",
    tag = "runs",
    params(
        ("id" = String, Path, description = "An id, the beginning of one, or a label that is unique in the server's project")
    ),
    responses(
        (status = 200, description = "Fine", body = Run),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn show() {}

/// Remove an ended run.
#[utoipa::path(
    delete,
    path = "/api/runs/{id}",
    tag = "runs",
    params(
        ("id" = String, Path, description = "An id, the beginning of one, or a label that is unique in the server's project")
    ),
    responses(
        (status = 200, description = "Fine", body = Removed),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn remove() {}

/// Tell the events of a run, at once or when there is one.
///
/// With `Accept: text/event-stream` a stream of server-sent events, from `since` or from after `Last-Event-ID` to the end of the run; then 204, so that a browser does not come again.
#[utoipa::path(
    get,
    path = "/api/runs/{id}/events",
    tag = "runs",
    params(
        ("id" = String, Path, description = "An id, the beginning of one, or a label that is unique in the server's project"),
        EventsQuery,
        ("Last-Event-ID" = Option<u64>, Header, description = "Number of the event that was seen last; of a stream")
    ),
    responses(
        (status = 200, description = "Events", content((Events = "application/json"), (String = "text/event-stream"))),
        (status = 204, description = "The stream has nothing to tell any more"),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn events() {}

/// Read a part of the output of a run, as text.
#[utoipa::path(
    get,
    path = "/api/runs/{id}/output",
    tag = "runs",
    params(
        ("id" = String, Path, description = "An id, the beginning of one, or a label that is unique in the server's project"),
        OutputQuery
    ),
    responses(
        (status = 200, description = "Fine", body = OutputPage),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn output() {}

/// Write to the stdin of a run that was started with `stdin: pipe`.
#[utoipa::path(
    post,
    path = "/api/runs/{id}/send",
    tag = "runs",
    params(
        ("id" = String, Path, description = "An id, the beginning of one, or a label that is unique in the server's project")
    ),
    request_body = Send,
    responses(
        (status = 200, description = "Fine", body = Sent),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn send() {}

/// Stop a run with everything it started.
///
/// Answers when nothing of it is left. Of an ended run, what it left behind is stopped.
#[utoipa::path(
    post,
    path = "/api/runs/{id}/cancel",
    tag = "runs",
    params(
        ("id" = String, Path, description = "An id, the beginning of one, or a label that is unique in the server's project")
    ),
    request_body = Option<Cancel>,
    responses(
        (status = 200, description = "Fine", body = Cancelled),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn cancel() {}

/// Wait for runs to end, or for a line of output. Ends no run.
///
/// That the time is over is an answer like any other: see `status`.
#[utoipa::path(
    get,
    path = "/api/wait",
    tag = "runs",
    params(
        WaitQuery
    ),
    responses(
        (status = 200, description = "Fine", body = Waited),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn wait() {}

/// List ends that were not told of yet. To look is not to be told.
#[utoipa::path(
    get,
    path = "/api/notices",
    tag = "runs",
    params(
        NoticesQuery
    ),
    responses(
        (status = 200, description = "Fine", body = Notices),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn notices() {}

/// Note that a session was told of ends, so that they are no notices any more.
#[utoipa::path(
    post,
    path = "/api/notices/acknowledge",
    tag = "runs",
    request_body = Acknowledge,
    responses(
        (status = 200, description = "Fine", body = Acknowledged),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn acknowledge() {}

/// Hand a task to an agent that works in the background.
///
/// Answers once its worker executes. With a key, a repeated request gives the same run.
#[utoipa::path(
    post,
    path = "/api/agents",
    tag = "agents",
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "The same key and request give the same run")
    ),
    request_body = StartAgent,
    responses(
        (status = 201, description = "Started; `Location` is the run", body = Started),
        (status = 200, description = "The key belongs to this run already", body = Started),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn start_agent() {}

/// Tell what is new of a run, and what it came to once it has ended.
#[utoipa::path(
    get,
    path = "/api/runs/{id}/poll",
    tag = "agents",
    params(
        ("id" = String, Path, description = "An id, the beginning of one, or a label that is unique in the server's project"),
        PollQuery
    ),
    responses(
        (status = 200, description = "Fine", body = Polled),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn poll() {}

/// List what agent runs wait to be told, the oldest first.
#[utoipa::path(
    get,
    path = "/api/asks",
    tag = "agents",
    params(
        AsksQuery
    ),
    responses(
        (status = 200, description = "Fine", body = Asks),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn asks() {}

/// Answer what a run asks. The first answer counts.
#[utoipa::path(
    post,
    path = "/api/runs/{id}/answer",
    tag = "agents",
    params(
        ("id" = String, Path, description = "An id, the beginning of one, or a label that is unique in the server's project")
    ),
    request_body = Answer,
    responses(
        (status = 200, description = "Answered", body = Answered),
        (status = "default", description = "Refused; the status fits the code", body = Error)
    )
)]
pub(super) fn answer() {}
