//! Whose frame it is, how deep and how full, also of one that comes in pieces or is broken.

use super::*;
use serde_json::{Value, json};

fn skim(frame: &str) -> Skim {
    let mut skim = Skim::default();
    for piece in frame.as_bytes().chunks(3) {
        skim.feed(piece);
    }
    skim
}

#[test]
fn the_id_of_the_outer_object_is_found_wherever_it_stands() {
    for (frame, id) in [
        (r#"{"jsonrpc":"2.0","id":7,"method":"m"}"#, json!(7)),
        (r#"{"params":{"id":1},"id":"a\"b,}" }"#, json!("a\"b,}")),
        (
            r#"{ "id" : -3 , "params": ["id", {"id": 9}], "x": "id" }"#,
            json!(-3),
        ),
        (r#"{"id":1,"id":2}"#, json!(2)),
        (
            r#"{"id":5,"method":"tools/call","params":{"a":"never ends"#,
            json!(5),
        ),
    ] {
        assert_eq!(skim(frame).id(), Some(id), "{frame}");
    }
}

#[test]
fn what_is_no_id_is_none() {
    let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(400));
    for frame in [
        "",
        "{}",
        "5",
        r#"{"id":null}"#,
        r#"{"id":true}"#,
        r#"{"id":[1]}"#,
        r#"{"id":{"id":1}}"#,
        r#"[{"id":1}]"#,
        r#"{"params":{"id":1}}"#,
        r#"{"method":"id","x":"\"id\":3"}"#,
        long.as_str(),
    ] {
        assert_eq!(skim(frame).id(), None, "{frame}");
    }
}

#[test]
fn depth_and_values_are_counted_outside_of_texts_only() {
    let seen = skim(r#"{"a":[1,2,[3]],"b":"[[[[,,,,{{{{\"[["}"#);
    assert_eq!(seen.depth_max, 3);
    assert_eq!(seen.values, 6);
    assert_eq!(skim(&"[".repeat(5_000)).depth_max, 5_000);
}

#[test]
fn memory_does_not_grow_with_the_frame() {
    let long = format!(r#"{{"id":"{0}","{0}":1}}"#, "x".repeat(100_000));
    let seen = skim(&long);
    assert!(seen.id.len() + seen.key.len() <= 2 * (ID_BYTES_MAX + 1));
    let frame: Value = serde_json::from_str(&long).expect("JSON");
    assert!(frame.is_object());
}
