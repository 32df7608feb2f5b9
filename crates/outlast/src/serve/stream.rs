//! Events of a run as they come, as server-sent events.
//!
//! One task reads, its client takes. It holds one page at most: a client that
//! does not read is not read for. `Last-Event-ID` goes on after that event.

use super::{
    api,
    app::App,
    query,
    reply::{self, Reply},
    work::Span,
};
use crate::failure::{Failure, exit};
use http_body_util::{BodyExt, Empty};
use hyper::{
    HeaderMap, StatusCode,
    body::{Body, Bytes, Frame},
    header::{ACCEPT, HeaderValue},
    http::request::Parts,
};
use outlast_lib::{Event, Heard, RunId, Seq, limits};
use std::{
    convert::Infallible,
    fmt::Write,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::sync::mpsc::{Receiver, channel};

/// What a stream of events is called.
const KIND: &str = "text/event-stream";

/// Events in one part of a stream: some hundred kilobytes at most.
const EVENTS_MAX: usize = 100;

/// What shows that a stream is alive.
const ALIVE: &str = ":\n\n";

/// Returns whether a request wants a stream.
pub(super) fn is_asked(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter();
    accepted.any(|kinds| kinds.to_str().is_ok_and(|kinds| kinds.contains(KIND)))
}

/// Answers with the events of a run from the asked one on, until its end.
///
/// # Errors
///
/// Fails on a wrong argument, and when there is no such run.
pub(super) async fn answer(app: &Arc<App>, head: &Parts, typed: String) -> Result<Reply, Failure> {
    let mut arguments = query::from_query(head.uri.query().unwrap_or_default(), api::EVENTS)?;
    let since = api::number(&mut arguments, "since")?.unwrap_or(0);
    let since = Seq(last_seen(&head.headers)?.map_or(since, |last| last.saturating_add(1)));
    let (id, first) = hear(app, Wanted::Typed(typed), since, 0).await?;
    if first.has_ended && first.page.events.is_empty() {
        // A browser then does not come again.
        let mut reply = reply::with_body(
            StatusCode::NO_CONTENT,
            HeaderValue::from_static(KIND),
            Empty::new().boxed(),
        );
        reply.headers_mut().remove(hyper::header::CONTENT_TYPE);
        return Ok(reply);
    }
    let (sender, parts) = channel(1);
    let app = Arc::clone(app);
    // Ends with the run, with its reader and with the server, whichever is first.
    tokio::spawn(async move {
        let open = app.meters.streams.open();
        let mut heard = first;
        let mut since;
        loop {
            since = heard.page.next_seq;
            let is_last = heard.has_ended && !heard.page.more;
            if sender.send(written(&heard)).await.is_err() || is_last || app.workers.is_over() {
                break;
            }
            let next = tokio::select! {
                next = hear(&app, Wanted::Id(id), since, limits::HTTP_ALIVE_MS) => next,
                () = sender.closed() => break,
            };
            // A run that is gone, or cannot be read any more, has no more events.
            let Ok((_, next)) = next else { break };
            heard = next;
        }
        drop(open);
    });
    let body = Parcels(parts).boxed();
    Ok(reply::with_body(
        StatusCode::OK,
        HeaderValue::from_static(KIND),
        body,
    ))
}

/// The run that is meant.
enum Wanted {
    Typed(String),
    Id(RunId),
}

async fn hear(
    app: &Arc<App>,
    wanted: Wanted,
    since: Seq,
    timeout_ms: u64,
) -> Result<(RunId, Heard), Failure> {
    let here = Arc::clone(app);
    let span = if timeout_ms > 0 {
        Span::Long
    } else {
        Span::Short
    };
    let heard = app.workers.run(span, move |interrupt| {
        let store = here.mcp.open()?;
        let id = match wanted {
            Wanted::Id(id) => id,
            Wanted::Typed(typed) => api::find(&here.mcp, &store, &typed)?,
        };
        let query = api::hearing(EVENTS_MAX, timeout_ms, interrupt);
        let heard = store.hear(&id, since, &query);
        heard
            .map(|heard| (id, heard))
            .map_err(|error| api::wait_failure(&error))
    });
    heard.await?
}

/// Returns the event that a client saw last.
fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let seen = value
        .to_str()
        .ok()
        .and_then(|text| text.trim().parse().ok());
    match seen {
        Some(seen) => Ok(Some(seen)),
        None => Err(Failure::plain(
            "bad_header",
            "`Last-Event-ID` is no number of an event".to_owned(),
            "send the `id` of the last event, or leave the header out",
            exit::USAGE,
        )),
    }
}

fn written(heard: &Heard) -> Bytes {
    let mut text = String::new();
    if heard.page.skipped > 0 {
        let skipped = heard.page.skipped;
        write!(text, "event: skipped\ndata: {{\"skipped\":{skipped}}}\n\n")
            .expect("a string takes everything");
    }
    for event in &heard.page.events {
        write_event(&mut text, event);
    }
    if text.is_empty() {
        text.push_str(ALIVE);
    }
    text.into()
}

fn write_event(text: &mut String, event: &Event) {
    let data = serde_json::to_value(event).expect("an event is a document");
    let kind = data["type"].as_str().unwrap_or_default();
    // JSON has no line break in it, which would end the field.
    write!(text, "id: {}\nevent: {kind}\ndata: {data}\n\n", event.seq.0)
        .expect("a string takes everything");
}

/// A body whose parts come when they come.
struct Parcels(Receiver<Bytes>);

impl Body for Parcels {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = self.get_mut().0.poll_recv(context);
        part.map(|part| part.map(|bytes| Ok(Frame::data(bytes))))
    }
}
