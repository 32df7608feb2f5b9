//! The definitions and the code know the same tools.

use super::*;

#[test]
fn every_tool_is_defined_and_every_definition_is_a_tool() {
    let definitions: Value = serde_json::from_str(DEFINITIONS).expect("JSON");
    let defined = definitions["tools"].as_array().expect("a list");
    let defined: Vec<&str> = defined
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let known: Vec<&str> = TOOLS.iter().map(|(name, _)| *name).collect();
    assert_eq!(defined, known);
    assert_eq!(Tool::named("background_wait"), Some(Tool::Wait));
    assert_eq!(Tool::named("background"), None);
}

#[test]
fn a_host_waits_no_longer_in_one_call_than_it_bears() {
    for (host, secs) in [
        (None, 45),
        (Some("some-harness"), 45),
        (Some("codex-mcp-client"), 280),
        (Some("opencode"), 50),
        (Some("claude-code"), 300),
        (Some("gemini-cli-mcp-client"), 300),
    ] {
        assert_eq!(wait_secs_max(host), secs, "{host:?}");
    }
}
