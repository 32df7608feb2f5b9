//! Runs as tasks of the protocol: handed out, asked about by any process, cancelled.

use crate::{
    case_ground::{Ground, SOON, kill},
    mcp_client::Client,
};
use outlast_testkit::eventually_some;
use serde_json::{Value, json};
use std::fs;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

fn with_tasks() -> Value {
    json!({EXTENSION: {}})
}

fn open(ground: &Ground) -> Client {
    Client::start(ground.program.command(&["mcp"]))
}

fn call(client: &mut Client, extensions: &Value, arguments: &Value) -> Value {
    let params = json!({"name": "background_run", "arguments": arguments});
    let answer = client.modern(extensions, "tools/call", params);
    answer["result"].clone()
}

/// Starts a run as a task and returns its id.
#[track_caller]
fn begin(client: &mut Client, arguments: &Value) -> String {
    let task = call(client, &with_tasks(), arguments);
    assert_eq!(task["resultType"], "task", "{task:#}");
    task["taskId"].as_str().expect("an id").to_owned()
}

#[track_caller]
fn get(client: &mut Client, id: &str) -> Value {
    let answer = client.modern(&with_tasks(), "tasks/get", json!({"taskId": id}));
    answer["result"].clone()
}

#[track_caller]
fn ended(client: &mut Client, id: &str) -> Value {
    eventually_some("the task has ended", SOON, || {
        let task = get(client, id);
        (task["status"] != "working").then_some(task)
    })
}

#[track_caller]
fn error_code(client: &mut Client, extensions: &Value, method: &str, params: Value) -> Value {
    let answer = client.modern(extensions, method, params);
    answer["error"]["code"].clone()
}

fn keys(object: &Value) -> Vec<&str> {
    let fields = object.as_object().expect("an object");
    let mut keys: Vec<&str> = fields.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn a_start_is_a_task_only_for_a_client_that_says_so_in_that_request() {
    let ground = Ground::new();
    let mut client = open(&ground);
    let found = client.modern(&json!({}), "server/discover", json!({}));
    let offered = &found["result"]["capabilities"]["extensions"];
    assert!(offered[EXTENSION].is_object(), "{found:#}");

    let command = json!({"command": "sleep 300", "label": "nap"});
    let task = call(&mut client, &with_tasks(), &command);
    let fields = [
        "createdAt",
        "lastUpdatedAt",
        "pollIntervalMs",
        "resultType",
        "status",
        "statusMessage",
        "taskId",
        "ttlMs",
    ];
    assert_eq!(keys(&task), fields);
    assert_eq!(task["status"], "working");
    let id = task["taskId"].as_str().expect("an id");
    let record = ground.record(id);
    assert_eq!(
        (&record["status"], &record["label"], &record["created"]),
        (&json!("running"), &json!("nap"), &task["createdAt"])
    );
    let month_ms = 30 * 24 * 3_600 * 1_000;
    assert!(task["ttlMs"].as_u64() >= Some(month_ms), "{task:#}");
    let said = task["statusMessage"].as_str().expect("a text");
    for part in [id, "limit 30m", "uncontained"] {
        assert!(said.contains(part), "{said}");
    }

    let plain = call(&mut client, &json!({}), &command);
    assert_eq!(plain["resultType"], "complete");
    assert_eq!(plain["structuredContent"]["status"], "running");
}

#[test]
fn a_start_that_waits_has_no_limit_or_is_refused_is_answered_itself() {
    let ground = Ground::new();
    let mut client = open(&ground);
    for arguments in [
        json!({"command": "true", "wait_secs": 45}),
        json!({"command": "sleep 300", "wait_secs": 0}),
        json!({"command": "sleep 300", "timeout_secs": 0}),
        json!({"command": " "}),
    ] {
        let answer = call(&mut client, &with_tasks(), &arguments);
        assert_eq!(answer["resultType"], "complete", "{arguments}");
    }
}

/// Case PR-03.
#[test]
fn a_task_brings_what_its_run_printed_also_by_another_server_and_as_an_error_where_it_failed() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let mut first = open(&ground);
    let command = "echo one; read -r _ <go; echo two; exit 3";
    let id = begin(&mut first, &json!({"command": command}));
    let other = begin(&mut first, &json!({"command": "echo fine"}));
    ground.prints(&id, "one");
    let task = get(&mut first, &id);
    assert_eq!(task["status"], "working");
    let said = task["statusMessage"].as_str().expect("a text");
    assert!(said.ends_with("; one"), "{said}");
    first.kill();

    let mut second = open(&ground);
    let fine = ended(&mut second, &other);
    assert_eq!(fine["result"]["isError"], false);
    gate.open(1);
    let task = ended(&mut second, &id);
    assert_eq!(
        (&task["status"], &task["resultType"]),
        (&json!("completed"), &json!("complete"))
    );
    let result = &task["result"];
    assert_eq!(result["isError"], true);
    let params = json!({"name": "background_output", "arguments": {"id": id}});
    let read = second.modern(&json!({}), "tools/call", params);
    let read = &read["result"]["structuredContent"];
    assert_eq!(&result["structuredContent"], read);
    assert_eq!(read["output"], "one\ntwo\n");
    assert_eq!(read["exit_code"], 3);
    let text = result["content"][0]["text"].as_str().expect("a text");
    let parsed: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(&parsed, read);
}

#[test]
fn each_way_to_end_has_its_task_status() {
    let ground = Ground::new();
    let mut client = open(&ground);
    let cancelled = begin(&mut client, &json!({"command": "sleep 300"}));
    let interrupted = begin(&mut client, &json!({"command": "echo here; sleep 300"}));
    let missing = begin(&mut client, &json!({"command": "exec no-such-program"}));
    let late = begin(
        &mut client,
        &json!({"command": "sleep 300", "timeout_secs": 1}),
    );
    ground.prints(&interrupted, "here");
    kill(ground.supervisor(&interrupted));
    ground.cancel(&cancelled);

    let task = ended(&mut client, &cancelled);
    assert_eq!(
        (&task["status"], &task["result"]),
        (&json!("cancelled"), &Value::Null)
    );
    let task = ended(&mut client, &interrupted);
    assert_eq!(task["status"], "failed");
    assert_eq!(task["error"]["code"], -32603);
    assert_eq!(task["error"]["data"]["output"], "here\n");
    let task = ended(&mut client, &missing);
    assert_eq!(
        (&task["status"], &task["result"]["isError"]),
        (&json!("completed"), &json!(true))
    );
    assert_eq!(task["result"]["structuredContent"]["exit_code"], 127);
    let task = ended(&mut client, &late);
    assert_eq!(
        (&task["status"], &task["result"]["isError"]),
        (&json!("completed"), &json!(true))
    );
    assert_eq!(task["result"]["structuredContent"]["status"], "timed_out");
    // What a killed supervisor left is stopped with the rest.
    ground.cancel(&interrupted);
}

#[test]
fn a_cancel_of_a_task_returns_at_once_and_leaves_one_that_has_ended_as_it_is() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let mut client = open(&ground);
    let command = "trap 'read -r _ <go; exit 0' TERM; echo up; while :; do sleep 0.1; done";
    let id = begin(&mut client, &json!({"command": command}));
    ground.prints(&id, "up");
    let cancel = |client: &mut Client| {
        let answer = client.modern(&with_tasks(), "tasks/cancel", json!({"taskId": id}));
        answer["result"].clone()
    };
    // It answers though the run has not ended, which it cannot before the gate is open.
    assert_eq!(cancel(&mut client), json!({"resultType": "complete"}));
    assert_eq!(get(&mut client, &id)["status"], "working");
    gate.open(9);
    assert_eq!(ended(&mut client, &id)["status"], "cancelled");
    assert_eq!(cancel(&mut client), json!({"resultType": "complete"}));

    let left = begin(&mut client, &json!({"command": "sleep 300 & echo done"}));
    assert_eq!(ended(&mut client, &left)["status"], "completed");
    client.modern(&with_tasks(), "tasks/cancel", json!({"taskId": left}));
    assert_eq!(ground.processes_of("sleep").len(), 1);
}

#[test]
fn an_unknown_task_and_a_client_without_the_extension_are_told_apart() {
    let ground = Ground::new();
    let mut client = open(&ground);
    let id = begin(&mut client, &json!({"command": "sleep 300"}));
    let unknown = json!({"taskId": "zzzzzzzzzzzzzzzz", "inputResponses": {}});
    let known = json!({"taskId": id, "inputResponses": {}});
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let code = error_code(&mut client, &with_tasks(), method, unknown.clone());
        assert_eq!(code, -32602, "{method}");
        let code = error_code(&mut client, &json!({}), method, known.clone());
        assert_eq!(code, -32021, "{method}");
    }
    // A label and a beginning are no task's id.
    let code = error_code(
        &mut client,
        &with_tasks(),
        "tasks/get",
        json!({"taskId": id.get(..6)}),
    );
    assert_eq!(code, -32602);
    let list = error_code(&mut client, &with_tasks(), "tasks/list", json!({}));
    assert_eq!(list, -32601);
    let update = client.modern(&with_tasks(), "tasks/update", known);
    assert_eq!(update["result"], json!({"resultType": "complete"}));
}

#[test]
fn asking_about_a_task_counts_as_reading_and_its_result_as_told() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let mut client = open(&ground);
    let idle = ground.shell_with(&["--idle-ttl", "1h"], "read -r _ <go");
    let mark = ground.run_dir(&idle).join("polled");
    let before = fs::read_to_string(&mark).unwrap_or_default();
    get(&mut client, &idle);
    assert_ne!(fs::read_to_string(&mark).expect("a mark"), before);

    let id = begin(&mut client, &json!({"command": "read -r _ <go"}));
    gate.open(2);
    ended(&mut client, &id);
    let params = json!({"name": "background_output", "arguments": {"id": "nonesuch"}});
    let other = client.modern(&json!({}), "tools/call", params);
    let other = &other["result"]["structuredContent"];
    assert_eq!(other["ended_unseen"], Value::Null, "{other:#}");
}

#[test]
fn a_session_of_an_older_revision_is_given_no_task() {
    let ground = Ground::new();
    let mut client = open(&ground);
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"extensions": with_tasks(), "tasks": {}},
        "clientInfo": {"name": "test-host", "version": "1"},
    });
    let opened = client.request("initialize", params);
    assert_eq!(opened["result"]["capabilities"]["extensions"], Value::Null);
    let begun = client.fine("background_run", json!({"command": "sleep 300"}));
    assert_eq!(begun["status"], "running");
}
