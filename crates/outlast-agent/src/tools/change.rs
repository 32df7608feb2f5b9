//! `write_file` and `edit_file`: what a hand is told to do, and what it says came of it.
//!
//! Only what the model has read is changed. The hand looks at the content once more, so
//! what changed in between is not written over, and a repeat is seen.

use super::arguments::Arguments;
use super::seen::Seen;
use super::workspace::{Workspace, shown};
use super::{Outcome, Plan, Refusal, shell};
use crate::hand::{HandAnswer, HandAsk, Task};
use outlast_journal::limits::{HAND_MS, WRITE_BYTES_MAX};
use outlast_journal::worker::{CallEnd, CallEnded, CallProgram};
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn write_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "beneath the workspace"},
            "content": {"type": "string", "description": "all of it"},
        },
        "required": ["path", "content"],
        "additionalProperties": false,
    })
}

pub(super) fn edit_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "beneath the workspace"},
            "old": {"type": "string", "description": "without line numbers"},
            "new": {"type": "string"},
            "replace_all": {"type": "boolean"},
        },
        "required": ["path", "old", "new"],
        "additionalProperties": false,
    })
}

pub(super) fn write(
    workspace: &Workspace,
    seen: &Seen,
    arguments: &Arguments,
) -> Result<Plan, Refusal> {
    let path = file(workspace, arguments)?;
    let content = arguments.required("content");
    bound("content", content)?;
    let before = seen.hash(&path);
    if before.is_some() && !seen.is_whole(&path) {
        let why = format!(
            "only a part of `{path}` was read, and `write_file` replaces all of it; read the rest, \
             or change a part with `edit_file`"
        );
        return Err(Refusal::new("not_read", why));
    }
    let task = Task::Write {
        content: content.to_owned(),
        before: before.map(str::to_owned),
        path,
    };
    Ok(hands(workspace, task))
}

pub(super) fn edit(
    workspace: &Workspace,
    seen: &Seen,
    arguments: &Arguments,
) -> Result<Plan, Refusal> {
    let path = file(workspace, arguments)?;
    let (old, new) = (arguments.required("old"), arguments.required("new"));
    bound("old", old)?;
    bound("new", new)?;
    if old.is_empty() {
        let why = "`old` is empty; give the text that is to be replaced, or use `write_file`";
        return Err(Refusal::new("nothing_to_do", why));
    }
    if old == new {
        let why = "`old` and `new` are the same, so nothing would change";
        return Err(Refusal::new("nothing_to_do", why));
    }
    let Some(before) = seen.hash(&path) else {
        let why = format!("`{path}` was not read in this run; read it with `read_file` first");
        return Err(Refusal::new("not_read", why));
    };
    let task = Task::Edit {
        old: old.to_owned(),
        new: new.to_owned(),
        is_all: arguments.is_set("replace_all"),
        before: before.to_owned(),
        path,
    };
    Ok(hands(workspace, task))
}

/// Returns what came of it, by what the hand wrote into the log.
pub(super) fn finish(name: &str, arguments: &Value, ended: &CallEnded, log: &Path) -> Outcome {
    let path = arguments.get("path").and_then(Value::as_str);
    let path = path.unwrap_or_default();
    let answer = (ended.end == CallEnd::Exited)
        .then(|| HandAnswer::in_log(log))
        .flatten();
    let Some(answer) = answer else {
        let how = shell::end_in_words(ended);
        let text = format!(
            "error: {name} of `{path}` did not come to its end ({how}); read the file to see what \
             it holds\ncode: hand_failed\n"
        );
        return Outcome::failed(text, &format!("{name} {path}: {how}"));
    };
    if let Some(refused) = answer.refused {
        let text = format!("error: {}\ncode: {}\n", refused.why, refused.code);
        return Outcome::failed(text, &format!("{name} {path}: {}", refused.code));
    }
    let said = answer.said.unwrap_or_default();
    let mut outcome = Outcome::done(format!("{said}\n"), &format!("{name} {path}: {said}"));
    outcome.wrote = answer.wrote.map(|wrote| json!(wrote));
    outcome
}

fn file(workspace: &Workspace, arguments: &Arguments) -> Result<String, Refusal> {
    let path = workspace.locate(arguments.required("path"))?;
    if path.as_os_str().is_empty() {
        let why = "the path is the workspace itself, which is a directory";
        return Err(Refusal::new("is_directory", why));
    }
    Ok(shown(&path))
}

fn bound(name: &str, text: &str) -> Result<(), Refusal> {
    if text.len() <= WRITE_BYTES_MAX {
        return Ok(());
    }
    let count = text.len();
    let why = format!(
        "`{name}` has {count} bytes, and the most is {WRITE_BYTES_MAX}; write it in parts, or \
         make it with the shell"
    );
    Err(Refusal::new("too_long", why))
}

fn hands(workspace: &Workspace, task: Task) -> Plan {
    let store = workspace
        .store()
        .map(|store| store.to_string_lossy().into_owned());
    Plan::Hands {
        program: CallProgram::Hand,
        stdin: Some(HandAsk::new(task, store).to_line()),
        timeout_ms: HAND_MS,
    }
}

#[cfg(test)]
mod tests;
