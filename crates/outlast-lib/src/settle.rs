//! Closes the journal of a run whose supervisor is gone, once, as `interrupted`.
//!
//! The lock alone decides that it is gone. Nothing is killed: what is left of
//! the tree is named, and `sweep` stops it when somebody asks.

use crate::Store;
use crate::sweep::{self, Look};
use outlast_journal::{End, Fact, Line, Spec, State, Status, limits, names, text};
use outlast_supervisor::{clock, fsio, lock};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

/// What came of settling a run.
pub(crate) enum Settled {
    /// Its lock is held after all: by its supervisor, or by another reader that settles it.
    Alive(State),
    /// Its end is in the journal.
    Ended(State),
    /// Its end is this line, which could not be written.
    Unwritten(State, Box<Line>),
}

/// Settles the run in `dir`, which had a free lock and no end.
///
/// Any number of readers may do so at once: one writes the end, the others find it. Where
/// nothing can be written, the end is made up all the same and told as unwritten.
///
/// # Errors
///
/// Fails when the journal cannot be read or the lock not be tried.
pub(crate) fn settle(store: &Store, dir: &Path, spec: &Spec) -> io::Result<Settled> {
    if !store.is_writable() {
        let state = read_state(dir)?;
        if state.is_ended() {
            return Ok(Settled::Ended(state));
        }
        let (state, line) = close(store, dir, spec, state);
        return Ok(Settled::Unwritten(state, line));
    }
    let lock = fsio::open_private(&dir.join(names::LOCK))?;
    let is_ours = lock::try_lock(&lock)?;
    // From here on nobody else writes; what was written before is read once more.
    let state = read_state(dir)?;
    if state.is_ended() {
        return Ok(Settled::Ended(state));
    }
    if !is_ours {
        return Ok(Settled::Alive(state));
    }
    let (state, line) = close(store, dir, spec, state);
    let appended = append(dir, &line);
    drop(lock);
    // A full disk must not hide what is known.
    Ok(match appended {
        Ok(()) => Settled::Ended(state),
        Err(_) => Settled::Unwritten(state, line),
    })
}

fn read_state(dir: &Path) -> io::Result<State> {
    match fs::read(dir.join(names::JOURNAL)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(State::default()),
        other => Ok(State::fold(&other?)),
    }
}

/// Returns the state with its end, and the line that says the end.
fn close(store: &Store, dir: &Path, spec: &Spec, mut state: State) -> (State, Box<Line>) {
    let look = sweep::look(&spec.id, &state, store.masker(spec).as_ref());
    let log = fs::metadata(dir.join(names::OUTPUT)).ok();
    let mut end = end(&state, &look);
    end.output_bytes = log.as_ref().map_or(0, fs::Metadata::len);
    end.last_output_at = log.as_ref().and_then(crate::read::last_output_at);
    end.runs_inside = sweep::runs_inside(store.root(), &spec.id);
    let line = Line::new(&Fact::Ended(Box::new(end)), state.next_seq, clock::now());
    state.apply(&line);
    (state, Box::new(line))
}

/// Appends `line`, on a line of its own, and brings it to the disk.
fn append(dir: &Path, line: &Line) -> io::Result<()> {
    let path = dir.join(names::JOURNAL);
    let mut file: File = fsio::open_append(&path)?;
    let mut journal = Vec::new();
    file.read_to_end(&mut journal)?;
    // A line after NULs could not be read.
    let padding = journal.iter().rev().take_while(|byte| **byte == 0).count();
    let written = journal.len() - padding;
    if padding > 0 {
        file.set_len(u64::try_from(written).unwrap_or(u64::MAX))?;
    }
    let mut bytes = Vec::new();
    if journal
        .get(..written)
        .and_then(<[u8]>::last)
        .is_some_and(|last| *last != b'\n')
    {
        bytes.push(b'\n');
    }
    bytes.extend(line.to_bytes());
    file.write_all(&bytes)?;
    file.sync_data()
}

/// Returns the end of a run that has `state` and whose supervisor is gone.
fn end(state: &State, look: &Look) -> End {
    let summary = text::cut_chars(&summary(state, look), limits::SUMMARY_CHARS);
    let mut end = End::new(Status::Interrupted, "unknown", summary);
    if let Some(exit) = &state.main_exit {
        end.exit_code = exit.exit_code;
        end.signal.clone_from(&exit.signal);
    }
    if let Look::Processes(found) = look {
        let more = found.len().saturating_sub(limits::LEFTOVERS_NAMED_MAX);
        end.leftovers_more = u64::try_from(more).unwrap_or(u64::MAX);
        end.leftovers = found
            .iter()
            .take(limits::LEFTOVERS_NAMED_MAX)
            .cloned()
            .collect();
    }
    end
}

fn summary(state: &State, look: &Look) -> String {
    if state.claimed.is_none() {
        return "interrupted: the start was cut off before the command ran".to_owned();
    }
    let gone = match look {
        Look::OtherBoot => "the machine was restarted",
        Look::OtherNamespace | Look::Processes(_) => "the supervisor is gone",
    };
    let known = match (&state.main_exit, &state.started, &state.queued) {
        (Some(exit), _, _) => match (exit.exit_code, &exit.signal) {
            (Some(code), _) => format!("the command had exited with {code}"),
            (None, Some(signal)) => format!("the command had been killed by SIG{signal}"),
            (None, None) => "exit code unknown".to_owned(),
        },
        (None, Some(_), _) => "exit code unknown".to_owned(),
        (None, None, Some(_)) => "it was waiting for a place".to_owned(),
        (None, None, None) => "whether the command ran is unknown".to_owned(),
    };
    let unseen = match look {
        Look::OtherNamespace => "; its processes cannot be seen from this PID namespace",
        Look::OtherBoot | Look::Processes(_) => "",
    };
    format!("interrupted: {gone}; {known}{unseen}")
}

#[cfg(test)]
mod tests;
