//! Looks whether a conversation is one that providers take: each call has its result, in
//! time, and each result its call.

use serde_json::Value;

use super::{Wire, wire::list};

/// What a conversation is made of, as far as order counts.
#[derive(Debug)]
enum Mark {
    /// A call, and what of its arguments is wrong.
    Call(String, Option<&'static str>),
    Result(String),
    /// Anything else that somebody says.
    Words,
    /// A message without content.
    Empty,
}

/// Returns what is wrong with the conversation of a request, in words.
pub(super) fn faults(wire: Wire, body: &Value) -> Vec<String> {
    let marks = match wire {
        Wire::Messages => messages(body),
        Wire::Chat => chat(body),
        Wire::Responses => responses(body),
        Wire::Gemini => gemini(body),
    };
    let mut faults = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut was_call = false;
    for mark in marks {
        let is_call = matches!(mark, Mark::Call(..));
        match mark {
            Mark::Result(id) => match open.iter().position(|call| *call == id) {
                Some(at) => drop(open.remove(at)),
                None => faults.push(format!("a result without a call: {id}")),
            },
            Mark::Call(id, fault) => {
                if !was_call && !open.is_empty() {
                    faults.push(format!("a call before the results of {open:?}"));
                }
                faults.extend(fault.map(|fault| format!("{id}: {fault}")));
                open.push(id);
            }
            Mark::Words if !open.is_empty() => {
                faults.push(format!("words before the results of {open:?}"));
            }
            Mark::Empty => faults.push("a message without content".to_owned()),
            Mark::Words => {}
        }
        was_call = is_call;
    }
    if !open.is_empty() {
        faults.push(format!("calls without results: {open:?}"));
    }
    faults
}

fn id(value: &Value) -> String {
    value.as_str().unwrap_or("(no id)").to_owned()
}

/// What is wrong with arguments that are said as a text.
fn of_text(arguments: &Value) -> Option<&'static str> {
    let arguments = serde_json::from_str(arguments.as_str().unwrap_or_default());
    let arguments: Value = arguments.unwrap_or_default();
    of_value(&arguments)
}

fn of_value(arguments: &Value) -> Option<&'static str> {
    (!arguments.is_object()).then_some("arguments that are no object")
}

fn messages(body: &Value) -> Vec<Mark> {
    let messages = list(&body["messages"]).flat_map(|message| {
        if let Some(text) = message["content"].as_str() {
            return vec![if text.is_empty() {
                Mark::Empty
            } else {
                Mark::Words
            }];
        }
        let blocks = list(&message["content"]).map(|block| match block["type"].as_str() {
            Some("tool_use") => Mark::Call(id(&block["id"]), of_value(&block["input"])),
            Some("tool_result") => Mark::Result(id(&block["tool_use_id"])),
            Some("text") if block["text"] == "" => Mark::Empty,
            Some(_) | None => Mark::Words,
        });
        let mut marks: Vec<Mark> = blocks.collect();
        if marks.is_empty() {
            marks.push(Mark::Empty);
        }
        marks
    });
    messages.collect()
}

fn chat(body: &Value) -> Vec<Mark> {
    let messages = list(&body["messages"]).flat_map(|message| {
        if message["role"] == "tool" {
            return vec![Mark::Result(id(&message["tool_call_id"]))];
        }
        let calls = list(&message["tool_calls"])
            .map(|call| Mark::Call(id(&call["id"]), of_text(&call["function"]["arguments"])));
        [Mark::Words].into_iter().chain(calls).collect()
    });
    messages.collect()
}

fn responses(body: &Value) -> Vec<Mark> {
    let items = list(&body["input"]).map(|item| match item["type"].as_str() {
        Some("function_call") => Mark::Call(id(&item["call_id"]), of_text(&item["arguments"])),
        Some("function_call_output") => Mark::Result(id(&item["call_id"])),
        Some(_) | None => Mark::Words,
    });
    items.collect()
}

/// Gemini knows calls by their names and order.
fn gemini(body: &Value) -> Vec<Mark> {
    let parts = list(&body["contents"]).flat_map(|content| {
        let parts = list(&content["parts"]).map(|part| {
            let (call, response) = (&part["functionCall"], &part["functionResponse"]);
            if call.is_object() {
                Mark::Call(id(&call["name"]), of_value(&call["args"]))
            } else if response.is_object() {
                Mark::Result(id(&response["name"]))
            } else {
                Mark::Words
            }
        });
        let mut marks: Vec<Mark> = parts.collect();
        if marks.is_empty() {
            marks.push(Mark::Empty);
        }
        marks
    });
    parts.collect()
}

#[cfg(test)]
mod tests;
