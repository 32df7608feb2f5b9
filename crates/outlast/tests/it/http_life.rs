//! Servers come and go over HTTP, runs stay.

use crate::{
    case_ground::{Ground, SOON},
    http_client::{Line, Mcp, Server},
};
use outlast_testkit::eventually;
use serde_json::{Value, json};
use std::{
    fs,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// A server that is told to stop is gone within this; the rest is for a machine that is busy.
const LEAVES: Duration = Duration::from_secs(4);

#[test]
fn two_servers_over_one_store_answer_for_the_same_runs() {
    let ground = Ground::new();
    let (first, second) = (Server::start(&ground), Server::start(&ground));
    let gate = ground.gate("go");
    let id = first.run(json!({"command": "echo one; read -r _ <go; echo two; exit 3"}));
    let record = second.fine(&second.get(&format!("/api/runs/{id}")));
    assert_eq!(record["status"], "running");
    let waited = thread::scope(|scope| {
        let target = format!("/api/wait?id={id}&wait_secs=60");
        let waits = [&first, &second].map(|server| {
            let ask = server.get(&target);
            scope.spawn(move || server.fine(&ask))
        });
        eventually("both wait", SOON, || {
            [&first, &second]
                .iter()
                .all(|server| server.metric("outlast_waits ") == 1)
        });
        gate.open(1);
        waits.map(|wait| wait.join().expect("it waits"))
    });
    for document in waited {
        assert_eq!(document["runs"][0]["exit_code"], 3, "{document:#}");
    }
    let mcp = Mcp::new(&second, "2025-11-25");
    let read = mcp.call("background_output", json!({"id": id}));
    assert_eq!(read["output"], "one\ntwo\n");

    // The same key by another server is the same run.
    let keyed = |server: &Server| {
        let ask = server.post("/api/runs", json!({"command": "echo x >>f"}));
        let answer = server.send(&ask.with("Idempotency-Key", "k1"));
        (answer.status, answer.json()["run"]["id"].clone())
    };
    let (created, id) = keyed(&first);
    assert_eq!((created, keyed(&second)), (201, (200, id.clone())));
    ground.wait(id.as_str().expect("an id"));
    assert_eq!(ground.file("f"), "x\n");
}

/// A server raises its own limit of open files. Programs of its runs see that of who started it.
#[test]
fn a_run_has_the_limit_of_open_files_that_its_server_was_started_with() {
    let ground = Ground::new();
    let text = "ulimit -Sn 777 && exec \"$OUTLAST\" serve --port 0";
    let server = Server::spawn(ground.other("/bin/sh", &["-c", text]));
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid()));
    let limits = limits.expect("it runs");
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let words: Vec<&str> = line.expect("a line").split_whitespace().collect();
    assert_ne!(words[3], "777", "the server has raised its own: {line:?}");
    let wanted = format!("777\n{}\n", words[4]);
    let command = "ulimit -Sn; ulimit -Hn";
    let id = server.run(json!({"argv": ["/bin/sh", "-c", command]}));
    assert_eq!(ground.wait(&id), 0);
    assert_eq!(ground.text(&id), wanted);
    let mcp = Mcp::new(&server, "2025-11-25");
    let begun = mcp.call(
        "background_run",
        json!({"command": command, "wait_secs": 45}),
    );
    assert_eq!(begun["output"], wanted.as_str(), "{begun:#}");
}

#[test]
fn a_server_that_is_killed_in_a_wait_takes_no_run_along_and_another_answers() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let mut server = Server::start(&ground);
    let id = server.run(json!({"command": "echo before; read -r _ <go; echo after"}));
    let mut waiting = server.line();
    waiting.send(&server.get(&format!("/api/wait?id={id}&wait_secs=60")));
    let mut stream = server.line();
    let events = server.get(&format!("/api/runs/{id}/events"));
    stream.send(&events.with("Accept", "text/event-stream"));
    stream.head().expect("the stream begins");
    let mcp = Mcp::new(&server, "2026-07-28");
    let mut called = server.line();
    let arguments = json!({"ids": [id], "wait_secs": 45});
    called.send(&mcp.ask(
        "tools/call",
        json!({"name": "background_wait", "arguments": arguments}),
    ));
    eventually("all of them wait", SOON, || {
        server.metric("outlast_waits ") == 2
    });
    server.kill();
    for line in [&mut waiting, &mut stream, &mut called] {
        assert!(line.is_closed_within(SOON), "its connections ended with it");
    }
    let record = ground.record(&id);
    assert_eq!(record["status"], "running");

    let server = Server::start(&ground);
    gate.open(1);
    let waited = server.fine(&server.get(&format!("/api/wait?id={id}&wait_secs=60")));
    assert_eq!(
        (
            &waited["runs"][0]["status"],
            &waited["runs"][0]["exit_code"]
        ),
        (&json!("completed"), &json!(0))
    );
    let output = server.fine(&server.get(&format!("/api/runs/{id}/output")));
    assert_eq!(output["output"], "before\nafter\n");
}

#[test]
fn a_server_that_is_told_to_stop_ends_waits_and_streams_and_leaves_soon() {
    let ground = Ground::new();
    let mut server = Server::start(&ground);
    let id = server.run(json!({"command": "sleep 300"}));
    let mut idle = server.line();
    idle.send(&server.get("/healthz"));
    assert_eq!(idle.answer().status, 200);
    let mut waiting = server.line();
    waiting.send(&server.get(&format!("/api/wait?id={id}&wait_secs=200")));
    let mut stream = server.line();
    let events = server.get(&format!("/api/runs/{id}/events"));
    stream.send(&events.with("Accept", "text/event-stream"));
    stream.head().expect("the stream begins");
    let first = stream
        .part()
        .expect("a part comes")
        .expect("the stream goes on");
    assert!(first.contains("event: started"), "{first}");
    let mcp = Mcp::new(&server, "2025-11-25");
    let mut called = server.line();
    let arguments = json!({"ids": [id], "wait_secs": 45});
    called.send(&mcp.ask(
        "tools/call",
        json!({"name": "background_wait", "arguments": arguments}),
    ));
    eventually("both wait", SOON, || server.metric("outlast_waits ") == 2);

    server.terminate();
    let answer = waiting.answer();
    assert_eq!(answer.status, 200, "{answer:#?}");
    assert_eq!(answer.json()["runs"][0]["status"], "running");
    // What the stream still tells is whole, and then it ends.
    while let Some(part) = stream.part().expect("the stream ends in order") {
        assert_eq!(part, ":\n\n");
    }
    assert!(idle.is_closed_within(SOON));
    assert!(called.is_closed_within(SOON));
    assert_eq!(server.ended(LEAVES).code(), Some(0));
    assert_eq!(ground.record(&id)["status"], "running");
    ground.cancel(&id);
}

#[test]
fn a_server_leaves_though_a_client_neither_reads_nor_closes() {
    let ground = Ground::new();
    let mut server = Server::start(&ground);
    let mut half = server.line();
    half.write(b"GET /healthz HTTP/1.1\r\nHost: loc");
    let mut body = server.line();
    let mut ask = server.post("/api/runs", json!({"command": "true"}));
    ask.body.truncate(3);
    body.send(&ask.with("Content-Length", "100"));
    eventually("both are connected", SOON, || {
        server.metric("outlast_http_connections ") == 3
    });
    server.terminate();
    assert_eq!(server.ended(LEAVES).code(), Some(0));
    drop((half, body));
}

#[test]
fn what_a_server_starts_outlives_it_and_its_end_is_told_by_the_next() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let mut server = Server::start(&ground);
    let body = json!({"command": "read -r _ <go; exit 4", "session": "one"});
    let id = server.run(body);
    server.terminate();
    server.ended(LEAVES);
    gate.open(1);
    ground.program.run(&["wait", "--for", "60s", &id]);
    let server = Server::start(&ground);
    let target = "/api/notices?session=one";
    let untold = server.fine(&server.get(target));
    assert_eq!(untold["runs"][0]["id"], id.as_str(), "{untold:#}");
    let ids: Value = json!({"ids": [id], "session": "one"});
    let noted = server.fine(&server.post("/api/notices/acknowledge", ids));
    assert_eq!(noted["acknowledged"], json!([id]));
    assert_eq!(server.fine(&server.get(target))["runs"], json!([]));
}

/// Starts of each client below.
const STARTS: usize = 15;

#[test]
fn a_server_killed_under_eight_clients_loses_no_start_that_it_answered_and_doubles_none() {
    let ground = Ground::new();
    let server = Mutex::new(Server::start(&ground));
    let answered = AtomicUsize::new(0);
    let start = |client: usize, number: usize| {
        let key = format!("{client}-{number}");
        loop {
            let (address, ask) = {
                let server = server.lock().expect("nobody panicked");
                let body = json!({"argv": ["bash", "-c", format!("echo x >>{key}")]});
                (server.address, server.post("/api/runs", body))
            };
            let answer = Line::open(address).and_then(|mut line| {
                line.send(&ask.with("Idempotency-Key", &key));
                line.try_answer()
            });
            // Whoever lost the answer asks again with the same key.
            if let Ok(answer) = answer {
                assert!([200, 201].contains(&answer.status), "{answer:#?}");
                answered.fetch_add(1, Ordering::SeqCst);
                let run = &answer.json()["run"];
                let text = |name: &str| run[name].as_str().expect("a text").to_owned();
                return (key, text("id"), text("status"));
            }
        }
    };
    let starts: Vec<(String, String, String)> = thread::scope(|scope| {
        let start = &start;
        let clients = (0..8).map(|client| {
            scope.spawn(move || (0..STARTS).map(|number| start(client, number)).collect())
        });
        let clients: Vec<thread::ScopedJoinHandle<'_, Vec<_>>> = clients.collect();
        for kill in 1..=10 {
            // The others are anywhere in their requests then.
            eventually("some more are answered", SOON, || {
                answered.load(Ordering::SeqCst) >= kill * 10
            });
            let mut server = server.lock().expect("nobody panicked");
            server.kill();
            *server = Server::start(&ground);
        }
        let clients = clients.into_iter().map(thread::ScopedJoinHandle::join);
        clients
            .flat_map(|client| client.expect("it has its answers"))
            .collect()
    });
    let mut ids: Vec<&String> = starts.iter().map(|(_, id, _)| id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((starts.len(), ids.len()), (8 * STARTS, 8 * STARTS));
    for (key, id, status) in &starts {
        let record = ground.ended(id);
        let runs = ground.file(key);
        // A start that the kill cut off before its command ran is told as that, and is no other.
        let is_cut_off = status == "interrupted";
        let expected = if is_cut_off {
            ("interrupted", "")
        } else {
            ("completed", "x\n")
        };
        assert_eq!(
            (&record["status"], runs.as_str()),
            (&json!(expected.0), expected.1),
            "{key}"
        );
    }
    assert_eq!(ground.runs().len(), starts.len());
}
