//! `call_output`: the rest of what an earlier call printed.

use super::arguments::Arguments;
use super::shell::{ended_line, page};
use super::{Outcome, Refusal, Surroundings};
use outlast_journal::limits::{CALL_SHOWN_BYTES, TOOL_CONTEXT_LINES_MAX};
use outlast_lib::{Advice, OutputFrom, OutputQuery};
use serde_json::{Value, json};
use std::fmt::Write;

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "call": {"type": "string", "minLength": 1, "description": "as the shell call named it"},
            "from_byte": {"type": "integer", "description": "the newest part when absent"},
            "grep": {"type": "string", "description": "regular expression: only lines that match"},
            "context": {"type": "integer", "maximum": TOOL_CONTEXT_LINES_MAX},
        },
        "required": ["call"],
        "additionalProperties": false,
    })
}

/// Reads a part of the output of a call of this run, or of one that it goes on with.
pub(super) fn read(around: &Surroundings, arguments: &Arguments) -> Result<Outcome, Refusal> {
    let call = arguments.required("call");
    let runs = std::iter::once(&around.run).chain(&around.earlier);
    let log = runs
        .into_iter()
        .find_map(|run| around.store.call_log(run, call));
    let Some(log) = log else {
        let why = format!("there is no output of a call `{call}`; `events_query` has the calls");
        return Err(Refusal::new("no_such_call", why));
    };
    let context = arguments.number("context").unwrap_or(0);
    let query = OutputQuery {
        from: arguments
            .number("from_byte")
            .map_or(OutputFrom::Newest, OutputFrom::Byte),
        bytes_max: CALL_SHOWN_BYTES,
        lines: None,
        grep: arguments
            .text("grep")
            .filter(|grep| !grep.is_empty())
            .map(str::to_owned),
        context: usize::try_from(context).unwrap_or_default(),
    };
    let page = page(around, &log, &query).map_err(|error| {
        let why = format!("{error}; {}", error.hint());
        Refusal {
            code: error.code(),
            why,
        }
    })?;
    let mut text = ended_line(page.text);
    let (from, next, total) = (page.from_byte, page.next_byte, page.total_bytes);
    if query.grep.is_some() && page.matches.is_empty() {
        text.push_str("[no line matches]\n");
    }
    write!(text, "[bytes {from}–{next} of {total}").ok();
    if next < total {
        write!(text, "; read on with from_byte {next}").ok();
    }
    text.push_str("]\n");
    let brief = format!("call_output {call}: bytes {from}–{next} of {total}");
    Ok(Outcome::done(text, &brief))
}
