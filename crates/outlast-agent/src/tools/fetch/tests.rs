//! Requests over real HTTP.

use crate::tools::Plan;
use crate::tools::testing::{Bench, numbered};
use outlast_journal::Tier;
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};

/// Answers one request after the other; returns the address and what came.
fn server(answers: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let handle = thread::spawn(move || {
        let serve = |answer: String| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut request = String::new();
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                request.push_str(&line);
                if line == "\r\n" || line.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            stream.write_all(answer.as_bytes()).ok();
            request + &String::from_utf8(body).unwrap()
        };
        answers.into_iter().map(serve).collect()
    });
    (address, handle)
}

fn answer(head: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

fn bench() -> Bench {
    Bench::with(|around| around.tier = Tier::FullAccess)
}

#[test]
fn a_request_is_made_and_its_answer_shown() {
    let mut bench = bench();
    let (address, server) = server(vec![answer(
        "200 OK\r\ncontent-type: text/plain",
        "hello\n",
    )]);
    let outcome = bench.call(
        "http_request",
        &json!({
            "url": format!("{address}/p?key=secret"), "method": "POST", "body": "{}",
            "headers": [{"name": "X-Mine", "value": "yes"}],
        }),
    );
    assert!(outcome.ok, "{}", outcome.shown);
    assert_eq!(
        outcome.shown,
        "200 OK\ncontent-type: text/plain\ncontent-length: 6\nhello\n"
    );
    assert!(!outcome.brief.contains("secret"), "{}", outcome.brief);
    assert!(
        outcome.brief.ends_with("/p: status 200"),
        "{}",
        outcome.brief
    );
    let asked = server.join().unwrap().remove(0);
    assert!(
        asked.starts_with("POST /p?key=secret HTTP/1.1\r\n"),
        "{asked}"
    );
    assert!(asked.contains("x-mine: yes\r\n"), "{asked}");
    assert!(asked.ends_with("\r\n\r\n{}"), "{asked}");
}

#[test]
fn an_error_status_is_a_failure_with_its_body() {
    let mut bench = bench();
    let (address, server) = server(vec![answer("404 Not Found", "no such thing\n")]);
    let shown = bench.refused("http_request", &json!({"url": address}));
    assert_eq!(shown, "404 Not Found\ncontent-length: 14\nno such thing\n");
    server.join().unwrap();
}

#[test]
fn a_long_body_is_shown_in_part_and_read_on() {
    let mut bench = bench();
    let body: String = numbered(20_000, "");
    let (address, server) = server(vec![answer("200 OK", &body)]);
    let shown = bench.shown("http_request", &json!({"url": address}));
    assert!(shown.contains("\n1\n2\n"), "{shown}");
    assert!(shown.ends_with("\n20000\n"));
    assert!(shown.contains("read on with call_output {\"call\":\"1.1\""));
    let found = bench.shown("call_output", &json!({"call": "1.1", "grep": "^1234.$"}));
    assert!(found.contains("12345\n"), "{found}");
    server.join().unwrap();
}

#[test]
fn a_redirect_is_followed_to_the_same_scheme_and_no_other() {
    let mut bench = bench();
    let redirect = |to: &str| answer(&format!("302 Found\r\nlocation: {to}"), "");
    let (address, first) = server(vec![redirect("/next"), answer("200 OK", "there\n")]);
    let shown = bench.shown("http_request", &json!({"url": address}));
    assert!(shown.ends_with("there\n"), "{shown}");
    first.join().unwrap();
    let (address, second) = server(vec![redirect("file:///etc/passwd")]);
    let outcome = bench.call("http_request", &json!({"url": address}));
    assert!(!outcome.shown.contains("root:"), "{}", outcome.shown);
    second.join().unwrap();
}

#[test]
fn what_cannot_be_reached_and_no_http_is_refused() {
    let mut bench = bench();
    for url in ["file:///etc/passwd", "ftp://a", "a"] {
        let plan = bench.tools.plan("http_request", &json!({"url": url}));
        assert!(
            matches!(
                plan,
                Plan::Refused {
                    code: "bad_url",
                    ..
                }
            ),
            "{plan:?}"
        );
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let shown = bench.refused("http_request", &json!({"url": address}));
    assert!(shown.contains("code: http_failed"), "{shown}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let shown = bench.refused("http_request", &json!({"url": address, "timeout_secs": 1}));
    assert!(shown.contains("no answer within 1 s"), "{shown}");
}

#[test]
fn a_body_that_is_no_text_is_not_shown() {
    let mut bench = bench();
    let (address, server) = server(vec![answer("200 OK", "a\0b")]);
    let shown = bench.shown("http_request", &json!({"url": address}));
    assert!(
        shown.contains("[the body is no text: 3 bytes, not kept]"),
        "{shown}"
    );
    server.join().unwrap();
}
