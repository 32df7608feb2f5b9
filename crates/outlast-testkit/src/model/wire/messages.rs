//! Anthropic's messages: blocks of content, each begun, filled and stopped.

use serde_json::{Value, json};

use super::{Event, Said, Stop, Tool, list, pieces, text_of};

pub(super) fn tools(body: &Value) -> Vec<Tool> {
    let tools = list(&body["tools"]);
    tools
        .filter_map(|tool| Tool::named(&tool["name"]))
        .collect()
}

pub(super) fn results(body: &Value) -> Vec<String> {
    let blocks = list(&body["messages"]).flat_map(|message| list(&message["content"]));
    blocks
        .filter(|block| block["type"] == "tool_result")
        .map(|block| text_of(&block["content"]))
        .collect()
}

pub(super) fn events(said: &Said<'_>) -> Vec<Event> {
    let mut message = message(said, &[]);
    message["stop_reason"] = Value::Null;
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (block, index) in blocks(said).iter().zip(0_usize..) {
        let (empty, deltas) = in_pieces(block);
        events.push(json!({
            "type": "content_block_start", "index": index, "content_block": empty,
        }));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({
        "type": "message_delta", "usage": {"output_tokens": said.tokens.output},
        "delta": {"stop_reason": stop_reason(said), "stop_sequence": null},
    }));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(Event::typed).collect()
}

pub(super) fn document(said: &Said<'_>) -> Value {
    message(said, &blocks(said))
}

/// Returns a block as it begins, and what is then added to it.
fn in_pieces(block: &Value) -> (Value, Vec<Value>) {
    let mut empty = block.clone();
    if let Some(thinking) = block["thinking"].as_str() {
        empty["thinking"] = "".into();
        empty["signature"] = "".into();
        let pieces = pieces(thinking).into_iter();
        let deltas = pieces.map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
        let signed = json!({"type": "signature_delta", "signature": block["signature"]});
        return (empty, deltas.chain([signed]).collect());
    }
    if let Some(text) = block["text"].as_str() {
        empty["text"] = "".into();
        let pieces = pieces(text).into_iter();
        let deltas = pieces.map(|piece| json!({"type": "text_delta", "text": piece}));
        return (empty, deltas.collect());
    }
    empty["input"] = json!({});
    // What is no object stands for a text that is none.
    let input = &block["input"];
    let text = input
        .as_str()
        .map_or_else(|| input.to_string(), str::to_owned);
    let deltas = pieces(&text)
        .into_iter()
        .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
    (empty, deltas.collect())
}

fn blocks(said: &Said<'_>) -> Vec<Value> {
    let reasoning = said.reasoning.map(|reasoning| {
        json!({
            "type": "thinking", "thinking": reasoning.text, "signature": reasoning.signature,
        })
    });
    let text = said.text.map(|text| json!({"type": "text", "text": text}));
    let calls = said.calls.iter().map(|call| {
        let raw = call.raw.map(Value::from);
        json!({
            "type": "tool_use", "id": format!("toolu_{}", call.id), "name": call.tool.name,
            "input": raw.unwrap_or_else(|| call.arguments.clone()),
        })
    });
    reasoning.into_iter().chain(text).chain(calls).collect()
}

fn message(said: &Said<'_>, content: &[Value]) -> Value {
    json!({
        "id": format!("msg_{}", said.number), "type": "message", "role": "assistant",
        "model": said.model, "content": content,
        "stop_reason": stop_reason(said), "stop_sequence": null,
        "usage": {
            "input_tokens": said.tokens.input.saturating_sub(said.tokens.cached),
            "cache_read_input_tokens": said.tokens.cached,
            "output_tokens": said.tokens.output,
        },
    })
}

fn stop_reason(said: &Said<'_>) -> &'static str {
    match said.stop {
        Stop::Length => "max_tokens",
        Stop::Refused => "refusal",
        Stop::Natural if said.calls.is_empty() => "end_turn",
        Stop::Natural => "tool_use",
    }
}
