//! Gemini: candidates whose content has parts; a stream is a list of whole answers.

use serde_json::{Value, json};

use super::{Event, Said, Stop, Tool, list, pieces, text_of};

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
    let texts = texts.map(|piece| json!({"text": piece}));
    let parts = thought(said).into_iter().chain(texts);
    let mut answers: Vec<Value> = parts.map(|part| answer(said, &[part], None)).collect();
    answers.push(answer(said, &calls(said), Some(finish(said))));
    answers.iter().map(Event::plain).collect()
}

pub(super) fn document(said: &Said<'_>) -> Value {
    let text = said.text.map(|text| json!({"text": text}));
    let parts = thought(said).into_iter().chain(text).chain(calls(said));
    answer(said, &parts.collect::<Vec<_>>(), Some(finish(said)))
}

fn finish(said: &Said<'_>) -> &'static str {
    match said.stop {
        Stop::Natural => "STOP",
        Stop::Length => "MAX_TOKENS",
        Stop::Refused => "SAFETY",
    }
}

fn thought(said: &Said<'_>) -> Option<Value> {
    let reasoning = said.reasoning?;
    Some(json!({"text": reasoning.text, "thought": true}))
}

/// The calls. The first is signed, as it is where a model has reasoned.
fn calls(said: &Said<'_>) -> Vec<Value> {
    let calls = said.calls.iter().zip(0_usize..).map(|(call, at)| {
        let raw = call.raw.map(Value::from);
        let mut function = json!({
            "name": call.tool.name, "args": raw.unwrap_or_else(|| call.arguments.clone()),
        });
        if !call.id.is_empty() {
            function["id"] = call.id.as_str().into();
        }
        let mut part = json!({"functionCall": function});
        if let Some(reasoning) = said.reasoning.filter(|_| at == 0) {
            part["thoughtSignature"] = reasoning.signature.as_str().into();
        }
        part
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
            "promptTokenCount": said.tokens.input,
            "cachedContentTokenCount": said.tokens.cached,
            "candidatesTokenCount": said.tokens.output,
            "totalTokenCount": said.tokens.input + said.tokens.output,
        },
    })
}
