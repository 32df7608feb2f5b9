//! `background_wait`: for runs to end, or for a line of output. It never ends a run.

use super::{
    answer::{Answer, short},
    arguments::{ArgumentError, Arguments, clamp},
    assistant::asked_for,
    desk::label,
    read::LIVE,
    tools::{Call, bad, wait_secs_max},
};
use crate::{
    failure::{Failure, exit},
    surface::read_failure,
};
use outlast_lib::{ListQuery, RunId, WaitError, WaitQuery, Waited, limits};
use outlast_supervisor::clock;
use serde_json::{Value, json};

/// Waits for the first of some runs to end, or for all.
pub(super) fn wait(call: &Call<'_>, arguments: &mut Arguments) -> Result<Answer, Failure> {
    let mut notices = Vec::new();
    let asked = Asked::read(call, arguments, &mut notices).map_err(|error| bad(&error))?;
    let (ids, unknown) = match &asked.ids {
        Some(typed) => resolve(call, typed)?,
        None => (running(call)?, Vec::new()),
    };
    let query = WaitQuery {
        any: asked.any,
        timeout_ms: Some(asked.wait_secs.saturating_mul(1_000)),
        until_output: asked.until_output.as_deref(),
        until_asked: true,
        interrupt: Some(call.interrupt),
    };
    let waited = call.store.wait(&ids, &query);
    let waited = waited.map_err(|error| wait_failure(&error))?;
    answer(call, &asked, &waited, unknown, notices)
}

struct Asked {
    ids: Option<Vec<String>>,
    any: bool,
    wait_secs: u64,
    until_output: Option<String>,
}

impl Asked {
    fn read(
        call: &Call<'_>,
        from: &mut Arguments,
        notices: &mut Vec<String>,
    ) -> Result<Self, ArgumentError> {
        let most = wait_secs_max(call.caller.host.as_deref());
        let wait_secs = from.number("wait_secs")?;
        let wait_secs = wait_secs.unwrap_or(limits::TOOL_WAIT_SECS);
        Ok(Self {
            ids: from.texts("ids")?,
            any: from.flag("any")?.unwrap_or(true),
            wait_secs: clamp(notices, "wait_secs", wait_secs, 0, most),
            until_output: from.text("until_output")?,
        })
    }
}

/// Returns the runs that are meant, and what means none.
fn resolve(call: &Call<'_>, typed: &[String]) -> Result<(Vec<RunId>, Vec<Value>), Failure> {
    let mut ids = Vec::new();
    let mut unknown = Vec::new();
    for typed in typed {
        match call.find(typed)? {
            Some(id) => ids.push(id),
            None => unknown.push(json!({"id": typed, "found": false})),
        }
    }
    Ok((ids, unknown))
}

/// Returns the runs of this session that have not ended.
fn running(call: &Call<'_>) -> Result<Vec<RunId>, Failure> {
    let listing = call.store.list(&ListQuery {
        session: Some(call.desk.session(call.caller)),
        statuses: LIVE.to_vec(),
        limit: usize::try_from(limits::TOOL_LIST_RUNS_MAX).unwrap_or(usize::MAX),
        ..ListQuery::default()
    });
    let records = listing.map_err(|error| read_failure(&error))?.records;
    Ok(records.iter().map(|record| record.id).collect())
}

fn answer(
    call: &Call<'_>,
    asked: &Asked,
    waited: &Waited,
    unknown: Vec<Value>,
    notices: Vec<String>,
) -> Result<Answer, Failure> {
    let record = |id: &RunId| {
        let record = call.store.record(id);
        record.map_err(|error| read_failure(&error))
    };
    let mut ended = Vec::new();
    for id in &waited.ended {
        ended.push(short(&record(id)?.short()));
    }
    let mut running = Vec::new();
    let mut is_asked = false;
    let now = clock::now().unix_ms();
    for id in &waited.running {
        let record = record(id)?;
        let mut shown = json!({
            "id": record.id,
            "label": label(&record.label),
            "elapsed_ms": record.elapsed_ms,
        });
        if let (Some(asked), Some(fields)) = (asked_for(&record, now), shown.as_object_mut()) {
            fields.insert("needs_approval".to_owned(), asked);
            is_asked = true;
        }
        running.push(shown);
    }
    let matched = waited.matched.as_ref();
    let matched =
        matched.map(|found| json!({"id": found.id, "line": found.line, "byte": found.byte}));
    let mut answer = Answer::fine()
        .with("ended", ended)
        .with("running", running)
        .with_some("matched", matched)
        .with_list("unknown", unknown)
        .with_list("notices", notices.into_iter().map(Into::into).collect())
        .with("message", message(asked, waited, is_asked));
    answer.told.clone_from(&waited.ended);
    Ok(answer)
}

fn message(asked: &Asked, waited: &Waited, is_asked: bool) -> &'static str {
    let has_ended = !waited.ended.is_empty();
    if waited.matched.is_some() {
        return "A line matched.";
    }
    if is_asked && !has_ended {
        return "One waits for an answer: background_send `approve` or `deny`.";
    }
    match (has_ended, waited.running.is_empty()) {
        (false, true) if asked.ids.is_some() => {
            "There is no such run. background_list has the ids."
        }
        (false, true) => "No run of this session is running.",
        (true, true) if asked.until_output.is_some() => {
            "Ended, and no line matched. Next: background_output."
        }
        (true, true) => "Ended. Next: background_output.",
        (true, false) => "Some ended. Next: background_output, or wait for the rest.",
        (false, false) => "Still running, which is normal. Wait again, or do other work.",
    }
}

fn wait_failure(error: &WaitError) -> Failure {
    if let WaitError::Read(error) = error {
        return read_failure(error);
    }
    Failure::new(error, exit::USAGE)
}
