//! `outlast cancel` and `outlast send`: what changes a run.

use crate::{
    cli::{CancelArguments, SendArguments},
    failure::{Failure, Stop, exit},
    surface::{Surface, failed},
    words,
};
use outlast_lib::{CancelError, CancelQuery, Cancelled, RunId, SendError, Store};
use serde_json::json;
use std::io::{self, Read};
use std::thread;

/// Bytes of stdin that are read before they are sent on.
const CHUNK_BYTES: usize = 64 << 10;

/// Cancels runs, all at once, and returns when nothing of them is left.
///
/// Those that are there are cancelled even if others are not.
pub(crate) fn cancel(surface: &mut Surface, arguments: &CancelArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let mut failures = Vec::new();
    let mut ids = Vec::new();
    for typed in &arguments.ids {
        match surface.find(&store, typed) {
            Ok(id) => ids.push(id),
            Err(failure) => failures.push(failure),
        }
    }
    let query = CancelQuery {
        grace_ms: if arguments.now {
            Some(0)
        } else {
            arguments.grace_ms
        },
        by: Some("cli".to_owned()),
        no_wait: false,
    };
    let mut done = Vec::new();
    for (id, outcome) in cancel_all(&store, &ids, &query) {
        match outcome {
            Ok(cancelled) => done.push((id, cancelled)),
            Err(error) => failures.push(failed(&error)),
        }
    }
    for (id, cancelled) in &done {
        if !arguments.json {
            surface.screen.talk(&said(id, cancelled));
        }
    }
    // A document is one: either what was done, or what went wrong.
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure.into());
    }
    if arguments.json {
        let cancelled: Vec<_> = done
            .iter()
            .map(|(id, one)| {
                json!({
                    "id": id,
                    "was": one.was,
                    "status": one.status,
                    "cancelled": one.cancelled,
                    "leftovers_stopped": one.leftovers_stopped,
                })
            })
            .collect();
        let document = json!({ "schema": "outlast.cancelled/1", "runs": cancelled });
        surface.screen.print_json(&document)?;
    }
    Ok(exit::FINE)
}

/// Each run has its own grace; one after the other would be their sum.
fn cancel_all(
    store: &Store,
    ids: &[RunId],
    query: &CancelQuery,
) -> Vec<(RunId, Result<Cancelled, CancelError>)> {
    thread::scope(|scope| {
        let threads: Vec<_> = ids
            .iter()
            .map(|id| (*id, scope.spawn(move || store.cancel(id, query))))
            .collect();
        threads
            .into_iter()
            .map(|(id, thread)| (id, thread.join().expect("a cancel does not panic")))
            .collect()
    })
}

fn said(id: &RunId, cancelled: &Cancelled) -> String {
    let state = if cancelled.was.is_ended() {
        format!("had ended before: {}", cancelled.status)
    } else {
        cancelled.status.to_string()
    };
    match cancelled.leftovers_stopped {
        0 => format!("{id}: {state}"),
        left => {
            let left = words::count(
                left,
                "process that was left is",
                "processes that were left are",
            );
            format!("{id}: {state}; {left} stopped")
        }
    }
}

/// Writes to the stdin of a run.
pub(crate) fn send(surface: &mut Surface, arguments: &SendArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let id = surface.find(&store, &arguments.id)?;
    let send = |bytes: &[u8], eof| {
        store
            .send(&id, bytes, eof)
            .map_err(|error| send_failure(&error))
    };
    let accepted = match arguments.text.as_deref() {
        Some("-") => {
            let mut accepted = 0;
            let mut chunk = vec![0; CHUNK_BYTES];
            loop {
                let read = read_stdin(&mut chunk)?;
                let part = chunk.get(..read).unwrap_or_default();
                if part.is_empty() {
                    break;
                }
                accepted += send(part, false)?;
            }
            if arguments.eof {
                send(&[], true)?;
            }
            accepted
        }
        Some(line) => send(format!("{line}\n").as_bytes(), arguments.eof)?,
        None => send(&[], true)?,
    };
    if arguments.json {
        let document = json!({ "schema": "outlast.sent/1", "id": id, "accepted_bytes": accepted });
        surface.screen.print_json(&document)?;
    }
    Ok(exit::FINE)
}

fn read_stdin(chunk: &mut [u8]) -> Result<usize, Failure> {
    loop {
        match io::stdin().lock().read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let message = format!("cannot read stdin: {error}");
                let hint = "see what stdin is connected to";
                return Err(Failure::plain(
                    "stdin_unreadable",
                    message,
                    hint,
                    exit::ERROR,
                ));
            }
            Ok(read) => return Ok(read),
        }
    }
}

fn send_failure(error: &SendError) -> Failure {
    failed(error)
}
