//! The background tools over stdio: what a model is told, and that it can mend its errors.

use crate::{case_ground::Ground, mcp_client::Client};
use serde_json::{Value, json};

const NAMES: [&str; 9] = [
    "background_run",
    "background_list",
    "background_output",
    "background_wait",
    "background_send",
    "background_cancel",
    "assistant_start",
    "assistant_poll",
    "assistant_cancel",
];

fn keys(object: &Value) -> Vec<&str> {
    let fields = object.as_object().expect("an object");
    fields.keys().map(String::as_str).collect()
}

#[test]
fn each_version_of_the_protocol_is_answered_in_itself() {
    let ground = Ground::new();
    for version in ["2025-06-18", "2025-11-25"] {
        let mut client = Client::start(ground.program.command(&["mcp"]));
        let opened = client.initialize(version, "test-host");
        assert_eq!(opened["protocolVersion"], version);
        assert_eq!(opened["serverInfo"]["name"], "outlast");
        let list = client.request("tools/list", json!({}));
        assert_eq!(list["result"]["tools"].as_array().map(Vec::len), Some(9));
    }
}

#[test]
fn the_version_without_a_session_is_discovered_and_answered() {
    let ground = Ground::new();
    let mut client = Client::start(ground.program.command(&["mcp"]));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test-host", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.request("server/discover", json!({"_meta": meta}));
    let found = &found["result"];
    let versions = found["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!("2026-07-28")), "{found:#}");
    assert_eq!(
        (&found["ttlMs"], &found["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    let list = client.request("tools/list", json!({"_meta": meta}));
    assert_eq!(list["result"]["ttlMs"], 3_600_000);
    assert_eq!(list["result"]["cacheScope"], "public");
    let call = json!({
        "_meta": meta, "name": "background_run", "arguments": {"command": "true", "wait_secs": 45},
    });
    let answer = client.request("tools/call", call);
    assert_eq!(
        answer["result"]["structuredContent"]["status"], "completed",
        "{answer:#}"
    );
}

#[test]
fn the_list_of_tools_is_small_and_says_what_each_does_to_the_world() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let mut answer = client.request("tools/list", json!({}));
    let bytes = answer["result"].to_string().len();
    assert!(
        bytes <= 12 << 10,
        "{bytes} bytes with the schemas of answers"
    );
    for tool in answer["result"]["tools"].as_array_mut().expect("tools") {
        let fields = tool.as_object_mut().expect("an object");
        assert!(fields.remove("outputSchema").is_some());
    }
    let bytes = answer["result"].to_string().len();
    assert!(bytes <= 8 << 10, "{bytes} bytes without them");
    let tools = answer["result"]["tools"].as_array().expect("tools");
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, NAMES);
    let hints = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name);
        let hints = &tool.expect("a tool")["annotations"];
        [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ]
        .map(|hint| hints[hint].as_bool().expect("each is said"))
    };
    assert_eq!(hints("background_run"), [false, true, false, true]);
    assert_eq!(hints("background_list"), [true, false, true, false]);
    assert_eq!(hints("background_output"), [true, false, true, false]);
    assert_eq!(hints("background_wait"), [true, false, true, false]);
    assert_eq!(hints("background_send"), [false, true, false, true]);
    assert_eq!(hints("background_cancel"), [false, true, true, false]);
    assert_eq!(hints("assistant_start"), [false, true, false, true]);
    assert_eq!(hints("assistant_poll"), [true, false, true, false]);
    assert_eq!(hints("assistant_cancel"), [false, false, true, false]);
    for tool in tools {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        assert!(tool["title"].is_string());
    }
}

#[test]
fn a_run_is_started_waited_for_and_read() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let mut client = Client::open(&ground);
    let begun = client.fine(
        "background_run",
        json!({"command": "echo first; read -r _ <go; echo last; exit 3", "label": "work"}),
    );
    let order = [
        "ok",
        "id",
        "status",
        "label",
        "timeout_secs",
        "lifetime",
        "posture",
        "replayed",
        "message",
    ];
    assert_eq!(keys(&begun), order);
    assert_eq!(
        (&begun["status"], &begun["timeout_secs"], &begun["lifetime"]),
        (&json!("running"), &json!(1800), &json!("detached"))
    );
    let id = begun["id"].as_str().expect("an id");

    let matched = client.fine(
        "background_wait",
        json!({"ids": [id], "until_output": "^fir"}),
    );
    assert_eq!(
        matched["matched"],
        json!({"id": id, "line": "first", "byte": 0})
    );
    let waiting = client.fine("background_wait", json!({"wait_secs": 0}));
    assert_eq!(
        waiting["running"][0]["id"], id,
        "all of the session: {waiting:#}"
    );
    gate.open(1);
    let waited = client.fine("background_wait", json!({"ids": [id]}));
    assert_eq!(waited["ended"][0]["id"], id, "{waited:#}");
    assert_eq!(waited["ended"][0]["exit_code"], 3);

    let read = client.fine("background_output", json!({"id": "work"}));
    let order = [
        "ok",
        "id",
        "status",
        "exit_code",
        "exit_rule",
        "summary",
        "output",
        "from_byte",
        "next_byte",
        "total_bytes",
        "truncated",
        "message",
    ];
    assert_eq!(keys(&read), order);
    assert_eq!(
        (&read["status"], &read["exit_code"], &read["output"]),
        (&json!("failed"), &json!(3), &json!("first\nlast\n"))
    );
    let rest = client.fine("background_output", json!({"id": id, "since_byte": 6}));
    assert_eq!(rest["output"], "last\n");
    let found = client.fine("background_output", json!({"id": id, "grep": "^la"}));
    assert_eq!(found["output"], "last\n");
}

/// Returns the field of an answer that its schema does not know or has with another type.
fn misfit(schema: &Value, answer: &Value) -> Option<String> {
    let properties = schema["properties"].as_object().expect("properties");
    let type_of = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let mut fields = answer.as_object().expect("an object").iter();
    let wrong = fields.find(|(name, value)| match properties.get(*name) {
        None => *name != "ended_unseen",
        Some(property) => {
            let allowed = &property["type"];
            let found = json!(type_of(value));
            let is_one = allowed.as_array().is_some_and(|all| all.contains(&found));
            let is_number = *allowed == "number" && value.is_number();
            *allowed != found && !is_one && !is_number
        }
    });
    wrong.map(|(name, _)| name.clone())
}

#[test]
fn every_answer_is_as_its_schema_says() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let list = client.request("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().expect("tools").clone();
    let live = client.run(json!({"command": "cat", "stdin": "pipe", "timeout_secs": 4_000_000}));
    let done = client.run(json!({"command": "seq 9000 | head -n 5000 | cat", "wait_secs": 45}));
    let calls = [
        ("run", json!({"command": "echo x", "wait_secs": 90})),
        ("run", json!({"command": "true", "timeout_secs": 0})),
        ("run", json!({"command": 5})),
        ("list", json!({"limit": 1})),
        ("output", json!({"id": done})),
        ("output", json!({"id": live, "max_bytes": 1_000_000})),
        ("output", json!({"id": "nonesuch"})),
        ("wait", json!({"ids": [live, "nonesuch"], "wait_secs": 0})),
        (
            "wait",
            json!({"ids": [done], "until_output": "1", "wait_secs": 900}),
        ),
        ("send", json!({"id": live, "text": "x", "eof": true})),
        ("cancel", json!({"id": "nonesuch"})),
        ("cancel", json!({"id": live})),
        ("cancel", json!({"id": done})),
    ];
    for (name, arguments) in calls {
        let name = format!("background_{name}");
        let tool = tools.iter().find(|tool| tool["name"] == name.as_str());
        let schema = &tool.expect("a tool")["outputSchema"];
        let reply = client.call(&name, arguments);
        assert_eq!(misfit(schema, &reply.object), None, "{reply:#?}");
        assert_eq!(schema["required"], json!(["ok"]));
    }
}

#[test]
fn a_run_that_ends_within_its_wait_brings_its_output_along() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let ended = client.fine(
        "background_run",
        json!({"command": "echo hello; exit 4", "wait_secs": 45}),
    );
    assert_eq!(
        (&ended["status"], &ended["exit_code"], &ended["output"]),
        (&json!("failed"), &json!(4), &json!("hello\n"))
    );
    assert_eq!(
        keys(&ended)[..5],
        ["ok", "id", "status", "exit_code", "summary"]
    );
    assert_eq!(keys(&ended).last(), Some(&"message"));
}

#[test]
fn a_run_reads_what_is_sent_and_is_cancelled_with_all_it_started() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id =
        client.run(json!({"command": "read -r line; echo got $line; sleep 300", "stdin": "pipe"}));
    let sent = client.fine("background_send", json!({"id": id, "text": "word\n"}));
    assert_eq!(sent["accepted_bytes"], 5);
    ground.prints(&id, "got word");
    let cancelled = client.fine("background_cancel", json!({"id": id}));
    assert_eq!(
        (&cancelled["cancelled"], &cancelled["status"]),
        (&json!(true), &json!("cancelled"))
    );
    ground.assert_no_process_but(client.pid());
    let again = client.fine("background_cancel", json!({"id": id}));
    assert_eq!(again["cancelled"], false);

    let closed = client.run(json!({"command": "sleep 300"}));
    let (code, _) = client.refused("background_send", json!({"id": closed, "text": "x"}));
    assert_eq!(code, "no_stdin");
}

#[test]
fn the_record_says_who_asked_and_how_the_shell_was_started() {
    let ground = Ground::new();
    let mut command = ground.program.command(&["mcp", "--session", "mine"]);
    command.env("CLAUDE_CODE_SESSION_ID", "theirs");
    let (mut client, _) = Client::open_with(command, "claude-code");
    let id = client.run(json!({
        "command": "echo $PAGER $WORD", "env": {"WORD": "given"}, "timeout_secs": 0,
    }));
    let record = ground.ended(&id);
    assert_eq!(
        record["origin"],
        json!({"host": "claude-code", "session": "theirs"})
    );
    assert_eq!(record["session"], "mine");
    assert_eq!(record["shell"]["login"], true);
    assert_eq!(record["timeout_secs"], Value::Null);
    assert_eq!(ground.text(&id), "cat given\n");
}

#[test]
fn the_project_and_the_session_are_those_of_the_host() {
    let ground = Ground::new();
    let project = ground.home.path().join("theirs");
    std::fs::create_dir(&project).expect("the home can be filled");
    let mut command = ground.program.command(&["mcp"]);
    command
        .env("CLAUDE_PROJECT_DIR", &project)
        .env("CLAUDE_CODE_SESSION_ID", "s-1");
    let (mut client, _) = Client::open_with(command, "claude-code");
    let id = client.run(json!({"command": "pwd"}));
    let record = ground.ended(&id);
    let shown = project.to_str().expect("a path of ours");
    assert_eq!(record["session"], "s-1");
    assert_eq!(
        (&record["project"], &record["cwd"]),
        (&json!(shown), &json!(shown))
    );
}

/// Arguments that mean nothing: tool, arguments, code, and what the message names.
const WRONG: &str = r#"
    run | {} | missing_argument | `command`
    run | {"command": "  "} | missing_argument | `command`
    run | {"command": ["ls"]} | wrong_type | `command`
    run | {"command": "ls", "timeout": 5} | unknown_argument | `timeout`
    run | {"command": "ls", "timeout_secs": -1} | negative_number | `timeout_secs`
    run | {"command": "ls", "wait_secs": "5"} | wrong_type | `wait_secs`
    run | {"command": "ls", "pipefail": 1} | wrong_type | `pipefail`
    run | {"command": "ls", "env": {"A": 1}} | wrong_type | `env`
    run | {"command": "ls", "env": {"LD_PRELOAD": "x"}} | env_not_allowed | `LD_PRELOAD`
    run | {"command": "ls", "stdin": "tty"} | unknown_word | `stdin`
    run | {"command": "ls", "cwd": "gone"} | work_dir | `cwd`
    run | {"command": "ls", "sandbox": "wide"} | unknown_word | `sandbox`
    run | {"command": "ls", "network": "none"} | containment_unavailable | `network`
    run | {"command": "ls", "network": "some"} | unknown_word | `network`
    list | {"limit": "all"} | wrong_type | `limit`
    list | {"status": "done"} | unknown_word | `status`
    output | {"id": null} | missing_argument | `id`
    wait | {"ids": [1]} | wrong_type | `ids`
    send | {"id": "x"} | missing_argument | `text`
    send | {"id": "x", "text": "y"} | no_such_run | `x`
    cancel | {} | missing_argument | `id`
"#;

#[test]
fn what_is_wrong_with_an_argument_is_said_with_its_name() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let rows = WRONG.lines().map(|line| line.trim().split(" | ").collect());
    let rows: Vec<Vec<&str>> = rows.filter(|row: &Vec<_>| row.len() == 4).collect();
    assert_eq!(rows.len(), 21);
    for row in rows {
        let arguments = serde_json::from_str(row[1]).expect("a document");
        let (code, message) = client.refused(&format!("background_{}", row[0]), arguments);
        assert_eq!(code, row[2], "{row:?}");
        assert!(message.contains(row[3]), "{row:?}: {message}");
    }
    assert_eq!(ground.runs().len(), 0);
}

#[test]
fn output_is_asked_for_within_bounds_and_a_clamp_is_said() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "echo one", "wait_secs": 45}));
    let zero = client.refused("background_output", json!({"id": id, "max_bytes": 0}));
    assert_eq!(
        zero,
        ("zero_bytes".to_owned(), "`max_bytes` is 0".to_owned())
    );
    let (code, _) = client.refused("background_output", json!({"id": id, "grep": "("}));
    assert_eq!(code, "bad_pattern");
    let huge = client.fine(
        "background_output",
        json!({"id": id, "max_bytes": 1_000_000}),
    );
    assert_eq!(
        huge["notices"],
        json!(["`max_bytes` of 1000000 was set to 32768"])
    );
}

#[test]
fn an_unknown_id_is_an_answer_and_an_unknown_tool_is_none() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let read = client.fine("background_output", json!({"id": "nonesuch"}));
    assert_eq!(keys(&read), ["ok", "id", "found", "message"]);
    assert_eq!(read["found"], false);
    let waited = client.fine("background_wait", json!({"ids": ["nonesuch"]}));
    assert_eq!(
        waited["unknown"],
        json!([{"id": "nonesuch", "found": false}])
    );
    let cancelled = client.fine("background_cancel", json!({"id": "nonesuch"}));
    assert_eq!(
        (&cancelled["cancelled"], &cancelled["status"]),
        (&json!(false), &Value::Null)
    );
    let answer = client.request("tools/call", json!({"name": "background", "arguments": {}}));
    assert_eq!(answer["error"]["code"], -32602);
}

#[test]
fn what_is_no_message_leaves_the_session_as_it_is() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    client.write("{\"jsonrpc\": \"2.0\", ");
    client.write("[[[[[[");
    client.write(&"[".repeat(100_000));
    let unknown = client.request("no/such", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(client.fine("background_list", json!({}))["count"], 0);
}

/// Case RU-02. Eight answers in one turn are eight times one.
#[test]
fn an_answer_about_fifty_megabytes_is_small_and_says_how_much_there_is() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let command = "head -c 50000000 /dev/zero | tr '\\0' x | fold -w 99";
    let id = client.run(json!({"command": command, "label": "big"}));
    ground.wait(&id);
    let reply = client.call("background_output", json!({"id": id}));
    assert!(reply.text.len() <= 11_264, "{} bytes", reply.text.len());
    assert_eq!(reply.object["truncated"], true);
    assert_eq!(
        reply.object["total_bytes"],
        ground.record(&id)["output"]["bytes"]
    );
    let quotes = client.run(json!({"command": "head -c 100000 /dev/zero | tr '\\0' '\"'"}));
    ground.wait(&quotes);
    let reply = client.call("background_output", json!({"id": quotes}));
    assert!(reply.text.len() <= 11_264, "{} bytes", reply.text.len());
}
