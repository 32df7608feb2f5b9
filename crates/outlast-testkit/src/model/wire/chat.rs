//! OpenAI's chat completions: one choice, deltas, an end that is no JSON.

use serde_json::{Value, json};

use super::{Event, Said, Stop, Tool, list, pieces, text_of};

pub(super) fn tools(body: &Value) -> Vec<Tool> {
    let tools = list(&body["tools"]);
    tools
        .filter_map(|tool| Tool::named(&tool["function"]["name"]))
        .collect()
}

pub(super) fn results(body: &Value) -> Vec<String> {
    let messages = list(&body["messages"]).filter(|message| message["role"] == "tool");
    messages
        .map(|message| text_of(&message["content"]))
        .collect()
}

pub(super) fn events(said: &Said<'_>) -> Vec<Event> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    if let Some(reasoning) = said.reasoning {
        let pieces = pieces(&reasoning.text).into_iter();
        deltas.extend(pieces.map(|piece| json!({"reasoning_content": piece})));
    }
    let text = pieces(said.text.unwrap_or_default());
    deltas.extend(text.iter().map(|piece| json!({"content": piece})));
    for (call, index) in said.calls.iter().zip(0_usize..) {
        let function = json!({"name": call.tool.name, "arguments": ""});
        let mut begun = json!({"index": index, "type": "function", "function": function});
        if !call.id.is_empty() {
            begun["id"] = call.id.as_str().into();
        }
        deltas.push(json!({"tool_calls": [begun]}));
        let arguments = pieces(&call.text()).into_iter();
        deltas.extend(arguments.map(
            |piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}),
        ));
    }
    let mut chunks: Vec<Value> = deltas
        .into_iter()
        .map(|delta| {
            chunk(
                said,
                &json!([{"index": 0, "delta": delta, "finish_reason": null}]),
            )
        })
        .collect();
    let end = json!([{"index": 0, "delta": {}, "finish_reason": finish(said)}]);
    chunks.push(chunk(said, &end));
    let mut last = chunk(said, &json!([]));
    last["usage"] = usage(said);
    chunks.push(last);
    let events = chunks.iter().map(Event::plain);
    events.chain([Event::plain(&"[DONE]")]).collect()
}

pub(super) fn document(said: &Said<'_>) -> Value {
    let calls = said.calls.iter().map(|call| {
        let function = json!({
            "name": call.tool.name, "arguments": call.text(),
        });
        json!({"id": call.id, "type": "function", "function": function})
    });
    let calls: Vec<Value> = calls.collect();
    let mut message = json!({"role": "assistant", "content": said.text});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": id(said), "object": "chat.completion", "created": 1, "model": said.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(said)}],
        "usage": usage(said),
    })
}

fn chunk(said: &Said<'_>, choices: &Value) -> Value {
    json!({
        "id": id(said), "object": "chat.completion.chunk", "created": 1, "model": said.model,
        "choices": choices,
    })
}

fn id(said: &Said<'_>) -> String {
    format!("chat_{}", said.number)
}

fn finish(said: &Said<'_>) -> &'static str {
    match said.stop {
        Stop::Length => "length",
        Stop::Refused => "content_filter",
        Stop::Natural if said.calls.is_empty() => "stop",
        Stop::Natural => "tool_calls",
    }
}

fn usage(said: &Said<'_>) -> Value {
    let tokens = said.tokens;
    json!({
        "prompt_tokens": tokens.input, "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
    })
}
