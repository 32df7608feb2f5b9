//! Runs as resources: listed, read, watched; and the progress of a call that waits.

use crate::{case_ground::Ground, mcp_client::Client};
use serde_json::{Value, json};

fn none() -> Value {
    json!({})
}

#[track_caller]
fn text_of(answer: &Value) -> String {
    let contents = answer["result"]["contents"].as_array().expect("contents");
    assert_eq!(contents.len(), 1, "{answer:#}");
    contents[0]["text"].as_str().expect("a text").to_owned()
}

/// Returns the address of the next notice that a resource has changed.
#[track_caller]
fn next_update(client: &Client) -> Value {
    loop {
        let message = client.message().expect("a notice comes");
        if message["method"] == "notifications/resources/updated" {
            return message["params"].clone();
        }
    }
}

#[test]
fn the_newest_runs_of_the_project_are_listed_and_read_as_resources() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "echo hello; exit 3", "label": "greet"}));
    ground.wait(&id);
    let (record, output) = (
        format!("outlast://run/{id}"),
        format!("outlast://run/{id}/output"),
    );
    let list = client.request("resources/list", none());
    let listed = list["result"]["resources"].as_array().expect("resources");
    let field = |name: &str| {
        listed
            .iter()
            .map(|one| one[name].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(field("uri"), [json!(record), json!(output)]);
    assert_eq!(field("name"), [json!("greet"), json!("greet (output)")]);
    assert_eq!(
        field("mimeType"),
        [json!("application/json"), json!("text/plain")]
    );
    let templates = client.request("resources/templates/list", none());
    let templates = &templates["result"]["resourceTemplates"];
    assert_eq!(templates[0]["uriTemplate"], "outlast://run/{id}");
    assert_eq!(templates[1]["uriTemplate"], "outlast://run/{id}/output");

    let read = client.request("resources/read", json!({"uri": record}));
    let read: Value = serde_json::from_str(&text_of(&read)).expect("a record");
    assert_eq!(read, ground.record(&id));
    let read = client.request("resources/read", json!({"uri": output}));
    assert_eq!(text_of(&read), "hello\n");
    let other = client.fine("background_output", json!({"id": "nonesuch"}));
    assert_eq!(other["ended_unseen"], Value::Null, "its end was read");
}

#[test]
fn a_long_output_is_read_from_its_end_and_says_what_is_not_shown() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "seq -w 100000", "wait_secs": 45}));
    let uri = format!("outlast://run/{id}/output");
    let read = client.request("resources/read", json!({"uri": uri}));
    let text = text_of(&read);
    assert!(text.len() <= 33_000, "{} bytes", text.len());
    assert!(
        text.starts_with("[outlast: bytes 0–"),
        "{:?}",
        text.get(..80)
    );
    assert!(text.ends_with("\n100000\n"));
}

#[test]
fn what_is_no_resource_is_said_in_the_code_of_each_revision() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let uri = json!({"uri": "outlast://run/zzzzzzzzzzzzzzzz"});
    let read = client.request("resources/read", uri.clone());
    assert_eq!(read["error"]["code"], -32002);
    let watched = client.request("resources/subscribe", uri.clone());
    assert_eq!(watched["error"]["code"], -32002);
    let read = client.request("resources/read", json!({"uri": "file:///etc/passwd"}));
    assert_eq!(read["error"]["code"], -32002);
    let list = client.request("resources/list", json!({"cursor": "x"}));
    assert_eq!(list["error"]["code"], -32602);

    let mut client = Client::start(ground.program.command(&["mcp"]));
    let read = client.modern(&none(), "resources/read", uri);
    assert_eq!(read["error"]["code"], -32602);
}

#[test]
fn lists_say_for_how_long_they_are_good() {
    let ground = Ground::new();
    let mut client = Client::start(ground.program.command(&["mcp"]));
    let mut fresh = |method: &str| {
        let answer = client.modern(&none(), method, none());
        let result = &answer["result"];
        (result["ttlMs"].clone(), result["cacheScope"].clone())
    };
    let (hour, now) = (json!(3_600_000), json!(0));
    let (public, private) = (json!("public"), json!("private"));
    assert_eq!(fresh("tools/list"), (hour.clone(), public.clone()));
    assert_eq!(fresh("resources/templates/list"), (hour, public));
    assert_eq!(fresh("resources/list"), (now.clone(), private.clone()));
    assert_eq!(fresh("server/discover"), (now, private));
}

#[test]
fn a_session_that_subscribes_is_told_of_output_and_of_the_end_until_it_unsubscribes() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let (mut client, opened) = Client::open_with(ground.program.command(&["mcp"]), "test-host");
    assert_eq!(opened["capabilities"]["resources"]["subscribe"], true);
    let command = "read -r _ <go; echo one; read -r _ <go; echo two; read -r _ <go";
    let id = client.run(json!({"command": command}));
    let (record, output) = (
        json!({"uri": format!("outlast://run/{id}")}),
        json!({"uri": format!("outlast://run/{id}/output")}),
    );
    for uri in [&record, &output] {
        let begun = client.request("resources/subscribe", uri.clone());
        assert_eq!(begun["result"], json!({}), "{begun:#}");
    }
    gate.open(1);
    let mut told = [next_update(&client), next_update(&client)];
    told.sort_by_key(|params| params["uri"].as_str().map(str::len));
    assert_eq!(told, [record.clone(), output.clone()]);
    let ended = client.request("resources/unsubscribe", record);
    assert_eq!(ended["result"], json!({}));
    gate.open(1);
    assert_eq!(next_update(&client), output);
    let read = client.request("resources/read", output.clone());
    assert_eq!(text_of(&read), "one\ntwo\n");
    gate.open(1);
    assert_eq!(next_update(&client), output);
    assert_eq!(ground.ended(&id)["status"], "completed");
}

#[test]
fn a_request_that_listens_is_told_of_what_there_is_until_it_is_cancelled() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let id = ground.shell("read -r _ <go; echo one; read -r _ <go");
    let uri = format!("outlast://run/{id}/output");
    let mut client = Client::start(ground.program.command(&["mcp"]));
    let wanted = json!([uri, "outlast://run/zzzzzzzzzzzzzzzz"]);
    let params = json!({"notifications": {"resourceSubscriptions": wanted}});
    let listening = client.send_modern(&none(), "subscriptions/listen", params);
    let accepted = client.message().expect("an acknowledgement");
    assert_eq!(
        accepted["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(
        accepted["params"]["notifications"]["resourceSubscriptions"],
        json!([uri])
    );
    gate.open(1);
    let told = next_update(&client);
    assert_eq!(told["uri"], json!(uri));
    assert_eq!(
        told["_meta"]["io.modelcontextprotocol/subscriptionId"],
        json!(listening)
    );
    // Others are answered meanwhile.
    client.modern(&none(), "tools/list", none());
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": listening},
    });
    client.write(&cancel.to_string());
    gate.open(1);
    ground.wait(&id);
    let read = client.modern(&none(), "resources/read", json!({"uri": uri}));
    assert_eq!(text_of(&read), "one\n");
}

#[test]
fn a_server_watches_so_many_resources_and_says_when_there_are_more() {
    let ground = Ground::with_limits("runs_per_session = 100");
    let mut client = Client::open(&ground);
    let ids: Vec<String> = (0..17).map(|_| ground.shell("sleep 300")).collect();
    let mut subscribe = |uri: String| client.request("resources/subscribe", json!({"uri": uri}));
    for id in &ids[..16] {
        for uri in [
            format!("outlast://run/{id}"),
            format!("outlast://run/{id}/output"),
        ] {
            assert_eq!(subscribe(uri)["result"], json!({}));
        }
    }
    let first = subscribe(format!("outlast://run/{}", ids[0]));
    assert_eq!(first["result"], json!({}), "the same again is no other");
    let more = subscribe(format!("outlast://run/{}", ids[16]));
    let said = more["error"]["message"].as_str().expect("a refusal");
    assert!(said.contains("32 resources"), "{said}");
}

#[test]
fn a_wait_tells_its_progress_where_a_token_came_and_each_time_more() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "sleep 300"}));
    let silent = json!({"name": "background_wait", "arguments": {"ids": [id], "wait_secs": 21}});
    let mut telling = silent.clone();
    telling["_meta"] = json!({"progressToken": "mine"});
    let silent = client.send("tools/call", silent);
    let telling = client.send("tools/call", telling);
    let mut progress = Vec::new();
    let mut answered = Vec::new();
    while answered.len() < 2 {
        let message = client.message().expect("both are answered");
        if message["method"] == "notifications/progress" {
            assert_eq!(message["params"]["progressToken"], "mine");
            let told = message["params"]["progress"].as_f64();
            progress.push(told.expect("a number"));
        } else {
            answered.push(message["id"].as_u64().expect("an id of ours"));
        }
    }
    answered.sort_unstable();
    assert_eq!(answered, [silent, telling]);
    assert_eq!(progress.len(), 2, "{progress:?}");
    assert!(
        progress[0] >= 10.0 && progress[1] >= progress[0] + 10.0,
        "{progress:?}"
    );
}
