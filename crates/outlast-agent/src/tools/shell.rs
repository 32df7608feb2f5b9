//! `shell`: a text for a shell, and what is shown of its output.

use super::arguments::Arguments;
use super::outcome::brief_of;
use super::{Outcome, Plan, Surroundings};
use outlast_journal::limits::{CALL_MS, CALL_SHOWN_BYTES, TIMEOUT_MS_MAX};
use outlast_journal::worker::{CallEnd, CallEnded, CallProgram};
use outlast_lib::{OutputError, OutputFrom, OutputPage, OutputQuery};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Parts of what is shown, of which one is the head where the middle is left out.
const PARTS: usize = 4;
/// The argument that wants the call done on the host.
const ON_HOST: &str = "on_host";

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1},
            "timeout_secs": {
                "type": "integer", "minimum": 1, "maximum": TIMEOUT_MS_MAX / 1_000,
                "description": format!("{} unless given", CALL_MS / 1_000),
            },
        },
        "required": ["command"],
        "additionalProperties": false,
    })
}

/// The schema where a person can be asked.
pub(super) fn schema_with_host() -> Value {
    let mut schema = schema();
    schema["properties"][ON_HOST] = json!({
        "type": "boolean",
        "description": "outside of the containment; a person is asked first",
    });
    schema
}

/// Returns whether a call is to be done on the host.
pub(super) fn wants_host(arguments: &Value) -> bool {
    arguments.get(ON_HOST).and_then(Value::as_bool) == Some(true)
}

pub(super) fn plan(arguments: &Arguments) -> Plan {
    let timeout = arguments.number("timeout_secs");
    Plan::Hands {
        program: CallProgram::Shell(arguments.required("command").to_owned()),
        stdin: None,
        timeout_ms: timeout.map_or(CALL_MS, |secs| secs.saturating_mul(1_000)),
    }
}

/// Returns how it ended, and the head and the tail of what it printed.
pub(super) fn finish(
    around: &Surroundings,
    arguments: &Value,
    ended: &CallEnded,
    log: &Path,
) -> Outcome {
    let how = end_in_words(ended);
    let secs = ended.elapsed_ms / 1_000;
    let tenths = ended.elapsed_ms % 1_000 / 100;
    let mut text = format!("[{how}, {secs}.{tenths} s]\n");
    text.push_str(&excerpt(around, &ended.call, log, 0));
    let brief = format!("{}: {how}", brief_of("shell", arguments));
    let ok = ended.end == CallEnd::Exited && ended.exit_code == Some(0);
    let outcome = if ok {
        Outcome::done(text, &brief)
    } else {
        Outcome::failed(text, &brief)
    };
    Outcome {
        exit_code: ended.exit_code,
        ..outcome
    }
}

/// Returns how a call ended.
pub(super) fn end_in_words(ended: &CallEnded) -> String {
    let secs = ended.elapsed_ms / 1_000;
    match ended.end {
        CallEnd::Exited if ended.is_out_of_memory => {
            "out of memory: it used up what this run may use, and was killed".to_owned()
        }
        CallEnd::Exited => match (&ended.signal, ended.exit_code) {
            (Some(signal), _) => format!("killed by SIG{signal}"),
            (None, Some(code)) => format!("exit code {code}"),
            (None, None) => "ended".to_owned(),
        },
        CallEnd::TimedOut => format!("timed out after {secs} s and was stopped"),
        CallEnd::Cancelled => "stopped, since the run is being cancelled".to_owned(),
        CallEnd::NotStarted => {
            let failure = ended.failure.as_ref();
            let why = failure.map_or("nobody knows why", |failure| &failure.message);
            format!("not started: {why}")
        }
    }
}

/// Returns what is shown of the output of a call from byte `start` on: all of it, or its head
/// and its tail.
pub(super) fn excerpt(around: &Surroundings, call: &str, log: &Path, start: u64) -> String {
    let shown = parts(around, call, log, start);
    shown.unwrap_or_else(|error| format!("[the output cannot be read: {error}]\n"))
}

fn parts(around: &Surroundings, call: &str, log: &Path, start: u64) -> Result<String, OutputError> {
    let part = |from, bytes_max| {
        let query = OutputQuery {
            from,
            bytes_max,
            ..OutputQuery::default()
        };
        page(around, log, &query)
    };
    let whole = part(OutputFrom::Byte(start), CALL_SHOWN_BYTES)?;
    if whole.total_bytes <= start {
        return Ok("[no output]\n".to_owned());
    }
    if !whole.truncated {
        return Ok(ended_line(whole.text));
    }
    let head = part(OutputFrom::Byte(start), CALL_SHOWN_BYTES / PARTS)?;
    let tail = part(
        OutputFrom::Newest,
        CALL_SHOWN_BYTES - CALL_SHOWN_BYTES / PARTS,
    )?;
    let (from, to) = (head.next_byte, tail.from_byte);
    let total = whole.total_bytes;
    if from >= to {
        // Redrawn lines: what they come to is less than what was written.
        let rest = part(OutputFrom::Byte(from), CALL_SHOWN_BYTES)?;
        return Ok(ended_line(head.text) + &ended_line(rest.text));
    }
    let last = to - 1;
    let mut text = ended_line(head.text);
    writeln!(
        text,
        "[bytes {from}–{last} of {total} are not shown; read on with call_output \
         {{\"call\":\"{call}\",\"from_byte\":{from}}}]"
    )
    .ok();
    text.push_str(&ended_line(tail.text));
    Ok(text)
}

/// Returns a part of the log of a call. Its run is looked up by the log's own place.
pub(super) fn page(
    around: &Surroundings,
    log: &Path,
    query: &OutputQuery,
) -> Result<OutputPage, OutputError> {
    let is_of = |run: &&outlast_journal::RunId| log.iter().any(|part| part == run.as_str());
    let run = around.earlier.iter().find(is_of);
    let run = run.unwrap_or(&around.run);
    around.store.call_output(run, log, query)
}

/// Returns a text that ends in a line break.
pub(super) fn ended_line(mut text: String) -> String {
    if !text.ends_with('\n') && !text.is_empty() {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests;
