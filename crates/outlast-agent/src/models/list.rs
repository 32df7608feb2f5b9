//! Asks a server which models it has.

use super::{Provider, Secret};
use outlast_journal::limits;
use reqwest::{Client, Response};
use serde_json::Value;
use std::time::Duration;

/// A model of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) name: String,
    /// How many tokens its window holds, where the list says so.
    pub(super) context_tokens: Option<u64>,
    /// Who has it, where the list says so.
    pub(super) owner: Option<String>,
}

/// What came of the question.
#[derive(Debug)]
pub(super) enum Listing {
    /// All models.
    Whole(Vec<Listed>),
    /// No list, or not all of it.
    Unknown,
    /// Nobody is there.
    Unreachable(reqwest::Error),
}

/// Asks the server at `place` for its models, and waits for at most `bound`.
pub(super) async fn list(
    client: &Client,
    provider: Provider,
    place: &str,
    key: Option<&Secret>,
    bound: Duration,
) -> Listing {
    let page = match provider {
        Provider::Anthropic => "?limit=1000",
        Provider::Gemini => "?pageSize=1000",
        Provider::OpenAi | Provider::Ollama | Provider::LlamaCpp | Provider::Compatible => "",
    };
    let mut request = client.get(format!("{place}models{page}")).timeout(bound);
    if let Some(key) = key.map(Secret::expose) {
        request = match provider {
            Provider::Anthropic => request.header("x-api-key", key),
            Provider::Gemini => request.header("x-goog-api-key", key),
            Provider::OpenAi | Provider::Ollama | Provider::LlamaCpp | Provider::Compatible => {
                request.bearer_auth(key)
            }
        };
    }
    if provider == Provider::Anthropic {
        request = request.header("anthropic-version", "2023-06-01");
    }
    match request.send().await {
        Err(error) if error.is_connect() => Listing::Unreachable(error),
        Err(_) => Listing::Unknown,
        Ok(response) if !response.status().is_success() => Listing::Unknown,
        Ok(response) => match document(response).await {
            Some(document) => models(&document).map_or(Listing::Unknown, Listing::Whole),
            None => Listing::Unknown,
        },
    }
}

/// Asks a llama.cpp server how many tokens its window holds.
pub(super) async fn window(client: &Client, place: &str, bound: Duration) -> Option<u64> {
    let root = place.trim_end_matches('/').trim_end_matches("/v1");
    let response = client.get(format!("{root}/props")).timeout(bound).send();
    let document = document(response.await.ok()?).await?;
    document
        .pointer("/default_generation_settings/n_ctx")?
        .as_u64()
}

/// Returns what the server at `place` is, where it is surely no server of models.
pub(super) async fn page(client: &Client, place: &str, bound: Duration) -> Option<String> {
    let bound = bound.min(Duration::from_millis(limits::MODEL_LIST_MS));
    let request = client.get(format!("{place}models")).timeout(bound);
    let response = request.send().await.ok()?;
    let kind = response.headers().get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let what = if response.status().is_redirection() {
        "redirect"
    } else if kind.contains("html") {
        "web page"
    } else {
        return None;
    };
    let status = response.status().as_u16();
    Some(format!("it answers with a {what} (status {status})"))
}

async fn document(mut response: Response) -> Option<Value> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.ok()? {
        if body.len().saturating_add(part.len()) > limits::MODEL_LIST_BYTES_MAX {
            return None;
        }
        body.extend_from_slice(&part);
    }
    serde_json::from_slice(&body).ok()
}

/// Returns the models of a list in OpenAI's, Anthropic's or Gemini's form, `None` where it
/// is none, or has more pages.
fn models(document: &Value) -> Option<Vec<Listed>> {
    if document["has_more"] == true || document["nextPageToken"].is_string() {
        return None;
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(models) = document["data"].as_array() {
        let models = models.iter().filter_map(|model| {
            let windows = ["max_model_len", "context_length", "max_input_tokens"];
            Some(Listed {
                name: text(&model["id"])?,
                context_tokens: windows.iter().find_map(|name| model[*name].as_u64()),
                owner: text(&model["owned_by"]),
            })
        });
        return Some(models.collect());
    }
    let models = document["models"].as_array()?.iter().filter_map(|model| {
        let name = model["name"].as_str()?;
        Some(Listed {
            name: name.strip_prefix("models/").unwrap_or(name).to_owned(),
            context_tokens: model["inputTokenLimit"].as_u64(),
            owner: None,
        })
    });
    Some(models.collect())
}
