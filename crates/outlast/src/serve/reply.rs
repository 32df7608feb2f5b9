//! Answers: a status, headers and a body; failures with the status that fits their code.

use crate::failure::Failure;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE},
};
use serde::Serialize;
use std::convert::Infallible;

/// An answer as it goes out.
pub(super) type Reply = Response<BoxBody<Bytes, Infallible>>;

/// What JSON is called.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Returns the status of the answer that tells of this failure.
pub(super) fn status_of(failure: &Failure) -> StatusCode {
    // The request was understood, and a run records what came of it.
    if failure.run().is_some() {
        return StatusCode::UNPROCESSABLE_ENTITY;
    }
    match failure.code() {
        "missing_argument" | "unknown_argument" | "wrong_type" | "negative_number"
        | "unknown_word" | "env_not_allowed" | "lifetime_over_http" | "work_dir" | "bad_body"
        | "bad_query" | "bad_header" | "bad_pattern" | "zero_bytes" | "blank" | "nul_byte"
        | "not_utf8" | "too_long" | "empty_command" | "environment_name" | "unknown_signal"
        | "schema_invalid" | "schema_unsupported" | "schema_too_large" | "deadline_passed"
        | "header_twice" | "body_broken" => StatusCode::BAD_REQUEST,
        "token_missing" | "token_wrong" => StatusCode::UNAUTHORIZED,
        "host_refused" | "origin_refused" | "policy_denied" => StatusCode::FORBIDDEN,
        "no_such_run" | "no_route" => StatusCode::NOT_FOUND,
        "method_not_allowed" => StatusCode::METHOD_NOT_ALLOWED,
        "body_too_slow" => StatusCode::REQUEST_TIMEOUT,
        "ambiguous_run"
        | "idempotency_conflict"
        | "idempotency_busy"
        | "no_stdin"
        | "run_ended"
        | "stdin_closed"
        | "stdin_not_read"
        | "no_open_ask"
        | "ask_ambiguous"
        | "no_agent"
        | "run_stopping"
        | "still_running"
        | "leftovers_alive" => StatusCode::CONFLICT,
        "body_too_long" => StatusCode::PAYLOAD_TOO_LARGE,
        "not_json" => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "containment_unavailable"
        | "containment_failed"
        | "workspace_refused"
        | "workspace_gone"
        | "tier_above_max"
        | "tier_above_parent"
        | "beyond_parent"
        | "stop_command_outside"
        | "until_refused"
        | "no_model"
        | "unknown_model"
        | "no_model_key"
        | "no_model_address"
        | "bad_model_address"
        | "model_not_found"
        | "model_unreachable"
        | "proxy_missing" => StatusCode::UNPROCESSABLE_ENTITY,
        "at_capacity" | "depth_exceeded" | "descendants_exceeded" => StatusCode::TOO_MANY_REQUESTS,
        "server_busy" | "store_read_only" | "store_newer" => StatusCode::SERVICE_UNAVAILABLE,
        "supervisor_silent" => StatusCode::GATEWAY_TIMEOUT,
        "store_full" => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Returns the answer that tells of a failure.
pub(super) fn refused(failure: &Failure) -> Reply {
    let status = status_of(failure);
    let mut reply = json(status, &failure.document());
    if status == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer");
        reply.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    }
    reply
}

/// Returns an answer with a document.
pub(super) fn json(status: StatusCode, document: &impl Serialize) -> Reply {
    let bytes = serde_json::to_vec(document).expect("our documents have texts as keys");
    whole(status, JSON, bytes)
}

/// Returns an answer with bytes of this type.
pub(super) fn whole(status: StatusCode, kind: HeaderValue, bytes: Vec<u8>) -> Reply {
    with_body(status, kind, Full::new(Bytes::from(bytes)).boxed())
}

/// Returns an answer with any body of this type.
pub(super) fn with_body(
    status: StatusCode,
    kind: HeaderValue,
    body: BoxBody<Bytes, Infallible>,
) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, kind);
    // What is true of a run now is not in a moment, and is for nobody else.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderName::from_static("x-content-type-options");
    headers.insert(nosniff, HeaderValue::from_static("nosniff"));
    reply
}
