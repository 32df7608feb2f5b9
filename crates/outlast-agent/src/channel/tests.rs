//! The channel keeps the order of the journal, and says when it is over.

use super::*;
use outlast_journal::agent::{Input, TurnBegin};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream as Plain;

fn with(run: impl AsyncFnOnce(Channel, Plain)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (ours, theirs) = Plain::pair().expect("a pair");
    runtime.block_on(async { run(Channel::new(ours).expect("a channel"), theirs).await });
}

fn begin(turn: u64) -> Work {
    Work::TurnBegin(TurnBegin { turn })
}

#[test]
fn what_stands_before_a_fact_is_heard_before_it() {
    with(async |mut channel, mut supervisor| {
        channel.tell(begin(1)).await.expect("told");
        channel.tell(begin(2)).await.expect("told");
        let input = Heard::Input(Input {
            text: "a".to_owned(),
            ..Input::default()
        });
        for heard in [Heard::Wrote { n: 1 }, input, Heard::Wrote { n: 2 }] {
            supervisor.write_all(&heard.to_bytes()).expect("said");
        }
        let mut order = Vec::new();
        while channel.has_open() {
            order.push(match channel.news().await.expect("news") {
                News::Stands(work) => work,
                News::Heard(Heard::Input(input)) => Work::Input(input),
                News::Heard(other) => panic!("{other:?}"),
            });
        }
        let input = Work::Input(Input {
            text: "a".to_owned(),
            ..Input::default()
        });
        assert_eq!(order, [begin(1), input, begin(2)]);
    });
}

#[test]
fn a_line_that_comes_in_pieces_is_one_line_also_when_waits_are_dropped() {
    with(async |mut channel, mut supervisor| {
        let line = Heard::Input(Input {
            text: "x".repeat(200_000),
            ..Input::default()
        });
        let bytes = line.to_bytes();
        for piece in bytes.chunks(7_000) {
            supervisor.write_all(piece).expect("said");
            let short = std::time::Duration::from_millis(1);
            let news = tokio::time::timeout(short, channel.news()).await;
            if let Ok(news) = news {
                let News::Heard(Heard::Input(input)) = news.expect("news") else {
                    panic!("another word");
                };
                assert_eq!(input.text.len(), 200_000);
                return;
            }
        }
        panic!("the line did not come");
    });
}

#[test]
fn a_supervisor_that_is_gone_or_does_not_write_is_an_error() {
    with(async |mut channel, supervisor| {
        drop(supervisor);
        assert!(matches!(channel.news().await, Err(ChannelError::Gone(_))));
    });
    with(async |mut channel, mut supervisor| {
        channel.tell(begin(1)).await.expect("told");
        let refused = Heard::NotWritten {
            n: 1,
            why: "full".to_owned(),
        };
        supervisor.write_all(&refused.to_bytes()).expect("said");
        let news = channel.news().await;
        assert!(
            matches!(news, Err(ChannelError::NotWritten { .. })),
            "{news:?}"
        );
    });
}

#[test]
fn a_fact_too_long_for_a_line_is_not_said() {
    with(async |mut channel, mut supervisor| {
        let long = Work::Text("x".repeat(limits::WORKER_LINE_BYTES_MAX));
        let told = channel.tell(long).await;
        assert!(
            matches!(told, Err(ChannelError::TooLong { .. })),
            "{told:?}"
        );
        drop(channel);
        let mut rest = Vec::new();
        supervisor.read_to_end(&mut rest).expect("read");
        assert_eq!(rest, b"");
    });
}
