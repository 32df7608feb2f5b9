//! What one side says the other understands, also when it is of another version.

use super::{Answer, Ask, AskError};
use crate::StopCause;
use std::error::Error;

fn read(line: &str) -> Result<Ask, AskError> {
    Ask::from_bytes(line.as_bytes())
}

/// Asks and the lines that say them. What stands here is spoken by released programs.
fn spoken() -> Vec<(Ask, &'static str)> {
    vec![
        (
            Ask::Cancel {
                cause: StopCause::Cancel,
                grace_ms: None,
                by: None,
            },
            r#"{"v":1,"verb":"cancel","cause":"cancel"}"#,
        ),
        (
            Ask::Cancel {
                cause: StopCause::Session,
                grace_ms: Some(0),
                by: Some("the \"other\"\nsession".to_owned()),
            },
            r#"{"v":1,"verb":"cancel","cause":"session","grace_ms":0,"by":"the \"other\"\nsession"}"#,
        ),
        (
            Ask::Subscribe { output: false },
            r#"{"v":1,"verb":"subscribe","output":false}"#,
        ),
        (
            Ask::Subscribe { output: true },
            r#"{"v":1,"verb":"subscribe","output":true}"#,
        ),
        (
            Ask::Send {
                bytes: 0,
                eof: true,
            },
            r#"{"v":1,"verb":"send","bytes":0,"eof":true}"#,
        ),
        (
            Ask::Send {
                bytes: 16_384,
                eof: false,
            },
            r#"{"v":1,"verb":"send","bytes":16384,"eof":false}"#,
        ),
        (
            Ask::Answer {
                ask: Some("3.1".to_owned()),
                is_approved: true,
                text: Some("go on".to_owned()),
                by: Some("cli".to_owned()),
            },
            r#"{"v":1,"verb":"answer","by":"cli","ask":"3.1","is_approved":true,"text":"go on"}"#,
        ),
        (
            Ask::Answer {
                ask: None,
                is_approved: false,
                text: None,
                by: None,
            },
            r#"{"v":1,"verb":"answer","is_approved":false}"#,
        ),
        (
            Ask::Input {
                text: "look at\nb.rs".to_owned(),
                by: None,
            },
            r#"{"v":1,"verb":"input","text":"look at\nb.rs"}"#,
        ),
    ]
}

#[test]
fn what_is_asked_is_one_line_and_read_back() {
    for (ask, line) in spoken() {
        assert_eq!(ask.to_bytes(), format!("{line}\n").into_bytes());
        assert_eq!(read(line).unwrap(), ask);
    }
}

#[test]
fn what_is_left_away_has_a_default() {
    for (line, ask) in [
        (
            r#"{"v":1,"verb":"cancel"}"#,
            Ask::Cancel {
                cause: StopCause::Cancel,
                grace_ms: None,
                by: None,
            },
        ),
        (
            r#"{"v":1,"verb":"subscribe"}"#,
            Ask::Subscribe { output: false },
        ),
        (
            r#"{"v":1,"verb":"send"}"#,
            Ask::Send {
                bytes: 0,
                eof: false,
            },
        ),
        (
            r#"{"v":1,"verb":"cancel","cause":null,"grace_ms":null,"by":null}"#,
            Ask::Cancel {
                cause: StopCause::Cancel,
                grace_ms: None,
                by: None,
            },
        ),
    ] {
        assert_eq!(read(line).unwrap(), ask, "{line}");
    }
}

#[test]
fn fields_of_later_versions_are_ignored() {
    let line = r#"{"v":7,"verb":"subscribe","output":true,"events":{"since":[3]}}"#;
    assert_eq!(read(line).unwrap(), Ask::Subscribe { output: true });
}

#[test]
fn a_verb_of_a_later_version_is_named() {
    for verb in ["pause", "Cancel", ""] {
        let error = read(&format!(r#"{{"v":2,"verb":"{verb}","x":1}}"#)).unwrap_err();
        assert_eq!(error.to_string(), format!("the verb `{verb}` is not known"));
        assert!(error.source().is_none());
    }
}

#[test]
fn what_is_no_message_is_refused_with_the_reason() {
    for line in [
        "",
        "\n",
        "cancel",
        "null",
        "[]",
        "{}",
        r#"{"verb":"cancel"}"#,
        r#"{"v":1}"#,
        r#"{"v":-1,"verb":"cancel"}"#,
        r#"{"v":1,"verb":"send","bytes":-1}"#,
        r#"{"v":1,"verb":"send","bytes":1.5}"#,
        r#"{"v":1,"verb":"send","bytes":99999999999999999999999999}"#,
        r#"{"v":1,"verb":"cancel"} {"v":1,"verb":"cancel"}"#,
    ] {
        let error = read(line).unwrap_err();
        assert!(matches!(error, AskError::Form(_)), "{line}");
        assert_eq!(error.to_string(), "the message is no control message");
        assert!(error.source().is_some());
    }
}

#[test]
fn a_cause_of_a_later_version_is_a_cancel() {
    let ask = read(r#"{"v":2,"verb":"cancel","cause":"whim"}"#).unwrap();
    let cancel = Ask::Cancel {
        cause: StopCause::Cancel,
        grace_ms: None,
        by: None,
    };
    assert_eq!(ask, cancel);
}

#[test]
fn an_answer_is_one_line_and_read_back() {
    let full = Answer {
        v: 1,
        ok: false,
        code: Some("store_full".to_owned()),
        message: Some("no\nroom".to_owned()),
        hint: Some("h".to_owned()),
        errno: Some(28),
        done: Some(true),
        leftovers_stopped: Some(2),
        accepted_bytes: Some(0),
        ask: None,
        queued: Some(false),
    };
    for (answer, line) in [
        (Answer::ok(), r#"{"v":1,"ok":true}"#),
        (
            Answer::error("no_such_program", "there is no program `x`".to_owned()),
            r#"{"v":1,"ok":false,"code":"no_such_program","message":"there is no program `x`"}"#,
        ),
        (
            Answer {
                queued: Some(true),
                ..Answer::ok()
            },
            r#"{"v":1,"ok":true,"queued":true}"#,
        ),
        (
            full,
            r#"{"v":1,"ok":false,"code":"store_full","message":"no\nroom","errno":28,"hint":"h","done":true,"leftovers_stopped":2,"accepted_bytes":0,"queued":false}"#,
        ),
    ] {
        assert_eq!(answer.to_bytes(), format!("{line}\n").into_bytes());
        assert_eq!(Answer::from_bytes(line.as_bytes()).unwrap(), answer);
    }
}

#[test]
fn an_answer_of_a_later_version_is_understood() {
    let line = br#"{"v":4,"ok":true,"paused":true,"errno":null}"#;
    let expected = Answer {
        v: 4,
        ..Answer::ok()
    };
    assert_eq!(Answer::from_bytes(line).unwrap(), expected);
}

#[test]
fn what_is_no_answer_is_refused() {
    for line in ["", "o", "{}", r#"{"v":1}"#, r#"{"v":1,"ok":"yes"}"#] {
        assert!(Answer::from_bytes(line.as_bytes()).is_err(), "{line}");
    }
}
