//! `outlast cancel` and `outlast send`: what changes a run.

use crate::{
    cli::{CancelArguments, SendArguments},
    document::{CancelledRuns, Sent},
    failure::{Failure, Stop, exit},
    screen::talk,
    surface::{Surface, alive_inside, failed, find, here, short_id},
    words,
};
use outlast_lib::{CancelError, CancelQuery, Cancelled, RunId, Store};
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
        match find(&store, typed) {
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
    let inside: Vec<Vec<RunId>> = ids.iter().map(|id| inside(&store, id)).collect();
    let mut done = Vec::new();
    for (id, outcome) in cancel_all(&store, &ids, &query) {
        match outcome {
            Ok(cancelled) => done.push((id, cancelled)),
            Err(error) => failures.push(failed(&error)),
        }
    }
    if !arguments.json {
        let project = here();
        for (id, cancelled) in &done {
            let at = ids.iter().position(|one| one == id);
            let inside = at
                .and_then(|at| inside.get(at))
                .map_or(&[][..], Vec::as_slice);
            let short = short_id(&store, id, project.as_deref());
            talk(&said(&short, cancelled, asked(&store, inside)));
        }
    }
    // A document is one: either what was done, or what went wrong.
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure.into());
    }
    if arguments.json {
        surface.screen.print_json(&CancelledRuns::of(&done))?;
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

/// Returns the runs inside an ended run that a cancel of it stops too.
fn inside(store: &Store, id: &RunId) -> Vec<RunId> {
    let record = store.record(id);
    record.map_or_else(|_| Vec::new(), |record| alive_inside(store, &record))
}

/// Counts those of `inside`, which went on before, that have ended or are about to.
fn asked(store: &Store, inside: &[RunId]) -> u64 {
    let is_asked = |id: &&RunId| {
        store
            .record(id)
            .is_ok_and(|record| record.cancelling || record.status.is_ended())
    };
    inside.iter().filter(is_asked).count() as u64
}

fn said(id: &str, cancelled: &Cancelled, inside: u64) -> String {
    let state = if cancelled.was.is_ended() {
        format!("had ended before: {}", cancelled.status)
    } else {
        cancelled.status.to_string()
    };
    let mut parts = vec![format!("{id}: {state}")];
    let left = cancelled.leftovers_stopped;
    if left > 0 {
        let left = words::count(
            left,
            "process that was left is",
            "processes that were left are",
        );
        parts.push(format!("{left} stopped"));
    }
    if inside > 0 {
        let inside = words::count(
            inside,
            "run started inside it was",
            "runs started inside it were",
        );
        parts.push(format!("{inside} asked to stop"));
    }
    parts.join("; ")
}

/// Writes to the stdin of a run.
pub(crate) fn send(surface: &mut Surface, arguments: &SendArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let id = find(&store, &arguments.id)?;
    let send = |bytes: &[u8], eof| store.send(&id, bytes, eof).map_err(|error| failed(&error));
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
        surface.screen.print_json(&Sent::of(id, accepted))?;
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
