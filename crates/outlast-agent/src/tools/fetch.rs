//! `http_request`: one request that a hand makes on the host, and its answer.

use super::arguments::Arguments;
use super::{Outcome, Plan, Refusal, Surroundings, shell};
use crate::hand::{Fetch, HandAnswer, HandAsk, Task};
use outlast_journal::limits::{FETCH_SECS, FETCH_SECS_MAX, WRITE_BYTES_MAX};
use outlast_journal::worker::{CallEnd, CallEnded, CallProgram};
use serde_json::{Value, json};
use std::path::Path;

/// Time that the process itself takes beside the request, in milliseconds.
const MORE_MS: u64 = 10_000;

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "url": {"type": "string", "minLength": 1, "description": "http or https"},
            "method": {
                "type": "string",
                "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
            },
            "headers": {
                "type": "array", "maxItems": 32,
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
                    "required": ["name", "value"],
                    "additionalProperties": false,
                },
            },
            "body": {"type": "string"},
            "timeout_secs": {"type": "integer", "minimum": 1, "maximum": FETCH_SECS_MAX},
        },
        "required": ["url"],
        "additionalProperties": false,
    })
}

pub(super) fn plan(arguments: &Arguments) -> Result<Plan, Refusal> {
    let url = arguments.required("url");
    if !url.starts_with("http://") && !url.starts_with("https://") {
        let why = format!("`{url}` is no address of http or https");
        return Err(Refusal::new("bad_url", why));
    }
    let body = arguments.text("body");
    if body.is_some_and(|body| body.len() > WRITE_BYTES_MAX) {
        let why = format!("`body` is longer than {WRITE_BYTES_MAX} bytes");
        return Err(Refusal::new("too_long", why));
    }
    let headers = arguments.value("headers").and_then(Value::as_array);
    let text = |header: &Value, name: &str| header[name].as_str().unwrap_or_default().to_owned();
    let headers = headers.into_iter().flatten();
    let headers = headers.map(|header| (text(header, "name"), text(header, "value")));
    let timeout_ms = arguments.number("timeout_secs").unwrap_or(FETCH_SECS) * 1_000;
    let fetch = Fetch {
        method: arguments.text("method").unwrap_or("GET").to_owned(),
        url: url.to_owned(),
        headers: headers.collect(),
        body: body.map(str::to_owned),
        timeout_ms,
    };
    Ok(Plan::Hands {
        program: CallProgram::Hand,
        stdin: Some(HandAsk::new(Task::Fetch(fetch), None).to_line()),
        timeout_ms: timeout_ms + MORE_MS,
    })
}

/// Returns the answer, with head and tail of its body. A status from 400 on is a failure.
pub(super) fn finish(
    around: &Surroundings,
    arguments: &Value,
    ended: &CallEnded,
    log: &Path,
) -> Outcome {
    let brief = super::outcome::brief_of("http_request", arguments);
    let found = (ended.end == CallEnd::Exited)
        .then(|| HandAnswer::in_log(log))
        .flatten();
    let Some(answer) = found else {
        let how = shell::end_in_words(ended);
        let text =
            format!("error: the request did not come to its end ({how})\ncode: hand_failed\n");
        return Outcome::failed(text, &format!("{brief}: {how}"));
    };
    if let Some(refused) = answer.refused {
        let text = format!("error: {}\ncode: {}\n", refused.why, refused.code);
        return Outcome::failed(text, &format!("{brief}: {}", refused.code));
    }
    let said = answer.said.unwrap_or_default();
    let status = answer.status.unwrap_or_default();
    let mut text = said + "\n";
    text.push_str(&shell::excerpt(around, &ended.call, log, answer.body_at));
    let brief = format!("{brief}: status {status}");
    if status < 400 {
        Outcome::done(text, &brief)
    } else {
        Outcome::failed(text, &brief)
    }
}

#[cfg(test)]
mod tests;
