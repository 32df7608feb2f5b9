//! Compares answers with what the API is described to answer.
//!
//! Stricter than the description: a field that it does not name is a fault.

use crate::http_client::{Answer, Ask};
use serde_json::Value;
use std::sync::LazyLock;

/// The description as it is checked in.
pub(crate) static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../openapi.json");
    serde_json::from_str(text).expect("it is JSON")
});

/// Fails when an answer of the API is not as it is described.
#[track_caller]
pub(crate) fn assert_described(ask: &Ask, answer: &Answer) {
    let path = ask.target.split('?').next().unwrap_or_default();
    let is_json = answer.header("content-type") == "application/json";
    if !path.starts_with("/api/") || path == "/api/openapi.json" || !is_json {
        return;
    }
    let faults = match operation(path, &ask.method.to_lowercase()) {
        Some(operation) => {
            let responses = &operation["responses"];
            let own = &responses[answer.status.to_string()];
            let response = if own.is_null() {
                &responses["default"]
            } else {
                own
            };
            let schema = &response["content"]["application/json"]["schema"];
            faults(schema, &answer.json(), "answer")
        }
        // There is nothing at this path, which is told like any refusal.
        None if answer.status >= 400 => Vec::new(),
        None => vec!["it is not described".to_owned()],
    };
    assert!(
        faults.is_empty(),
        "{} {path}: {faults:#?}\n{answer:#?}",
        ask.method
    );
}

/// Returns what describes a request.
fn operation(path: &str, method: &str) -> Option<&'static Value> {
    let paths = DESCRIPTION["paths"].as_object().expect("it has paths");
    let found = paths.iter().find(|(template, methods)| {
        let (wanted, parts) = (template.split('/'), path.split('/'));
        wanted.clone().count() == parts.clone().count()
            && wanted
                .zip(parts)
                .all(|(wanted, part)| wanted == "{id}" || wanted == part)
            && !methods[method].is_null()
    });
    found.map(|(_, methods)| &methods[method])
}

/// Returns where `value` is not of `schema`.
fn faults(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or_default();
        let named = &DESCRIPTION["components"]["schemas"][name];
        assert!(!named.is_null(), "there is no schema {name}");
        return faults(named, value, at);
    }
    let kind = &schema["type"];
    let kinds = kind.as_array().cloned();
    let kinds = kinds.unwrap_or_else(|| vec![kind.clone()]);
    if !kinds
        .iter()
        .any(|kind| is_of(kind.as_str().unwrap_or_default(), value))
    {
        return vec![format!("{at} is {value}, not {kinds:?}")];
    }
    let words = schema["enum"].as_array();
    if words.is_some_and(|words| !words.contains(value)) {
        return vec![format!("{at} is {value}, not one of {words:?}")];
    }
    let mut found = Vec::new();
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(faults(&schema["items"], item, &format!("{at}[{number}]")));
    }
    // One that names no fields may have any.
    if let (Some(known), Some(fields)) = (schema["properties"].as_object(), value.as_object()) {
        for (name, field) in fields {
            let at = format!("{at}.{name}");
            match known.get(name) {
                Some(schema) => found.extend(faults(schema, field, &at)),
                None => found.push(format!("{at} is not described")),
            }
        }
        let needed = schema["required"].as_array().into_iter().flatten();
        let missing = needed
            .filter_map(Value::as_str)
            .filter(|name| !fields.contains_key(*name));
        found.extend(missing.map(|name| format!("{at} has no {name}")));
    }
    found
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

#[test]
fn a_fault_is_found_where_it_is() {
    let run = serde_json::json!({"id": 5, "other": 1});
    let schema = serde_json::json!({"$ref": "#/components/schemas/Run"});
    let found = faults(&schema, &run, "run");
    for fault in [
        "run.id is 5",
        "run.other is not described",
        "run has no status",
    ] {
        assert!(
            found.iter().any(|one| one.contains(fault)),
            "{fault}: {found:#?}"
        );
    }
}
