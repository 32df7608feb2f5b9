//! A spec is read back as it was written, by this version and by every later one.

use super::{
    Kind, Leftovers, Lifetime, Origin, Pool, Posture, Queue, SecretMark, Shell, Spec, Stdin,
    Survives,
};
use crate::{ProcessRef, RunId, Timestamp};
use std::error::Error;

/// The fields that a spec always has.
const LEAST: &str = r#"{"v":1,"id":"0123456789abcdef","created":"2026-11-29T16:15:27.123Z","argv":["true"],"command":"true","label":"true","cwd":"/","project":"/","grace_ms":5000,"output_bytes_max":67108864}"#;

fn id(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

fn least() -> Spec {
    Spec {
        v: 1,
        id: id("0123456789abcdef"),
        kind: Kind::Command,
        created: Timestamp::parse("2026-11-29T16:15:27.123Z").unwrap(),
        argv: vec!["true".to_owned()],
        command: "true".to_owned(),
        command_in_file: false,
        shell: None,
        label: "true".to_owned(),
        cwd: "/".to_owned(),
        project: "/".to_owned(),
        session: None,
        parent: None,
        root: None,
        depth: 0,
        agents_above: 0,
        child_session_id: None,
        model: None,
        timeout_ms: None,
        deadline: None,
        idle_ttl_ms: None,
        grace_ms: 5_000,
        stop_signal: None,
        stop_command: None,
        output_bytes_max: 64 << 20,
        leftovers: Leftovers::Report,
        lifetime: Lifetime::Detached,
        holder: None,
        stdin: Stdin::Null,
        pools: Vec::new(),
        queue: None,
        env_names: Vec::new(),
        secrets: Vec::new(),
        key: None,
        request_hash: None,
        origin: Origin::default(),
        posture: Posture::host(),
        containment: None,
        agent: None,
        survives: None,
    }
}

fn full() -> Spec {
    let text = |text: &str| Some(text.to_owned());
    Spec {
        kind: Kind::Agent,
        command_in_file: true,
        shell: Some(Shell {
            program: "/bin/bash".to_owned(),
            login: true,
            pipefail: true,
        }),
        session: text("s"),
        parent: Some(id("1111111111111111")),
        root: Some(id("2222222222222222")),
        depth: 3,
        agents_above: 1,
        child_session_id: text("child"),
        model: text("m"),
        timeout_ms: Some(u64::MAX),
        deadline: Some(Timestamp::MAX),
        idle_ttl_ms: Some(1),
        stop_signal: text("INT"),
        stop_command: text("echo \"\u{1f600}\"\n"),
        leftovers: Leftovers::Stop,
        lifetime: Lifetime::Session,
        holder: Some(ProcessRef {
            pid: 7,
            start_ticks: 8,
        }),
        stdin: Stdin::Pipe,
        pools: vec![Pool {
            name: "store".to_owned(),
            places_max: 1_024,
        }],
        queue: Some(Queue {
            name: "q".to_owned(),
            ticket: 4,
            wait_ms: Some(9),
        }),
        env_names: vec!["PATH".to_owned()],
        secrets: vec![SecretMark {
            name: "API_KEY".to_owned(),
            length: 40,
            rolling: (1 << 61) - 2,
            hash: "00ff".to_owned(),
        }],
        key: text("k"),
        request_hash: text("h"),
        origin: Origin {
            host: text("cli"),
            session: text("hs"),
            thread: text("ht"),
            ancestry: vec!["a".to_owned(), "b".to_owned()],
        },
        posture: Posture {
            mode: "bwrap".to_owned(),
            tier: "ReadOnly".to_owned(),
            network: "none".to_owned(),
            ..Posture::host()
        },
        agent: None,
        survives: Some(Survives {
            host_exit: true,
            terminal: true,
            unit_restart: false,
        }),
        ..least()
    }
}

#[test]
fn what_was_written_is_read_back() {
    for spec in [least(), full()] {
        let text = spec.to_json();
        assert!(!text.contains('\n'));
        assert_eq!(Spec::from_json(text.as_bytes()).unwrap(), spec);
    }
}

#[test]
fn what_is_left_away_has_a_default() {
    assert_eq!(Spec::from_json(LEAST.as_bytes()).unwrap(), least());
}

#[test]
fn what_is_unknown_is_absent() {
    let value: serde_json::Value = serde_json::from_str(&least().to_json()).unwrap();
    let absent = [
        "shell",
        "session",
        "parent",
        "root",
        "timeout_ms",
        "deadline",
        "idle_ttl_ms",
        "stop_signal",
        "stop_command",
        "holder",
        "queue",
        "key",
        "request_hash",
        "survives",
    ];
    let full: serde_json::Value = serde_json::from_str(&full().to_json()).unwrap();
    for name in absent {
        assert!(value.get(name).is_none(), "{name}");
        assert!(full.get(name).is_some(), "{name}");
    }
}

#[test]
fn fields_of_later_versions_are_ignored() {
    let later = LEAST.replacen(
        "{\"v\":1,",
        "{\"v\":2,\"calls\":{\"max\":[1]},\"origin\":{\"host\":\"cli\",\"later\":1},",
        1,
    );
    let expected = Spec {
        v: 2,
        origin: Origin {
            host: Some("cli".to_owned()),
            ..Origin::default()
        },
        ..least()
    };
    assert_eq!(Spec::from_json(later.as_bytes()).unwrap(), expected);
}

#[test]
fn what_is_no_spec_is_refused_with_the_reason() {
    let without = |name: &str| LEAST.replacen(&format!("\"{name}\":"), "\"other\":", 1);
    let mut texts = vec![
        String::new(),
        "{}".to_owned(),
        "[]".to_owned(),
        LEAST.replace("cdef", "cdeu"),
        LEAST.replace(",\"output", ",\"kind\":\"whim\",\"output"),
        LEAST.trim_end_matches('}').to_owned(),
    ];
    texts.extend(["v", "id", "created", "argv", "cwd", "grace_ms"].map(without));
    for text in texts {
        let error = Spec::from_json(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "the spec cannot be read");
        assert!(error.source().is_some(), "{text}");
    }
}

#[test]
fn each_choice_has_its_word() {
    fn words<T: serde::Serialize>(choices: &[T]) -> serde_json::Value {
        serde_json::to_value(choices).unwrap()
    }
    for (words, expected) in [
        (
            words(&[Kind::Command, Kind::Agent]),
            serde_json::json!(["command", "agent"]),
        ),
        (
            words(&[Leftovers::Report, Leftovers::Wait, Leftovers::Stop]),
            serde_json::json!(["report", "wait", "stop"]),
        ),
        (
            words(&[Lifetime::Detached, Lifetime::Session]),
            serde_json::json!(["detached", "session"]),
        ),
        (
            words(&[Stdin::Null, Stdin::Pipe]),
            serde_json::json!(["null", "pipe"]),
        ),
    ] {
        assert_eq!(words, expected);
    }
}
