//! What stays of a conversation that is shortened.

use super::*;
use crate::message::{Arguments, ModelCall};
use serde_json::{Value, json};

fn conversation(turns: usize) -> Vec<Message> {
    let mut messages = vec![Message::User {
        text: "The task".to_owned(),
    }];
    for turn in 0..turns {
        let id = format!("c{turn}");
        messages.push(Message::Assistant {
            text: format!("turn {turn}"),
            calls: vec![ModelCall {
                id: id.clone(),
                name: "shell".to_owned(),
                arguments: Arguments::Json(json!({"command": "x"})),
            }],
            opaque: Value::Null,
        });
        messages.push(Message::Result {
            call_id: id,
            name: "shell".to_owned(),
            text: "y".repeat(3_000),
            ok: true,
        });
    }
    messages
}

#[test]
fn what_stays_begins_with_a_turn_and_is_a_part_of_the_window() {
    for window in [1_000, 5_000, 20_000, 100_000] {
        let messages = conversation(40);
        let from = kept_from(&messages, window);
        let kept: usize = messages.iter().skip(from).map(length).sum();
        assert!(kept as u64 <= window / 100 * limits::COMPACT_KEPT_PERCENT * 3);
        assert!(
            messages
                .get(from)
                .is_none_or(|one| matches!(one, Message::Assistant { .. }))
        );
    }
}

#[test]
fn the_task_and_the_list_of_things_to_do_stay_and_the_old_summary_goes() {
    let todo = [TodoItem {
        text: "test it".to_owned(),
        state: "open".to_owned(),
    }];
    let messages = conversation(10);
    let mut messages = shortened(
        &messages,
        messages.len() - 2,
        Some("the first summary"),
        &todo,
    );
    messages.extend(conversation(3).into_iter().skip(1));
    let messages = shortened(
        &messages,
        messages.len() - 2,
        Some("the second summary"),
        &todo,
    );
    assert_eq!(messages.len(), 3);
    let Message::User { text } = &messages[0] else {
        panic!("{messages:?}");
    };
    assert!(text.starts_with("The task\n\n"), "{text}");
    assert!(
        text.contains("the second summary") && !text.contains("the first"),
        "{text}"
    );
    assert_eq!(text.matches("- [open] test it").count(), 1, "{text}");
}

#[test]
fn without_a_summary_it_is_said_that_there_is_none() {
    let messages = shortened(&conversation(3), 5, None, &[]);
    let Message::User { text } = &messages[0] else {
        panic!("{messages:?}");
    };
    assert!(text.contains(NO_SUMMARY));
}
