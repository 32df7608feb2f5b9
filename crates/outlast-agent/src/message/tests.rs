//! Journals hold these forms: what one version wrote, every later one reads.

use super::*;
use serde_json::json;

#[track_caller]
fn assert_form<T>(value: &T, written: &Value)
where
    T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug,
{
    assert_eq!(&serde_json::to_value(value).expect("JSON"), written);
    let read: T = serde_json::from_value(written.clone()).expect("the form");
    assert_eq!(&read, value);
}

#[test]
fn messages_have_the_form_of_the_first_version() {
    let user = Message::User {
        text: "Go.".to_owned(),
    };
    assert_form(&user, &json!({"role": "user", "text": "Go."}));
    let calls = vec![
        ModelCall {
            id: "a".to_owned(),
            name: "look".to_owned(),
            arguments: Arguments::Json(json!({"z": 1, "a": [2.5, null]})),
        },
        ModelCall {
            id: "b".to_owned(),
            name: "shell".to_owned(),
            arguments: Arguments::Malformed {
                text: "{".to_owned(),
                why: "cut".to_owned(),
            },
        },
    ];
    let assistant = Message::Assistant {
        text: "I look.".to_owned(),
        calls,
        opaque: json!({"form": 1}),
    };
    let written = json!({
        "role": "assistant", "text": "I look.",
        "calls": [
            {"id": "a", "name": "look", "arguments": {"json": {"z": 1, "a": [2.5, null]}}},
            {
                "id": "b", "name": "shell",
                "arguments": {"malformed": {"text": "{", "why": "cut"}},
            },
        ],
        "opaque": {"form": 1},
    });
    assert_form(&assistant, &written);
    let result = Message::Result {
        call_id: "a".to_owned(),
        name: "look".to_owned(),
        text: "nothing".to_owned(),
        ok: false,
    };
    let written = json!({
        "role": "result", "call_id": "a", "name": "look", "text": "nothing", "ok": false,
    });
    assert_form(&result, &written);
}

#[test]
fn what_is_absent_stays_absent() {
    let written = json!({"role": "assistant", "text": "Done."});
    let plain = Message::Assistant {
        text: "Done.".to_owned(),
        calls: Vec::new(),
        opaque: Value::Null,
    };
    assert_form(&plain, &written);
    assert_form(&TokenUsage::default(), &json!({}));
    let some = TokenUsage {
        input: Some(3),
        cached_input: Some(0),
        ..TokenUsage::default()
    };
    assert_form(&some, &json!({"input": 3, "cached_input": 0}));
}

#[test]
fn turns_and_reasons_have_the_form_of_the_first_version() {
    for (stop, written) in [
        (StopReason::Done, json!("done")),
        (StopReason::Calls, json!("calls")),
        (StopReason::Length, json!("length")),
        (StopReason::Refused, json!("refused")),
        (StopReason::Other("odd".to_owned()), json!({"other": "odd"})),
    ] {
        assert_form(&stop, &written);
    }
    let turn = Turn {
        text: "Done.".to_owned(),
        calls: Vec::new(),
        opaque: Value::Null,
        usage: TokenUsage::default(),
        stop: StopReason::Done,
        model: "m".to_owned(),
    };
    let written = json!({
        "text": "Done.", "opaque": null, "usage": {}, "stop": "done", "model": "m",
    });
    assert_form(&turn, &written);
}

#[test]
fn a_field_of_a_later_version_is_passed_over() {
    let later = json!({"role": "user", "text": "Go.", "later": {"x": 1}});
    let read: Message = serde_json::from_value(later).expect("the form");
    assert_eq!(
        read,
        Message::User {
            text: "Go.".to_owned()
        }
    );
}
