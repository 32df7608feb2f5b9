//! What the name of a model says: whose it is, and whether two names mean one model.

use super::{Provider, table};
use outlast_journal::limits;

/// Returns whose model a name names, and the name there.
///
/// `provider/name` says it; `claude-…`, `gpt-…` and `gemini-…` are known. A provider alone
/// has an empty name: any model of it.
pub(super) fn split(asked: &str) -> (Option<Provider>, &str) {
    let (word, name) = asked.split_once('/').unwrap_or((asked, ""));
    if let Some(provider) = provider(word) {
        return (Some(provider), name);
    }
    (by_family(asked), asked)
}

fn provider(word: &str) -> Option<Provider> {
    match word.to_ascii_lowercase().as_str() {
        "google" => Some(Provider::Gemini),
        "llamacpp" | "llama-cpp" => Some(Provider::LlamaCpp),
        word => Provider::ALL
            .into_iter()
            .find(|provider| provider.word() == word),
    }
}

fn by_family(name: &str) -> Option<Provider> {
    let begins = |family: &str| name.starts_with(family);
    if begins("claude-") {
        Some(Provider::Anthropic)
    } else if begins("gemini-") {
        Some(Provider::Gemini)
    } else if ["gpt-", "chatgpt-", "codex-", "o1", "o3", "o4"]
        .into_iter()
        .any(begins)
        && !begins("gpt-oss")
    {
        Some(Provider::OpenAi)
    } else {
        None
    }
}

/// Returns whether a listed model is the one that was asked for: by name, by the name
/// before a date, or by the name before the tag that Ollama adds itself.
pub(super) fn is_same(asked: &str, listed: &str) -> bool {
    let asked = asked.strip_suffix("-latest").unwrap_or(asked);
    let listed = listed.strip_suffix(":latest").unwrap_or(listed);
    let asked = asked.strip_suffix(":latest").unwrap_or(asked);
    table::is_version_of(listed, asked)
}

/// Returns the listed names that are most like the one asked for, at most
/// `MODELS_NAMED_MAX` of them.
pub(super) fn nearest(asked: &str, listed: &[String]) -> Vec<String> {
    let alike = |name: &String| {
        let same = name.chars().zip(asked.chars());
        same.take_while(|(one, other)| one == other).count()
    };
    let mut nearest = listed.to_vec();
    nearest.sort_by_key(|name| std::cmp::Reverse(alike(name)));
    nearest.truncate(limits::MODELS_NAMED_MAX);
    nearest
}

#[cfg(test)]
mod tests;
