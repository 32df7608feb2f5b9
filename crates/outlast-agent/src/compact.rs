//! Makes a conversation shorter before it fills the model's window.
//!
//! The oldest messages give way to a summary that the model writes itself; the task, the goal,
//! the list of things to do and the newest messages stay. What stands in the end is stored
//! whole, so that a successor goes on with the same words.

use crate::memory::length;
use crate::message::Message;
use outlast_journal::agent::TodoItem;
use outlast_journal::limits;

/// What the model is asked for.
pub(crate) const REQUEST: &str = "The conversation is about to be shortened: all but its newest \
messages will be replaced by what you write now. Write down everything that is needed to go on: \
what was done and with what result, files and names, decisions and why, what failed and must not \
be tried again, what is still open. Facts only, as short as possible. Call no tool.";

/// What stands where no summary could be had.
const NO_SUMMARY: &str = "There is no summary of them. Look at the files to see what was done.";

/// Returns from how many tokens on a conversation is shortened, for a window of so many.
pub(crate) fn threshold(window: u64) -> u64 {
    window / 100 * limits::COMPACT_PERCENT
}

/// Returns the index of the first message that stays, for a window of so many tokens.
///
/// It is a turn of the model, so that each call keeps its result.
pub(crate) fn kept_from(messages: &[Message], window: u64) -> usize {
    let most = window / 100 * limits::COMPACT_KEPT_PERCENT * 3;
    let mut bytes = 0_u64;
    let mut from = messages.len();
    for (index, message) in messages.iter().enumerate().rev() {
        bytes = bytes.saturating_add(u64::try_from(length(message)).unwrap_or(u64::MAX));
        if bytes > most {
            break;
        }
        if matches!(message, Message::Assistant { .. }) {
            from = index;
        }
    }
    from
}

/// Returns the messages that take the place of all, given the model's summary of those before
/// `from`.
pub(crate) fn shortened(
    messages: &[Message],
    from: usize,
    summary: Option<&str>,
    things_to_do: &[TodoItem],
) -> Vec<Message> {
    let opening = messages.first().and_then(|first| match first {
        Message::User { text } => Some(task_of(text)),
        Message::Assistant { .. } | Message::Result { .. } => None,
    });
    let summary = summary.map(str::trim).filter(|text| !text.is_empty());
    let mut text = opening.unwrap_or_default().to_owned();
    text.push_str(SUMMARY_BEGINS);
    text.push_str(summary.unwrap_or(NO_SUMMARY));
    text.push_str(&todo(things_to_do));
    let kept = messages.iter().skip(from).cloned();
    [Message::User { text }].into_iter().chain(kept).collect()
}

/// What stands between the task and the summary.
const SUMMARY_BEGINS: &str = "\n\nThe messages that followed were replaced by this summary, \
which you wrote yourself:\n";

/// Returns the task of a first message that may hold a summary already.
fn task_of(text: &str) -> &str {
    text.split_once(SUMMARY_BEGINS)
        .map_or(text, |(task, _)| task)
}

fn todo(items: &[TodoItem]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = items
        .iter()
        .map(|item| format!("- [{}] {}", item.state, item.text))
        .collect();
    format!("\n\nYour list of things to do:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests;
