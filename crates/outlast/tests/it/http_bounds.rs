//! What a client can draw out of a server has an end: connections, time, memory.

use crate::{
    case_ground::{BUSY, Ground, SOON, status_number},
    http_client::{Line, Server},
};
use outlast_lib::limits;
use outlast_testkit::eventually;
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    thread,
    time::{Duration, Instant},
};

/// What a server may grow by under load, in KiB: a tenth of what the load sends.
const GROWTH_KIB: u64 = 40_960;

fn memory_kib(server: &Server) -> u64 {
    status_number(server.pid(), "VmRSS").expect("it is there")
}

fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

#[test]
fn one_connection_too_many_is_told_so_and_the_others_are_served() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let mut open: Vec<Line> = (0..300).map(|_| server.line()).collect();
    // Those that were first are served; each of the rest is told, or closed.
    let mut served = 0;
    let mut told = 0;
    for line in &mut open {
        line.send(&server.get("/healthz"));
        match line.try_answer() {
            Ok(answer) if answer.status == 200 => served += 1,
            Ok(answer) => {
                assert_eq!(answer.refusal(), (503, "too_many_connections".to_owned()));
                assert_eq!(answer.header("retry-after"), "1");
                told += 1;
            }
            Err(_) => {}
        }
    }
    assert_eq!(served, limits::HTTP_CONNECTIONS_MAX);
    assert!(told > 0, "nobody was told");
    drop(open);
    eventually("there is room again", SOON, || {
        let mut line = server.line();
        line.send(&server.get("/metrics"));
        line.try_answer().is_ok_and(|answer| answer.status == 200)
    });
    assert!(server.metric("outlast_http_connections_refused_total ") >= 44);
}

#[test]
fn a_head_that_comes_byte_by_byte_is_given_up_and_holds_nobody_up() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let begun = Instant::now();
    let mut slow: Vec<Line> = (0..50).map(|_| server.line()).collect();
    for line in &mut slow {
        line.write(b"GET /healthz HTTP/1.1\r\n");
    }
    let mut first = slow.remove(0);
    thread::scope(|scope| {
        // One of them shows again and again that it is there.
        let mut writer = first.socket().try_clone().expect("a descriptor");
        let dripping = scope.spawn(move || {
            while writer.write_all(b"a: b\r\n").is_ok() && begun.elapsed() < SOON * 2 {
                thread::park_timeout(ms(200));
            }
        });
        assert_eq!(server.send(&server.get("/metrics")).status, 200);
        assert!(begun.elapsed() < ms(limits::HTTP_HEAD_MS), "it was held up");
        for line in slow.iter_mut().chain([&mut first]) {
            assert!(
                line.is_closed_within(ms(limits::HTTP_HEAD_MS) + BUSY),
                "it is still open"
            );
        }
        assert!(begun.elapsed() < ms(limits::HTTP_HEAD_MS) * 2 + BUSY);
        dripping.join().expect("it writes");
    });
}

#[test]
fn a_head_that_is_too_long_is_refused() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let long = "x".repeat(limits::HTTP_HEAD_BYTES_MAX);
    let answer = server.send(&server.get("/api/runs").with("X-Long", &long));
    assert_eq!(answer.status, 431);
    let mut many = server.get("/api/runs");
    for number in 0..200 {
        many = many.and(&format!("X-{number}"), "1");
    }
    assert_eq!(server.send(&many).status, 431);
    let answer = server.send(&server.get(&format!("/api/runs?{long}")));
    assert!([414, 431].contains(&answer.status), "{answer:#?}");
}

#[test]
fn a_body_that_is_too_long_is_refused_whole_or_in_chunks() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let before = memory_kib(&server);
    let text = "x".repeat(limits::HTTP_BODY_BYTES_MAX);
    for target in ["/api/runs", "/mcp"] {
        let whole = server.post(target, json!({"command": text}));
        assert_eq!(
            server.refused(&whole),
            (413, "body_too_long".to_owned()),
            "{target}"
        );

        let mut chunked = whole.clone().with("Transfer-Encoding", "chunked");
        let parts = chunked.body.chunks(60_000).flat_map(|part| {
            let head = format!("{:x}\r\n", part.len());
            [head.as_bytes(), part, b"\r\n"].concat()
        });
        chunked.body = parts.chain(*b"0\r\n\r\n").collect();
        assert_eq!(
            server.refused(&chunked),
            (413, "body_too_long".to_owned()),
            "{target}"
        );

        // Nobody without the token has a byte of it read.
        let stranger = whole.without("Authorization");
        let mut line = server.line();
        line.send(&stranger);
        if let Ok(answer) = line.try_answer() {
            assert_eq!(answer.status, 401);
        }
    }
    // Far more than there is room for at once.
    let fits = server.post(
        "/api/runs",
        json!({"command": "true", "label": text.get(100..)}),
    );
    thread::scope(|scope| {
        let sends: Vec<_> = (0..12)
            .map(|_| scope.spawn(|| server.send(&fits).status))
            .collect();
        for send in sends {
            let status = send.join().expect("it is sent");
            assert!([201, 429].contains(&status), "{status}");
        }
    });
    let grown = memory_kib(&server).saturating_sub(before);
    assert!(grown < 4 * GROWTH_KIB, "it grew by {grown} KiB");
}

#[test]
fn a_body_that_does_not_come_is_given_up() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let mut line = server.line();
    let ask = server.post("/api/runs", json!({"command": "true"}));
    line.send(&ask.with("Content-Length", "1000"));
    let wait = ms(limits::HTTP_BODY_MS) + BUSY;
    line.socket()
        .set_read_timeout(Some(wait))
        .expect("it is a socket");
    assert_eq!(line.answer().refusal(), (408, "body_too_slow".to_owned()));
    assert!(line.is_closed_within(SOON));
}

#[test]
fn a_client_that_never_reads_is_closed_and_costs_no_memory() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let id = server.run(json!({"argv": ["bash", "-c", "yes | head -c 2000000"]}));
    ground.wait(&id);
    let ask = server
        .get(&format!("/api/runs/{id}/output?max_bytes=1000000"))
        .bytes();
    let mut lines: Vec<Line> = (0..5).map(|_| server.line()).collect();
    let before = memory_kib(&server);
    for line in &mut lines {
        line.socket().set_nonblocking(true).expect("it is a socket");
        // As many as the server takes: with no reader, it soon takes none.
        for _ in 0..200 {
            line.write(&ask);
        }
    }
    let given_up = ms(limits::HTTP_WRITE_MS) + SOON * 2;
    eventually("they are closed", given_up, || {
        server.metric("outlast_http_connections ") == 1
    });
    let grown = memory_kib(&server).saturating_sub(before);
    assert!(
        grown < GROWTH_KIB,
        "it grew by {grown} KiB for 5 that read nothing"
    );
    drop(lines);
    assert_eq!(
        server.fine(&server.get(&format!("/api/runs/{id}")))["status"],
        "completed"
    );
}

#[test]
fn a_thousand_requests_at_once_are_all_answered_and_memory_stays_flat() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let id = server.run(json!({"command": "echo hi"}));
    ground.wait(&id);
    let ask = server.get(&format!("/api/runs/{id}"));
    let round = || {
        thread::scope(|scope| {
            let clients: Vec<_> = (0..200)
                .map(|_| {
                    scope.spawn(|| {
                        let mut line = server.line();
                        for _ in 0..5 {
                            line.send(&ask);
                            let record: Value = line.answer().json();
                            assert_eq!(record["summary"], "hi");
                        }
                    })
                })
                .collect();
            for client in clients {
                client.join().expect("each is answered");
            }
        });
    };
    // Threads come with the load and each keeps some memory, up to a number of them.
    let idle = memory_kib(&server);
    round();
    round();
    let before = memory_kib(&server);
    round();
    round();
    let now = memory_kib(&server);
    let (grown, all) = (now.saturating_sub(before), now.saturating_sub(idle));
    assert!(all < GROWTH_KIB, "it grew by {all} KiB with 4,000 requests");
    assert!(
        grown < GROWTH_KIB / 2,
        "it grew by {grown} KiB with the last two rounds"
    );
    assert_eq!(
        server.metric("outlast_http_responses_total{class=\"5xx\"} "),
        0
    );
}

#[test]
fn what_is_no_http_or_no_json_is_told_or_closed_and_the_server_goes_on() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"GET / HTTP/1.1\r\n: x\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
    ] {
        let mut line = server.line();
        line.write(bytes);
        match line.try_answer() {
            Ok(answer) => assert!((400..500).contains(&answer.status), "{answer:#?}"),
            Err(error) => drop(error),
        }
    }
    let deep = "[".repeat(1_000_000);
    for (target, body) in [
        ("/api/runs", deep.as_str()),
        ("/api/runs", "{\"command\":"),
        ("/api/runs", "\"true\""),
        ("/mcp", deep.as_str()),
        ("/mcp", "{}"),
        ("/mcp", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}"),
    ] {
        let mut ask = server.post(target, json!({}));
        ask = ask.with("Accept", "application/json, text/event-stream");
        ask.body = body.as_bytes().to_vec();
        let answer = server.send(&ask);
        assert!((400..500).contains(&answer.status), "{target} {answer:#?}");
    }
    let mut ask = server.post("/api/runs", json!({"command": "true"}));
    ask = ask.with("Content-Type", "text/plain");
    assert_eq!(server.refused(&ask), (415, "not_json".to_owned()));
    assert_eq!(server.send(&server.get("/api/runs")).status, 200);
}

#[test]
fn two_hundred_waits_cost_next_to_no_processor_time() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let id = server.run(json!({"command": "sleep 300"}));
    let mut lines: Vec<Line> = (0..200).map(|_| server.line()).collect();
    for (number, line) in lines.iter_mut().enumerate() {
        let events = server.get(&format!("/api/runs/{id}/events"));
        line.send(&if number % 2 == 0 {
            server.get(&format!("/api/wait?id={id}&wait_secs=200"))
        } else {
            events.with("Accept", "text/event-stream")
        });
    }
    eventually("they wait", SOON, || {
        server.metric("outlast_waits ") == 100 && server.metric("outlast_event_streams ") == 100
    });
    let before = ticks(server.pid());
    thread::park_timeout(Duration::from_secs(3));
    let used = ticks(server.pid()) - before;
    // Waits that look all the time would take all 300. More than a run's supervisor can tell look
    // for themselves, once a second.
    assert!(used <= 100, "{used} ticks of the processor");
    let mut rest = [0; 1];
    let socket = lines.swap_remove(0);
    socket
        .socket()
        .set_nonblocking(true)
        .expect("it is a socket");
    assert!(socket.socket().read(&mut rest).is_err(), "it still waits");
    ground.cancel(&id);
    drop(lines);
}

/// Returns the processor time that a process has used, in hundredths of a second.
fn ticks(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is there");
    let (_, fields) = text.rsplit_once(')').expect("it has a name");
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let field = |number: usize| fields[number].parse::<u64>().expect("a number");
    field(11) + field(12)
}
