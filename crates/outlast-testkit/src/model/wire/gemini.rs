//! Gemini: candidates whose content has parts; a stream is a list of whole answers.

use serde_json::{Value, json};

use super::{Event, Said, Tool, list, pieces, text_of};

pub(super) fn tools(body: &Value) -> Vec<Tool> {
    let declared = list(&body["tools"]).flat_map(|tool| list(&tool["functionDeclarations"]));
    declared
        .filter_map(|function| Tool::named(&function["name"]))
        .collect()
}

pub(super) fn results(body: &Value) -> Vec<String> {
    let parts = list(&body["contents"]).flat_map(|content| list(&content["parts"]));
    let responses = parts.map(|part| &part["functionResponse"]["response"]);
    responses
        .filter(|response| !response.is_null())
        .map(|response| match response["output"].as_str() {
            Some(output) => output.to_owned(),
            None => text_of(response),
        })
        .collect()
}

pub(super) fn wants_json(body: &Value) -> bool {
    let config = &body["generationConfig"];
    config["responseMimeType"] == "application/json"
        || !config["responseJsonSchema"].is_null()
        || !config["responseSchema"].is_null()
}

pub(super) fn events(said: &Said<'_>) -> Vec<Event> {
    let texts = pieces(said.text.unwrap_or_default()).into_iter();
    let mut answers: Vec<Value> = texts
        .map(|piece| answer(said, &[json!({"text": piece})], None))
        .collect();
    answers.push(answer(said, &calls(said), Some("STOP")));
    answers.iter().map(Event::plain).collect()
}

pub(super) fn document(said: &Said<'_>) -> Value {
    let text = said.text.map(|text| json!({"text": text}));
    let parts: Vec<Value> = text.into_iter().chain(calls(said)).collect();
    answer(said, &parts, Some("STOP"))
}

fn calls(said: &Said<'_>) -> Vec<Value> {
    let calls = said.calls.iter().map(|call| {
        json!({"functionCall": {
            "id": call.id, "name": call.tool.name, "args": call.arguments,
        }})
    });
    calls.collect()
}

fn answer(said: &Said<'_>, parts: &[Value], finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({
        "responseId": format!("gemini_{}", said.number), "modelVersion": "scripted",
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15,
        },
    })
}
