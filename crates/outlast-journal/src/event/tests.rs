//! A fact is one line, numbered if it is an event, and the line gives the fact back.

use super::{
    Claimed, End, Fact, Failure, Leftover, Line, MainExit, Note, ProcessRef, Queued, Seq, Started,
    Stop, StopCause, Usage,
};
use crate::{RunId, Status, Timestamp};
use serde_json::{Value, json};
use std::error::Error;

const AT: Timestamp = Timestamp(1_796_055_327_123);

fn process(pid: i32) -> ProcessRef {
    ProcessRef {
        pid,
        start_ticks: u64::MAX,
    }
}

fn note(stop: Option<Stop>, signal: Option<&str>, from_pid: Option<i32>) -> Fact {
    Fact::Note(Note {
        stop,
        ignored_signal: signal.map(str::to_owned),
        from_pid,
    })
}

fn stop(by: Option<&str>) -> Stop {
    Stop {
        cause: StopCause::Host,
        grace_ms: 0,
        by: by.map(str::to_owned),
    }
}

fn full_end() -> End {
    End {
        exit_code: Some(-1),
        signal: Some("KILL".to_owned()),
        output_bytes: 10,
        output_lost_bytes: 3,
        last_output_at: Some(AT),
        elapsed_ms: Some(0),
        usage: Some(Usage {
            cpu_ms: 0,
            peak_rss_bytes: 1 << 40,
            ..Usage::default()
        }),
        leftovers: vec![Leftover {
            process: process(5),
            command: "sleep \"9\"\u{1f600}".to_owned(),
        }],
        leftovers_more: 2,
        runs_inside: vec![RunId::from_bits([7; 10])],
        unkillable: vec![5, 6],
        failure: Some(Failure {
            code: "work_dir".to_owned(),
            message: "gone".to_owned(),
            errno: Some(2),
        }),
        ..End::new(Status::Failed, "self", "a\nb".to_owned())
    }
}

/// Facts with every field and with none that may be absent.
fn facts() -> Vec<Fact> {
    vec![
        Fact::Claimed(Claimed {
            supervisor: process(4),
            boot_id: "b".to_owned(),
            pid_namespace: 1,
            version: "0.1.0".to_owned(),
        }),
        Fact::Queued(Queued { ticket: 0 }),
        Fact::Started(Started {
            main: process(41),
            queued_ms: None,
            monotonic_ms: None,
            posture: None,
        }),
        Fact::Started(Started {
            main: process(41),
            queued_ms: Some(0),
            monotonic_ms: Some(1),
            posture: None,
        }),
        Fact::MainExited(MainExit {
            exit_code: Some(255),
            signal: None,
        }),
        Fact::MainExited(MainExit {
            exit_code: None,
            signal: Some("40".to_owned()),
        }),
        note(None, None, None),
        note(Some(stop(None)), None, None),
        note(Some(stop(Some("a \"person\""))), Some("INT"), Some(1)),
        Fact::Ended(Box::new(End::new(Status::Completed, "self", String::new()))),
        Fact::Ended(Box::new(full_end())),
    ]
}

#[test]
fn a_line_gives_its_fact_back() {
    for fact in facts() {
        let line = Line::new(&fact, Seq(3), AT);
        let bytes = line.to_bytes();
        let (last, text) = bytes.split_last().unwrap();
        assert_eq!(*last, b'\n');
        assert!(!text.contains(&b'\n'), "{fact:?}");
        let read = Line::from_bytes(text).unwrap();
        assert_eq!(read, line);
        assert_eq!(read.fact().unwrap(), fact);
    }
}

#[test]
fn only_what_readers_see_is_numbered() {
    for fact in facts() {
        let is_silent = matches!(fact, Fact::Claimed(_) | Fact::Queued(_));
        assert_eq!(fact.is_event(), !is_silent);
        let line = Line::new(&fact, Seq(3), AT);
        assert_eq!(line.seq, (!is_silent).then_some(Seq(3)), "{fact:?}");
        assert_eq!((line.v, line.ts), (1, AT));
    }
    assert!(!Fact::Unknown.is_event());
}

#[test]
fn each_fact_says_what_it_is_in_words() {
    let said: Vec<(String, Option<String>, Option<String>)> = facts()
        .iter()
        .map(|fact| Line::new(fact, Seq(0), AT))
        .map(|line| (line.kind, line.phase, line.message))
        .collect();
    let ended = "the main process ended; its tree goes on";
    let expected = [
        ("claimed", None, None),
        ("queued", None, None),
        ("started", Some("start"), Some("started as process 41")),
        ("started", Some("start"), Some("started as process 41")),
        ("main_exited", Some("run"), Some(ended)),
        ("main_exited", Some("run"), Some(ended)),
        ("note", Some("run"), Some("note")),
        ("note", Some("stop"), Some("stop asked for: host")),
        (
            "note",
            Some("stop"),
            Some("stop asked for: host by a \"person\""),
        ),
        ("completed", Some("end"), Some("")),
        ("failed", Some("end"), Some("a\nb")),
    ];
    let expected = expected.map(|(kind, phase, message)| {
        let owned = |text: &str| text.to_owned();
        (kind.to_owned(), phase.map(owned), message.map(owned))
    });
    assert_eq!(said, expected);
}

#[test]
fn an_ignored_signal_is_said_with_its_sender() {
    for (signal, from_pid, words) in [
        (Some("INT"), Some(7), "SIGINT from process 7 ignored"),
        (Some("INT"), None, "SIGINT ignored"),
        (None, Some(7), "note"),
    ] {
        let line = Line::new(&note(None, signal, from_pid), Seq(0), AT);
        assert_eq!(line.message.as_deref(), Some(words));
        assert_eq!(line.phase.as_deref(), Some("run"));
    }
}

#[test]
fn exactly_the_completed_end_in_completed() {
    for status in Status::ALL {
        let end = Fact::Ended(Box::new(End::new(status, "self", String::new())));
        let line = Line::new(&end, Seq(0), AT);
        let is_completed = status == Status::Completed;
        assert_eq!(line.kind == "completed", is_completed, "{status}");
        assert_eq!(line.kind == "failed", !is_completed, "{status}");
        assert_eq!(line.data["status"], status.as_str());
        assert_eq!(line.fact().unwrap(), end);
    }
}

#[test]
fn what_is_unknown_is_absent() {
    let data: Vec<Value> = facts()
        .iter()
        .map(|fact| Line::new(fact, Seq(0), AT).data)
        .collect();
    let main = json!({"pid": 41, "start_ticks": u64::MAX});
    assert_eq!(data[2], json!({"main": main}));
    assert_eq!(
        data[3],
        json!({"main": main, "queued_ms": 0, "monotonic_ms": 1})
    );
    assert_eq!(data[4], json!({"exit_code": 255}));
    assert_eq!(data[5], json!({"signal": "40"}));
    assert_eq!(data[6], json!({}));
    assert_eq!(data[7], json!({"stop": {"cause": "host", "grace_ms": 0}}));
    assert_eq!(
        data[9],
        json!({"status": "completed", "ended_by": "self", "summary": "", "output_bytes": 0})
    );
    assert_eq!(data[10].as_object().unwrap().len(), 15);
}

#[test]
fn each_cause_has_its_word_and_its_state() {
    for (cause, word, ended_by, status) in [
        (StopCause::Cancel, "cancel", "cancel", Status::Cancelled),
        (StopCause::Timeout, "timeout", "timeout", Status::TimedOut),
        (
            StopCause::Deadline,
            "deadline",
            "deadline",
            Status::TimedOut,
        ),
        (StopCause::Idle, "idle", "idle", Status::Cancelled),
        (StopCause::Session, "session", "session", Status::Cancelled),
        (StopCause::Host, "host", "host", Status::Cancelled),
        (
            StopCause::QueueLimit,
            "queue_limit",
            "limit:queue",
            Status::Failed,
        ),
        (
            StopCause::MemoryLimit,
            "memory_limit",
            "limit:memory",
            Status::Failed,
        ),
    ] {
        assert_eq!(serde_json::to_value(cause).unwrap(), word);
        assert_eq!(cause.ended_by(), ended_by);
        assert_eq!(cause.status(), status);
    }
}

#[test]
fn a_kind_of_a_later_version_is_unknown_and_its_data_kept() {
    let text = br#"{"v":9,"seq":0,"ts":"2026-11-29T16:15:27.123Z","type":"tide","data":[{"q":1}]}"#;
    let line = Line::from_bytes(text).unwrap();
    assert_eq!(line.fact().unwrap(), Fact::Unknown);
    assert_eq!(line.data, json!([{"q": 1}]));
    let written = [&text[..], b"\n"].concat();
    assert_eq!(line.to_bytes(), written);
}

#[test]
fn a_line_needs_version_time_and_kind() {
    let whole = r#"{"v":1,"ts":"2026-11-29T16:15:27.123Z","type":"note"}"#;
    assert!(Line::from_bytes(whole.as_bytes()).is_ok());
    let mut texts: Vec<String> = ["v", "ts", "type"]
        .map(|name| whole.replacen(&format!("\"{name}\""), "\"x\"", 1))
        .to_vec();
    texts.push(whole.replace("\"v\":1", "\"v\":4294967296"));
    texts.push(whole.replace("\"v\":1", "\"v\":\"1\""));
    texts.push(whole.replace("\"v\":1", "\"v\":1,\"seq\":-1"));
    texts.push(whole.replace("123Z", "123+01:00"));
    texts.push(format!("{whole}{whole}"));
    for text in texts {
        let error = Line::from_bytes(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "a journal line cannot be read");
        assert!(error.source().is_some(), "{text}");
    }
}

#[test]
fn a_known_kind_without_its_data_is_an_error() {
    for kind in ["claimed", "queued", "started", "completed", "failed"] {
        let text = format!("{{\"v\":1,\"ts\":\"2026-11-29T16:15:27.123Z\",\"type\":\"{kind}\"}}");
        let line = Line::from_bytes(text.as_bytes()).unwrap();
        assert!(line.fact().is_err(), "{kind}");
    }
}
