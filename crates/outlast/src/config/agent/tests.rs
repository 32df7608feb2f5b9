//! Unit tests of the table: what it says holds, and nothing else passes.

use super::*;

fn read(text: &str) -> Result<AgentConfig, ConfigError> {
    let table: Table = text.parse().expect("TOML");
    AgentConfig::read(Path::new("config.toml"), &table)
}

#[test]
fn every_key_is_read_and_shown() {
    let text = "model = \"ollama/qwen3\"\nmax_turns = 20\nmax_tokens = 100000\nmax_cost = 2.5\n\
        ask_timeout = \"1m\"\ncheck_timeout = \"2s\"";
    let config = read(text).expect("it holds");
    let shown: Vec<Json> = KEYS.iter().map(|key| config.value(key)).collect();
    assert_eq!(
        shown,
        [
            json!("ollama/qwen3"),
            json!(20),
            json!(100_000),
            json!(2.5),
            json!("60000ms"),
            json!("2000ms"),
        ]
    );
    assert_eq!(config.cost_micros_max, Some(2_500_000));
    assert_eq!(
        read("max_cost = 1").expect("whole dollars").cost_micros_max,
        Some(1_000_000)
    );
    assert_eq!(read("").expect("nothing"), AgentConfig::default());
}

#[test]
fn what_means_nothing_is_refused_with_its_key() {
    for (text, key) in [
        ("model = 3", "agent.model"),
        ("model = \" \"", "agent.model"),
        ("max_turns = 0", "agent.max_turns"),
        ("max_tokens = \"many\"", "agent.max_tokens"),
        ("max_cost = -1", "agent.max_cost"),
        ("max_cost = 0.0000001", "agent.max_cost"),
        ("ask_timeout = \"2h\"", "agent.ask_timeout"),
        ("check_timeout = \"11m\"", "agent.check_timeout"),
        ("modell = \"x\"", "agent.modell"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(key), "{text}: {error}");
    }
}
