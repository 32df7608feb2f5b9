//! The environment says where providers are, in the forms of their own programs.

use super::*;
use outlast_journal::error::Advice;

fn read(variables: &[(&str, &str)]) -> Result<Places, ChooseError> {
    Places::read(&|name| {
        let mut variables = variables.iter();
        variables.find_map(|(known, value)| (*known == name).then(|| (*value).to_owned()))
    })
}

fn place(provider: Provider, variables: &[(&str, &str)]) -> Option<String> {
    let places = read(variables).expect("an environment");
    places.of(provider).expect("an address")
}

#[test]
fn addresses_are_as_the_vendors_own_programs_take_them() {
    let (anthropic, gemini) = ("ANTHROPIC_BASE_URL", "GEMINI_BASE_URL");
    let google = "GOOGLE_GEMINI_BASE_URL";
    for (provider, variable, value, expected) in [
        (
            Provider::Anthropic,
            anthropic,
            "http://h:1",
            Some("http://h:1/v1/"),
        ),
        (
            Provider::Anthropic,
            anthropic,
            "http://h/x/v1",
            Some("http://h/x/v1/"),
        ),
        (
            Provider::Anthropic,
            anthropic,
            "https://api.anthropic.com",
            None,
        ),
        (Provider::Anthropic, anthropic, "  ", None),
        (
            Provider::Gemini,
            gemini,
            "http://h",
            Some("http://h/v1beta/"),
        ),
        (
            Provider::Gemini,
            google,
            "http://h/v1",
            Some("http://h/v1/"),
        ),
    ] {
        let found = place(provider, &[(variable, value)]);
        assert_eq!(found.as_deref(), expected, "{variable}={value}");
    }
}

#[test]
fn an_address_of_open_ai_is_the_vendors_and_any_other_has_the_chat_form() {
    for (value, vendor, compatible) in [
        ("https://api.openai.com/v1", None, None),
        (
            "https://eu.api.openai.com/v1/",
            Some("https://eu.api.openai.com/v1/"),
            None,
        ),
        ("http://h:8000/v1", None, Some("http://h:8000/v1/")),
        (
            "https://api.openai.com.evil/v1",
            None,
            Some("https://api.openai.com.evil/v1/"),
        ),
    ] {
        let variables = [("OPENAI_BASE_URL", value)];
        assert_eq!(place(Provider::OpenAi, &variables).as_deref(), vendor);
        assert_eq!(
            place(Provider::Compatible, &variables).as_deref(),
            compatible
        );
    }
}

#[test]
fn local_servers_are_at_their_usual_ports_or_where_their_own_variables_say() {
    for (variables, ollama) in [
        (&[][..], "http://127.0.0.1:11434/v1/"),
        (
            &[("OLLAMA_HOST", "0.0.0.0")][..],
            "http://127.0.0.1:11434/v1/",
        ),
        (&[("OLLAMA_HOST", "box:99")][..], "http://box:99/v1/"),
        (&[("OLLAMA_HOST", "https://box")][..], "https://box/v1/"),
    ] {
        let found = place(Provider::Ollama, variables);
        assert_eq!(found.as_deref(), Some(ollama), "{variables:?}");
    }
    let ipv6 = place(Provider::Ollama, &[("OLLAMA_HOST", "::1")]);
    assert_eq!(ipv6.as_deref(), Some("http://[::1]:11434/v1/"));
    let llama = |variables: &[_]| place(Provider::LlamaCpp, variables);
    assert_eq!(llama(&[]).as_deref(), Some("http://127.0.0.1:8080/v1/"));
    let elsewhere = [("LLAMA_ARG_HOST", "0.0.0.0"), ("LLAMA_ARG_PORT", "81")];
    assert_eq!(
        llama(&elsewhere).as_deref(),
        Some("http://127.0.0.1:81/v1/")
    );
}

#[test]
fn an_address_that_cannot_be_used_is_refused_without_being_shown() {
    for value in [
        "nonsense",
        "ftp://h/v1",
        "http://",
        "http://user:word@h/v1",
        "http://word@h/v1",
        "http://h/v1?key=word",
    ] {
        let error = read(&[("OPENAI_BASE_URL", value)]).expect_err(value);
        assert_eq!(error.code(), "bad_model_address", "{value}");
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("OPENAI_BASE_URL"), "{shown}");
        assert!(
            !shown.contains("word@") && !shown.contains("=word"),
            "{shown}"
        );
    }
}

#[test]
fn an_address_of_a_local_server_that_is_none_is_told_to_who_asks_for_it() {
    let places = read(&[("OLLAMA_HOST", "no host"), ("LLAMA_ARG_PORT", "many")]);
    let places = places.expect("an environment");
    assert_eq!(places.of(Provider::Anthropic).expect("the usual one"), None);
    for provider in [Provider::Ollama, Provider::LlamaCpp] {
        let error = places.of(provider).expect_err("no address");
        assert_eq!(error.code(), "bad_model_address");
    }
}

#[test]
fn keys_are_trimmed_and_empty_ones_are_absent() {
    let places = read(&[("OPENAI_API_KEY", " k \n"), ("GEMINI_API_KEY", " ")]);
    let places = places.expect("an environment");
    assert_eq!(places.key(Provider::OpenAi), Some(&Secret::new("k")));
    assert_eq!(places.key(Provider::Compatible), Some(&Secret::new("k")));
    assert_eq!(places.key(Provider::Gemini), None);
    assert!(!format!("{places:?}").contains("\"k\""));
}
