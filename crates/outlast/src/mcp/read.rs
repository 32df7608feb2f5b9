//! `background_list` and `background_output`: what looks and changes nothing.

use super::{
    answer::{Answer, short},
    arguments::{ArgumentError, Arguments, clamp},
    tools::{Call, bad},
};
use crate::{
    failure::{Failure, exit},
    surface::read_failure,
};
use outlast_lib::{ListQuery, OutputFrom, OutputPage, OutputQuery, Record, Status, Store, limits};
use serde_json::Value;

/// Attempts to make a text fit whose characters double as JSON.
const FIT_ATTEMPTS_MAX: usize = 4;

/// What `background_list` calls `failed`: what did not end as it was meant to.
const FAILED: [Status; 3] = [Status::Failed, Status::TimedOut, Status::Interrupted];

/// States of a run that has not ended.
pub(super) const LIVE: [Status; 2] = [Status::Running, Status::Queued];

/// States of a run that has.
const ENDED: [Status; 5] = [
    Status::Completed,
    Status::Failed,
    Status::Cancelled,
    Status::TimedOut,
    Status::Interrupted,
];

/// Lists runs of the project, newest change first.
pub(super) fn list(call: &Call<'_>, arguments: &mut Arguments) -> Result<Answer, Failure> {
    let mut notices = Vec::new();
    let query = list_query(call, arguments, &mut notices).map_err(|error| bad(&error))?;
    let listing = call
        .store
        .list(&query)
        .map_err(|error| read_failure(&error))?;
    let mut tasks = Vec::new();
    let mut told = Vec::new();
    let mut bytes = 0;
    let mut more = listing.more;
    for record in &listing.records {
        let task = short(&record.short());
        bytes += task.to_string().len();
        if bytes > limits::TOOL_OUTPUT_BYTES_MAX {
            more = true;
            break;
        }
        if record.status.is_ended() {
            told.push(record.id);
        }
        tasks.push(task);
    }
    let message = match (tasks.is_empty(), more) {
        (true, _) => "No such run. Start one with background_run.",
        (false, true) => "There are more: ask with `status`, or a higher `limit`.",
        (false, false) => "Next: background_wait, or background_output with an id.",
    };
    let mut answer = Answer::fine()
        .with("count", tasks.len())
        .with("tasks", tasks)
        .with_some("more", more.then_some(true))
        .with_list("notices", notices.into_iter().map(Into::into).collect())
        .with("message", message);
    answer.told = told;
    Ok(answer)
}

fn list_query(
    call: &Call<'_>,
    arguments: &mut Arguments,
    notices: &mut Vec<String>,
) -> Result<ListQuery, ArgumentError> {
    let states = [
        ("running", &LIVE[..]),
        ("ended", &ENDED[..]),
        ("failed", &FAILED[..]),
    ];
    let statuses = arguments.word("status", &states)?.unwrap_or_default();
    let all = arguments.flag("all")?.unwrap_or(false);
    let limit = arguments.number("limit")?;
    let limit = limit.unwrap_or(limits::TOOL_LIST_RUNS);
    let limit = clamp(notices, "limit", limit, 1, limits::TOOL_LIST_RUNS_MAX);
    Ok(ListQuery {
        project: (!all).then(|| call.desk.project(call.caller)),
        statuses: statuses.to_vec(),
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
        ..ListQuery::default()
    })
}

/// Gives a part of the output of a run.
pub(super) fn output(call: &Call<'_>, arguments: &mut Arguments) -> Result<Answer, Failure> {
    let typed = arguments.needed_text("id").map_err(|error| bad(&error))?;
    let mut notices = Vec::new();
    let query = output_query(arguments, &mut notices).map_err(|error| bad(&error))?;
    let Some(id) = call.find(&typed)? else {
        return Ok(Answer::fine().with("id", typed).with("found", false).with(
            "message",
            "There is no such run. background_list has the ids.",
        ));
    };
    let record = call.store.record(&id);
    let record = record.map_err(|error| read_failure(&error))?;
    about(&call.store, &record, &query, notices)
}

/// Returns the answer about a run with a part of its output.
pub(super) fn about(
    store: &Store,
    record: &Record,
    query: &OutputQuery,
    notices: Vec<String>,
) -> Result<Answer, Failure> {
    let answer = Answer::fine()
        .with("id", record.id.as_str())
        .telling(record)
        .with_some("exit_rule", record.exit_rule.clone())
        .with_some("summary", record.summary.clone());
    with_output(store, answer, record, query, notices)
}

/// Returns the query for the newest part, of the default size.
pub(super) fn newest() -> OutputQuery {
    OutputQuery {
        bytes_max: limits::TOOL_OUTPUT_BYTES,
        ..OutputQuery::default()
    }
}

fn output_query(
    arguments: &mut Arguments,
    notices: &mut Vec<String>,
) -> Result<OutputQuery, ArgumentError> {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let mut query = newest();
    if let Some(asked) = arguments.number("max_bytes")? {
        let most = limits::TOOL_OUTPUT_BYTES_MAX as u64;
        // Zero is refused by the library, in words that name the field.
        query.bytes_max = size(clamp(notices, "max_bytes", asked, 0, most));
    }
    if let Some(byte) = arguments.number("since_byte")? {
        query.from = OutputFrom::Byte(byte);
    }
    query.grep = arguments.text("grep")?;
    if let Some(asked) = arguments.number("context")? {
        let most = limits::TOOL_CONTEXT_LINES_MAX;
        query.context = size(clamp(notices, "context", asked, 0, most));
    }
    if let Some(asked) = arguments.number("lines")? {
        query.lines = Some(size(clamp(notices, "lines", asked, 1, u64::MAX)));
    }
    Ok(query)
}

/// Adds a part of the output to an answer about a run, and the message to its end.
pub(super) fn with_output(
    store: &Store,
    answer: Answer,
    record: &Record,
    query: &OutputQuery,
    notices: Vec<String>,
) -> Result<Answer, Failure> {
    let page = fitting(store, record, query)?;
    let mut answer = answer;
    if record.status.is_ended() && !answer.told.contains(&record.id) {
        answer.told.push(record.id);
    }
    let gap = page
        .gap
        .map(|gap| serde_json::to_value(gap).unwrap_or_default());
    let message = message(record, query, &page);
    Ok(answer
        .with("output", page.text)
        .with("from_byte", page.from_byte)
        .with("next_byte", page.next_byte)
        .with("total_bytes", page.total_bytes)
        .with("truncated", page.truncated)
        .with_some("gap", gap)
        .with_some("child_session_id", record.child_session_id.clone())
        .with_list("notices", notices.into_iter().map(Into::into).collect())
        .with("message", message))
}

/// Returns a page that is no more than a quarter longer as JSON than its text may be.
fn fitting(store: &Store, record: &Record, query: &OutputQuery) -> Result<OutputPage, Failure> {
    let json_max = query.bytes_max.saturating_mul(5) / 4;
    let mut query = query.clone();
    let mut attempts = 0;
    loop {
        let page = store.log(record, &query);
        let page = page.map_err(|error| Failure::new(&error, exit::USAGE))?;
        let json_bytes = Value::from(page.text.as_str()).to_string().len();
        attempts += 1;
        if json_bytes <= json_max.max(SMALL_BYTES) || attempts >= FIT_ATTEMPTS_MAX {
            return Ok(page);
        }
        let fewer = page.text.len().saturating_mul(json_max) / json_bytes;
        query.bytes_max = fewer.clamp(1, query.bytes_max);
    }
}

/// A text of so many bytes as JSON is never worth a second look.
const SMALL_BYTES: usize = 1 << 10;

fn message(record: &Record, query: &OutputQuery, page: &OutputPage) -> String {
    let next = page.next_byte;
    let state = match record.status {
        Status::Queued => "Waits for a place; no output yet.".to_owned(),
        Status::Running => "Still running.".to_owned(),
        Status::Completed
        | Status::Failed
        | Status::Cancelled
        | Status::TimedOut
        | Status::Interrupted => format!("Ended: {}.", record.status),
    };
    let cut = page.way_on(query);
    let on = if record.status.is_ended() {
        String::new()
    } else {
        format!(" New output: background_wait, then since_byte {next}.")
    };
    format!("{state}{cut}{on}")
}
