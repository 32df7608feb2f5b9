//! Makes one HTTP request on the host, bounded in time, size and redirects.

use super::ask::Fetch;
use super::{Done, HandAnswer, Refused};
use outlast_journal::limits::{FETCH_BODY_BYTES_MAX, FETCH_REDIRECTS_MAX};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Method, Response};
use std::error::Error;
use std::fmt::Write;
use std::time::Duration;

/// Fields of an answer that a model is shown.
const SHOWN: [&str; 5] = [
    "content-type",
    "content-length",
    "location",
    "retry-after",
    "etag",
];

/// Makes the request; the body of the answer stands behind the answer of the hand.
pub(super) fn fetch(request: &Fetch) -> Done {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Refused::new("hand_failed", format!("no runtime: {error}")))?;
    let bound = Duration::from_millis(request.timeout_ms);
    let made = runtime.block_on(async { tokio::time::timeout(bound, made(request)).await });
    made.unwrap_or_else(|_| {
        let why = format!("no answer within {} s", request.timeout_ms / 1_000);
        Err(Refused::new("http_failed", why))
    })
}

async fn made(request: &Fetch) -> Done {
    // Another part of the process may have installed one; any does.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let client = Client::builder()
        .redirect(Policy::custom(redirect))
        .user_agent(concat!("outlast/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| failed(&error))?;
    let method = Method::from_bytes(request.method.as_bytes());
    let method = method.map_err(|_| Refused::new("bad_url", "the method means nothing"))?;
    let mut asked = client.request(method, &request.url);
    for (name, value) in &request.headers {
        asked = asked.header(name, value);
    }
    if let Some(body) = &request.body {
        asked = asked.body(body.clone());
    }
    let answer = asked.send().await.map_err(|error| failed(&error))?;
    told(answer).await
}

async fn told(mut answer: Response) -> Done {
    let status = answer.status();
    let mut said = format!("{status}");
    for name in SHOWN {
        let value = answer.headers().get(name);
        if let Some(value) = value.and_then(|value| value.to_str().ok()) {
            write!(said, "\n{name}: {value}").ok();
        }
    }
    let mut body = Vec::new();
    let mut is_cut = false;
    while let Some(part) = answer.chunk().await.map_err(|error| failed(&error))? {
        let room = FETCH_BODY_BYTES_MAX - body.len();
        body.extend_from_slice(part.get(..room).unwrap_or(&part));
        if part.len() > room {
            is_cut = true;
            break;
        }
    }
    if is_cut {
        write!(
            said,
            "\n[only the first {FETCH_BODY_BYTES_MAX} bytes of the body were read]"
        )
        .ok();
    }
    if body.iter().take(8 << 10).any(|byte| *byte == 0) {
        write!(
            said,
            "\n[the body is no text: {} bytes, not kept]",
            body.len()
        )
        .ok();
        body.clear();
    }
    let answer = HandAnswer {
        status: Some(status.as_u16()),
        ..HandAnswer::done(said)
    };
    Ok((answer, body))
}

/// Follows to the same kind of address, never from a protected one to one that is not.
fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let from = attempt.previous().last().map(|url| url.scheme().to_owned());
    let is_same = from.as_deref() == Some(attempt.url().scheme());
    let is_raised = attempt.url().scheme() == "https";
    if attempt.previous().len() > FETCH_REDIRECTS_MAX || !(is_same || is_raised) {
        return attempt.stop();
    }
    attempt.follow()
}

fn failed(error: &reqwest::Error) -> Refused {
    let mut why = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        write!(why, ": {cause}").ok();
        source = cause.source();
    }
    Refused::new("http_failed", why)
}
