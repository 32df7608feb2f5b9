//! What somebody is told for whom there is no room.

use super::NO_ROOM;
use outlast_lib::limits;
use serde_json::Value;

#[test]
fn the_refusal_is_an_answer_of_its_length_with_our_number_in_it() {
    let (head, body) = NO_ROOM.split_once("\r\n\r\n").unwrap();
    let length = head.split("content-length: ").nth(1).unwrap();
    assert_eq!(length.split("\r\n").next().unwrap(), body.len().to_string());
    let document: Value = serde_json::from_str(body).unwrap();
    let message = document["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with(&limits::HTTP_CONNECTIONS_MAX.to_string()),
        "{message}"
    );
}
