//! `remember` and `recall`: notes about the project that outlive a run.

use super::arguments::Arguments;
use super::{Outcome, Refusal, Surroundings};
use outlast_journal::limits::{NOTE_CHARS_MAX, NOTES_PROMPT_BYTES};
use outlast_lib::{Advice, Note, NoteError, Noted};
use serde_json::{Value, json};
use std::fmt::Write;

pub(super) fn remember_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "text": {
                "type": "string", "minLength": 1,
                "description": format!("one fact, at most {NOTE_CHARS_MAX} characters"),
            },
        },
        "required": ["text"],
        "additionalProperties": false,
    })
}

pub(super) fn recall_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"query": {"type": "string", "minLength": 1, "description": "words"}},
        "required": ["query"],
        "additionalProperties": false,
    })
}

pub(super) fn remember(around: &Surroundings, arguments: &Arguments) -> Result<Outcome, Refusal> {
    let text = arguments.required("text");
    let noted = around
        .store
        .note(&around.project, text, &around.run)
        .map_err(|error| refused(&error))?;
    let said = match noted {
        Noted::New => "kept",
        Noted::Known => "this was noted before",
    };
    Ok(Outcome::done(
        format!("{said}\n"),
        &format!("remember: {said}"),
    ))
}

pub(super) fn recall(around: &Surroundings, arguments: &Arguments) -> Result<Outcome, Refusal> {
    let query = arguments.required("query");
    let notes = around
        .store
        .notes(&around.project, query)
        .map_err(|error| refused(&error))?;
    let count = notes.len();
    let text = if notes.is_empty() {
        "[no note has any of these words]\n".to_owned()
    } else {
        lines(&notes)
    };
    Ok(Outcome::done(
        text,
        &format!("recall {query}: {count} notes"),
    ))
}

/// Returns the notes that fit a task, as data for the prompt; `None` where there are none.
///
/// At most `NOTES_PROMPT_BYTES`. Notes that cannot be read are none: the task does not need them.
pub(super) fn for_task(around: &Surroundings, task: &str) -> Option<String> {
    // Short words are in every note and say nothing.
    let telling: Vec<&str> = task
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.chars().nth(3).is_some())
        .collect();
    let notes = around.store.notes(&around.project, &telling.join(" "));
    let text = lines(&notes.ok()?);
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if kept.len() + line.len() > NOTES_PROMPT_BYTES {
            break;
        }
        kept.push_str(line);
    }
    (!kept.is_empty()).then_some(kept)
}

/// Returns notes as lines, each with the run that left it.
pub(super) fn lines(notes: &[Note]) -> String {
    notes.iter().fold(String::new(), |mut text, note| {
        let day = note.created.to_string();
        let day = day.split('T').next().unwrap_or_default();
        writeln!(
            text,
            "- {} (run {}, {day})",
            note.text.replace('\n', " "),
            note.run
        )
        .ok();
        text
    })
}

fn refused(error: &NoteError) -> Refusal {
    Refusal {
        code: error.code(),
        why: format!("{error}; {}", error.hint()),
    }
}

#[cfg(test)]
mod tests;
