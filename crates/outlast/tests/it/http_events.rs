//! Events over HTTP: by long poll and as a stream that goes on where it was left.

use crate::{
    case_ground::{Ground, SOON, assert_within},
    http_client::{Line, Server},
};
use outlast_lib::limits;
use outlast_testkit::eventually;
use serde_json::{Value, json};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Opens a stream of the events of a run.
#[track_caller]
fn stream(server: &Server, id: &str, last: Option<&str>) -> Line {
    let mut ask = server.get(&format!("/api/runs/{id}/events"));
    ask = ask.with("Accept", "text/event-stream");
    if let Some(last) = last {
        ask = ask.with("Last-Event-ID", last);
    }
    let mut line = server.line();
    line.send(&ask);
    let head = line.head().expect("the stream begins");
    assert_eq!(
        (head.status, head.header("content-type")),
        (200, "text/event-stream")
    );
    line
}

/// Returns the next event of a stream by its fields, without what only shows that it is alive.
fn event(line: &mut Line) -> Option<(u64, String, Value)> {
    loop {
        let part = line.part().expect("the stream is in order")?;
        assert!(part.ends_with("\n\n"), "{part:?}");
        let field = |name: &str| part.lines().find_map(|line| line.strip_prefix(name));
        let Some(id) = field("id: ") else { continue };
        let data = field("data: ").expect("it has data");
        let data: Value = serde_json::from_str(data).expect("it is JSON");
        let kind = field("event: ").expect("it has a type").to_owned();
        return Some((id.parse().expect("a number"), kind, data));
    }
}

#[test]
fn a_long_poll_is_answered_by_the_next_event_or_when_its_time_is_over() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let gate = ground.gate("go");
    let id = server.run(json!({"command": "read -r _ <go; exit 2"}));
    let poll = |query: &str| server.fine(&server.get(&format!("/api/runs/{id}/events?{query}")));
    let first = poll("");
    assert_eq!(first["events"][0]["type"], "started");
    let next = first["next_seq"].as_u64().expect("a number");
    assert_eq!(next, 1);
    let over = poll(&format!("since={next}&wait_secs=1"));
    assert_eq!(
        (&over["events"], &over["has_ended"]),
        (&json!([]), &json!(false))
    );
    let heard = thread::scope(|scope| {
        let waiting = scope.spawn(|| poll(&format!("since={next}&wait_secs=60")));
        eventually("it waits", SOON, || server.metric("outlast_waits ") == 1);
        let begun = Instant::now();
        gate.open(1);
        let heard = waiting.join().expect("it waits");
        assert_within(1_000, begun);
        heard
    });
    let mut events = heard["events"].as_array().expect("a list").clone();
    let mut at = heard["next_seq"].clone();
    while events.last().is_none_or(|event| event["type"] != "failed") {
        let more = poll(&format!("since={at}&wait_secs=60"));
        at = more["next_seq"].clone();
        events.extend(more["events"].as_array().expect("a list").clone());
    }
    let seqs: Vec<u64> = events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    let last = poll(&format!("since={at}&wait_secs=60"));
    assert_eq!(
        (&last["events"], &last["has_ended"]),
        (&json!([]), &json!(true))
    );
    assert_eq!(last["status"], "failed");
}

#[test]
fn a_stream_tells_each_event_as_it_comes_and_ends_with_the_run() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let gate = ground.gate("go");
    let id = server.run(json!({"command": "read -r _ <go; exit 2"}));
    let mut line = stream(&server, &id, None);
    let (seq, kind, data) = event(&mut line).expect("it goes on");
    assert_eq!(
        (seq, kind.as_str(), &data["type"]),
        (0, "started", &json!("started"))
    );
    gate.open(1);
    let mut last = (seq, kind);
    while let Some((seq, kind, data)) = event(&mut line) {
        assert_eq!((seq, &data["seq"]), (last.0 + 1, &json!(seq)));
        last = (seq, kind);
    }
    assert_eq!(last.1, "failed", "the end is the last event");
    eventually("no stream is open", SOON, || {
        server.metric("outlast_event_streams ") == 0
    });
}

#[test]
fn a_stream_goes_on_from_the_last_event_that_was_seen_also_at_another_server() {
    let ground = Ground::new();
    let mut first = Server::start(&ground);
    let gate = ground.gate("go");
    let id = first.run(json!({"command": "read -r _ <go"}));
    let mut line = stream(&first, &id, None);
    let (seq, _, _) = event(&mut line).expect("it goes on");
    first.kill();
    gate.open(1);
    ground.wait(&id);

    let second = Server::start(&ground);
    let mut line = stream(&second, &id, Some(&seq.to_string()));
    let (next, ..) = event(&mut line).expect("there is more");
    assert_eq!(next, seq + 1);
    let mut last = next;
    while let Some((seq, ..)) = event(&mut line) {
        last = seq;
    }
    // After the end there is nothing to come back for.
    let ask = second.get(&format!("/api/runs/{id}/events"));
    let ask = ask.with("Accept", "text/event-stream");
    let after = second.send(&ask.clone().with("Last-Event-ID", &last.to_string()));
    assert_eq!((after.status, after.body.as_str()), (204, ""));
    for wrong in ["x", "-1", "1.5", "99999999999999999999"] {
        let refused = second.refused(&ask.clone().with("Last-Event-ID", wrong));
        assert_eq!(refused, (400, "bad_header".to_owned()), "{wrong}");
    }
    let unknown = second.get("/api/runs/nonesuch/events");
    let unknown = unknown.with("Accept", "text/event-stream");
    assert_eq!(second.refused(&unknown), (404, "no_such_run".to_owned()));
}

#[test]
fn the_death_of_a_supervisor_is_told_to_a_stream() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let id = server.run(json!({"command": "sleep 300"}));
    let mut line = stream(&server, &id, Some("0"));
    eventually("the stream is open", SOON, || {
        server.metric("outlast_event_streams ") == 1
    });
    crate::case_ground::kill(ground.supervisor(&id));
    let (_, kind, data) = event(&mut line).expect("it is told");
    assert_eq!(
        (kind.as_str(), &data["data"]["status"]),
        ("failed", &json!("interrupted"))
    );
    assert!(event(&mut line).is_none());
}

#[test]
fn a_quiet_stream_shows_that_it_is_alive_and_its_end_by_the_client_is_seen() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let id = server.run(json!({"command": "sleep 300"}));
    let mut line = stream(&server, &id, Some("0"));
    let alive = Duration::from_millis(limits::HTTP_ALIVE_MS);
    line.socket()
        .set_read_timeout(Some(alive + SOON))
        .expect("it is a socket");
    // The first is what there is to tell at once: nothing.
    for _ in 0..2 {
        assert_eq!(line.part().expect("it is alive").as_deref(), Some(":\n\n"));
    }
    drop(line);
    eventually("the stream is gone", SOON, || {
        server.metric("outlast_event_streams ") == 0
    });
    ground.cancel(&id);
}
