//! What comes from a worker is read line by line, whatever it sends, and bounded both ways.

use super::{Channel, Heard};
use outlast_journal::limits;
use outlast_journal::worker::Said;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

fn pair() -> (Channel, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    (Channel::new(ours).unwrap(), theirs)
}

fn said(channel: &mut Channel) -> Vec<Said> {
    channel.receive();
    let mut all = Vec::new();
    while let Some(heard) = channel.next() {
        match heard {
            Heard::Said(said, _) => all.push(said),
            Heard::Broken(why) => unreachable!("{why}"),
        }
    }
    all
}

fn fact(n: u64, text: &str) -> Said {
    Said::Fact {
        n,
        kind: "text".to_owned(),
        message: Some(text.to_owned()),
        data: serde_json::Value::Null,
    }
}

/// Writes as much as goes and lets the channel read, until all is through.
fn pass(channel: &mut Channel, mut theirs: &UnixStream, bytes: &[u8]) -> Vec<Said> {
    let mut left = bytes;
    let mut all = Vec::new();
    while !left.is_empty() {
        let written = theirs.write(left).unwrap_or(0);
        left = &left[written..];
        all.extend(said(channel));
    }
    all.extend(said(channel));
    all
}

#[test]
fn lines_that_come_in_pieces_are_whole() {
    let (mut channel, theirs) = pair();
    let bytes = [Said::hello().to_bytes(), fact(1, "a").to_bytes()].concat();
    let mut all = Vec::new();
    for byte in &bytes {
        all.extend(pass(&mut channel, &theirs, &[*byte]));
    }
    assert_eq!(all, [Said::hello(), fact(1, "a")]);
}

#[test]
fn a_line_of_eight_mebibytes_passes_and_leaves_no_memory_behind() {
    let (mut channel, theirs) = pair();
    let long = fact(1, &"x".repeat(limits::WORKER_LINE_BYTES_MAX - 200));
    assert_eq!(
        pass(&mut channel, &theirs, &long.to_bytes()),
        std::slice::from_ref(&long)
    );
    channel.forget(limits::WORKER_LINE_BYTES_MAX);
    assert!(channel.read.capacity() < limits::WORKER_TURN_BYTES);
    let next = fact(2, "b");
    assert_eq!(pass(&mut channel, &theirs, &next.to_bytes()), [next]);
}

#[test]
fn what_no_worker_says_is_broken_and_so_is_a_line_without_an_end() {
    let (mut channel, mut theirs) = pair();
    theirs.write_all(b"{\"verb\":1}\n").unwrap();
    channel.receive();
    assert!(matches!(channel.next(), Some(Heard::Broken(_))));

    let (mut channel, mut theirs) = pair();
    let part = vec![b'x'; 64 << 10];
    let mut is_broken = false;
    let mut sent = 0;
    while !is_broken {
        sent += theirs.write(&part).unwrap_or(0);
        channel.receive();
        is_broken = matches!(channel.next(), Some(Heard::Broken(_)));
        assert!(sent < limits::WORKER_LINE_BYTES_MAX + limits::WORKER_TURN_BYTES * 4);
    }
}

#[test]
fn a_worker_that_does_not_read_is_not_read_and_then_given_up() {
    let (mut channel, mut theirs) = pair();
    let line = vec![b'\n'; 4 << 10];
    let mut sent = 0;
    while channel.send(&line) {
        sent += line.len();
    }
    assert!(sent > limits::WORKER_UNREAD_BYTES_MAX, "{sent}");
    assert!(sent < limits::WORKER_UNREAD_BYTES_MAX * 2, "{sent}");
    theirs.write_all(&Said::hello().to_bytes()).unwrap();
    assert_eq!(said(&mut channel), []);
    let mut buffer = vec![0; 4 << 20];
    while theirs.read(&mut buffer).is_ok() {
        channel.flush();
    }
    assert_eq!(said(&mut channel), [Said::hello()]);
}

#[test]
fn the_last_words_of_a_worker_that_is_gone_are_heard() {
    let (mut channel, mut theirs) = pair();
    theirs.write_all(&Said::hello().to_bytes()).unwrap();
    drop(theirs);
    assert_eq!(said(&mut channel), [Said::hello()]);
    assert!(channel.is_over());
}
