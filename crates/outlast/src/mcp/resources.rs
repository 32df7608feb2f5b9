//! Runs as resources of the protocol: the record, and the newest part of the output.

use super::{
    desk::{self, Desk},
    wire::{Caller, Content, Listener, Mark, RequestError, Resource},
};
use crate::failure::{Failure, exit};
use outlast_journal::text::cut_chars;
use outlast_lib::{Followed, ListQuery, OutputQuery, ReadError, Record, RunId, Store, limits};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How addresses of runs begin.
const SCHEME: &str = "outlast://run/";

/// What follows the id in the address of the output.
const OUTPUT: &str = "/output";

/// Type of a record.
const JSON: &str = "application/json";

/// Type of output.
const TEXT: &str = "text/plain";

/// What an address means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Address {
    Record(RunId),
    Output(RunId),
}

impl Address {
    fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(SCHEME)?;
        match rest.strip_suffix(OUTPUT) {
            Some(id) => Some(Self::Output(RunId::parse(id).ok()?)),
            None => Some(Self::Record(RunId::parse(rest).ok()?)),
        }
    }

    fn run(self) -> RunId {
        match self {
            Self::Record(id) | Self::Output(id) => id,
        }
    }
}

/// Returns the newest runs of the project, each with its output.
pub(super) fn list(desk: &Desk, caller: &Caller) -> Result<Vec<Resource>, RequestError> {
    let store = open(desk)?;
    let query = ListQuery {
        project: Some(desk.project(caller)),
        limit: usize::try_from(limits::TOOL_LIST_RUNS).unwrap_or(usize::MAX),
        ..ListQuery::default()
    };
    let listing = store.list(&query).map_err(|error| unreadable(&error))?;
    let both = listing.records.iter().flat_map(|record| {
        let label = desk::label(&record.label);
        let status = record.status;
        [
            Resource {
                uri: format!("{SCHEME}{}", record.id),
                name: label.clone(),
                description: format!("run, {status}"),
                mime: JSON,
            },
            Resource {
                uri: format!("{SCHEME}{}{OUTPUT}", record.id),
                name: format!("{label} (output)"),
                description: format!("output of the run, {status}"),
                mime: TEXT,
            },
        ]
    });
    Ok(both.collect())
}

/// Returns the two forms of addresses.
pub(super) fn templates() -> Vec<Resource> {
    vec![
        Resource {
            uri: format!("{SCHEME}{{id}}"),
            name: "run".to_owned(),
            description: "The record of a run, by its id.".to_owned(),
            mime: JSON,
        },
        Resource {
            uri: format!("{SCHEME}{{id}}{OUTPUT}"),
            name: "output".to_owned(),
            description: "The newest part of the output of a run, by its id.".to_owned(),
            mime: TEXT,
        },
    ]
}

/// Reads what stands at an address. An end that is read is told.
pub(super) fn read(desk: &Desk, caller: &Caller, uri: &str) -> Result<Content, RequestError> {
    let address = Address::parse(uri).ok_or_else(|| unknown(uri))?;
    let store = open(desk)?;
    let id = address.run();
    store.mark_read(&id);
    let record = store.record(&id).map_err(|error| {
        let is_none = matches!(error, ReadError::NotFound { .. });
        if is_none {
            unknown(uri)
        } else {
            unreadable(&error)
        }
    })?;
    let content = match address {
        Address::Record(_) => Content {
            mime: JSON,
            text: serde_json::to_string(&record).expect("a record is a document"),
        },
        Address::Output(_) => Content {
            mime: TEXT,
            text: output(&store, &record)?,
        },
    };
    if record.status.is_ended() {
        desk.note_told(caller, &[id]);
    }
    Ok(content)
}

fn output(store: &Store, record: &Record) -> Result<String, RequestError> {
    let query = OutputQuery {
        bytes_max: limits::TOOL_OUTPUT_BYTES_MAX,
        ..OutputQuery::default()
    };
    let page = store.log(record, &query);
    let page = page.map_err(|error| broken(&Failure::new(&error, exit::ERROR)))?;
    if page.from_byte == 0 {
        return Ok(page.text);
    }
    let before = page.from_byte - 1;
    Ok(format!(
        "[outlast: bytes 0–{before} not shown; background_output reads them]\n{}",
        page.text
    ))
}

/// Returns where the run of an address stands; `None` where it means none.
pub(super) fn mark(desk: &Desk, uri: &str) -> Option<Mark> {
    let id = Address::parse(uri)?.run();
    let record = desk.open().ok()?.record(&id).ok()?;
    Some(mark_of(&record))
}

fn mark_of(record: &Record) -> Mark {
    Mark {
        at: record.output.bytes,
        is_last: record.status.is_ended(),
    }
}

/// Tells of output and of the end of a run, until it has ended or nobody listens.
///
/// A record changes with its output: it has the last line.
pub(super) fn watch(
    desk: &Desk,
    (uri, mark): (&str, Mark),
    listener: &Listener<'_>,
    changed: &dyn Fn(),
) -> Result<(), RequestError> {
    let id = Address::parse(uri).ok_or_else(|| unknown(uri))?.run();
    let store = open(desk)?;
    let mut mark = mark;
    let mut buffer = Vec::new();
    while !mark.is_last {
        let follow = store.follow(&id, mark.at);
        let mut follow = follow.map_err(|error| unreadable(&error))?;
        let news = follow.next(&mut buffer, Some(listener.interrupt));
        match news.map_err(|error| broken(&Failure::new(&error, exit::ERROR)))? {
            Followed::Output { .. } | Followed::Ended => {}
            Followed::Interrupted => return Ok(()),
        }
        // Looked at before it is told: what comes after that is a change of its own.
        let record = store.record(&id).map_err(|error| unreadable(&error))?;
        mark = mark_of(&record);
        changed();
        pause(listener);
    }
    Ok(())
}

/// Returns after the least time between two changes, or as soon as nobody listens.
fn pause(listener: &Listener<'_>) {
    let time = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(limits::WATCH_PAUSE_MS) * 1_000_000,
    };
    let mut interrupt = [PollFd::new(&listener.interrupt, PollFlags::IN)];
    // An early return only tells a change sooner.
    poll(&mut interrupt, Some(&time)).ok();
}

fn open(desk: &Desk) -> Result<Store, RequestError> {
    desk.open().map_err(|failure| broken(&failure))
}

fn unreadable(error: &ReadError) -> RequestError {
    broken(&Failure::new(error, exit::ERROR))
}

fn broken(failure: &Failure) -> RequestError {
    RequestError::internal(failure.sentence())
}

fn unknown(uri: &str) -> RequestError {
    let uri = cut_chars(uri, limits::LABEL_GIVEN_CHARS);
    RequestError::not_found(format!(
        "there is no resource `{uri}`; `resources/list` has the newest runs"
    ))
}

#[cfg(test)]
mod tests;
