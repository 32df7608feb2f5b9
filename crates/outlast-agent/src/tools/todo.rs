//! `todo_write`: the model's list of things to do. It is kept by the loop, also in a short history.

use super::Outcome;
use super::arguments::Arguments;
use outlast_journal::agent::{TodoItem, TodoSet};
use outlast_journal::limits::{TODO_CHARS_MAX, TODO_ITEMS_MAX};
use outlast_journal::text::cut_chars;
use serde_json::{Value, json};

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "items": {
                "type": "array", "maxItems": TODO_ITEMS_MAX,
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "minLength": 1},
                        "state": {"type": "string", "enum": ["open", "doing", "done"]},
                    },
                    "required": ["text", "state"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["items"],
        "additionalProperties": false,
    })
}

/// Returns the list that the arguments hold.
pub(super) fn read(arguments: &Arguments) -> TodoSet {
    let items = arguments.value("items").and_then(Value::as_array);
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let items = items.into_iter().flatten().map(|item| TodoItem {
        text: cut_chars(&text(item, "text"), TODO_CHARS_MAX),
        state: text(item, "state"),
    });
    TodoSet {
        items: items.collect(),
    }
}

pub(super) fn outcome(todo: &TodoSet) -> Outcome {
    let count = |state: &str| todo.items.iter().filter(|item| item.state == state).count();
    let words = format!(
        "{} open, {} doing, {} done",
        count("open"),
        count("doing"),
        count("done")
    );
    Outcome {
        todo: Some(todo.clone()),
        ..Outcome::done(format!("{words}\n"), &format!("todo_write: {words}"))
    }
}

#[cfg(test)]
mod tests;
