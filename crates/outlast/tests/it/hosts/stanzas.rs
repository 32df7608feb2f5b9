//! The stanzas of `examples/hosts`: each parses as what it is and names a command that
//! serves. Those hosts that can be had read theirs themselves, beside this.

use crate::{case_ground::Ground, mcp_client::Client};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

/// Each file, and where the server stands in it.
const STANZAS: [(&str, &str); 7] = [
    ("claude-code.json", "/mcpServers/outlast"),
    ("codex.toml", "/mcp_servers/outlast"),
    ("cursor.json", "/mcpServers/outlast"),
    ("gemini-cli.json", "/mcpServers/outlast"),
    ("opencode.json", "/mcp/outlast"),
    ("vscode.json", "/servers/outlast"),
    ("zed.json", "/context_servers/outlast"),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/hosts")
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).expect("the example is there")
}

/// Returns the words of the command that a stanza names.
fn words(name: &str, place: &str) -> Vec<String> {
    let text = read(name);
    let document: Value = match name.rsplit_once('.') {
        Some((_, "toml")) => toml::from_str(&text).expect("it is TOML"),
        Some(_) | None => serde_json::from_str(&text).expect("it is JSON"),
    };
    let server = document.pointer(place).expect("it names our server");
    let lists = [&server["command"], &server["args"]];
    let words = lists.into_iter().flat_map(|part| {
        part.as_array()
            .cloned()
            .unwrap_or_else(|| vec![part.clone()])
    });
    let words = words.filter_map(|word| word.as_str().map(str::to_owned));
    words.collect()
}

#[test]
fn every_stanza_names_a_command_that_serves_the_tools() {
    let ground = Ground::new();
    for (name, place) in STANZAS {
        let words = words(name, place);
        let (program, rest) = words.split_first().expect("a command");
        assert_eq!(program, "outlast", "{name}");
        let command = ground.program.command(rest);
        let (mut client, _) = Client::open_with(command, "test-host");
        let tools = client.request("tools/list", json!({}));
        let tools = tools["result"]["tools"].as_array().expect("tools").len();
        assert_eq!(tools, super::TOOLS.len(), "{name}");
    }
}

#[test]
fn every_stanza_is_known_here_and_in_the_readme_of_the_examples() {
    let entries = fs::read_dir(folder()).expect("the examples are there");
    let names = entries.map(|entry| entry.expect("it can be read").file_name());
    let mut names: Vec<_> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.retain(|name| name != "README.md");
    names.sort();
    assert_eq!(names, STANZAS.map(|(name, _)| name));
    let readme = read("README.md");
    for name in names {
        assert!(readme.contains(&format!("]({name})")), "{name}");
    }
}
