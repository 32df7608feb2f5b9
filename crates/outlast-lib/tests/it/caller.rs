//! A caller in a process of its own: starts or lists runs and prints what it was told as JSON.
//!
//! `it __start STORE TEXT [NAME=VALUE]…` and `it __list STORE`. The environment of
//! the run is that of the process, in which `OUTLAST_FAULT` may name a point to die at.

use outlast_lib::{Advice, CommandLine, Limits, ListQuery, Request, RunId, StartError, Store};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

const START: &str = "__start";
const LIST: &str = "__list";

/// Does what the words of this process ask for, if it was started as a caller.
pub(crate) fn call() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let answer = match words.as_slice() {
        [START, store, text, options @ ..] => start(Path::new(store), text, options),
        [LIST, store] => list(Path::new(store)),
        _ => return None,
    };
    let is_refused = answer.get("error").is_some();
    writeln!(std::io::stdout(), "{answer}").expect("somebody reads the answer");
    Some(if is_refused {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn start(root: &Path, text: &str, options: &[&str]) -> Value {
    let mut limits = Limits::default();
    let command = CommandLine::Shell {
        text: text.to_owned(),
        login: false,
        pipefail: false,
    };
    let mut request = Request {
        environment: std::env::vars_os().collect(),
        grace_ms: Some(1_000),
        ..Request::new(command, std::env::current_dir().expect("it is there"))
    };
    for option in options {
        let (name, value) = option.split_once('=').expect("options are NAME=VALUE");
        let number = || value.parse().expect("the value is a number");
        match name {
            "key" => request.idempotency_key = Some(value.to_owned()),
            "session" => request.session = Some(value.to_owned()),
            "label" => request.label = Some(value.to_owned()),
            "session_runs_max" => limits.session_runs_max = number(),
            "store_runs_max" => limits.store_runs_max = number(),
            "descendants_max" => limits.descendants_max = number(),
            "timeout_ms" => request.timeout_ms = Some(u64::from(number())),
            "queue" => request.is_queued = value == "yes",
            "direct" => {
                let words = value.split(' ').map(str::to_owned).collect();
                request.command = CommandLine::Direct(words);
            }
            other => assert!(other.is_empty(), "there is no option `{other}`"),
        }
    }
    let store = Store::open(root, limits).expect("the store can be opened");
    match store.start(&request) {
        Ok(begun) => json!({
            "id": begun.id.as_str(),
            "status": begun.status.as_str(),
            "replayed": begun.is_replayed,
            "queue_position": begun.queue_position,
        }),
        Err(error) => refusal(&error),
    }
}

fn refusal(error: &StartError) -> Value {
    let mut holders: Vec<&str> = Vec::new();
    if let StartError::AtCapacity { holders: all, .. } = error {
        holders.extend(all.iter().map(|(id, _)| id.as_str()));
    }
    let mut id: Option<RunId> = None;
    if let StartError::Supervisor { id: run, .. }
    | StartError::CouldNotStart { id: run, .. }
    | StartError::KeyConflict { id: run } = error
    {
        id = Some(*run);
    }
    json!({
        "error": error.code(),
        "message": error.to_string(),
        "hint": error.hint(),
        "id": id.as_ref().map(RunId::as_str),
        "holders": holders,
    })
}

fn list(root: &Path) -> Value {
    let store = Store::open(root, Limits::default()).expect("the store can be opened");
    let query = ListQuery {
        limit: usize::MAX,
        ..ListQuery::default()
    };
    let listing = store.list(&query).expect("the store can be listed");
    assert!(listing.damaged.is_empty(), "{:?}", listing.damaged);
    let records: Vec<Value> = listing
        .records
        .iter()
        .map(|record| json!({"id": record.id.as_str(), "status": record.status.as_str()}))
        .collect();
    Value::Array(records)
}
