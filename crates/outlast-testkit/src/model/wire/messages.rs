//! Anthropic's messages: blocks of content, each begun, filled and stopped.

use serde_json::{Value, json};

use super::{Event, Said, Tool, list, pieces, text_of};

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
        "type": "message_delta", "usage": {"output_tokens": 5},
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
    if let Some(text) = block["text"].as_str() {
        empty["text"] = "".into();
        let pieces = pieces(text).into_iter();
        let deltas = pieces.map(|piece| json!({"type": "text_delta", "text": piece}));
        return (empty, deltas.collect());
    }
    empty["input"] = json!({});
    let pieces = pieces(&block["input"].to_string()).into_iter();
    let deltas = pieces.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
    (empty, deltas.collect())
}

fn blocks(said: &Said<'_>) -> Vec<Value> {
    let text = said.text.map(|text| json!({"type": "text", "text": text}));
    let calls = said.calls.iter().map(|call| {
        json!({
            "type": "tool_use", "id": format!("toolu_{}", call.id),
            "name": call.tool.name, "input": call.arguments,
        })
    });
    text.into_iter().chain(calls).collect()
}

fn message(said: &Said<'_>, content: &[Value]) -> Value {
    json!({
        "id": format!("msg_{}", said.number), "type": "message", "role": "assistant",
        "model": said.model, "content": content,
        "stop_reason": stop_reason(said), "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    })
}

fn stop_reason(said: &Said<'_>) -> &'static str {
    if said.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    }
}
