//! `outlast run`: words to a request, and with `--wait` the watching of it.

mod request;

pub(super) use request::{cwd, stdin_text};

use crate::{
    cli::RunArguments,
    failure::{Failure, Stop, exit},
    interrupt::Interrupt,
    page::{list::left_behind, run::appeared},
    screen::talk,
    surface::{Surface, here, read_failure, short_id, tell_of_ends},
    verdict::state_words,
};
use outlast_lib::{Begun, Followed, Record, RunId, StartError, Status, Store};
use outlast_supervisor::process;
use std::{io::ErrorKind, slice};

/// Starts a command; with `--wait` prints its output as it comes and returns its code.
pub(crate) fn run(surface: &mut Surface, arguments: RunArguments) -> Result<u8, Stop> {
    let (wait, json) = (arguments.wait, arguments.json);
    let mut request = request::request(arguments)?;
    // Taken before the start: a ^C from then on ends a wait and loses no id.
    let interrupt = if wait { Some(interrupt()?) } else { None };
    if let Some(asked) = request.containment.take() {
        request.containment = Some(surface.config()?.sandbox.complete(asked));
    }
    let store = surface.open()?;
    let begun = store
        .start(&request)
        .map_err(|error| start_failure(&error))?;
    say_begun(&begun);
    if request.containment.is_some() {
        // Told as bound. A queued run is not yet; its record says so when it is.
        let posture = record(&store, &begun.id)?.posture;
        talk(&format!("note: {}", posture.line()));
    }
    if let Some(interrupt) = interrupt {
        talk(begun.id.as_str());
        let wait = Wait {
            store: &store,
            id: begun.id,
            ends_with_us: request.holder == Some(process::own()),
            interrupt: &interrupt,
        };
        return wait.attend(surface, json);
    }
    if json {
        surface.screen.print_json(&record(&store, &begun.id)?)?;
    } else {
        surface.screen.print_line(begun.id.as_str())?;
    }
    Ok(exit::FINE)
}

/// Returns ^C and TERM as something that a wait can watch.
pub(super) fn interrupt() -> Result<Interrupt, Failure> {
    Interrupt::new().map_err(|error| {
        let message = format!("cannot watch for signals: {error}");
        Failure::plain(
            "no_interrupt",
            message,
            "close some descriptors",
            exit::OUTLAST_FAILED,
        )
    })
}

fn record(store: &Store, id: &RunId) -> Result<Record, Failure> {
    store.record(id).map_err(|error| read_failure(&error))
}

fn say_begun(begun: &Begun) {
    for notice in &begun.notices {
        talk(&format!("note: {notice}"));
    }
    if begun.is_replayed {
        let status = begun.status;
        talk(&format!(
            "note: started before with this key; it is {status}"
        ));
    } else if begun.status == Status::Queued {
        let before = begun
            .queue_position
            .map(|before| format!(", {before} before it"));
        let before = before.unwrap_or_default();
        talk(&format!("note: it waits for a place{before}"));
    }
}

/// A run that is watched until its end.
struct Wait<'a> {
    store: &'a Store,
    id: RunId,
    /// Whether the run ends when this process does.
    ends_with_us: bool,
    interrupt: &'a Interrupt,
}

impl Wait<'_> {
    fn attend(&self, surface: &mut Surface, json: bool) -> Result<u8, Stop> {
        let has_ended = if json {
            self.wait_silently()?
        } else {
            self.pass_output_on(surface)?
        };
        let record = record(self.store, &self.id)?;
        if json {
            surface.screen.print_json(&record)?;
        }
        if !has_ended || !record.status.is_ended() {
            self.say_how_to_come_back();
            return Ok(exit::STILL_RUNNING);
        }
        self.say_end(&record);
        tell_of_ends(self.store, slice::from_ref(&record));
        Ok(record.wait_code())
    }

    /// Returns whether the run has ended; else the wait was interrupted, or nobody reads us.
    fn pass_output_on(&self, surface: &mut Surface) -> Result<bool, Stop> {
        let follow = self.store.follow(&self.id, 0);
        let mut follow = follow.map_err(|error| read_failure(&error))?;
        let mut buffer = Vec::new();
        loop {
            let followed = follow.next(&mut buffer, Some(self.interrupt.fd()));
            match followed.map_err(|error| Failure::new(&error, exit::OUTLAST_FAILED))? {
                Followed::Output { from_byte, skipped } => {
                    if skipped > 0 {
                        let from = from_byte - skipped;
                        let said = format!("note: bytes {from}–{} were not kept", from_byte - 1);
                        talk(&said);
                    }
                    match surface.screen.print_bytes(&buffer) {
                        Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(false),
                        other => other?,
                    }
                }
                Followed::Ended => return Ok(true),
                Followed::Interrupted => return Ok(false),
            }
        }
    }

    fn wait_silently(&self) -> Result<bool, Failure> {
        let query = outlast_lib::WaitQuery {
            interrupt: Some(self.interrupt.fd()),
            ..outlast_lib::WaitQuery::default()
        };
        let waited = self.store.wait(&[self.id], &query);
        let waited = waited.map_err(|error| Failure::new(&error, exit::OUTLAST_FAILED))?;
        Ok(waited.running.is_empty())
    }

    fn short_id(&self) -> String {
        short_id(self.store, &self.id, here().as_deref())
    }

    fn say_how_to_come_back(&self) {
        let id = self.short_id();
        let said = if self.ends_with_us {
            format!("the run ends with this wait, as asked\nhint: outlast show {id}")
        } else {
            format!(
                "the run goes on\nhint: outlast wait {id}, outlast logs -f {id}, outlast cancel {id}"
            )
        };
        talk(&format!("\n{said}"));
    }

    /// Says on stderr what the exit code alone does not.
    fn say_end(&self, record: &Record) {
        let is_plain = match record.status {
            Status::Completed => true,
            Status::Failed => record.exit_code.is_some(),
            Status::Queued
            | Status::Running
            | Status::Cancelled
            | Status::TimedOut
            | Status::Interrupted => false,
        };
        if !is_plain {
            talk(&format!("note: {}", state_words(record)));
        }
        if let Some(appeared) = appeared(record) {
            talk(&format!("note: {appeared}"));
        }
        if let Some(left) = left_behind(record, &self.short_id()) {
            talk(&format!("note: {left}"));
        }
    }
}

/// Returns the failure of a start, with the exit code that a shell would give.
pub(super) fn start_failure(error: &StartError) -> Failure {
    if let StartError::CouldNotStart { id, failure } = error {
        let is_missing = failure.code == "no_such_program";
        let exit = if is_missing {
            exit::NO_PROGRAM
        } else {
            exit::NOT_STARTED
        };
        return Failure::new(error, exit).of_run(*id);
    }
    if let StartError::Supervisor { id, .. } = error {
        return Failure::new(error, exit::ERROR).of_run(*id);
    }
    if matches!(error, StartError::Request(_) | StartError::NoHolder) {
        return Failure::new(error, exit::USAGE);
    }
    if matches!(
        error,
        StartError::NoShell { .. } | StartError::Containment(_)
    ) {
        return Failure::new(error, exit::NOT_STARTED);
    }
    Failure::new(error, exit::ERROR)
}

#[cfg(test)]
mod tests;
