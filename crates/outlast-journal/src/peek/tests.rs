//! Unit tests of heads: they say what the whole line says, or nothing.

use super::*;
use crate::Line;
use serde_json::json;

fn line(seq: Option<u64>, kind: &str) -> Line {
    Line {
        v: FORMAT_VERSION,
        seq: seq.map(Seq),
        ts: Timestamp(1_764_000_000_123),
        kind: kind.to_owned(),
        phase: None,
        message: Some("\"type\":\"x\"".to_owned()),
        data: json!({"seq": 7, "type": "y"}),
    }
}

#[test]
fn a_head_says_what_its_line_says() {
    for (seq, kind) in [
        (Some(0), "text"),
        (Some(u64::MAX), "ask"),
        (None, "model.turn"),
    ] {
        let line = line(seq, kind);
        let bytes = line.to_bytes();
        let head = Peek::of(bytes.trim_ascii_end()).expect("our own form");
        assert_eq!((head.seq, head.ts, head.kind), (line.seq, line.ts, kind));
    }
}

#[test]
fn a_line_of_another_form_has_no_head() {
    let whole = String::from_utf8(line(Some(3), "text").to_bytes()).expect("text");
    let whole = whole.trim_end();
    let others = [
        "",
        "{}",
        "{\"v\":1}",
        &whole.replace("{\"v\":1", "{\"v\":2"),
        &whole.replace("{\"v\":1", "{ \"v\":1"),
        &whole.replace("\"seq\":3", "\"seq\":-3"),
        &whole.replace("\"seq\":3", "\"seq\":99999999999999999999"),
        &whole.replace("Z\"", "\""),
        &whole.replace("\"type\":\"text\"", "\"type\":\"te\\u0078t\""),
        whole.get(..whole.len() - 2).expect("longer"),
    ];
    for other in others {
        assert_eq!(Peek::of(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn no_beginning_of_a_line_is_taken_for_one() {
    let whole = line(Some(3), "text").to_bytes();
    let whole = whole.trim_ascii_end();
    for end in 0..whole.len() {
        let head = Peek::of(&whole[..end]);
        assert!(head.is_none_or(|head| head.kind == "text"), "{end}");
    }
}
