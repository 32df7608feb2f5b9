//! Runs as tasks of the protocol: one id for both, and the run's directory is the store.

use super::{
    answer::Answer,
    assistant,
    desk::Desk,
    read,
    wire::{self, Caller, INTERNAL_ERROR, RequestError, Task},
};
use crate::{agents, failure::Failure, look::clean, words};
use outlast_journal::text::cut_chars;
use outlast_lib::{
    AnswerError, CancelError, CancelQuery, PollQuery, Record, RunId, Status, Store, Timestamp,
    limits,
};
use outlast_supervisor::clock;
use serde_json::{Map, Value, json};

/// Status of a task that waits for a person.
const INPUT_REQUIRED: &str = "input_required";

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 3_600 * 1_000;

/// Returns whether a start with these arguments may be answered with a task.
///
/// Not one that waits itself, and not one without a time limit, which would be waited for
/// without end.
pub(super) fn fits(arguments: &Map<String, Value>) -> bool {
    let given = |name: &str| arguments.get(name).filter(|value| !value.is_null());
    let is_endless = given("timeout_secs").is_some_and(|secs| secs.as_f64() == Some(0.0));
    given("wait_secs").is_none() && !is_endless
}

/// Returns the task of a run that an answer says was started; `None` where none was.
pub(super) fn begun(desk: &Desk, answer: &Answer) -> Option<Task> {
    if answer.is_refusal {
        return None;
    }
    let id = answer.object.get("id").or(answer.object.get("run_id"))?;
    let id = RunId::parse(id.as_str()?).ok()?;
    let store = desk.open().ok()?;
    let record = store.record(&id).ok()?;
    Some(view(&store, &record, Map::new()))
}

/// Returns a run as a task with what it brought. It counts as read, and its end as told.
pub(super) fn now(desk: &Desk, caller: &Caller, id: &str) -> Result<Task, RequestError> {
    let (store, record) = known(desk, id)?;
    store.mark_read(&record.id);
    let detail = match word(&record) {
        INPUT_REQUIRED => one("inputRequests", questions(&record)),
        "completed" => one("result", brought(&store, &record)?.into()),
        "failed" => one("error", failure(&store, &record)),
        _ => Map::new(),
    };
    if record.status.is_ended() {
        desk.note_told(caller, &[record.id]);
    }
    Ok(view(&store, &record, detail))
}

/// Asks a run to stop. One that has ended stays as it is, with what it left behind.
pub(super) fn cancel(desk: &Desk, caller: &Caller, id: &str) -> Result<(), RequestError> {
    let (store, record) = known(desk, id)?;
    if record.status.is_ended() {
        return Ok(());
    }
    let query = CancelQuery {
        grace_ms: None,
        by: Some(caller.host.clone().unwrap_or_else(|| "mcp".to_owned())),
        no_wait: true,
    };
    match store.cancel(&record.id, &query) {
        Ok(_) => Ok(()),
        Err(CancelError::Read(_)) => Err(unknown(id)),
        Err(error) => Err(RequestError::internal(error.to_string())),
    }
}

/// Returns the run of this id.
pub(super) fn known(desk: &Desk, id: &str) -> Result<(Store, Record), RequestError> {
    let run = RunId::parse(id).map_err(|_| unknown(id))?;
    let store = desk.open().map_err(|failure| broken(&failure))?;
    let record = store.record(&run).map_err(|_| unknown(id))?;
    Ok((store, record))
}

fn unknown(id: &str) -> RequestError {
    let id = cut_chars(&clean(id), limits::LABEL_CHARS);
    RequestError::params(format!(
        "there is no task `{id}`; `background_list` has the runs of this project"
    ))
}

fn broken(failure: &Failure) -> RequestError {
    RequestError::internal(failure.sentence())
}

/// Returns the status of a task by that of its run.
fn word(record: &Record) -> &'static str {
    match record.status {
        Status::Queued | Status::Running if record.needs_approval.is_some() => INPUT_REQUIRED,
        Status::Queued | Status::Running => "working",
        Status::Completed | Status::Failed | Status::TimedOut => "completed",
        Status::Cancelled => "cancelled",
        Status::Interrupted => "failed",
    }
}

fn one(name: &str, value: Value) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert(name.to_owned(), value);
    map
}

/// Returns what an agent run asks, in the form in which hosts ask a person.
///
/// Its key is the ask, which is never asked again.
fn questions(record: &Record) -> Value {
    let Some(asked) = &record.needs_approval else {
        return json!({});
    };
    let (tool, question) = (clean(&asked.tool), &asked.question);
    json!({asked.ask.clone(): {
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": format!("An agent asks to use {tool}, beyond its sandbox: {question}"),
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "approve": {"type": "boolean", "description": "Whether it may"},
                    "text": {"type": "string", "description": "Words for the agent"},
                },
                "required": ["approve"],
            },
        },
    }})
}

/// Takes what a person said to what a run asked. Words on anything else are passed over.
pub(super) fn answered(
    desk: &Desk,
    caller: &Caller,
    id: &str,
    answers: &Map<String, Value>,
) -> Result<(), RequestError> {
    let (store, record) = known(desk, id)?;
    store.mark_read(&record.id);
    let by = caller.host.as_deref().unwrap_or("mcp");
    for (ask, said) in answers {
        let content = &said["content"];
        let approved = said["action"] == "accept" && content["approve"] == true;
        let text = content["text"]
            .as_str()
            .filter(|text| !text.trim().is_empty());
        // One that is not open any more was answered by somebody else, who was first.
        let answer = store.answer(&record.id, Some(ask), approved, text, by);
        if let Err(error @ AnswerError::NoAnswer { .. }) = answer {
            return Err(RequestError::internal(error.to_string()));
        }
    }
    Ok(())
}

/// Returns the answer of the tool that reads such a run as a result; what did not end well is an
/// error.
fn brought(store: &Store, record: &Record) -> Result<Map<String, Value>, RequestError> {
    if agents::is_ours(store, &record.id) {
        return of_agent(store, record);
    }
    let answer = read::about(store, record, &read::newest(), Vec::new());
    let answer = answer.map_err(|failure| broken(&failure))?;
    let is_error = record.status != Status::Completed;
    Ok(wire::result(answer.object, is_error))
}

fn of_agent(store: &Store, record: &Record) -> Result<Map<String, Value>, RequestError> {
    let polled = store.poll(&record.id, &PollQuery::default());
    let polled = polled.map_err(|error| RequestError::internal(error.to_string()))?;
    let answer = assistant::told(&polled, Vec::new());
    let is_error = record.status != Status::Completed;
    Ok(wire::result(answer.object, is_error))
}

/// Returns the error of a run that was interrupted, with what it had printed.
fn failure(store: &Store, record: &Record) -> Value {
    let summary = record.summary.as_deref().unwrap_or("interrupted");
    let answer = if agents::is_ours(store, &record.id) {
        let polled = store.poll(&record.id, &PollQuery::default());
        polled
            .ok()
            .map(|polled| assistant::told(&polled, Vec::new()))
    } else {
        read::about(store, record, &read::newest(), Vec::new()).ok()
    };
    json!({
        "code": INTERNAL_ERROR,
        "message": format!("run {}: {}", record.id, clean(summary)),
        "data": answer.map(|answer| answer.object),
    })
}

fn view(store: &Store, record: &Record, detail: Map<String, Value>) -> Task {
    let now = clock::now().unix_ms();
    let created = record.created.unix_ms();
    let ended = record.ended.map_or(now, Timestamp::unix_ms);
    // Kept so long after the end; the protocol counts from the beginning.
    let kept_ms = u64::from(store.limits().retention_days).saturating_mul(DAY_MS);
    Task {
        id: record.id.to_string(),
        status: word(record),
        detail,
        message: message(record),
        created_at: record.created.to_string(),
        updated_at: record.updated.to_string(),
        ttl_ms: Some(ended.saturating_sub(created).saturating_add(kept_ms)),
        poll_ms: poll_after_ms(record),
    }
}

/// Returns when another look at a run is worth it, in milliseconds from now.
pub(super) fn poll_after_ms(record: &Record) -> u64 {
    let now = clock::now().unix_ms();
    poll_ms(now.saturating_sub(record.updated.unix_ms()))
}

/// Returns when another look is worth it: the longer nothing changed, the later.
fn poll_ms(quiet_ms: u64) -> u64 {
    let later = quiet_ms / limits::POLL_QUIET_PARTS;
    later.clamp(limits::POLL_AFTER_MS, limits::POLL_AFTER_MS_MAX)
}

/// Returns id, state, limit, posture and last line.
fn message(record: &Record) -> String {
    let state = match record.exit_code {
        Some(code) => format!("{} (exit {code})", record.status),
        None => record.status.to_string(),
    };
    let limit = match record.timeout_secs {
        Some(secs) => format!("limit {}", words::limit(ms(secs))),
        None => "no limit".to_owned(),
    };
    let posture = record.posture.line();
    let line = record.summary.as_deref().map(clean).unwrap_or_default();
    let id = record.id;
    if line.is_empty() {
        return format!("run {id}: {state}; {limit}; {posture}");
    }
    format!("run {id}: {state}; {limit}; {posture}; {line}")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time limit is positive and below 2^53 ms"
)]
fn ms(secs: f64) -> u64 {
    (secs * 1_000.0) as u64
}

#[cfg(test)]
mod tests;
