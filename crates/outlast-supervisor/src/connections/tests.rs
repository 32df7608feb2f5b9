//! Whoever listens is told, whenever it came; whoever floods is dropped.

use super::{Asked, CancelAsked, Connections};
use crate::client;
use outlast_journal::control::{Answer, Ask, HINT_ENDED, HINT_OUTPUT, HINT_STARTED};
use outlast_journal::{StopCause, limits};
use outlast_testkit::Home;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

fn ask(dir: &Path, ask: &Ask) -> UnixStream {
    let mut stream = client::connect(dir).unwrap();
    stream.write_all(&ask.to_bytes()).unwrap();
    stream
}

fn ok() -> Vec<u8> {
    Answer::ok().to_bytes()
}

/// Returns all that was said to a client until now.
fn said(mut stream: &UnixStream) -> Vec<u8> {
    let mut said = [0; 1_024];
    stream.set_nonblocking(true).unwrap();
    let read = stream.read(&mut said).unwrap_or(0);
    said[..read].to_vec()
}

fn is_closed(mut stream: &UnixStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    matches!(stream.read(&mut [0; 64]), Ok(0))
}

#[test]
fn a_subscriber_that_comes_after_the_end_is_told_of_it_at_once() {
    let home = Home::new();
    let mut connections = Connections::bind(&home.work()).unwrap();
    connections.hint(HINT_STARTED, false);
    let early = ask(&home.work(), &Ask::Subscribe { output: false });
    connections.serve(0);
    connections.hint(HINT_ENDED, false);
    let late = ask(&home.work(), &Ask::Subscribe { output: true });
    connections.serve(0);
    connections.serve(0);
    let told = [ok(), vec![HINT_ENDED]].concat();
    assert_eq!(said(&early), told);
    assert_eq!(said(&late), told, "once, not at each turn");
}

#[test]
fn only_those_who_asked_for_output_are_told_of_it() {
    let home = Home::new();
    let mut connections = Connections::bind(&home.work()).unwrap();
    assert!(!connections.wants_output());
    let ends = ask(&home.work(), &Ask::Subscribe { output: false });
    let all = ask(&home.work(), &Ask::Subscribe { output: true });
    connections.serve(0);
    assert!(connections.wants_output());
    connections.hint(HINT_OUTPUT, true);
    assert_eq!(said(&ends), ok());
    assert_eq!(said(&all), [ok(), vec![HINT_OUTPUT]].concat());
}

#[test]
fn the_last_words_of_a_client_that_left_still_count() {
    let home = Home::new();
    let mut connections = Connections::bind(&home.work()).unwrap();
    let cancel = Ask::Cancel {
        cause: StopCause::Cancel,
        grace_ms: Some(7),
        by: Some("run x".to_owned()),
    };
    drop(ask(&home.work(), &cancel));
    let asked = CancelAsked {
        cause: StopCause::Cancel,
        grace_ms: Some(7),
        by: Some("run x".to_owned()),
    };
    assert_eq!(connections.serve(0), [Asked::Cancel(asked)]);
}

#[test]
fn what_is_no_message_is_answered_and_what_floods_is_dropped() {
    let home = Home::new();
    let mut connections = Connections::bind(&home.work()).unwrap();
    let mut wrong = client::connect(&home.work()).unwrap();
    wrong.write_all(b"hello\n").unwrap();
    let mut flood = client::connect(&home.work()).unwrap();
    let bytes = vec![b'x'; limits::CONTROL_TEXT_BYTES_MAX + 1];
    flood.write_all(&bytes).unwrap();
    let closed = ask(
        &home.work(),
        &Ask::Send {
            bytes: 1,
            eof: true,
        },
    );
    assert!(connections.serve(0).is_empty());
    let answer = |stream| {
        Answer::from_bytes(said(stream).trim_ascii_end())
            .unwrap()
            .code
    };
    assert_eq!(answer(&wrong).as_deref(), Some("bad_message"));
    assert_eq!(answer(&closed).as_deref(), Some("no_stdin"));
    assert!(is_closed(&flood));
}

#[test]
fn no_more_clients_are_served_than_the_limit_says_and_listeners_leave_room_for_a_cancel() {
    let home = Home::new();
    let mut connections = Connections::bind(&home.work()).unwrap();
    let subscribe = Ask::Subscribe { output: false };
    let mut clients = Vec::new();
    // The kernel queues as many as are not accepted yet, so they come in two groups.
    for _ in 0..2 {
        for _ in 0..limits::SUBSCRIBERS_MAX / 2 {
            clients.push(ask(&home.work(), &subscribe));
        }
        connections.serve(0);
    }
    let no_room = ask(&home.work(), &subscribe);
    let cancel = Ask::Cancel {
        cause: StopCause::Cancel,
        grace_ms: None,
        by: None,
    };
    let cancelling = ask(&home.work(), &cancel);
    assert_eq!(connections.serve(0).len(), 1);
    assert!(is_closed(&no_room));
    assert_eq!(said(&cancelling), ok());
    assert!(clients.iter().all(|client| said(client) == ok()));

    let silent = limits::CONNECTIONS_MAX - limits::SUBSCRIBERS_MAX - 1;
    let silent: Vec<_> = (0..silent)
        .map(|_| client::connect(&home.work()).unwrap())
        .collect();
    connections.serve(0);
    let one_more = client::connect(&home.work()).unwrap();
    connections.serve(0);
    assert!(is_closed(&one_more));
    assert!(silent.iter().all(|client| said(client).is_empty()));
}

#[test]
fn whoever_sends_words_is_told_what_came_of_them_and_nobody_else() {
    let home = Home::new();
    let mut connections = Connections::bind(&home.work()).unwrap();
    let input = |text: &str| Ask::Input {
        text: text.to_owned(),
        by: None,
    };
    let long = "\n".repeat(limits::SEND_BYTES_MAX);
    let first = ask(&home.work(), &input(&long));
    let second = ask(&home.work(), &input("b"));
    let asked = connections.serve(0);
    let [Asked::Words { from, ask }, Asked::Words { .. }] = &asked[..] else {
        unreachable!("two that wait: {asked:?}");
    };
    assert_eq!(*ask, input(&long));
    connections.reply(*from, &Answer::ok());
    assert_eq!(said(&first), ok());
    assert!(is_closed(&first));
    assert_eq!(said(&second), b"");
}

#[test]
fn a_run_that_has_not_begun_takes_cancels_and_no_words() {
    let home = Home::new();
    let mut connections = Connections::bind(&home.work()).unwrap();
    let words = Ask::Input {
        text: "a".to_owned(),
        by: None,
    };
    let early = ask(&home.work(), &words);
    assert_eq!(connections.serve_cancels(0), []);
    let answer = Answer::from_bytes(said(&early).trim_ascii_end()).unwrap();
    assert_eq!(answer.code.as_deref(), Some("not_begun"));
}
