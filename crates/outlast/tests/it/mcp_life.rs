//! Servers come and go, runs stay: the end of a host, its sessions, its repeated calls.

use crate::{
    case_ground::{BUSY, Ground, SOON, is_alive},
    mcp_client::Client,
};
use outlast_testkit::{capture, eventually};
use serde_json::{Value, json};
use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// A server leaves within a second; the rest is for a machine that is busy.
const LEAVES: Duration = Duration::from_secs(1);

fn ids(list: &Value) -> Vec<String> {
    let list = list.as_array().expect("a list").iter();
    list.map(|run| run["id"].as_str().expect("an id").to_owned())
        .collect()
}

/// Cases PR-01 and LS-09. Also with a wait that goes on, and with no session at all.
#[test]
fn a_server_leaves_at_the_end_of_its_stdin_and_takes_no_run_along() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let nothing = capture(ground.program.command(&["mcp"]));
    assert_eq!((nothing.code, nothing.stderr.as_str()), (Some(0), ""));

    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "read -r _ <go"}));
    client.begin("background_wait", json!({"ids": [id]}));
    client.close();
    assert_eq!(client.ended(LEAVES + BUSY).code(), Some(0));
    let record = ground.record(&id);
    assert_eq!(record["status"], "running");
    gate.open(1);
    let record = ground.ended(&id);
    assert_eq!(
        (&record["status"], &record["exit_code"]),
        (&json!("completed"), &json!(0))
    );
}

/// Case PR-01. A process of the host's that is left holds the pipe.
#[test]
fn a_server_leaves_when_its_parent_is_gone_though_its_stdin_is_open() {
    let ground = Ground::new();
    let holder = ground.gate("in");
    let text = r#""$OUTLAST" mcp <in >out & echo $! >pid; read -r _ <never"#;
    let _never = ground.gate("never");
    let mut command = ground.other("bash", &["-c", text]);
    let mut parent = command
        .stdout(Stdio::null())
        .spawn()
        .expect("bash is there");
    eventually("the server is there", SOON, || {
        ground.file("pid").ends_with('\n')
    });
    let pid: i32 = ground.file("pid").trim().parse().expect("a pid");
    // It answers, so it watches its parent already.
    holder.write(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    eventually("the server answers", SOON, || {
        ground.file("out").contains("result")
    });
    assert!(is_alive(pid));
    parent.kill().expect("it is our child");
    parent.wait().expect("it is our child");
    eventually("the server has left", LEAVES + BUSY, || !is_alive(pid));
}

/// Cases RD-01 and PR-03.
#[test]
fn another_server_finds_and_reads_what_a_killed_one_had_started() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let mut first = Client::open(&ground);
    let id = first.run(json!({
        "command": "for i in 1 2 3; do echo $i; done; read -r _ <go; for i in 4 5 6; do echo $i; done; exit 3",
    }));
    first.kill();

    let (mut second, opened) = Client::open_with(ground.program.command(&["mcp"]), "other-host");
    let told = opened["instructions"].as_str().expect("instructions");
    assert!(told.contains(&format!("running: {id}")), "{told}");
    assert!(told.lines().count() <= 6, "{told}");
    let list = second.fine("background_list", json!({}));
    assert_eq!(ids(&list["tasks"]), [id.as_str()]);
    assert_eq!(list["tasks"][0]["status"], "running");
    gate.open(1);
    let waited = second.fine("background_wait", json!({"ids": [id]}));
    assert_eq!(ids(&waited["ended"]), [id.as_str()]);
    let read = second.fine("background_output", json!({"id": id}));
    assert_eq!(
        (&read["status"], &read["exit_code"], &read["output"]),
        (&json!("failed"), &json!(3), &json!("1\n2\n3\n4\n5\n6\n"))
    );
    assert_eq!(read["total_bytes"], 12);
    assert_eq!(read["gap"], Value::Null);
}

/// Case RD-03.
#[test]
fn a_run_whose_id_was_lost_is_listed_and_known_by_its_name_in_another_session() {
    let ground = Ground::new();
    let session = |name: &str| {
        let command = ground.program.command(&["mcp", "--session", name]);
        Client::open_with(command, "test-host").0
    };
    let mut first = session("one");
    let id = first.run(json!({"command": "sleep 300", "label": "build"}));
    for mut client in [first, session("two")] {
        let list = client.call("background_list", json!({}));
        assert!(list.text.len() <= 2_000, "{} bytes", list.text.len());
        assert_eq!(ids(&list.object["tasks"]), [id.as_str()]);
        let read = client.fine("background_output", json!({"id": "build"}));
        assert_eq!(
            (&read["id"], &read["status"]),
            (&json!(id), &json!("running"))
        );
    }
}

/// Case TW-04.
#[test]
fn a_start_that_is_repeated_by_a_tool_gives_the_same_run_also_by_another_server() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let request = json!({"command": "echo x >>f; read -r _ <go", "idempotency_key": "k1"});
    let mut client = Client::open(&ground);
    let id = client.run(request.clone());
    let second = client.fine("background_run", request.clone());
    assert_eq!(
        (&second["id"], &second["status"], &second["replayed"]),
        (&json!(id), &json!("running"), &json!(true))
    );
    gate.open(1);
    ground.wait(&id);
    client.kill();
    let mut client = Client::open(&ground);
    let third = client.fine("background_run", request);
    assert_eq!(
        (&third["id"], &third["status"], &third["exit_code"]),
        (&json!(id), &json!("completed"), &json!(0))
    );
    assert_eq!(ground.file("f"), "x\n");
    let other = json!({"command": "true", "idempotency_key": "k1"});
    let (code, message) = client.refused("background_run", other);
    assert_eq!(code, "idempotency_conflict");
    assert!(message.contains(&id), "{message}");
}

/// Cases TW-02 and TW-05.
#[test]
fn a_wait_tells_the_first_end_or_all_and_an_unchanged_answer_is_small() {
    let ground = Ground::new();
    let (first, second) = (ground.gate("first"), ground.gate("second"));
    let mut client = Client::open(&ground);
    let a = client.run(json!({"command": "read -r _ <first"}));
    let b = client.run(json!({"command": "read -r _ <second"}));
    let unchanged = client.call("background_wait", json!({"ids": [b], "wait_secs": 0}));
    assert!(unchanged.text.len() <= 300, "{}", unchanged.text);
    assert_eq!(ids(&unchanged.object["running"]), [b.as_str()]);

    let begun = Instant::now();
    first.open(1);
    let any = client.fine("background_wait", json!({"ids": [a, b], "any": true}));
    assert_eq!(
        (ids(&any["ended"]), ids(&any["running"])),
        (vec![a.clone()], vec![b.clone()])
    );
    second.open(1);
    let all = client.fine("background_wait", json!({"ids": [a, b], "any": false}));
    assert_eq!(ids(&all["ended"]), [a, b]);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let longer = client.fine("background_wait", json!({"wait_secs": 90}));
    assert_eq!(
        longer["notices"],
        json!(["`wait_secs` of 90 was set to 45"])
    );
}

#[test]
fn a_cancelled_request_ends_its_wait_and_not_the_run() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "read -r _ <go; echo done"}));
    let waiting = client.begin("background_wait", json!({"ids": [id]}));
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": waiting},
    });
    client.write(&cancel.to_string());
    assert_eq!(
        client.fine("background_list", json!({}))["tasks"][0]["status"],
        "running"
    );
    gate.open(1);
    ground.wait(&id);
    // The wait that nobody heard told nobody of the end.
    let list = client.fine("background_wait", json!({"ids": [], "wait_secs": 0}));
    assert_eq!(ids(&list["ended_unseen"]), [id]);
}

#[test]
fn an_end_is_told_beside_what_was_asked_and_only_once() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let gate = ground.gate("go");
    let id = client.run(json!({"command": "read -r _ <go; exit 7", "label": "quick"}));
    gate.open(1);
    ground.wait(&id);
    let other = client.fine("background_output", json!({"id": "nonesuch"}));
    assert_eq!(
        other["ended_unseen"],
        json!([{"id": id, "status": "failed", "label": "quick", "exit_code": 7}])
    );
    let again = client.fine("background_output", json!({"id": "nonesuch"}));
    assert_eq!(again["ended_unseen"], Value::Null);
}

/// Case MU-02.
#[test]
fn the_end_of_a_server_ends_the_runs_that_asked_for_it_and_no_other() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let mut client = Client::open(&ground);
    let bound = client.run(json!({"command": "sleep 300", "lifetime": "session"}));
    let free = client.run(json!({"command": "read -r _ <go; echo kept"}));
    client.close();
    client.ended(LEAVES + BUSY);
    let record = ground.ended(&bound);
    assert_eq!(
        (&record["status"], &record["ended_by"]),
        (&json!("cancelled"), &json!("session"))
    );
    assert_eq!(ground.record(&free)["status"], "running");
    gate.open(1);
    let record = ground.ended(&free);
    assert_eq!(
        (&record["status"], &record["output"]["bytes"]),
        (&json!("completed"), &json!(5))
    );
}

#[test]
fn waits_cost_no_time_and_stand_in_nobodys_way() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "sleep 300"}));
    let waits: Vec<u64> = (0..40)
        .map(|_| client.begin("background_wait", json!({"ids": [id]})))
        .collect();
    let cancelled = client.begin("background_cancel", json!({"id": id, "now": true}));
    let mut answered = Vec::new();
    while answered.len() <= waits.len() {
        let message = client.message().expect("each is answered");
        answered.push(message["id"].as_u64().expect("an id of ours"));
    }
    assert!(answered.contains(&cancelled));
    assert!(waits.iter().all(|wait| answered.contains(wait)));
}

#[test]
fn who_speaks_something_else_is_told_so() {
    let ground = Ground::new();
    let mut command: Command = ground.program.command(&["mcp"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    let mut stdin = child.stdin.take().expect("a pipe");
    let hello = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    std::io::Write::write_all(&mut stdin, format!("{hello}\n").as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it is our child");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("code: not_mcp"), "{said}");
}
