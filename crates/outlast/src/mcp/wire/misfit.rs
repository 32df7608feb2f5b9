//! Requests that fit no method: an unknown name, or a known one with parameters that do not fit.

use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CancelTaskParams, CustomRequest, ErrorCode, GetTaskParams,
        InitializeRequestParams, PaginatedRequestParams, ReadResourceRequestParams,
        SubscribeRequestParams, SubscriptionsListenRequestParams, UnsubscribeRequestParams,
        UpdateTaskParams,
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Characters of a method's name that an error repeats.
const SHOWN_CHARS: usize = 80;

/// Methods that revision 2026-07-28 does not have any more.
const OF_SESSIONS: [&str; 3] = ["initialize", "resources/subscribe", "resources/unsubscribe"];

/// Returns the error that such a request is answered with.
///
/// `is_sessionless` says that it came in revision 2026-07-28 or a later one.
pub(super) fn error(request: &CustomRequest, is_sessionless: bool) -> ErrorData {
    let method: String = request.method.chars().take(SHOWN_CHARS).collect();
    let given = request.params.clone().unwrap_or_else(|| json!({}));
    let name = request.method.as_str();
    let why = match name {
        _ if is_sessionless && OF_SESSIONS.contains(&name) => return unknown(&method),
        "initialize" => why::<InitializeRequestParams>(given),
        "tools/call" => why::<CallToolRequestParams>(given),
        "tools/list" | "resources/list" | "resources/templates/list" => {
            why::<PaginatedRequestParams>(given)
        }
        "resources/read" => why::<ReadResourceRequestParams>(given),
        "resources/subscribe" => why::<SubscribeRequestParams>(given),
        "resources/unsubscribe" => why::<UnsubscribeRequestParams>(given),
        "subscriptions/listen" => why::<SubscriptionsListenRequestParams>(given),
        "tasks/get" => why::<GetTaskParams>(given),
        "tasks/update" => why::<UpdateTaskParams>(given),
        "tasks/cancel" => why::<CancelTaskParams>(given),
        _ => return unknown(&method),
    };
    ErrorData::invalid_params(
        format!("the parameters of `{method}` do not fit: {why}"),
        None,
    )
}

fn unknown(method: &str) -> ErrorData {
    let fact = format!("there is no method `{method}`");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, fact, None)
}

fn why<T: DeserializeOwned>(given: Value) -> String {
    match serde_json::from_value::<T>(given) {
        Ok(_) => "another field has the wrong type".to_owned(),
        Err(error) => error.to_string(),
    }
}
