//! A choice is written without a key, and an agent below keeps to its provider.

use super::*;
use outlast_journal::error::Advice;
use serde_json::json;

fn of(provider: Provider, name: &str) -> Choice {
    Choice {
        provider,
        name: name.to_owned(),
        base_url: None,
        context_tokens: Some(7),
        why: "a test".to_owned(),
    }
}

#[test]
fn a_choice_is_written_and_read_back() {
    let mut choice = of(Provider::LlamaCpp, "any");
    choice.base_url = Some("http://127.0.0.1:8080/v1/".to_owned());
    let written = serde_json::to_value(&choice).expect("JSON");
    assert_eq!(
        written,
        json!({
            "provider": "llama_cpp", "name": "any", "base_url": "http://127.0.0.1:8080/v1/",
            "context_tokens": 7, "why": "a test",
        })
    );
    let read: Choice = serde_json::from_value(written).expect("a choice");
    assert_eq!(read, choice);
    let least = json!({"provider": "open_ai", "name": "x", "why": "y"});
    let least: Choice = serde_json::from_value(least).expect("a choice");
    assert_eq!(least.place(), "https://api.openai.com/v1/");
}

#[test]
fn an_agent_below_has_the_same_model_or_one_of_the_same_provider() {
    let above = of(Provider::Anthropic, "claude-opus-5-5");
    assert_eq!(above.below(None).expect("a model"), above);
    assert_eq!(above.below(Some("  ")).expect("a model"), above);
    for (asked, name) in [
        ("claude-haiku-4-5", "claude-haiku-4-5"),
        ("anthropic/claude-haiku-4-5", "claude-haiku-4-5"),
        ("internal-name", "internal-name"),
    ] {
        let below = above.below(Some(asked)).expect(asked);
        assert_eq!(
            (below.name.as_str(), below.provider),
            (name, Provider::Anthropic)
        );
        assert_eq!(below.context_tokens, None);
    }
    for asked in ["gpt-5", "gemini/gemini-3.5-flash", "ollama/qwen3"] {
        let error = above.below(Some(asked)).expect_err(asked);
        assert_eq!(error.code(), "other_provider");
    }
    let gateway = of(Provider::Compatible, "org/m");
    for asked in ["claude-opus-5", "anthropic/claude-opus-5", "other"] {
        assert_eq!(gateway.below(Some(asked)).expect(asked).name, asked);
    }
    assert!(gateway.below(Some("ollama/qwen3")).is_err());
}

#[test]
fn the_name_of_the_provider_alone_means_the_same_model() {
    let above = of(Provider::Gemini, "gemini-3.5-flash");
    assert_eq!(
        above.below(Some("gemini")).expect("a model").name,
        above.name
    );
}

#[test]
fn keys_are_taken_from_the_providers_variable() {
    let environment = |name: &str| (name == "GEMINI_API_KEY").then(|| " k\n".to_owned());
    let key = |provider| key_of(&of(provider, "x"), &environment);
    assert_eq!(key(Provider::Gemini), Some(Secret::new("k")));
    assert_eq!(key(Provider::Anthropic), None);
}

#[test]
fn the_usual_model_is_the_best_that_is_listed() {
    let listed = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        usual(Provider::Anthropic, Some(&names))
    };
    assert_eq!(
        usual(Provider::Anthropic, None).as_deref(),
        Some("claude-opus-5-5")
    );
    let some = listed(&["claude-3", "claude-sonnet-4-5-20250929"]);
    assert_eq!(some.as_deref(), Some("claude-sonnet-4-5"));
    assert_eq!(listed(&["claude-3"]), None);
}
