//! Requests that change something: send, cancel, remove, acknowledge.

use super::{Answer, Call, find};
use crate::{
    agents,
    document::{CancelledRuns, Removed, Sent},
    failure::{Failure, exit},
    mcp::{ArgumentError, Arguments},
    serve::query::{Names, bad},
    surface::read_failure,
};
use outlast_lib::{CancelError, CancelQuery, RunId, SendError};
use serde::Serialize;

/// Arguments of a send.
pub(super) const SEND: [&str; 2] = ["text", "eof"];

/// Arguments of a cancel.
pub(super) const CANCEL: [&str; 3] = ["now", "grace_secs", "by"];

/// Arguments of an acknowledgement.
pub(super) const ACKNOWLEDGE: [&str; 2] = ["ids", "session"];

/// Writes to the stdin of a run.
pub(super) fn send(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.body(&SEND)?;
    let read = |from: &mut Arguments| {
        let text = from.exact_text("text")?;
        let eof = from.flag("eof")?.unwrap_or(false);
        if text.is_none() && !eof {
            return Err(ArgumentError::Missing { name: "text" });
        }
        Ok((text.unwrap_or_default(), eof))
    };
    let (text, eof) = read(&mut arguments).map_err(|error| bad(&error))?;
    let id = call.run()?;
    let accepted = call.store.send(&id, text.as_bytes(), eof);
    let accepted = accepted.map_err(|error| send_failure(&error))?;
    Ok(Answer::fine(&Sent::of(id, accepted)))
}

fn send_failure(error: &SendError) -> Failure {
    if let SendError::Read(error) = error {
        return read_failure(error);
    }
    if matches!(error, SendError::NoStdin { .. }) {
        let hint = "start it with `stdin: pipe` to send to it";
        return Failure::plain("no_stdin", error.to_string(), hint, exit::ERROR);
    }
    Failure::new(error, exit::ERROR)
}

/// Stops a run with everything it started, and returns when nothing of it is left.
pub(super) fn cancel(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.body(&CANCEL)?;
    let read = |from: &mut Arguments| {
        let now = from.flag("now")?.unwrap_or(false);
        let grace_ms = from.number("grace_secs")?;
        let grace_ms = grace_ms.map(|secs| secs.saturating_mul(1_000));
        Ok(CancelQuery {
            grace_ms: if now { Some(0) } else { grace_ms },
            by: Some(from.text("by")?.unwrap_or_else(|| "http".to_owned())),
            no_wait: false,
        })
    };
    let query = read(&mut arguments).map_err(|error: ArgumentError| bad(&error))?;
    let id = call.run()?;
    // An agent is asked: it ends its call, then tells what it did.
    let no_wait = query.grace_ms != Some(0) && agents::is_ours(&call.store, &id);
    let query = CancelQuery { no_wait, ..query };
    let cancelled = call.store.cancel(&id, &query);
    let cancelled = cancelled.map_err(|error| {
        if let CancelError::Read(error) = &error {
            return read_failure(error);
        }
        Failure::new(&error, exit::ERROR)
    })?;
    Ok(Answer::fine(&CancelledRuns::of(&[(id, cancelled)])))
}

/// Removes an ended run.
pub(super) fn remove(call: &Call<'_>) -> Result<Answer, Failure> {
    call.query(Names::default())?;
    let id = call.run()?;
    let removed = call.store.remove(&id);
    removed.map_err(|error| Failure::new(&error, exit::ERROR))?;
    Ok(Answer::fine(&Removed::of(&[id])))
}

/// Which ends were noted as told.
#[derive(Serialize)]
struct Acknowledged {
    schema: &'static str,
    acknowledged: Vec<RunId>,
}

/// Notes that a session was told of the ends of runs.
pub(super) fn acknowledge(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.body(&ACKNOWLEDGE)?;
    let read = |from: &mut Arguments| {
        let typed = from.texts("ids")?;
        let typed = typed.ok_or(ArgumentError::Missing { name: "ids" })?;
        Ok((typed, from.needed_text("session")?))
    };
    let read = read(&mut arguments).map_err(|error: ArgumentError| bad(&error));
    let (typed, session) = read?;
    let ids = typed.iter().map(|typed| find(call.mcp, &call.store, typed));
    let ids: Vec<RunId> = ids.collect::<Result<_, _>>()?;
    let noted = call.store.acknowledge(&ids, &session);
    noted.map_err(|error| {
        let message = format!("the ends cannot be noted as told: {error}");
        let hint = "make the store writable; `outlast doctor` says what is wrong with it";
        Failure::plain("not_acknowledged", message, hint, exit::ERROR)
    })?;
    Ok(Answer::fine(&Acknowledged {
        schema: "outlast.acknowledged/1",
        acknowledged: ids,
    }))
}
