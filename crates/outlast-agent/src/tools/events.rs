//! `events_query`: what happened in this run, as its journal has it.

use super::arguments::Arguments;
use super::{Outcome, Refusal, Surroundings};
use outlast_journal::Seq;
use outlast_journal::limits::{CALL_SHOWN_BYTES, POLL_EVENTS_MAX};
use outlast_journal::text::cut_chars;
use outlast_lib::{Advice, Event};
use serde_json::{Value, json};
use std::fmt::Write;

/// Events that are shown unless more are asked for.
const EVENTS: u64 = 50;
/// One event, in characters.
const EVENT_CHARS: usize = 400;

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": {"type": "string", "description": "only these: tool_failed, note, text …"},
            "contains": {"type": "string", "description": "only those with this text"},
            "limit": {"type": "integer", "minimum": 1, "maximum": POLL_EVENTS_MAX},
        },
        "additionalProperties": false,
    })
}

/// Shows the newest events that fit, in their order.
pub(super) fn query(around: &Surroundings, arguments: &Arguments) -> Result<Outcome, Refusal> {
    let page = around
        .store
        .events(&around.run, Seq::default(), POLL_EVENTS_MAX)
        .map_err(|error| Refusal {
            code: error.code(),
            why: format!("{error}; {}", error.hint()),
        })?;
    let wanted = arguments.text("type").filter(|wanted| !wanted.is_empty());
    let part = arguments.text("contains").unwrap_or_default();
    let lines: Vec<String> = page
        .events
        .iter()
        .filter(|event| wanted.is_none_or(|wanted| event.kind == wanted))
        .map(line)
        .filter(|line| line.contains(part))
        .collect();
    let limit = arguments.number("limit").unwrap_or(EVENTS);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut bytes = 0;
    let newest: Vec<&String> = lines
        .iter()
        .rev()
        .take(limit)
        .take_while(|line| {
            bytes += line.len();
            bytes <= CALL_SHOWN_BYTES
        })
        .collect();
    let mut text = String::new();
    let left_out = lines.len() - newest.len();
    if left_out > 0 {
        writeln!(text, "[{left_out} older events are not shown]").ok();
    }
    newest.iter().rev().for_each(|line| text.push_str(line));
    if lines.is_empty() {
        text.push_str("[no event fits]\n");
    }
    Ok(Outcome::done(
        text,
        &format!("events_query: {} events", newest.len()),
    ))
}

fn line(event: &Event) -> String {
    let message = event.message.as_deref().unwrap_or_default();
    let message = cut_chars(&message.replace('\n', " "), EVENT_CHARS);
    let call = event.data.get("call").and_then(Value::as_str);
    let call = call.map(|call| format!(" (call {call})"));
    let call = call.unwrap_or_default();
    format!(
        "{} {} {}{call}: {message}\n",
        event.seq.0, event.ts, event.kind
    )
}

#[cfg(test)]
mod tests;
