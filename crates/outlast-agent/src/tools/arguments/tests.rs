//! Arguments are read by the schema that the model is told.

use super::Arguments;
use serde_json::{Value, json};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "word": {"type": "string", "enum": ["a", "b"]},
            "count": {"type": "integer", "minimum": 2, "maximum": 4},
            "flag": {"type": "boolean"},
            "list": {
                "type": "array", "maxItems": 2,
                "items": {
                    "type": "object",
                    "properties": {"text": {"type": "string", "minLength": 1}},
                    "required": ["text"],
                    "additionalProperties": false,
                },
            },
        },
        "additionalProperties": false,
    })
}

fn wrong(value: &Value) -> String {
    Arguments::read(value, &schema()).unwrap_err()
}

#[test]
fn what_fits_is_read_and_null_is_absent() {
    let value = json!({"word": "b", "count": 3, "flag": true, "list": null});
    let read = Arguments::read(&value, &schema()).unwrap();
    assert_eq!(read.text("word"), Some("b"));
    assert_eq!(read.number("count"), Some(3));
    assert!(read.is_set("flag"));
    assert!(read.value("list").is_none());
    let nothing = Arguments::read(&json!({}), &schema()).unwrap();
    assert_eq!(nothing.text("word"), None);
    assert!(!nothing.is_set("flag"));
}

#[test]
fn what_does_not_fit_is_named_with_its_place() {
    for (value, what) in [
        (json!([]), "the arguments are a list, not an object"),
        (json!({"word": "c"}), "`word` is none of `a`, `b`"),
        (json!({"count": 1}), "`count` is 1, and the least is 2"),
        (json!({"count": 5}), "`count` is 5, and the most is 4"),
        (
            json!({"count": 2.5}),
            "`count` is a number that is negative or no whole one, not a whole number from 0",
        ),
        (
            json!({"flag": "true"}),
            "`flag` is a text, not true or false",
        ),
        (
            json!({"list": [{"text": "a"}, {"text": ""}]}),
            "`list[1].text` is blank",
        ),
        (json!({"list": [{}]}), "`list[0].text` is missing"),
        (json!({"list": ["a"]}), "`list[0]` is a text, not an object"),
        (
            json!({"list": [{"text": "a"}, {"text": "a"}, {"text": "a"}]}),
            "`list` has 3 items, and the most is 2",
        ),
        (
            json!({"list": [{"text": "a", "more": 1}]}),
            "there is no argument `list[0].more`; there are `text`",
        ),
    ] {
        assert_eq!(wrong(&value), what);
    }
}
