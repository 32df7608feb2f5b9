//! The assistant behind three tools: start, poll and cancel, over real processes.
//!
//! The model is scripted and real HTTP; the runs are local or on the host, so that these promises
//! hold where nothing can be contained too.

use crate::{
    agent_ground::Agents,
    agent_stage::kinds,
    case_ground::{Ground, SOON, write},
};
use outlast_testkit::{
    eventually, eventually_some,
    model::{Gate, Script, Turn},
};
use serde_json::{Value, json};

fn id_of(begun: &Value) -> String {
    begun["run_id"].as_str().expect("an id").to_owned()
}

/// An unchanged poll is small: case TW-05.
#[test]
fn start_poll_and_the_report_make_a_round() {
    let stage = Agents::new();
    write(&stage.ground.home.work().join("notes.txt"), "seven\n");
    stage.model.play(
        Script::new()
            .call("read_file", json!({"path": "notes.txt"}))
            .text("It says seven.\nNothing else."),
    );
    let mut client = stage.client();
    let begun = Agents::begin(&mut client, &json!({"max_turns": 7}));
    assert_eq!(begun["status"], "running");
    assert_eq!(begun["poll_after_ms"], 2_000);
    assert_eq!(
        (&begun["max_turns"], &begun["model"]),
        (&json!(7), &json!("scripted"))
    );
    assert_eq!(begun["ancestry"], json!([]));
    assert_eq!(begun["sandbox"]["tier"], "ReadOnly");
    assert!(
        begun["idle_ends_at"]
            .as_str()
            .expect("a time")
            .ends_with('Z')
    );
    let keys: Vec<&str> = begun
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys[..3], ["ok", "run_id", "status"]);
    assert_eq!(keys.last(), Some(&"message"));

    let id = id_of(&begun);
    let ended = Agents::polled_to_end(&mut client, &id);
    assert_eq!(ended["status"], "ok", "{ended:#}");
    let result = &ended["result"];
    assert_eq!(result["schema"], "car.do/1");
    assert_eq!(result["status"], "success");
    assert_eq!(result["summary"], "It says seven.\nNothing else.");
    assert_eq!(
        (&result["turns"], &result["delegations"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(result["receipts"]["by_tool"], json!({"read_file": 1}));
    assert_eq!(result["model_used"], "scripted");
    assert_eq!(result["ungrounded_claims"], json!([]));
    assert_eq!(result["sandbox"], begun["sandbox"], "as bound at the start");
    let kinds = kinds(&ended["events"]);
    assert_eq!(
        (kinds.first(), kinds.last()),
        (Some(&"started"), Some(&"completed"))
    );
    let at = |kind: &str| kinds.iter().position(|one| *one == kind);
    assert!(
        at("tool_called") < at("tool_result") && at("tool_result") < at("text"),
        "{kinds:?}"
    );
    let events = ended["events"].as_array().expect("a list");
    for (event, seq) in events.iter().zip(0_u64..) {
        assert_eq!(event["seq"], seq, "without gaps");
    }
    stage.model.assert_played();
    stage.model.assert_histories();

    // The same as a command's: any id means it, and the log is its output.
    let output = client.fine("background_output", json!({"id": id}));
    assert!(
        output["output"].as_str().expect("a text").contains("seven"),
        "{output:#}"
    );
    let listed = client.fine("background_list", json!({}));
    assert_eq!(listed["tasks"][0]["kind"], "agent");
}

#[test]
fn a_poll_that_brings_nothing_new_is_short_and_says_when_to_come_again() {
    let stage = Agents::new();
    let gate = Gate::new();
    stage
        .model
        .play(Script::new().turn(Turn::text("done").held_at(&gate)));
    let mut client = stage.client();
    let id = id_of(&Agents::begin(&mut client, &json!({})));
    stage.model.wait_for_turn(0, SOON);
    let first = client.fine("assistant_poll", json!({"run_id": id}));
    assert!(!first["events"].as_array().expect("a list").is_empty());
    let again = json!({"run_id": id, "since_seq": first["next_seq"]});
    let reply = client.call("assistant_poll", again);
    assert_eq!(reply.object["events"], json!([]));
    assert!(
        reply.text.len() <= 300,
        "{} bytes: {}",
        reply.text.len(),
        reply.text
    );
    let after = reply.object["poll_after_ms"].as_u64().expect("a number");
    assert!((2_000..=15_000).contains(&after), "{after}");
    assert_eq!(reply.object.get("result"), None);
    gate.open();
    let ended = Agents::polled_to_end(&mut client, &id);
    assert_eq!(ended.get("poll_after_ms"), None);
}

#[test]
fn bad_arguments_are_errors_of_the_protocol_and_a_missing_directory_is_an_answer() {
    let stage = Agents::new();
    let mut client = stage.client();
    let long = "x".repeat(1 << 20);
    for (tool, arguments, field) in [
        ("assistant_start", json!({}), "task"),
        ("assistant_start", json!({"task": "  "}), "task"),
        ("assistant_start", json!({"task": null}), "task"),
        ("assistant_start", json!({"task": 7}), "task"),
        ("assistant_start", json!({"task": long}), "task"),
        (
            "assistant_start",
            json!({"task": "x", "max_turns": "many"}),
            "max_turns",
        ),
        (
            "assistant_start",
            json!({"task": "x", "idle_ttl_secs": -1}),
            "idle_ttl_secs",
        ),
        (
            "assistant_start",
            json!({"task": "x", "locale": true}),
            "locale",
        ),
        ("assistant_poll", json!({}), "run_id"),
        (
            "assistant_poll",
            json!({"run_id": "x", "since_seq": -1}),
            "since_seq",
        ),
        ("assistant_cancel", json!({"run_id": ["x"]}), "run_id"),
    ] {
        let answer = client.call_raw(tool, &arguments.to_string());
        assert_eq!(answer["error"]["code"], -32602, "{tool} {answer:#}");
        let message = answer["error"]["message"].as_str().expect("a text");
        assert!(message.contains(&format!("`{field}`")), "{message}");
    }
    let (code, message) = client.refused(
        "assistant_start",
        json!({"task": "x", "cwd": "/nowhere/at/all"}),
    );
    assert_eq!(code, "work_dir");
    assert!(message.contains("/nowhere/at/all"), "{message}");
    let (code, _) = client.refused("assistant_poll", json!({"run_id": "zzzz"}));
    assert_eq!(code, "no_such_run");
    let listed = client.fine("background_list", json!({"all": true}));
    assert_eq!(listed["count"], 0, "a refusal leaves no run");
    assert!(stage.model.turns().is_empty());
}

#[test]
fn numbers_out_of_range_are_clamped_and_said() {
    let stage = Agents::new();
    stage.model.answer_all(|_| Turn::text("done"));
    let mut client = stage.client();
    for (asked, used) in [(0, 1), (10_000, 200)] {
        let begun = Agents::begin(&mut client, &json!({"max_turns": asked}));
        assert_eq!(begun["max_turns"], used);
        let notices = begun["notices"].to_string();
        assert!(notices.contains(&used.to_string()), "{notices}");
    }
    let begun = Agents::begin(&mut client, &json!({"idle_ttl_secs": 0}));
    assert_eq!(begun.get("idle_ends_at"), None, "no budget");
}

#[test]
fn a_ninth_run_is_refused_with_who_holds_the_places_and_a_place_comes_back() {
    let stage = Agents::new();
    let gate = Gate::new();
    let held = gate.clone();
    stage
        .model
        .answer_all(move |_| Turn::text("done").held_at(&held));
    // Two sessions of eight places each, so that the agents' own places are the first to be gone.
    let mut clients = [("one", 5), ("two", 3)].map(|(session, count)| {
        let command = stage.command(&["mcp", "--session", session]);
        let (mut client, _) = crate::mcp_client::Client::open_with(command, "test-host");
        let ids: Vec<String> = (0..count)
            .map(|number| {
                let task = format!("work {session} {number}");
                id_of(&Agents::begin(&mut client, &json!({"task": task})))
            })
            .collect();
        (client, ids)
    });
    let (client, ids) = &mut clients[1];
    let reply = client.call(
        "assistant_start",
        json!({"task": "one more", "local": true}),
    );
    assert!(reply.is_error);
    let error = &reply.object["error"];
    assert_eq!(error["code"], "at_capacity", "{error:#}");
    assert!(
        error["message"].as_str().expect("a text").contains('8'),
        "{error:#}"
    );
    let hint = error["hint"].as_str().expect("a text");
    for word in [
        "background_wait",
        "background_cancel",
        "assistant_cancel",
        &ids[0],
        "work one 0",
    ] {
        assert!(hint.contains(word), "{word}: {hint}");
    }
    let cancelled = client.fine("background_cancel", json!({"id": ids[0], "now": true}));
    assert_eq!(cancelled["cancelled"], true);
    eventually("the place is free", SOON, || {
        let arguments = json!({"task": "one more", "local": true});
        !client.call("assistant_start", arguments).is_error
    });
    gate.open();
}

#[test]
fn a_cancel_is_answered_at_once_and_a_second_one_changes_nothing() {
    let stage = Agents::new();
    let gate = Gate::new();
    stage.model.play(
        Script::new()
            .call("list_dir", json!({}))
            .turn(Turn::text("I had only looked.").held_at(&gate)),
    );
    let mut client = stage.client();
    let id = id_of(&Agents::begin(&mut client, &json!({})));
    stage.model.wait_for_turn(1, SOON);
    let cancelled = client.fine("assistant_cancel", json!({"run_id": id}));
    assert_eq!(cancelled["status"], "cancelled");
    let polled = client.fine("assistant_poll", json!({"run_id": id, "max_bytes": 0}));
    assert_eq!(
        (&polled["status"], &polled["cancelling"]),
        (&json!("running"), &json!(true))
    );
    assert_eq!(polled["events"], json!([]));
    gate.open();
    let ended = Agents::polled_to_end(&mut client, &id);
    assert_eq!(ended["status"], "cancelled", "{ended:#}");
    assert_eq!(ended["cancelling"], false);
    assert_eq!(ended["result"]["status"], "cancelled");
    assert_eq!(
        ended["result"]["receipts"]["by_tool"],
        json!({"list_dir": 1})
    );
    // An end is final.
    let again = client.fine("assistant_cancel", json!({"run_id": id}));
    assert_eq!(again["status"], "already_terminal");
    let after = client.fine("assistant_poll", json!({"run_id": id}));
    assert_eq!(
        (&after["status"], &after["result"]),
        (&ended["status"], &ended["result"])
    );
    let unknown = client.fine("assistant_cancel", json!({"run_id": "zzzz"}));
    assert_eq!(unknown["status"], "unknown");
}

#[test]
fn nobody_reads_it_and_it_is_stopped_inside_a_request_to_the_model() {
    let stage = Agents::new();
    let gate = Gate::new();
    stage.model.play(
        Script::new()
            .call("list_dir", json!({}))
            .turn(Turn::text("never").held_at(&gate)),
    );
    let mut client = stage.client();
    let id = id_of(&Agents::begin(&mut client, &json!({"idle_ttl_secs": 2})));
    stage.model.wait_for_turn(1, SOON);
    // A list is no reading.
    eventually("it is stopped", SOON, || {
        let listed = client.fine("background_list", json!({"all": true}));
        listed["tasks"][0]["status"] == "cancelled"
    });
    let ended = Agents::polled_to_end(&mut client, &id);
    assert_eq!(ended["status"], "cancelled");
    assert_eq!(ended["result"]["status"], "cancelled");
    assert_eq!(ended["result"]["ended_by"], "idle");
    assert_eq!(
        ended["result"]["receipts"]["total"], 1,
        "what was done is told"
    );
    gate.open();
}

#[test]
fn who_asks_is_joined_to_the_chain_and_handed_down() {
    let stage = Agents::new();
    stage.model.answer_all(|_| Turn::text("done"));
    let mut client = stage.client_with(&[("OUTLAST_INVOKED_BY", "Claude-Code")]);
    let begun = Agents::begin(&mut client, &json!({"invoked_by": "CODEX"}));
    assert_eq!(begun["ancestry"], json!(["claude-code", "codex"]));
    let id = id_of(&begun);
    let ended = Agents::polled_to_end(&mut client, &id);
    assert_eq!(ended["ancestry"], begun["ancestry"]);
    let record = stage.ground.record(&id);
    assert_eq!(record["origin"]["ancestry"], begun["ancestry"]);
    let names = stage.ground.program.json(&["show", "--env", "--json", &id]);
    assert!(
        names["names"].to_string().contains("OUTLAST_INVOKED_BY"),
        "{names}"
    );
}

#[test]
fn a_check_is_refused_where_no_shell_can_run_and_the_refusal_leaves_no_run() {
    let stage = Agents::new();
    let mut client = stage.client();
    let arguments = json!({"task": "x", "local": true, "until": "true"});
    let reply = client.call("assistant_start", arguments);
    assert!(reply.is_error);
    assert_eq!(reply.object["error"]["code"], "until_refused", "{reply:#?}");
    let hint = reply.object["error"]["hint"].as_str().expect("a text");
    assert!(
        hint.contains("`until`") && hint.contains("`local`"),
        "{hint}"
    );
    let listed = client.fine("background_list", json!({"all": true}));
    assert_eq!(listed["count"], 0);
}

#[test]
fn without_a_model_a_start_is_refused_with_all_ways_to_one() {
    let ground = Ground::new();
    let mut client = crate::mcp_client::Client::open(&ground);
    let reply = client.call("assistant_start", json!({"task": "x", "local": true}));
    assert!(reply.is_error, "{reply:#?}");
    assert_eq!(reply.object["error"]["code"], "no_model");
    let hint = reply.object["error"]["hint"].as_str().expect("a text");
    for way in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "Ollama",
        "`model`",
    ] {
        assert!(hint.contains(way), "{way}: {hint}");
    }
    let output = ground.program.run(&["do", "x"]);
    assert_eq!(output.code, Some(126), "{output:#?}");
    assert!(
        output.stderr.contains("code: no_model"),
        "{}",
        output.stderr
    );
    let document = ground.program.json(&["do", "--json", "x"]);
    assert_eq!(
        (&document["schema"], &document["error"]),
        (&json!("car.do/1"), &json!("no_model"))
    );
    assert!(
        document["suggestions"][0]
            .to_string()
            .contains("ANTHROPIC_API_KEY")
    );
}

#[test]
fn a_command_is_polled_too_and_its_record_is_the_result() {
    let stage = Agents::new();
    let mut client = stage.client();
    let id = client.run(json!({"command": "exit 3"}));
    let ended = Agents::polled_to_end(&mut client, &id);
    assert_eq!(ended["status"], "ok", "it came to an end of its own");
    assert_eq!(ended["result"]["schema"], "outlast.run/1");
    assert_eq!(ended["result"]["exit_code"], 3);
}

#[test]
fn the_same_key_gives_the_same_run() {
    let stage = Agents::new();
    stage.model.answer_all(|_| Turn::text("done"));
    let mut client = stage.client();
    let first = Agents::begin(&mut client, &json!({"idempotency_key": "k"}));
    let again = Agents::begin(&mut client, &json!({"idempotency_key": "k"}));
    assert_eq!(
        (&again["run_id"], &again["replayed"]),
        (&first["run_id"], &json!(true))
    );
    let arguments = json!({"task": "another", "local": true, "idempotency_key": "k"});
    let (code, message) = client.refused("assistant_start", arguments);
    assert_eq!(code, "idempotency_conflict");
    assert!(
        message.contains(first["run_id"].as_str().expect("an id")),
        "{message}"
    );
}

#[test]
fn an_agent_run_is_a_task_for_a_client_that_knows_tasks() {
    let stage = Agents::new();
    stage.model.answer_all(|_| Turn::text("All done."));
    let mut client = crate::mcp_client::Client::start(stage.command(&["mcp"]));
    let tasks = json!({"io.modelcontextprotocol/tasks": {}});
    let call = json!({
        "name": "assistant_start",
        "arguments": {"task": "look around", "local": true},
    });
    let begun = client.modern(&tasks, "tools/call", call);
    let id = begun["result"]["taskId"]
        .as_str()
        .expect("a task")
        .to_owned();
    assert_eq!(begun["result"]["status"], "working", "{begun:#}");
    let ended = eventually_some("the task is completed", SOON, || {
        let told = client.modern(&tasks, "tasks/get", json!({"taskId": id}));
        let told = told["result"].clone();
        (told["status"] == "completed").then_some(told)
    });
    let answer = &ended["result"]["structuredContent"];
    assert_eq!(answer["run_id"], id, "{ended:#}");
    assert_eq!(answer["result"]["summary"], "All done.");
}
