//! What each kind of broken frame is answered, and that none is passed over that asks something.

use super::*;

fn judged(frame: &str) -> Verdict {
    let mut skim = Skim::default();
    skim.feed(frame.as_bytes());
    judge(frame.as_bytes(), &skim)
}

#[track_caller]
fn error(frame: &str) -> (Option<RequestId>, i32, String) {
    match judged(frame) {
        Verdict::Wrong(id, error) => (id, error.code.0, error.message.into_owned()),
        other @ (Verdict::Message(_) | Verdict::Nothing) => panic!("{frame}: {other:?}"),
    }
}

#[test]
fn a_request_a_notification_and_an_answer_are_messages() {
    for frame in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"no/such\",\"params\":{}}\r",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#,
    ] {
        assert!(matches!(judged(frame), Verdict::Message(_)), "{frame}");
    }
}

#[test]
fn what_is_no_json_is_a_parse_error_with_the_id_that_can_be_read() {
    for (frame, id) in [
        ("{", None),
        ("hello", None),
        (r#"{"jsonrpc":"2.0","id":1,"method":"#, Some(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}}"#, Some(1)),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\u{1}\"}",
            Some(1),
        ),
    ] {
        let (found, code, fact) = error(frame);
        assert_eq!(code, -32700, "{frame}");
        assert_eq!(found, id.map(RequestId::Number), "{frame}");
        assert!(fact.starts_with("the line is no JSON"), "{fact}");
    }
}

#[test]
fn json_that_is_no_request_is_told_what_it_lacks() {
    for (frame, fact) in [
        ("5", "no object"),
        ("[]", "no batch"),
        ("{}", "`jsonrpc`"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "`jsonrpc`"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "`id`"),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            "no JSON-RPC",
        ),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, "`id`"),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "`method`"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,
            "`params`",
        ),
        (r#"{"jsonrpc":"2.0","id":1}"#, "no JSON-RPC"),
    ] {
        let (_, code, said) = error(frame);
        assert_eq!(code, -32600, "{frame}");
        assert!(said.contains(fact), "{frame}: {said}");
    }
}

#[test]
fn what_asks_nothing_has_no_answer() {
    for frame in ["", "  ", r#"{"jsonrpc":"2.0","method":5}"#] {
        assert!(matches!(judged(frame), Verdict::Nothing), "{frame}");
    }
}

#[test]
fn a_frame_that_is_too_deep_or_too_full_is_not_parsed_and_is_answered_with_its_id() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let full = format!("[{}0]", "0,".repeat(100_000));
    for (params, fact) in [(deep, "100 deep"), (full, "65536 values")] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"m","params":{{"x":{params}}}}}"#);
        let (id, code, said) = error(&frame);
        assert_eq!((id, code), (Some(RequestId::Number(9)), -32600));
        assert!(said.contains(fact), "{said}");
    }
}
