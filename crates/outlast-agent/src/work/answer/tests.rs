//! How an answer may stand in a message.

use super::*;
use serde_json::json;

#[test]
fn an_answer_may_stand_alone_or_in_a_block_of_code() {
    let schema = json!({"type": "object"});
    for text in [
        "{\"a\": 1}",
        " {\"a\":1}\n",
        "```json\n{\"a\":1}\n```",
        "```\n{\"a\":1}```",
    ] {
        assert_eq!(read(&schema, text), Ok(json!({"a": 1})), "{text}");
    }
    for text in ["", "a", "{\"a\":1} and more", "[1]"] {
        assert!(read(&schema, text).is_err(), "{text}");
    }
}
