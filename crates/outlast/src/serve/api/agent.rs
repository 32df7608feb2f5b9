//! Requests about agent runs: start one, poll it, see what is asked, and answer.

use super::{Answer, Call, start};
use crate::{
    agents::{self, Asked},
    document::{Answered, Asks},
    failure::{Failure, exit},
    mcp::{ArgumentError, Arguments, clamp, containment, start_failure},
    serve::query::{Names, bad},
    surface::read_failure,
};
use outlast_lib::{
    AnswerError, Document, Event, ListQuery, Origin, PollQuery, Record, Request, Seq, Status,
    limits,
};
use serde::Serialize;
use std::env;

/// Arguments of a start.
pub(super) const START: [&str; 15] = [
    "task",
    "cwd",
    "until",
    "max_turns",
    "local",
    "model",
    "ask",
    "json_schema",
    "invoked_by",
    "idle_ttl_secs",
    "timeout_secs",
    "label",
    "session",
    "sandbox",
    "network",
];

/// Arguments of a poll.
pub(super) const POLL: Names = Names {
    texts: &[],
    numbers: &["since_seq", "max_bytes"],
    flags: &[],
    lists: &[],
};

/// Arguments of a look at what is asked.
pub(super) const ASKS: Names = Names {
    texts: &[],
    numbers: &[],
    flags: &["all"],
    lists: &[],
};

/// Arguments of an answer.
pub(super) const ANSWER: [&str; 4] = ["approve", "ask", "text", "by"];

/// Runs that are looked through for asks.
const RUNS_MAX: usize = 1_000;

/// Starts an agent run and returns once its worker executes.
pub(super) fn start(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.body(&START)?;
    let (asked, mut request) = read(call, &mut arguments).map_err(|error| bad(&error))?;
    let bounds = containment(&mut arguments).map_err(|error| bad(&error))?;
    if let Some(schema) = &asked.schema {
        agents::check_schema(schema)?;
    }
    request.command = asked.command(&call.config)?;
    let notice = call.mcp.bind(&call.config, &mut request, bounds)?;
    request.idempotency_key = start::key(call)?;
    let begun = call.store.start(&request);
    let begun = begun.map_err(|error| start_failure(&error))?;
    if !begun.is_replayed {
        call.mcp.note_start();
    }
    start::begun_answer(call, &begun, notice.into_iter().collect())
}

/// Reads what is asked, and the request for it but for the model.
fn read(call: &Call<'_>, from: &mut Arguments) -> Result<(Asked, Request), ArgumentError> {
    let asked = Asked {
        task: from.needed_text("task")?,
        until: from.text("until")?,
        turns_max: from.number("max_turns")?,
        is_local: from.flag("local")?.unwrap_or(false),
        asks: from.flag("ask")?.unwrap_or(false),
        schema: from.object("json_schema")?,
        model: from.text("model")?,
        resumes: None,
    };
    let cwd = call.mcp.cwd(from.text("cwd")?.as_deref());
    if !cwd.is_dir() {
        return Err(ArgumentError::NoDirectory {
            path: cwd.to_string_lossy().into_owned(),
        });
    }
    let invoked_by = from.text("invoked_by")?;
    let ms = |seconds: Option<u64>| seconds.map(|seconds| seconds.saturating_mul(1_000));
    let mut request = Request {
        environment: env::vars_os().collect(),
        is_for_tool: true,
        label: from.text("label")?,
        session: from.text("session")?,
        timeout_ms: ms(from.number("timeout_secs")?),
        idle_ttl_ms: ms(from.number("idle_ttl_secs")?),
        origin: Origin {
            host: Some("http".to_owned()),
            ..Origin::default()
        },
        ..Request::new(agents::placeholder(), cwd)
    };
    agents::hand_down(&mut request, agents::ancestry(&[], invoked_by.as_deref()));
    Ok((asked, request))
}

/// What is new of a run, and what it came to: the answer of a poll.
#[derive(Serialize)]
struct Told<'a> {
    schema: &'static str,
    run_id: outlast_lib::RunId,
    status: &'static str,
    cancelling: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Document>,
    run: &'a Record,
    events: &'a [Event],
    next_seq: u64,
    more: bool,
    events_skipped: u64,
}

/// Tells what is new of a run.
pub(super) fn poll(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.query(POLL)?;
    let mut notices = Vec::new();
    let query = |from: &mut Arguments, notices: &mut Vec<String>| {
        let since = Seq(from.number("since_seq")?.unwrap_or(0));
        let bytes = from.number("max_bytes")?;
        let bytes = bytes.unwrap_or(limits::POLL_BYTES as u64);
        let bytes = clamp(
            notices,
            "max_bytes",
            bytes,
            0,
            limits::POLL_BYTES_MAX as u64,
        );
        Ok(PollQuery {
            since,
            bytes_max: usize::try_from(bytes).unwrap_or(usize::MAX),
        })
    };
    let query = query(&mut arguments, &mut notices);
    let query = query.map_err(|error: ArgumentError| bad(&error))?;
    let id = call.run()?;
    call.store.mark_read(&id);
    let polled = call.store.poll(&id, &query);
    let polled = polled.map_err(|error| read_failure(&error))?;
    call.note_told(std::slice::from_ref(&polled.record));
    let document = Told {
        schema: "outlast.poll/1",
        run_id: id,
        status: agents::handle(&polled.record, polled.document.as_ref()),
        cancelling: polled.record.cancelling,
        result: polled.document.as_ref(),
        run: &polled.record,
        events: &polled.page.events,
        next_seq: polled.page.next_seq.0,
        more: polled.page.more,
        events_skipped: polled.page.skipped,
    };
    Ok(Answer::fine(&document).noting(notices))
}

/// Lists the asks that are open, the oldest first.
pub(super) fn asks(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.query(ASKS)?;
    let all = arguments.flag("all").map_err(|error| bad(&error))?;
    let listing = call.store.list(&ListQuery {
        project: (!all.unwrap_or(false)).then(|| call.mcp.project()),
        statuses: vec![Status::Running],
        limit: RUNS_MAX,
        ..ListQuery::default()
    });
    let mut asking = listing.map_err(|error| read_failure(&error))?.records;
    asking.retain(|record| record.needs_approval.is_some());
    asking.sort_by_key(|record| record.needs_approval.as_ref().map(|asked| asked.since));
    Ok(Answer::fine(&Asks::of(&asking)))
}

/// Answers what a run asks.
pub(super) fn answer(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.body(&ANSWER)?;
    let read = |from: &mut Arguments| {
        let approved = from.flag("approve")?;
        let approved = approved.ok_or(ArgumentError::Missing { name: "approve" })?;
        let by = from.text("by")?.unwrap_or_else(|| "http".to_owned());
        Ok((approved, from.text("ask")?, from.text("text")?, by))
    };
    let read = read(&mut arguments).map_err(|error: ArgumentError| bad(&error));
    let (approved, ask, text, by) = read?;
    let id = call.run()?;
    call.store.mark_read(&id);
    let answered = call
        .store
        .answer(&id, ask.as_deref(), approved, text.as_deref(), &by);
    let ask = answered.map_err(|error| {
        if let AnswerError::Read(error) = &error {
            return read_failure(error);
        }
        Failure::new(&error, exit::ERROR)
    })?;
    Ok(Answer::fine(&Answered::of(id, &ask, approved)))
}
