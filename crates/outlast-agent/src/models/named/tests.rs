//! A name says whose model it is, and two names may mean one model.

use super::*;

#[test]
fn a_name_says_whose_it_is() {
    for (asked, provider, name) in [
        (
            "claude-opus-5-5",
            Some(Provider::Anthropic),
            "claude-opus-5-5",
        ),
        ("gpt-6-sol", Some(Provider::OpenAi), "gpt-6-sol"),
        ("o4-mini", Some(Provider::OpenAi), "o4-mini"),
        (
            "gemini-3.5-flash",
            Some(Provider::Gemini),
            "gemini-3.5-flash",
        ),
        ("ollama/qwen3:8b", Some(Provider::Ollama), "qwen3:8b"),
        ("llama.cpp/any", Some(Provider::LlamaCpp), "any"),
        ("llamacpp/any", Some(Provider::LlamaCpp), "any"),
        ("Google/gemini-x", Some(Provider::Gemini), "gemini-x"),
        ("openai/o9", Some(Provider::OpenAi), "o9"),
        ("compatible/org/m", Some(Provider::Compatible), "org/m"),
        ("anthropic", Some(Provider::Anthropic), ""),
        ("org/model", None, "org/model"),
        ("qwen3", None, "qwen3"),
        ("gpt-oss:20b", None, "gpt-oss:20b"),
        ("orca-mini", None, "orca-mini"),
    ] {
        assert_eq!(split(asked), (provider, name), "{asked}");
    }
}

#[test]
fn a_name_means_its_dated_and_tagged_forms_and_no_other() {
    assert!(is_same("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"));
    assert!(is_same(
        "claude-sonnet-4-5-latest",
        "claude-sonnet-4-5-20250929"
    ));
    assert!(is_same("qwen3", "qwen3:latest"));
    assert!(is_same("qwen3:latest", "qwen3:latest"));
    assert!(!is_same("qwen3", "qwen3:8b"));
    assert!(!is_same("claude-sonnet-4", "claude-sonnet-4-5-20250929"));
    assert!(!is_same("gpt-5-2025-08-07", "gpt-5"));
}

#[test]
fn the_nearest_names_come_first_and_are_few() {
    let listed: Vec<String> = (0..20)
        .map(|number| format!("other-{number}"))
        .chain(["gpt-5-mini".to_owned()])
        .collect();
    let nearest = nearest("gpt-5-min", &listed);
    assert_eq!(nearest[0], "gpt-5-mini");
    assert_eq!(nearest.len(), limits::MODELS_NAMED_MAX);
}
