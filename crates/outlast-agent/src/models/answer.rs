//! From the end of an answer to a turn.

use super::{Choice, TurnRequest, opaque, tap::Seen};
use crate::message::{Arguments, Message, ModelCall, StopReason, TokenUsage, Turn};
use genai::chat::{ContentPart, StopReason as LibraryStop, StreamEnd, ToolCall, Usage};
use outlast_journal::limits;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Why a call that the length limit cut must not run.
const CUT: &str = "it was cut by the limit of the output's length";
/// What some providers give as the reason to stop when the model wrote a call that they
/// could not read. The turn is worth nothing.
const MALFORMED: &str = "MALFORMED_FUNCTION_CALL";

/// Why an answer that ended is no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoTurn {
    /// It came to no end of its own.
    NoEnd,
    /// The provider could not read the call that the model wrote.
    MalformedCall,
}

/// Returns the turn.
///
/// # Errors
/// Says why the answer is none.
pub(super) fn turn(
    choice: &Choice,
    request: &TurnRequest<'_>,
    end: StreamEnd,
    seen: Seen,
) -> Result<Turn, NoTurn> {
    let stop = end.captured_stop_reason.ok_or(NoTurn::NoEnd)?;
    if stop.raw() == MALFORMED {
        return Err(NoTurn::MalformedCall);
    }
    let is_cut = stop.is_max_tokens() && !seen.is_filtered;
    let mut parts = end.captured_content.unwrap_or_default().into_parts();
    if seen.has_reasoning_content && !parts.iter().any(ContentPart::is_reasoning_content) {
        let reasoning = end.captured_reasoning_content;
        parts.extend(reasoning.map(ContentPart::ReasoningContent));
    }
    if !seen.refusal.is_empty() {
        parts.push(ContentPart::from_text(seen.refusal.as_str()));
    }
    parts.retain(|part| part.as_text().is_none_or(|text| !text.is_empty()));
    let calls = calls(request, &mut parts, is_cut);
    let texts = parts.iter().filter_map(ContentPart::as_text);
    Ok(Turn {
        text: texts.collect(),
        stop: stop_reason(&stop, &seen, !calls.is_empty()),
        calls,
        usage: end.captured_usage.map(usage).unwrap_or_default(),
        opaque: opaque::keep(choice.provider, parts),
        model: seen.model.unwrap_or_else(|| choice.name.clone()),
    })
}

/// Takes the calls out of the parts. In the parts, their ids and arguments are set so that
/// the provider takes them back.
fn calls(request: &TurnRequest<'_>, parts: &mut [ContentPart], is_cut: bool) -> Vec<ModelCall> {
    let mut ids = known_ids(request.messages);
    let calls = parts.iter_mut().filter_map(|part| match part {
        ContentPart::ToolCall(call) => Some(call),
        ContentPart::Text(_)
        | ContentPart::Binary(_)
        | ContentPart::ToolResponse(_)
        | ContentPart::ThoughtSignature(_)
        | ContentPart::ReasoningContent(_)
        | ContentPart::Custom(_) => None,
    });
    let mut calls: Vec<&mut ToolCall> = calls.collect();
    let count = calls.len();
    let calls = calls.iter_mut().zip(1_usize..).map(|(call, number)| {
        call.call_id = unused(&mut ids, &call.call_id);
        let mut arguments = arguments(&call.fn_arguments);
        if is_cut && number == count {
            arguments = malformed(&call.fn_arguments, CUT.to_owned());
        }
        call.fn_arguments = opaque::sent(&arguments);
        ModelCall {
            id: call.call_id.clone(),
            name: call.fn_name.clone(),
            arguments,
        }
    });
    calls.collect()
}

fn known_ids(messages: &[Message]) -> HashSet<String> {
    let calls = messages.iter().flat_map(|message| match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        Message::User { .. } | Message::Result { .. } => &[],
    });
    calls.map(|call| call.id.clone()).collect()
}

/// Returns the id, or one that the conversation does not have yet: not all providers
/// give ids, and what stands in for them repeats from turn to turn.
fn unused(ids: &mut HashSet<String>, id: &str) -> String {
    let mut unused = id.to_owned();
    let mut number = ids.len();
    while unused.is_empty() || !ids.insert(unused.clone()) {
        number = number.saturating_add(1);
        unused = format!("call_{number}");
    }
    unused
}

/// Returns the arguments; what is absent, null or an empty text is an empty object.
fn arguments(value: &Value) -> Arguments {
    match value {
        Value::Object(_) => Arguments::Json(value.clone()),
        Value::Null => Arguments::Json(Value::Object(Map::new())),
        Value::String(text) if text.trim().is_empty() => Arguments::Json(Value::Object(Map::new())),
        // What could not be read as JSON is passed on as a text.
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(object @ Value::Object(_)) => Arguments::Json(object),
            Ok(_) => malformed(value, "they are no object".to_owned()),
            Err(error) => malformed(value, format!("they are no JSON: {error}")),
        },
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            malformed(value, "they are no object".to_owned())
        }
    }
}

fn malformed(value: &Value, why: String) -> Arguments {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    };
    Arguments::Malformed {
        text: text
            .chars()
            .take(limits::MALFORMED_ARGUMENTS_CHARS)
            .collect(),
        why,
    }
}

fn stop_reason(stop: &LibraryStop, seen: &Seen, has_calls: bool) -> StopReason {
    if seen.is_filtered || (!seen.refusal.is_empty() && !has_calls) {
        return StopReason::Refused;
    }
    match stop {
        LibraryStop::MaxTokens(_) => StopReason::Length,
        LibraryStop::ContentFilter(_) => StopReason::Refused,
        LibraryStop::Completed(_) | LibraryStop::StopSequence(_) | LibraryStop::ToolCall(_) => {
            if has_calls {
                StopReason::Calls
            } else {
                StopReason::Done
            }
        }
        LibraryStop::Other(word) => StopReason::Other(word.clone()),
    }
}

fn usage(usage: Usage) -> TokenUsage {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    let read = usage.prompt_tokens_details.unwrap_or_default();
    let written = usage.completion_tokens_details.unwrap_or_default();
    TokenUsage {
        input: count(usage.prompt_tokens),
        output: count(usage.completion_tokens),
        cached_input: count(read.cached_tokens),
        cache_write: count(read.cache_creation_tokens),
        reasoning: count(written.reasoning_tokens),
    }
}
