//! Agent runs by HTTP, within the rules for hosts, as tasks that ask; and what a reader is told
//! of a long journal and of a worker that dies for good.

use crate::{
    agent_ground::Agents,
    agent_stage::kinds,
    case_ground::{SOON, kill, write},
    http_client::Server,
    mcp_client::Client,
};
use outlast_testkit::{
    eventually, eventually_some,
    model::{Script, Turn},
};
use serde_json::{Value, json};
use std::{fmt::Write, fs};

fn written() -> Script {
    let arguments = json!({"path": "a.txt", "content": "one\n"});
    Script::new().call("write_file", arguments).text("Written.")
}

#[test]
fn an_agent_is_started_polled_and_answered_over_http() {
    let agents = Agents::new();
    agents.model.play(written());
    let server = Server::spawn(agents.command(&["serve", "--port", "0"]));
    let body = json!({
        "task": "write it", "sandbox": "read", "ask": true, "label": "writer",
        "invoked_by": "Codex", "max_turns": 500,
    });
    let started = server.send(&server.post("/api/agents", body));
    assert_eq!(started.status, 201, "{started:#?}");
    let begun = started.json();
    let run = &begun["run"];
    assert_eq!(
        (&run["kind"], &run["label"]),
        (&json!("agent"), &json!("writer"))
    );
    assert_eq!(run["origin"]["ancestry"], json!(["codex"]));
    assert!(begun["notices"].to_string().contains("200"), "{begun:#}");
    let asked = eventually_some("it is asked", SOON, || {
        let asks = server.fine(&server.get("/api/asks"));
        asks["asks"][0].is_object().then(|| asks["asks"][0].clone())
    });
    let polled = server.fine(&server.get("/api/runs/writer/poll"));
    assert_eq!(
        (&polled["status"], &polled["run"]["needs_approval"]["ask"]),
        (&json!("running"), &asked["ask"])
    );
    let answer = json!({"approve": true, "ask": asked["ask"]});
    let answered = server.fine(&server.post("/api/runs/writer/answer", answer.clone()));
    assert_eq!(answered["approved"], true);
    let ended = eventually_some("it has ended", SOON, || {
        let polled = server.fine(&server.get("/api/runs/writer/poll?since_seq=0&max_bytes=16384"));
        (polled["status"] != "running").then_some(polled)
    });
    assert_eq!(ended["status"], "ok", "{ended:#}");
    assert_eq!(ended["result"]["summary"], "Written.");
    assert!(kinds(&ended["events"]).contains(&"answered"));
    let (status, code) = server.refused(&server.post("/api/runs/writer/answer", answer));
    assert_eq!((status, code.as_str()), (409, "run_ended"));
    for (body, code) in [
        (json!({}), "missing_argument"),
        (json!({"task": "x", "cwd": "/nowhere"}), "work_dir"),
        (
            json!({"task": "x", "json_schema": {"type": 7}}),
            "schema_invalid",
        ),
    ] {
        let refused = server.refused(&server.post("/api/agents", body));
        assert_eq!(refused, (400, code.to_owned()));
    }
}

#[test]
fn the_rules_for_hosts_hold_for_agents_too() {
    let agents = Agents::new();
    let folder = agents.ground.home.path().join(".config/outlast");
    fs::create_dir_all(&folder).expect("the home can be filled");
    write(
        &folder.join("config.toml"),
        "[policy]\nallow = [\"cargo *\"]\ntimeout_max = \"1h\"\n[sandbox]\nmax_tier = \"read\"\n",
    );
    agents.model.answer_all(|_| Turn::text("done"));
    let mut client = agents.client();
    let refused = json!({"task": "x", "until": "rm -rf ~"});
    let (code, _) = client.refused("assistant_start", refused);
    assert_eq!(code, "policy_denied");
    let begun = client.fine(
        "assistant_start",
        json!({"task": "x", "until": "cargo test"}),
    );
    assert_eq!(
        begun["sandbox"]["tier"], "ReadOnly",
        "the most that is allowed"
    );
    assert!(
        begun["notices"].to_string().contains("timeout_max"),
        "{begun:#}"
    );
    let id = begun["run_id"].as_str().expect("an id");
    assert_eq!(agents.ground.record(id)["timeout_secs"], 3600.0);
    let cancelled = client.fine("background_cancel", json!({"id": id, "now": true}));
    assert_eq!(cancelled["cancelled"], true);
}

#[test]
fn a_task_that_asks_requires_input_and_takes_the_answer() {
    let agents = Agents::new();
    agents.model.play(written());
    let id = agents.start(&["--sandbox", "read", "--ask"], "write it");
    let mut client = Client::start(agents.command(&["mcp"]));
    let tasks = json!({"io.modelcontextprotocol/tasks": {}});
    let told = eventually_some("input is required", SOON, || {
        let told = client.modern(&tasks, "tasks/get", json!({"taskId": id}))["result"].clone();
        (told["status"] == "input_required").then_some(told)
    });
    let requests = told["inputRequests"].as_object().expect("requests");
    let (ask, request) = requests.iter().next().expect("one");
    assert_eq!(request["method"], "elicitation/create");
    let message = request["params"]["message"].as_str().expect("a text");
    assert!(message.contains("a.txt"), "{message}");
    let responses = json!({ask: {"action": "accept", "content": {"approve": true}}});
    let update = json!({"taskId": id, "inputResponses": responses});
    let updated = client.modern(&tasks, "tasks/update", update);
    assert!(updated.get("error").is_none(), "{updated:#}");
    let ended = eventually_some("the task is completed", SOON, || {
        let told = client.modern(&tasks, "tasks/get", json!({"taskId": id}))["result"].clone();
        (told["status"] == "completed").then_some(told)
    });
    assert_eq!(
        ended["result"]["structuredContent"]["result"]["summary"],
        "Written."
    );
    assert_eq!(agents.effects("a.txt"), ["one"]);
}

#[test]
fn what_an_asking_agent_is_told_instead_reaches_the_model() {
    let agents = Agents::new();
    agents.model.play(written());
    let id = agents.start(&["--sandbox", "read", "--ask"], "write it");
    agents.comes(&id, "ask");
    let mut client = agents.client();
    let said = json!({"id": id, "text": "use the staging host"});
    let answered = client.fine("background_send", said);
    assert_eq!(answered["approved"], false);
    agents.ground.wait(&id);
    let told = agents.model.turns()[1].result().text.clone();
    assert!(told.contains("use the staging host"), "{told}");
    assert!(agents.effects("a.txt").is_empty());
}

/// Puts so many events before the end of an ended run's journal.
fn lengthen(agents: &Agents, id: &str, count: u64) {
    let path = agents.ground.run_dir(id).join("journal.jsonl");
    let journal = fs::read_to_string(&path).expect("a journal");
    let mut lines: Vec<Value> = journal
        .trim_end_matches(['\0', '\n'])
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line"))
        .collect();
    let mut end = lines.pop().expect("an end");
    let first = end["seq"].as_u64().expect("it is an event");
    end["seq"] = json!(first + count);
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{line}").expect("a text takes all");
    }
    for seq in first..first + count {
        let line = json!({
            "v": 1, "seq": seq, "ts": "2026-11-30T00:00:00.000Z", "type": "text",
            "phase": "run", "message": format!("said {seq}"),
        });
        writeln!(text, "{line}").expect("a text takes all");
    }
    writeln!(text, "{end}").expect("a text takes all");
    write(&path, &text);
}

#[test]
fn only_the_newest_events_are_replayed_and_a_poll_says_how_many_are_not() {
    let agents = Agents::new();
    agents.model.play(Script::new().text("Done."));
    let id = agents.start(&["--local"], "say much");
    agents.ground.wait(&id);
    lengthen(&agents, &id, 2_500);
    let mut client = agents.client();
    let reply = client.call("assistant_poll", json!({"run_id": id}));
    let polled = &reply.object;
    assert!(reply.text.len() <= 11 << 10, "{}", reply.text.len());
    let first = polled["events"][0]["seq"].as_u64().expect("a number");
    assert!(first > 0);
    assert_eq!(
        (&polled["events_skipped"], &polled["more"]),
        (&json!(first), &json!(true))
    );
    assert_eq!(polled["result"]["status"], "success", "whatever more says");
    let whole = Agents::polled_to_end(&mut client, &id);
    let events = whole["events"].as_array().expect("a list");
    assert_eq!(events.len(), 2_000);
    let seqs = events.iter().zip(first..);
    assert!(seqs.into_iter().all(|(event, seq)| event["seq"] == seq));
    let later = client.fine(
        "assistant_poll",
        json!({"run_id": id, "since_seq": first + 5}),
    );
    assert_eq!(later["events_skipped"], 0);
}

#[test]
fn a_worker_that_dies_for_good_is_told_as_such_with_what_to_do() {
    let agents = Agents::new();
    let gate = outlast_testkit::model::Gate::new();
    let held = gate.clone();
    agents
        .model
        .answer_all(move |_| Turn::text("never").held_at(&held));
    let id = agents.start(&["--local"], "die");
    let mut killed = Vec::new();
    eventually("it has ended", SOON * 2, || {
        let record = agents.ground.record(&id);
        if record["status"] != "running" {
            return true;
        }
        let worker = agents.ground.processes().into_iter().find(|pid| {
            let words = crate::case_ground::command_line(*pid);
            words.iter().any(|word| word == "__work") && words.contains(&id)
        });
        if let Some(pid) = worker.filter(|pid| !killed.contains(pid)) {
            killed.push(pid);
            kill(pid);
        }
        false
    });
    gate.open();
    let mut client = agents.client();
    let polled = client.fine("assistant_poll", json!({"run_id": id}));
    assert_eq!(polled["status"], "error", "{polled:#}");
    assert_eq!(polled["result"]["error"], "run_task_died");
    assert!(
        !polled["result"]["suggestions"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
    assert_eq!(polled["result"].get("summary"), None);
    assert_eq!(agents.ground.wait(&id), 1);
    assert!(killed.len() >= 6, "{killed:?}");
}
