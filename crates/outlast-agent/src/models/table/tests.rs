//! A price is that of the very model, or none; a long conversation costs more.

use super::*;

fn of(provider: Provider, name: &str) -> Choice {
    Choice {
        provider,
        name: name.to_owned(),
        base_url: None,
        context_tokens: None,
        why: String::new(),
    }
}

fn input_price(provider: Provider, name: &str) -> Option<f64> {
    price(&of(provider, name)).map(|price| price.input)
}

#[test]
fn every_row_can_be_meant_and_none_hides_another() {
    assert!(TABLE.models.len() > 20);
    for known in &TABLE.models {
        let found = super::known(&of(known.provider, &known.name)).expect("its own row");
        assert_eq!(found.name, known.name);
        assert!(
            known.context_tokens >= TABLE.unknown_context_tokens,
            "{}",
            known.name
        );
        if let Some(price) = known.price {
            assert!(price.cached_input <= price.input, "{}", known.name);
            assert!(price.input <= price.output, "{}", known.name);
        }
    }
    for (provider, names) in &TABLE.preferred {
        assert!(provider.is_vendor());
        assert!(
            names
                .iter()
                .all(|name| known(&of(*provider, name)).is_some())
        );
    }
}

#[test]
fn a_dated_name_has_the_price_of_its_model_and_a_longer_name_does_not() {
    let open_ai = |name| input_price(Provider::OpenAi, name);
    assert_eq!(open_ai("gpt-5"), Some(1.25));
    assert_eq!(open_ai("gpt-5-2025-08-07"), Some(1.25));
    assert_eq!(open_ai("gpt-5-mini"), Some(0.25));
    assert_eq!(open_ai("gpt-5-huge"), None);
    assert_eq!(open_ai("gpt-5.9"), None);
    assert_eq!(open_ai("gpt-5-16k"), None);
    let anthropic = |name| input_price(Provider::Anthropic, name);
    assert_eq!(anthropic("claude-sonnet-4-5-20250929"), Some(3.0));
    assert_eq!(anthropic("claude-opus-5"), Some(5.0));
    assert_eq!(anthropic("claude-opus-5-5"), Some(4.0));
    assert_eq!(anthropic("claude-opus-5-5-20260922"), Some(4.0));
    assert_eq!(anthropic("gpt-5"), None);
}

#[test]
fn a_model_at_an_address_of_ones_own_has_no_price() {
    let mut choice = of(Provider::OpenAi, "gpt-5");
    choice.base_url = Some("http://127.0.0.1:1/v1/".to_owned());
    assert_eq!(price(&choice), None);
    assert_eq!(context_tokens(&choice), 400_000);
}

#[test]
fn a_window_is_what_the_server_said_else_the_tables_else_a_careful_guess() {
    let mut choice = of(Provider::Gemini, "gemini-2.5-pro");
    assert_eq!(context_tokens(&choice), 1_048_576);
    choice.context_tokens = Some(9_000);
    assert_eq!(context_tokens(&choice), 9_000);
    assert_eq!(context_tokens(&of(Provider::Ollama, "qwen3")), 32_768);
}

#[test]
fn a_cost_counts_each_kind_of_token_once() {
    let price = Price {
        input: 10.0,
        cached_input: 1.0,
        cache_write: 12.5,
        output: 50.0,
        long: Some(LongPrice {
            above_tokens: 1_000_000,
            input_factor: 2.0,
            output_factor: 1.5,
        }),
    };
    let mut usage = TokenUsage {
        input: Some(1_000_000),
        output: Some(100_000),
        cached_input: Some(600_000),
        cache_write: Some(200_000),
        reasoning: Some(90_000),
    };
    let close = |one: f64, other: f64| (one - other).abs() < 1e-9;
    assert!(close(cost(&usage, &price), 2.0 + 0.6 + 2.5 + 5.0));
    usage.input = Some(1_000_001);
    let long = (2.000_01 + 0.6 + 2.5) * 2.0 + 5.0 * 1.5;
    assert!(close(cost(&usage, &price), long));
    assert!(close(cost(&TokenUsage::default(), &price), 0.0));
    // A provider that counts its cache twice costs no less than nothing.
    usage.input = Some(1);
    assert!(cost(&usage, &price) > 0.0);
}

#[test]
fn models_that_reason_are_known_by_their_families() {
    let reasons = |name| of(Provider::OpenAi, name).carries_reasoning();
    assert!(reasons("gpt-5.1-codex-max") && reasons("o4-mini") && reasons("gpt-6-sol"));
    assert!(!reasons("gpt-4.1") && !reasons("gpt-4o") && !reasons("gpt-5-chat-latest"));
}
