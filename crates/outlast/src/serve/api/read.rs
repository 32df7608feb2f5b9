//! Requests that look: lists, records, events, output, waits, notices.

use super::{Answer, Call, find, hearing, number, wait_failure};
use crate::{
    document::{Output, Runs, Trouble},
    failure::{Failure, exit},
    mcp::{ArgumentError, Arguments, clamp},
    serve::query::{Names, bad},
    surface::read_failure,
};
use outlast_lib::{
    Event, ListQuery, NoticeScope, OutputFrom, OutputQuery, Record, RunId, Seq, ShortRecord,
    Status, WaitQuery, limits,
};
use serde::Serialize;

/// Arguments of a list.
pub(super) const LIST: Names = Names {
    texts: &["project", "session", "status"],
    numbers: &["limit"],
    flags: &[],
    lists: &[],
};

/// Arguments of events.
pub(super) const EVENTS: Names = Names {
    texts: &[],
    numbers: &["since", "limit", "wait_secs"],
    flags: &[],
    lists: &[],
};

/// Arguments of output.
pub(super) const OUTPUT: Names = Names {
    texts: &["grep"],
    numbers: &["since_byte", "max_bytes", "lines", "context"],
    flags: &[],
    lists: &[],
};

/// Arguments of a wait.
pub(super) const WAIT: Names = Names {
    texts: &["until_output"],
    numbers: &["wait_secs"],
    flags: &["any"],
    lists: &["id"],
};

/// Arguments of notices.
pub(super) const NOTICES: Names = Names {
    texts: &["project", "session"],
    numbers: &["limit"],
    flags: &[],
    lists: &[],
};

/// Words for states in a list: each state, and the two halves.
pub(super) const STATUSES: [(&str, &[Status]); 9] = [
    ("queued", &[Status::Queued]),
    ("running", &[Status::Running]),
    ("completed", &[Status::Completed]),
    ("failed", &[Status::Failed]),
    ("cancelled", &[Status::Cancelled]),
    ("timed_out", &[Status::TimedOut]),
    ("interrupted", &[Status::Interrupted]),
    ("live", &[Status::Queued, Status::Running]),
    (
        "ended",
        &[
            Status::Completed,
            Status::Failed,
            Status::Cancelled,
            Status::TimedOut,
            Status::Interrupted,
        ],
    ),
];

/// Runs: the answer of a list.
#[derive(Serialize)]
struct List<'a> {
    schema: &'static str,
    runs: &'a [Record],
    more: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Trouble>,
}

/// Lists runs, newest change first.
pub(super) fn list(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.query(LIST)?;
    let mut notices = Vec::new();
    let most = limits::HTTP_LIST_RUNS_MAX;
    let limit = limit(&mut arguments, &mut notices, limits::HTTP_LIST_RUNS, most)?;
    let asked = |arguments: &mut Arguments| {
        Ok(ListQuery {
            project: arguments.text("project")?,
            session: arguments.text("session")?,
            statuses: arguments
                .word("status", &STATUSES)?
                .unwrap_or_default()
                .to_vec(),
            limit,
        })
    };
    let query = asked(&mut arguments).map_err(|error: ArgumentError| bad(&error))?;
    let listing = call.store.list(&query);
    let listing = listing.map_err(|error| read_failure(&error))?;
    let document = List {
        schema: "outlast.runs/1",
        runs: &listing.records,
        more: listing.more,
        damaged: Trouble::of(&listing.damaged),
    };
    Ok(Answer::fine(&document).noting(notices))
}

/// Returns a run.
pub(super) fn show(call: &Call<'_>) -> Result<Answer, Failure> {
    call.query(Names::default())?;
    let record = call.record()?;
    call.note_told(std::slice::from_ref(&record));
    Ok(Answer::fine(&record))
}

/// Events: the answer of a poll.
#[derive(Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the names of the fields are those of the documents"
)]
struct Events<'a> {
    schema: &'static str,
    id: RunId,
    status: Status,
    events: &'a [Event],
    next_seq: Seq,
    more: bool,
    skipped: u64,
    has_ended: bool,
}

/// Returns events from one on, at once or when there is one.
pub(super) fn events(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.query(EVENTS)?;
    let mut notices = Vec::new();
    let since = number(&mut arguments, "since")?.unwrap_or(0);
    let most = limits::POLL_EVENTS_MAX as u64;
    let events_max = limit(&mut arguments, &mut notices, most, most)?;
    let wait_ms = wait_ms(&mut arguments, &mut notices, 0)?;
    let id = call.run()?;
    let query = hearing(events_max, wait_ms, call.asked.interrupt);
    let heard = call.store.hear(&id, Seq(since), &query);
    let heard = heard.map_err(|error| wait_failure(&error))?;
    let document = Events {
        schema: "outlast.events/1",
        id,
        status: heard.status,
        events: &heard.page.events,
        next_seq: heard.page.next_seq,
        more: heard.page.more,
        skipped: heard.page.skipped,
        has_ended: heard.has_ended,
    };
    Ok(Answer::fine(&document).noting(notices))
}

/// Returns a part of the output of a run.
pub(super) fn output(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.query(OUTPUT)?;
    let mut notices = Vec::new();
    let query = output_query(&mut arguments, &mut notices).map_err(|error| bad(&error))?;
    let record = call.record()?;
    let page = call.store.log(&record, &query);
    let page = page.map_err(|error| Failure::new(&error, exit::USAGE))?;
    call.note_told(std::slice::from_ref(&record));
    Ok(Answer::fine(&Output::of(record.id, &page)).noting(notices))
}

fn output_query(
    from: &mut Arguments,
    notices: &mut Vec<String>,
) -> Result<OutputQuery, ArgumentError> {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let mut query = OutputQuery::default();
    if let Some(bytes) = from.number("max_bytes")? {
        let most = limits::HTTP_OUTPUT_BYTES_MAX;
        // Zero is refused by the library, in words that name the field.
        query.bytes_max = size(clamp(notices, "max_bytes", bytes, 0, most));
    }
    if let Some(byte) = from.number("since_byte")? {
        query.from = OutputFrom::Byte(byte);
    }
    query.grep = from.text("grep")?;
    if let Some(lines) = from.number("context")? {
        query.context = size(lines);
    }
    query.lines = from.number("lines")?.map(size);
    Ok(query)
}

/// Waits for runs and returns where they stand then.
pub(super) fn wait(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.query(WAIT)?;
    let mut notices = Vec::new();
    let wait_ms = wait_ms(&mut arguments, &mut notices, limits::TOOL_WAIT_SECS)?;
    let asked = |arguments: &mut Arguments| {
        let typed = arguments.texts("id")?;
        let typed = typed.ok_or(ArgumentError::Missing { name: "id" })?;
        let any = arguments.flag("any")?.unwrap_or(true);
        Ok((typed, any, arguments.text("until_output")?))
    };
    let asked = asked(&mut arguments).map_err(|error: ArgumentError| bad(&error));
    let (typed, any, until_output) = asked?;
    let ids = typed.iter().map(|typed| find(call.mcp, &call.store, typed));
    let ids: Vec<RunId> = ids.collect::<Result<_, _>>()?;
    let query = WaitQuery {
        any,
        timeout_ms: Some(wait_ms),
        until_output: until_output.as_deref(),
        until_asked: true,
        interrupt: Some(call.asked.interrupt),
    };
    let waited = call.store.wait(&ids, &query);
    let waited = waited.map_err(|error| wait_failure(&error))?;
    let records = ids.iter().map(|id| call.record_of(id));
    let records: Vec<Record> = records.collect::<Result<_, _>>()?;
    call.note_told(&records);
    let document = Runs::of(&records).with_match(waited.matched.as_ref());
    Ok(Answer::fine(&document).noting(notices))
}

/// Ends that nobody was told of: the answer of notices.
#[derive(Serialize)]
struct Notices<'a> {
    schema: &'static str,
    runs: &'a [ShortRecord],
}

/// Returns ended runs of a session or project that it was not told of.
pub(super) fn notices(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.query(NOTICES)?;
    let mut notices = Vec::new();
    let most = limits::HTTP_LIST_RUNS_MAX;
    let limit = limit(&mut arguments, &mut notices, limits::HTTP_LIST_RUNS, most)?;
    let scope = |arguments: &mut Arguments| {
        let session = arguments.text("session")?.map(NoticeScope::Session);
        let project = arguments.text("project")?.map(NoticeScope::Project);
        match (session, project) {
            (Some(_), Some(_)) => Err(ArgumentError::Unknown {
                name: "project".to_owned(),
                known: "session` alone, or `project` alone".to_owned(),
            }),
            (session, project) => Ok(session.or(project)),
        }
    };
    let scope = scope(&mut arguments).map_err(|error| bad(&error))?;
    let scope = scope.unwrap_or_else(|| NoticeScope::Project(call.mcp.project()));
    let untold = call.store.notices(&scope, limit);
    let untold = untold.map_err(|error| read_failure(&error))?;
    let document = Notices {
        schema: "outlast.notices/1",
        runs: &untold,
    };
    Ok(Answer::fine(&document).noting(notices))
}

fn limit(
    from: &mut Arguments,
    notices: &mut Vec<String>,
    usual: u64,
    most: u64,
) -> Result<usize, Failure> {
    let asked = number(from, "limit")?.unwrap_or(usual);
    let used = clamp(notices, "limit", asked, 1, most);
    Ok(usize::try_from(used).unwrap_or(usize::MAX))
}

/// Returns the longest wait in milliseconds.
fn wait_ms(
    from: &mut Arguments,
    notices: &mut Vec<String>,
    usual_secs: u64,
) -> Result<u64, Failure> {
    let asked = number(from, "wait_secs")?.unwrap_or(usual_secs);
    let most = limits::HTTP_WAIT_SECS_MAX;
    Ok(clamp(notices, "wait_secs", asked, 0, most) * 1_000)
}
