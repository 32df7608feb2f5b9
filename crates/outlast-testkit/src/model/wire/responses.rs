//! OpenAI's responses: tools plain or in namespaces, items that are added and done.

use serde_json::{Value, json};

use super::{Event, Said, SaidCall, Stop, Tool, list, pieces, text_of};

/// Types of the items that hold what a tool answered.
const RESULTS: [&str; 3] = [
    "function_call_output",
    "custom_tool_call_output",
    "mcp_tool_call_output",
];

pub(super) fn tools(body: &Value) -> Vec<Tool> {
    let tools = list(&body["tools"]).flat_map(|tool| {
        if tool["type"] == "namespace" {
            let group = tool["name"].as_str();
            let members = list(&tool["tools"]).filter_map(Tool::named_in);
            members
                .map(|member| Tool {
                    group: group.map(str::to_owned),
                    ..member
                })
                .collect()
        } else {
            Vec::from_iter(Tool::named(&tool["name"]))
        }
    });
    tools.collect()
}

impl Tool {
    fn named_in(tool: &Value) -> Option<Self> {
        Self::named(&tool["name"])
    }
}

pub(super) fn results(body: &Value) -> Vec<String> {
    let is_result = |item: &&Value| RESULTS.iter().any(|kind| item["type"] == *kind);
    let items = list(&body["input"]).filter(is_result);
    items.map(|item| text_of(&item["output"])).collect()
}

pub(super) fn events(said: &Said<'_>) -> Vec<Event> {
    let mut events = vec![json!({
        "type": "response.created", "response": response(said, "in_progress", &[]),
    })];
    let mut items = Vec::new();
    if let Some(item) = reasoning(said) {
        events.push(added(items.len(), &item));
        events.push(done(items.len(), &item));
        items.push(item);
    }
    if let Some(text) = said.text {
        let item = message(said, text);
        events.push(added(items.len(), &message(said, "")));
        events.extend(pieces(text).iter().map(|piece| {
            json!({
                "type": "response.output_text.delta", "item_id": item["id"],
                "output_index": items.len(), "content_index": 0, "delta": piece,
            })
        }));
        events.push(done(items.len(), &item));
        items.push(item);
    }
    for call in &said.calls {
        let item = function_call(call, &call.text());
        events.push(added(items.len(), &function_call(call, "")));
        events.extend(pieces(&call.text()).iter().map(|piece| {
            json!({
                "type": "response.function_call_arguments.delta", "item_id": item["id"],
                "output_index": items.len(), "delta": piece,
            })
        }));
        events.push(done(items.len(), &item));
        items.push(item);
    }
    let status = status(said);
    events.push(json!({
        "type": format!("response.{status}"), "response": response(said, status, &items),
    }));
    for (event, number) in events.iter_mut().zip(0_u64..) {
        event["sequence_number"] = number.into();
    }
    events.iter().map(Event::typed).collect()
}

pub(super) fn document(said: &Said<'_>) -> Value {
    let message = said.text.map(|text| message(said, text));
    let calls = said.calls.iter();
    let calls = calls.map(|call| function_call(call, &call.text()));
    let items = reasoning(said).into_iter().chain(message).chain(calls);
    response(said, status(said), &items.collect::<Vec<_>>())
}

fn status(said: &Said<'_>) -> &'static str {
    match said.stop {
        Stop::Natural => "completed",
        Stop::Length | Stop::Refused => "incomplete",
    }
}

fn reasoning(said: &Said<'_>) -> Option<Value> {
    let reasoning = said.reasoning?;
    let summary = json!({"type": "summary_text", "text": reasoning.text});
    Some(json!({
        "type": "reasoning", "id": format!("rs_{}", said.number), "summary": [summary],
        "encrypted_content": reasoning.signature,
    }))
}

fn added(index: usize, item: &Value) -> Value {
    let mut item = item.clone();
    item["status"] = "in_progress".into();
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: usize, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn message(said: &Said<'_>, text: &str) -> Value {
    let content = json!({"type": "output_text", "text": text, "annotations": []});
    json!({
        "type": "message", "id": format!("msg_{}", said.number), "role": "assistant",
        "status": "completed", "content": [content],
    })
}

fn function_call(call: &SaidCall<'_>, arguments: &str) -> Value {
    let mut item = json!({
        "type": "function_call", "id": format!("item_{}", call.id), "call_id": call.id,
        "name": call.tool.name, "arguments": arguments, "status": "completed",
    });
    if let Some(group) = &call.tool.group {
        item["namespace"] = group.as_str().into();
    }
    item
}

fn response(said: &Said<'_>, status: &str, items: &[Value]) -> Value {
    let tokens = said.tokens;
    let mut response = json!({
        "id": format!("resp_{}", said.number), "object": "response", "created_at": 1,
        "status": status, "model": said.model, "output": items,
        "usage": {
            "input_tokens": tokens.input,
            "input_tokens_details": {"cached_tokens": tokens.cached},
            "output_tokens": tokens.output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens.input + tokens.output,
        },
    });
    let reason = match said.stop {
        Stop::Natural => return response,
        Stop::Length => "max_output_tokens",
        Stop::Refused => "content_filter",
    };
    response["incomplete_details"] = json!({"reason": reason});
    response
}
