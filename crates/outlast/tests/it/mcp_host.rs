//! What a host tells of itself decides for whom, where and whether a run is started.

use crate::{case_ground::Ground, mcp_client::Client};
use serde_json::{Value, json};
use std::fs;

/// An id of a call as providers of models draw them.
const CALL: &str = "call_kXq8Zr2vN4hT6wYbL9sDfGjM";

/// Calls a tool with this `_meta` and returns the object.
#[track_caller]
fn call_with(client: &mut Client, meta: &Value, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let answer = client.request("tools/call", params);
    answer["result"]["structuredContent"].clone()
}

/// Case TW-04.
#[test]
fn a_call_that_a_host_repeats_with_its_id_starts_nothing_twice_also_in_another_server() {
    let ground = Ground::new();
    let request = json!({"command": "echo x >>f; sleep 300"});
    for name in ["callId", "claudecode/toolUseId"] {
        let meta = json!({name: CALL, "threadId": name});
        let mut client = Client::open(&ground);
        let first = call_with(&mut client, &meta, "background_run", &request);
        client.kill();
        let mut client = Client::open(&ground);
        let second = call_with(&mut client, &meta, "background_run", &request);
        assert_eq!(
            (&second["id"], &second["replayed"]),
            (&first["id"], &json!(true))
        );
        // In another thread, or in none, it is another call.
        let other = json!({name: CALL, "threadId": "other"});
        let third = call_with(&mut client, &other, "background_run", &request);
        assert_ne!(third["id"], first["id"]);
        for run in [&first, &third] {
            client.fine("background_cancel", json!({"id": run["id"], "now": true}));
        }
    }
}

#[test]
fn an_id_of_a_call_that_may_come_again_or_with_another_request_stands_in_no_start() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let mut start = |id: &str, command: &str| {
        let meta = json!({"callId": id, "threadId": "t"});
        let arguments = json!({"command": command});
        let begun = call_with(&mut client, &meta, "background_run", &arguments);
        assert_eq!(begun["replayed"], false, "{begun:#}");
        begun["id"].clone()
    };
    assert_ne!(start("call_1", "true"), start("call_1", "true"));
    assert_ne!(start(CALL, "true"), start(CALL, "echo other"));
    let own = json!({"command": "true", "idempotency_key": "mine"});
    let meta = json!({"callId": CALL, "threadId": "t"});
    let begun = call_with(&mut client, &meta, "background_run", &own);
    assert_eq!(begun["replayed"], false, "a key of its own counts alone");
}

/// Opens a session of a host that has roots.
fn open_with_roots(client: &mut Client) {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {"listChanged": true}},
        "clientInfo": {"name": "test-host", "version": "1"},
    });
    client.request("initialize", params);
    client.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
}

/// Answers the server's question for the roots.
#[track_caller]
fn tell_roots(client: &mut Client, roots: &[&str]) {
    let asked = client.message().expect("the server asks");
    assert_eq!(asked["method"], "roots/list", "{asked:#}");
    let roots: Vec<Value> = roots.iter().map(|uri| json!({"uri": uri})).collect();
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}});
    client.write(&answer.to_string());
}

#[test]
fn runs_belong_to_the_root_that_a_host_names_and_start_there() {
    let ground = Ground::new();
    let root = ground.home.path().join("pro ject");
    let inner = root.join("inner");
    fs::create_dir_all(&inner).expect("the home can be filled");
    let uri = format!("file://{}", root.display()).replace(' ', "%20");

    let mut client = Client::start(ground.program.command(&["mcp"]));
    open_with_roots(&mut client);
    let run = client.begin("background_run", json!({"command": "pwd", "wait_secs": 45}));
    tell_roots(&mut client, &["https://example.org/", &uri]);
    let here = client.reply(run).object;
    assert_eq!(here["output"], format!("{}\n", root.display()));
    let record = ground.record(here["id"].as_str().expect("an id"));
    assert_eq!(record["project"], json!(root));
    // It is asked once, and again when they have changed.
    client.fine("background_list", json!({}));
    client.write(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#);
    let list = client.begin("background_list", json!({}));
    tell_roots(&mut client, &[]);
    assert_eq!(
        client.reply(list).object["count"],
        0,
        "of the server's directory"
    );
}

#[test]
fn a_host_that_names_its_project_at_the_start_is_not_asked_for_roots() {
    let ground = Ground::new();
    let mut command = ground.program.command(&["mcp"]);
    command.env("CLAUDE_PROJECT_DIR", ground.home.work());
    let mut client = Client::start(command);
    open_with_roots(&mut client);
    let list = client.begin("background_list", json!({}));
    let answer = client.message().expect("an answer");
    assert_eq!(answer["id"], list, "{answer:#}");
}

#[test]
fn a_host_that_does_not_tell_its_roots_is_served_all_the_same() {
    let ground = Ground::new();
    let mut client = Client::start(ground.program.command(&["mcp"]));
    open_with_roots(&mut client);
    let begun = client.fine("background_run", json!({"command": "pwd", "wait_secs": 45}));
    let work = ground.home.work().canonicalize().expect("it is there");
    assert_eq!(begun["output"], format!("{}\n", work.display()));
}
