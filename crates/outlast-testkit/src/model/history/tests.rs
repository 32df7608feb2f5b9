//! A conversation that a provider would refuse is told, in every wire.

use serde_json::{Value, json};

use super::{Wire, faults};

/// A conversation of each wire: a call and, if there is one, its result.
fn conversation(wire: Wire, has_result: bool) -> Value {
    let mut parts = match wire {
        Wire::Messages => vec![
            json!({"role": "user", "content": "go"}),
            json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "run", "input": {}},
            ]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}),
        ],
        Wire::Chat => vec![
            json!({"role": "user", "content": "go"}),
            json!({"role": "assistant", "tool_calls": [
                {"id": "a", "function": {"name": "run", "arguments": "{}"}},
            ]}),
            json!({"role": "tool", "tool_call_id": "a", "content": "done"}),
        ],
        Wire::Responses => vec![
            json!({"role": "user", "content": "go"}),
            json!({"type": "function_call", "call_id": "a", "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": "a", "output": "done"}),
        ],
        Wire::Gemini => vec![
            json!({"role": "user", "parts": [{"text": "go"}]}),
            json!({"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}]}),
            json!({"role": "user", "parts": [{"functionResponse": {"name": "a"}}]}),
        ],
    };
    if !has_result {
        parts.pop();
    }
    let name = match wire {
        Wire::Messages | Wire::Chat => "messages",
        Wire::Responses => "input",
        Wire::Gemini => "contents",
    };
    json!({name: parts})
}

const WIRES: [Wire; 4] = [Wire::Messages, Wire::Chat, Wire::Responses, Wire::Gemini];

#[test]
fn a_call_with_its_result_is_well_and_one_without_is_not() {
    for wire in WIRES {
        let none: [&str; 0] = [];
        assert_eq!(faults(wire, &conversation(wire, true)), none, "{wire:?}");
        let faults = faults(wire, &conversation(wire, false));
        assert_eq!(faults, ["calls without results: [\"a\"]"], "{wire:?}");
    }
}

#[test]
fn words_between_a_call_and_its_result_and_a_result_of_nothing_are_told() {
    let call = json!({"type": "function_call", "call_id": "a", "arguments": "{}"});
    let other = json!({"type": "function_call", "call_id": "b", "arguments": "[]"});
    let words = json!({"role": "user", "content": "hm"});
    let result = |id: &str| json!({"type": "function_call_output", "call_id": id});
    let told = |items: &[Value]| faults(Wire::Responses, &json!({"input": items}));
    let between = told(&[call.clone(), words, result("a")]);
    assert_eq!(between, ["words before the results of [\"a\"]"]);
    assert_eq!(told(&[result("a")]), ["a result without a call: a"]);
    let both = told(&[call.clone(), other.clone(), result("b"), result("a")]);
    assert_eq!(both, ["b: arguments that are no object"]);
    let late = told(&[call.clone(), call, other, result("a"), result("a")]);
    assert_eq!(late.len(), 2, "{late:?}");
}

#[test]
fn a_message_without_content_is_told() {
    let body = json!({"messages": [{"role": "assistant", "content": []}]});
    assert_eq!(faults(Wire::Messages, &body), ["a message without content"]);
}
