//! The assistant tools: an agent run is started, looked at, and asked to stop.
//!
//! Their arguments are read whole before anything is done, since what is wrong
//! with them is an error of the protocol. What cannot be done is an answer.

use super::{
    answer::Answer,
    arguments::{ArgumentError, Arguments, clamp},
    run, task,
    tools::Call,
};
use crate::{
    agents::{self, Asked},
    failure::{Failure, exit},
    sandbox,
    surface::read_failure,
};
use outlast_journal::agent::document::Sandbox;
use outlast_lib::{
    Begun, CancelQuery, FindError, PollQuery, Polled, Record, Request, RequestError, Seq,
    StartError, Timestamp, limits,
};
use outlast_supervisor::clock;
use serde_json::{Value, json};
use std::path::Path;

/// Arguments of `assistant_start`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Start {
    asked: Asked,
    cwd: Option<String>,
    invoked_by: Option<String>,
    idle_ttl_secs: Option<u64>,
    idempotency_key: Option<String>,
}

impl Start {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// Fails on the first that does not fit.
    pub(super) fn read(from: &mut Arguments) -> Result<Self, ArgumentError> {
        let read = Self {
            asked: Asked {
                task: from.needed_text("task")?,
                until: from.text("until")?,
                turns_max: from.number("max_turns")?,
                is_local: from.flag("local")?.unwrap_or(false),
                model: from.text("model")?,
                ..Asked::default()
            },
            cwd: from.text("cwd")?,
            invoked_by: from.text("invoked_by")?,
            idle_ttl_secs: from.number("idle_ttl_secs")?,
            idempotency_key: from.text("idempotency_key")?,
        };
        let bytes = read.asked.task.len();
        if bytes > limits::TASK_BYTES_MAX {
            return Err(ArgumentError::TooLong {
                name: "task",
                bytes,
                bytes_max: limits::TASK_BYTES_MAX,
            });
        }
        Ok(read)
    }
}

/// Arguments of `assistant_poll`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Poll {
    run: String,
    since_seq: Option<u64>,
    max_bytes: Option<u64>,
}

impl Poll {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// Fails on the first that does not fit.
    pub(super) fn read(from: &mut Arguments) -> Result<Self, ArgumentError> {
        Ok(Self {
            run: from.needed_text("run_id")?,
            since_seq: from.number("since_seq")?,
            max_bytes: from.number("max_bytes")?,
        })
    }
}

/// Starts an agent run and returns its handle.
pub(super) fn start(call: &Call<'_>, asked: Start) -> Result<Answer, Refused> {
    let mut notices = Vec::new();
    let request = request(call, asked, &mut notices)?;
    let begun = run::start_once(call, request);
    let begun = begun.map_err(|error| {
        if let StartError::Request(wrong) = &error
            && is_argument(wrong)
        {
            return Refused::Argument(wrong.to_string());
        }
        Refused::Failure(run::start_failure(&error))
    })?;
    if !begun.is_replayed {
        call.desk.note_start();
    }
    // A start counts as reading, also one that found the run there already.
    call.store.mark_read(&begun.id);
    let record = call.store.record(&begun.id);
    let record = record.map_err(|error| read_failure(&error))?;
    notices.extend(begun.notices.iter().cloned());
    Ok(started(call, &begun, &record, notices)?)
}

/// Returns whether it is the caller's own words that are wrong.
fn is_argument(wrong: &RequestError) -> bool {
    matches!(
        wrong,
        RequestError::EmptyCommand
            | RequestError::Blank { .. }
            | RequestError::NulByte { .. }
            | RequestError::TooLong { .. }
    )
}

/// Why an assistant tool does not do what it is asked.
pub(super) enum Refused {
    /// An argument is wrong: an error of the protocol.
    Argument(String),
    /// It cannot be done: an answer.
    Failure(Failure),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

fn request(call: &Call<'_>, asked: Start, notices: &mut Vec<String>) -> Result<Request, Failure> {
    let cwd = call.desk.cwd(call.caller, asked.cwd.as_deref());
    check_directory(&cwd)?;
    let command = asked.asked.command(&call.config)?;
    let ancestry = agents::ancestry(call.desk.invoked_by(), asked.invoked_by.as_deref());
    let idle_ms = match asked.idle_ttl_secs {
        Some(secs) => secs.saturating_mul(1_000),
        None => limits::AGENT_IDLE_MS,
    };
    let mut request = Request {
        idle_ttl_ms: Some(idle_ms),
        idempotency_key: asked.idempotency_key,
        ..run::plain_request(call, command, cwd)
    };
    agents::hand_down(&mut request, ancestry);
    let bound = call.desk.bind(
        &call.config,
        call.caller,
        &mut request,
        sandbox::Asked::default(),
    )?;
    notices.extend(bound);
    Ok(request)
}

fn check_directory(cwd: &Path) -> Result<(), Failure> {
    if cwd.is_dir() {
        return Ok(());
    }
    let error = ArgumentError::NoDirectory {
        path: cwd.to_string_lossy().into_owned(),
    };
    Err(Failure::new(&error, exit::USAGE))
}

fn started(
    call: &Call<'_>,
    begun: &Begun,
    record: &Record,
    notices: Vec<String>,
) -> Result<Answer, Failure> {
    let spec = call.store.spec(&begun.id);
    let spec = spec.map_err(|error| read_failure(&error))?;
    let agent = spec.agent.as_deref();
    let sandbox = serde_json::to_value(Sandbox::of(&spec, &record.posture));
    let idle = spec.idle_ttl_ms.map(|ms| idle_ends_at(ms, clock::now()));
    let is_over = record.status.is_ended();
    Ok(Answer::fine()
        .with("run_id", begun.id.as_str())
        .with("status", agents::handle(record, None))
        .with("poll_after_ms", limits::POLL_AFTER_MS)
        .with_some("replayed", begun.is_replayed.then_some(true))
        .with("sandbox", sandbox.unwrap_or_default())
        .with("ancestry", record.origin.ancestry.clone())
        .with_some("max_turns", agent.map(|agent| agent.turns_max))
        .with_some("model", agent.map(|agent| agent.request.model.name.clone()))
        .with_some("idle_ends_at", idle.filter(|_| !is_over))
        .with_list("notices", notices.into_iter().map(Into::into).collect())
        .with("message", start_message(begun, record)))
}

fn idle_ends_at(idle_ms: u64, now: Timestamp) -> String {
    let ends = now.unix_ms().saturating_add(idle_ms);
    Timestamp(ends.min(Timestamp::MAX.unix_ms())).to_string()
}

fn start_message(begun: &Begun, record: &Record) -> String {
    let next = "Next: background_wait, then assistant_poll for the report.";
    match (begun.is_replayed, record.status.is_ended()) {
        (true, _) => format!(
            "Nothing new was started: this call, or its key, had started run {}, {}. {next}",
            begun.id, record.status
        ),
        (false, true) => format!("Has ended: {}. Next: assistant_poll.", record.status),
        (false, false) => format!("Works; it outlives your turn and this server. {next}"),
    }
}

/// Tells what is new of a run, and its result once it has ended.
pub(super) fn poll(call: &Call<'_>, asked: &Poll) -> Result<Answer, Failure> {
    let mut notices = Vec::new();
    let most = limits::POLL_BYTES_MAX as u64;
    let bytes_max = asked.max_bytes.unwrap_or(limits::POLL_BYTES as u64);
    let bytes_max = clamp(&mut notices, "max_bytes", bytes_max, 0, most);
    let Some(id) = call.find(&asked.run)? else {
        let typed = asked.run.clone();
        return Err(Failure::new(&FindError::NotFound { typed }, exit::NO_RUN));
    };
    call.store.mark_read(&id);
    let query = PollQuery {
        since: Seq(asked.since_seq.unwrap_or(0)),
        bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
    };
    let polled = call.store.poll(&id, &query);
    let polled = polled.map_err(|error| read_failure(&error))?;
    Ok(told(&polled, notices))
}

/// Returns what a poll brought as an answer.
pub(super) fn told(polled: &Polled, notices: Vec<String>) -> Answer {
    let Polled {
        record,
        page,
        document,
    } = polled;
    let is_ended = record.status.is_ended();
    let now = clock::now().unix_ms();
    let result = match document {
        Some(document) => serde_json::to_value(document).ok(),
        None => is_ended.then(|| serde_json::to_value(record).unwrap_or_default()),
    };
    let events = serde_json::to_value(&page.events).unwrap_or_default();
    let mut answer = Answer::fine()
        .with("run_id", record.id.as_str())
        .with("status", agents::handle(record, document.as_ref()))
        .with("cancelling", record.cancelling)
        .with_some("needs_approval", asked_for(record, now))
        .with_some("result", result)
        .with("events", events)
        .with("next_seq", page.next_seq.0)
        .with("more", page.more)
        .with("events_skipped", page.skipped)
        .with("ancestry", record.origin.ancestry.clone())
        .with("created_at", record.created.unix_ms() / 1_000)
        .with_some(
            "poll_after_ms",
            (!is_ended).then(|| task::poll_after_ms(record)),
        )
        .with_list("notices", notices.into_iter().map(Into::into).collect())
        .with("message", poll_message(polled));
    if is_ended {
        answer.told.push(record.id);
    }
    answer
}

/// Returns what somebody must say before the run goes on, with how long it waits for that.
pub(super) fn asked_for(record: &Record, now_ms: u64) -> Option<Value> {
    let asked = record.needs_approval.as_ref()?;
    let age_ms = now_ms.saturating_sub(asked.since.unix_ms());
    Some(json!({
        "ask": asked.ask,
        "tool": asked.tool,
        "question": outlast_journal::text::cut_chars(&asked.question, limits::LABEL_GIVEN_CHARS),
        "age_secs": age_ms / 1_000,
        "expires": asked.expires,
    }))
}

fn poll_message(polled: &Polled) -> String {
    let (record, page) = (&polled.record, &polled.page);
    let more = if page.more {
        format!(" More events: since_seq {}.", page.next_seq.0)
    } else {
        String::new()
    };
    if let Some(document) = &polled.document {
        return format!("Ended: {}.{more}", document.status);
    }
    if record.status.is_ended() {
        return format!("Ended: {}. Next: background_output.{more}", record.status);
    }
    if record.needs_approval.is_some() {
        return format!("Waits for an answer: background_send `approve` or `deny`.{more}");
    }
    match (record.cancelling, page.more, page.events.is_empty()) {
        (true, _, _) => format!("Stops at its next turn boundary.{more}"),
        (false, true, _) => format!("Works.{more}"),
        (false, false, true) => "Nothing new. Next: background_wait.".to_owned(),
        (false, false, false) => "Works. Next: background_wait.".to_owned(),
    }
}

/// Asks a run to stop, and answers at once. It is never refused.
pub(super) fn cancel(call: &Call<'_>, typed: &str) -> Answer {
    let answer = |id: &str, status: &str, message: &str| {
        Answer::fine()
            .with("run_id", id)
            .with("status", status)
            .with("message", message)
    };
    let found = call.find(typed).ok().flatten();
    let record = found.and_then(|id| call.store.record(&id).ok());
    let Some(record) = record else {
        return unknown(typed);
    };
    let id = record.id.as_str();
    if record.status.is_ended() {
        let mut over = answer(
            id,
            "already_terminal",
            "It had ended. Next: assistant_poll.",
        );
        over.told.push(record.id);
        return over;
    }
    let query = CancelQuery {
        grace_ms: None,
        by: Some(call.caller.host.clone().unwrap_or_else(|| "mcp".to_owned())),
        no_wait: true,
    };
    match call.store.cancel(&record.id, &query) {
        Ok(done) if done.was.is_ended() => answer(
            id,
            "already_terminal",
            "It had ended. Next: assistant_poll.",
        ),
        Ok(_) => answer(
            id,
            "cancelled",
            "Asked to stop; it still reports. Next: background_wait, then assistant_poll.",
        ),
        Err(_) => answer(
            id,
            "unknown",
            "It could not be asked now. Next: assistant_poll, then try again.",
        ),
    }
}

/// Returns the answer to a cancel of what is no run.
pub(super) fn unknown(typed: &str) -> Answer {
    Answer::fine()
        .with("run_id", typed)
        .with("status", "unknown")
        .with(
            "message",
            "There is no such run. background_list has the ids.",
        )
}
