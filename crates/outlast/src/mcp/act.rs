//! `background_send` and `background_cancel`: what changes a run.

use super::{
    answer::Answer,
    arguments::{ArgumentError, Arguments},
    tools::{Call, bad},
};
use crate::{
    agents::{self, Said, Words},
    failure::{Failure, exit},
    surface::read_failure,
};
use outlast_lib::{CancelError, CancelQuery, FindError};

/// Writes to the stdin of a run, or says to an agent run what it asked.
pub(super) fn send(call: &Call<'_>, arguments: &mut Arguments) -> Result<Answer, Failure> {
    let read = |arguments: &mut Arguments| {
        let id = arguments.needed_text("id")?;
        let text = arguments.exact_text("text")?;
        let eof = arguments.flag("eof")?.unwrap_or(false);
        if text.is_none() && !eof {
            return Err(ArgumentError::Missing { name: "text" });
        }
        Ok((id, text.unwrap_or_default(), eof))
    };
    let (typed, text, eof) = read(arguments).map_err(|error| bad(&error))?;
    let Some(id) = call.find(&typed)? else {
        return Err(Failure::new(&FindError::NotFound { typed }, exit::NO_RUN));
    };
    let by = call.caller.host.as_deref().unwrap_or("mcp");
    let words = Words { text: &text, by };
    let said = agents::say(&call.store, &id, &words, eof)?;
    let message = match &said {
        Said::Answered { approved: true, .. } => "Approved. Next: background_wait.",
        Said::Answered { .. } => "Denied. Next: background_wait.",
        Said::Sent { is_input: true, .. } => "The model gets it with its next turn.",
        Said::Sent { .. } if eof => "Sent, and stdin is closed. Next: background_wait.",
        Said::Sent { .. } => "Sent. Next: background_wait with until_output, or background_output.",
    };
    let answer = Answer::fine().with("id", id.as_str());
    let answer = match said {
        Said::Answered { ask, approved } => answer.with("ask", ask).with("approved", approved),
        Said::Sent { bytes, .. } => answer.with("accepted_bytes", bytes),
    };
    Ok(answer.with("message", message))
}

/// Stops a run with everything it started, and returns when nothing of it is left.
pub(super) fn cancel(call: &Call<'_>, arguments: &mut Arguments) -> Result<Answer, Failure> {
    let typed = arguments.needed_text("id").map_err(|error| bad(&error))?;
    let now = arguments.flag("now").map_err(|error| bad(&error))?;
    let Some(id) = call.find(&typed)? else {
        return Ok(Answer::fine()
            .with("id", typed)
            .with("cancelled", false)
            .with("status", serde_json::Value::Null)
            .with(
                "message",
                "There is no such run. background_list has the ids.",
            ));
    };
    let now = now.unwrap_or(false);
    let query = CancelQuery {
        grace_ms: now.then_some(0),
        by: Some(call.caller.host.clone().unwrap_or_else(|| "mcp".to_owned())),
        // An agent is asked: it ends its call, then tells what it did.
        no_wait: !now && agents::is_ours(&call.store, &id),
    };
    let cancelled = call.store.cancel(&id, &query);
    let cancelled = cancelled.map_err(|error| cancel_failure(&error))?;
    let is_asked = query.no_wait && !cancelled.status.is_ended();
    let message = match (cancelled.was.is_ended(), cancelled.leftovers_stopped) {
        (true, 0) => "It had ended before; nothing was left to stop.",
        (true, _) => "It had ended before; what it had left behind is stopped.",
        (false, _) if is_asked => {
            "Asked to stop; it still reports. Next: background_wait, then assistant_poll."
        }
        (false, _) if cancelled.cancelled => "Stopped, with everything it had started.",
        (false, _) => "It ended by itself while it was asked to stop.",
    };
    let mut answer = Answer::fine()
        .with("id", id.as_str())
        .with("cancelled", cancelled.cancelled || is_asked)
        .with("status", cancelled.status.to_string())
        .with("leftovers_stopped", cancelled.leftovers_stopped)
        .with("message", message);
    if cancelled.status.is_ended() {
        answer.told.push(id);
    }
    Ok(answer)
}

fn cancel_failure(error: &CancelError) -> Failure {
    if let CancelError::Read(error) = error {
        return read_failure(error);
    }
    Failure::new(error, exit::ERROR)
}
