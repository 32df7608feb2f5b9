//! The JSON API: the library's verbs, one request each.
//!
//! Arguments come from the query of a request that reads and from the body of
//! one that changes something. Answers are the documents of the command line.

mod agent;
mod change;
mod read;
mod start;

use super::{
    query::{self, Names},
    reply::{self, Reply},
    routes::Act,
    work::Span,
};
use crate::{
    config::Config,
    failure::{Failure, exit},
    mcp::{Arguments, Endpoint},
    surface::read_failure,
};
use hyper::{
    StatusCode,
    header::{HeaderValue, LOCATION},
    http::request::Parts,
};
use outlast_lib::{FindError, HearQuery, Record, RunId, Store, WaitError};
use serde::Serialize;
use serde_json::Value;
use std::os::fd::BorrowedFd;

/// Name under which the store notes that a reader over HTTP was told of an end.
const READER: &str = "http";

/// Arguments of a request for events.
pub(super) const EVENTS: Names = read::EVENTS;

/// A request as it came.
pub(super) struct Asked<'a> {
    /// The `{id}` of its path.
    pub(super) id: Option<&'a str>,
    pub(super) head: &'a Parts,
    pub(super) body: &'a [u8],
    /// Readable once nobody waits for the answer any more.
    pub(super) interrupt: BorrowedFd<'a>,
}

/// What a verb answers.
pub(super) struct Answer {
    status: StatusCode,
    body: Vec<u8>,
    location: Option<String>,
}

impl Answer {
    fn fine(document: &impl Serialize) -> Self {
        Self {
            status: StatusCode::OK,
            body: serde_json::to_vec(document).expect("our documents have texts as keys"),
            location: None,
        }
    }

    /// Returns the answer with what was done otherwise than asked, if anything was.
    fn noting(mut self, notices: Vec<String>) -> Self {
        if !notices.is_empty()
            && let Ok(Value::Object(mut fields)) = serde_json::from_slice(&self.body)
        {
            fields.insert("notices".to_owned(), notices.into());
            self.body = Value::Object(fields).to_string().into_bytes();
        }
        self
    }

    /// Returns the answer as it goes out.
    pub(super) fn into_reply(self) -> Reply {
        let json = HeaderValue::from_static("application/json");
        let mut reply = reply::whole(self.status, json, self.body);
        if let Some(Ok(location)) = self.location.map(HeaderValue::try_from) {
            reply.headers_mut().insert(LOCATION, location);
        }
        reply
    }
}

/// What a verb works with.
struct Call<'a> {
    mcp: &'a Endpoint,
    store: Store,
    config: Config,
    asked: &'a Asked<'a>,
}

impl Call<'_> {
    /// Returns the run that the path names.
    fn run(&self) -> Result<RunId, Failure> {
        find(self.mcp, &self.store, self.asked.id.unwrap_or_default())
    }

    /// Returns the run that the path names, as it is now. It counts as read.
    fn record(&self) -> Result<Record, Failure> {
        let id = self.run()?;
        self.store.mark_read(&id);
        self.record_of(&id)
    }

    fn record_of(&self, id: &RunId) -> Result<Record, Failure> {
        let record = self.store.record(id);
        record.map_err(|error| read_failure(&error))
    }

    fn query(&self, names: Names) -> Result<Arguments, Failure> {
        let query = self.asked.head.uri.query();
        query::from_query(query.unwrap_or_default(), names)
    }

    /// Returns the arguments in the body; the query must have none.
    fn body(&self, known: &[&str]) -> Result<Arguments, Failure> {
        self.query(Names::default())?;
        query::from_body(self.asked.body, known)
    }

    /// Notes of those `records` that say that their run has ended that a reader was told of it.
    fn note_told(&self, records: &[Record]) {
        let ended = records.iter().filter(|record| record.status.is_ended());
        let ids: Vec<RunId> = ended.map(|record| record.id).collect();
        if self.store.is_writable() && !ids.is_empty() {
            // A note that cannot be made only keeps the run for longer.
            self.store.acknowledge(&ids, READER).ok();
        }
    }
}

/// Returns the path and the arguments of each request with a query, for its description.
#[cfg(test)]
pub(super) fn queries() -> [(&'static str, Names); 7] {
    [
        ("/api/runs", read::LIST),
        ("/api/runs/{id}/events", read::EVENTS),
        ("/api/runs/{id}/output", read::OUTPUT),
        ("/api/wait", read::WAIT),
        ("/api/notices", read::NOTICES),
        ("/api/runs/{id}/poll", agent::POLL),
        ("/api/asks", agent::ASKS),
    ]
}

/// Returns the schema and the arguments of each body, for its description.
#[cfg(test)]
pub(super) fn bodies() -> [(&'static str, &'static [&'static str]); 6] {
    [
        ("Start", &start::NAMES),
        ("Send", &change::SEND),
        ("Cancel", &change::CANCEL),
        ("Acknowledge", &change::ACKNOWLEDGE),
        ("StartAgent", &agent::START),
        ("Answer", &agent::ANSWER),
    ]
}

/// Returns how long a request may take.
pub(super) fn span(act: Act, head: &Parts) -> Span {
    match act {
        Act::List
        | Act::Show
        | Act::Output
        | Act::Notices
        | Act::Acknowledge
        | Act::Remove
        | Act::Poll
        | Act::Asks => Span::Short,
        Act::Events => {
            let query = head.uri.query().unwrap_or_default();
            if query.contains("wait_secs=") {
                Span::Long
            } else {
                Span::Short
            }
        }
        Act::Wait | Act::Start | Act::Send | Act::Cancel | Act::StartAgent | Act::Answer => {
            Span::Long
        }
    }
}

/// Returns whether a request counts as one that waits for a run.
pub(super) fn is_wait(act: Act, span: Span) -> bool {
    span == Span::Long && matches!(act, Act::Wait | Act::Events)
}

/// Answers a request.
///
/// # Errors
///
/// Fails when it cannot be done.
pub(super) fn answer(mcp: &Endpoint, act: Act, asked: &Asked<'_>) -> Result<Answer, Failure> {
    let (store, config) = mcp.open_with_config()?;
    let call = Call {
        mcp,
        store,
        config,
        asked,
    };
    match act {
        Act::Start => start::start(&call),
        Act::List => read::list(&call),
        Act::Show => read::show(&call),
        Act::Events => read::events(&call),
        Act::Output => read::output(&call),
        Act::Wait => read::wait(&call),
        Act::Notices => read::notices(&call),
        Act::Acknowledge => change::acknowledge(&call),
        Act::Send => change::send(&call),
        Act::Cancel => change::cancel(&call),
        Act::Remove => change::remove(&call),
        Act::StartAgent => agent::start(&call),
        Act::Poll => agent::poll(&call),
        Act::Asks => agent::asks(&call),
        Act::Answer => agent::answer(&call),
    }
}

/// Returns the run that `typed` means in the server's project.
///
/// # Errors
///
/// Fails when it means none, or several.
pub(super) fn find(mcp: &Endpoint, store: &Store, typed: &str) -> Result<RunId, Failure> {
    store.find(typed, Some(&mcp.project())).map_err(|error| {
        let is_none = matches!(error, FindError::NotFound { .. });
        Failure::new(&error, if is_none { exit::NO_RUN } else { exit::ERROR })
    })
}

/// Returns what to hear of a run.
pub(super) fn hearing(
    events_max: usize,
    timeout_ms: u64,
    interrupt: BorrowedFd<'_>,
) -> HearQuery<'_> {
    HearQuery {
        events_max,
        timeout_ms: Some(timeout_ms),
        interrupt: Some(interrupt),
    }
}

/// Returns the failure of a wait.
pub(super) fn wait_failure(error: &WaitError) -> Failure {
    if let WaitError::Read(error) = error {
        return read_failure(error);
    }
    Failure::new(error, exit::USAGE)
}

/// Returns a number among arguments.
///
/// # Errors
///
/// Fails when it is none, or below zero.
pub(super) fn number(
    arguments: &mut Arguments,
    name: &'static str,
) -> Result<Option<u64>, Failure> {
    arguments.number(name).map_err(|error| query::bad(&error))
}
