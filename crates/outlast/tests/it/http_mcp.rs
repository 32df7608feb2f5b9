//! The tools over HTTP: every revision, the same tools, waits that end with their reader.

use crate::{
    case_ground::{Ground, SOON},
    http_client::{Mcp, Server},
    mcp_client::Client,
};
use outlast_testkit::eventually;
use serde_json::json;

const REVISIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

#[test]
fn every_revision_is_served_on_one_endpoint_without_a_session() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    for revision in REVISIONS {
        let mcp = Mcp::new(&server, revision);
        if revision == "2026-07-28" {
            let discovered = mcp.result("server/discover", json!({}));
            let versions = discovered["supportedVersions"].as_array().expect("a list");
            assert!(versions.contains(&json!(revision)), "{discovered:#}");
            assert!(
                discovered["instructions"].as_str().is_some(),
                "{discovered:#}"
            );
        } else {
            let opened = mcp.result(
                "initialize",
                json!({
                    "protocolVersion": revision,
                    "capabilities": {},
                    "clientInfo": {"name": "test-host", "version": "1"},
                }),
            );
            assert_eq!(opened["protocolVersion"], revision);
            assert_eq!(opened["serverInfo"]["name"], "outlast");
        }
        let listed = mcp.result("tools/list", json!({}));
        let tools = listed["tools"].as_array().expect("a list");
        assert_eq!(tools.len(), 9, "{revision}");
        let begun = mcp.call(
            "background_run",
            json!({"command": format!("echo {revision}"), "wait_secs": 30}),
        );
        assert_eq!(begun["output"], format!("{revision}\n"), "{begun:#}");
    }
}

#[test]
fn the_tools_are_those_of_stdio() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let mcp = Mcp::new(&server, "2025-11-25");
    let mut stdio = Client::open(&ground);
    let of_stdio = stdio.request("tools/list", json!({}))["result"].clone();
    assert_eq!(mcp.result("tools/list", json!({})), of_stdio);

    // A run of one is a run of the other.
    let id = stdio.run(json!({"command": "echo from stdio", "label": "shared"}));
    let waited = mcp.call("background_wait", json!({"ids": [id]}));
    assert_eq!(waited["ended"][0]["summary"], "from stdio");
    let begun = mcp.call(
        "background_run",
        json!({"command": "sleep 300", "label": "other"}),
    );
    let read = stdio.fine("background_output", json!({"id": "other"}));
    assert_eq!(
        (&read["id"], &read["status"]),
        (&begun["id"], &json!("running"))
    );
    let cancelled = mcp.call("background_cancel", json!({"id": "other", "now": true}));
    assert_eq!(cancelled["cancelled"], true);
}

#[test]
fn headers_of_the_newest_revision_must_say_what_the_body_says() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let mcp = Mcp::new(&server, "2026-07-28");
    let ask = mcp.ask(
        "tools/call",
        json!({"name": "background_list", "arguments": {}}),
    );
    assert_eq!(server.send(&ask).status, 200);
    for wrong in [
        ask.clone().without("Mcp-Method"),
        ask.clone().without("Mcp-Name"),
        ask.clone().with("Mcp-Method", "tools/list"),
        ask.clone().with("Mcp-Name", "background_run"),
        ask.clone().with("MCP-Protocol-Version", "2025-11-25"),
    ] {
        let answer = server.send(&wrong);
        assert_eq!(answer.status, 400, "{wrong:#?} {answer:#?}");
        assert!(answer.json()["error"]["code"].is_i64(), "{answer:#?}");
    }
    for method in ["GET", "DELETE"] {
        let mut other = ask.clone();
        other.method = method.to_owned();
        assert_eq!(
            server.send(&other).status,
            405,
            "there is no session to open or end"
        );
    }
}

#[test]
fn a_closed_stream_ends_its_wait_and_not_the_run() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let gate = ground.gate("go");
    let id = server.run(json!({"command": "read -r _ <go"}));
    for revision in REVISIONS {
        let mcp = Mcp::new(&server, revision);
        let mut line = server.line();
        let arguments = json!({"ids": [id], "wait_secs": 45});
        line.send(&mcp.ask(
            "tools/call",
            json!({"name": "background_wait", "arguments": arguments}),
        ));
        eventually("the call waits", SOON, || {
            server.metric("outlast_waits ") == 1
        });
        drop(line);
        eventually("the wait has ended", SOON, || {
            server.metric("outlast_waits ") == 0
        });
        assert_eq!(ground.record(&id)["status"], "running", "{revision}");
    }
    gate.open(1);
    assert_eq!(ground.ended(&id)["status"], "completed");
}

#[test]
fn a_lifetime_that_hangs_on_a_session_is_refused_over_http() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    for revision in REVISIONS {
        let mcp = Mcp::new(&server, revision);
        let arguments = json!({"command": "true", "lifetime": "session"});
        let params = json!({"name": "background_run", "arguments": arguments});
        let result = mcp.result("tools/call", params);
        assert_eq!(result["isError"], true);
        let error = &result["structuredContent"]["error"];
        assert_eq!(error["code"], "lifetime_over_http", "{result:#}");
    }
    let body = json!({"command": "true", "lifetime": "session"});
    let refused = server.refused(&server.post("/api/runs", body));
    assert_eq!(refused, (400, "lifetime_over_http".to_owned()));
    assert!(ground.runs().is_empty(), "a refusal leaves no run");
}

#[test]
fn a_run_tells_which_host_asked_for_it_over_http() {
    let ground = Ground::new();
    let server = Server::start_with(&ground, &["--session", "nightly"]);
    for (revision, host) in [("2025-11-25", "test-agent"), ("2026-07-28", "test-host")] {
        let mcp = Mcp::new(&server, revision);
        let begun = mcp.call("background_run", json!({"command": "true"}));
        let record = ground.ended(begun["id"].as_str().expect("an id"));
        assert_eq!(
            (&record["origin"]["host"], &record["session"]),
            (&json!(host), &json!("nightly"))
        );
    }
    let id = server.run(json!({"command": "true"}));
    assert_eq!(ground.ended(&id)["origin"]["host"], "http");
}

/// Returns a host that knows tasks.
fn host(server: &Server) -> Mcp<'_> {
    Mcp {
        has_tasks: true,
        ..Mcp::new(server, "2026-07-28")
    }
}

/// Starts a run as a task and returns its id.
#[track_caller]
fn begin(server: &Server, command: &str) -> String {
    let params = json!({"name": "background_run", "arguments": {"command": command}});
    let task = host(server).result("tools/call", params);
    assert_eq!(task["resultType"], "task", "{task:#}");
    task["taskId"].as_str().expect("an id").to_owned()
}

#[test]
fn a_task_of_one_server_is_asked_about_and_cancelled_at_another() {
    let ground = Ground::new();
    let (mut first, second) = (Server::start(&ground), Server::start(&ground));
    let gate = ground.gate("go");
    let id = begin(&first, "read -r _ <go; echo done; exit 3");
    let long = begin(&first, "sleep 300");
    first.kill();
    let get = |id: &str| host(&second).result("tasks/get", json!({"taskId": id}));
    assert_eq!(get(&id)["status"], "working");
    gate.open(1);
    ground.wait(&id);
    let task = get(&id);
    assert_eq!(
        (&task["status"], &task["result"]["isError"]),
        (&json!("completed"), &json!(true))
    );
    assert_eq!(task["result"]["structuredContent"]["output"], "done\n");
    host(&second).result("tasks/cancel", json!({"taskId": long}));
    eventually("the task is cancelled", SOON, || {
        get(&long)["status"] == "cancelled"
    });
    assert_eq!(ground.record(&long)["status"], "cancelled");
}
