//! `outlast wait`: for runs to end, or for a line of output.

mod progress;

use crate::{
    cli::WaitArguments,
    document::Runs,
    failure::{Failure, Stop, exit},
    interrupt::Interrupt,
    look::clean,
    screen::talk,
    surface::{Surface, find, here, read_failure, short_id, tell_of_ends},
    verdict::{Verdict, state_words},
};
use outlast_lib::{Record, RunId, Store, WaitError, WaitQuery, Waited};
use outlast_supervisor::clock;
use progress::Progress;
use std::thread;

/// Waits, and returns the code of the run that decided.
pub(crate) fn wait(surface: &mut Surface, arguments: &WaitArguments) -> Result<u8, Stop> {
    let store = surface.open().map_err(Stop::beside_a_run)?;
    let ids = arguments.ids.iter().map(|typed| find(&store, typed));
    let ids: Vec<RunId> = ids.collect::<Result<_, _>>()?;
    wait_for(surface, &store, &ids, arguments).map_err(Stop::beside_a_run)
}

fn wait_for(
    surface: &mut Surface,
    store: &Store,
    ids: &[RunId],
    arguments: &WaitArguments,
) -> Result<u8, Stop> {
    let interrupt = Interrupt::new()?;
    let query = WaitQuery {
        any: arguments.any,
        timeout_ms: arguments.limit_ms,
        until_output: arguments.until_output.as_deref(),
        until_asked: true,
        interrupt: Some(interrupt.fd()),
    };
    let waited = wait_and_tell_of_asks(surface, store, ids, query)?;
    let records: Vec<Record> = ids
        .iter()
        .map(|id| store.record(id).map_err(|error| read_failure(&error)))
        .collect::<Result<_, _>>()?;
    if arguments.json {
        print_document(surface, &records, &waited)?;
    } else {
        say(surface, store, &records, &waited)?;
        if arguments.until_output.is_some() && waited.matched.is_none() && waited.running.is_empty()
        {
            talk("note: no line of output matched");
        }
    }
    tell_of_ends(store, &records);
    Ok(code(&records, &waited, arguments.any))
}

/// Waits, and tells once of runs that ask something: nobody else may be there to see it.
fn wait_and_tell_of_asks(
    surface: &mut Surface,
    store: &Store,
    ids: &[RunId],
    query: WaitQuery<'_>,
) -> Result<Waited, Stop> {
    let mut query = query;
    let begun = clock::monotonic_ms();
    let waited = wait_with_progress(surface, store, ids, &query)?;
    let is_over = waited.interrupted || waited.matched.is_some() || waited.running.is_empty();
    if waited.asking.is_empty() || is_over || (query.any && !waited.ended.is_empty()) {
        return Ok(waited);
    }
    for id in &waited.asking {
        let record = store.record(id).map_err(|error| read_failure(&error))?;
        let short = short_id(store, id, here().as_deref());
        talk(&format!("note: {short} {}", state_words(&record)));
        talk(&format!(
            "hint: outlast approve {short}, outlast deny {short}"
        ));
    }
    query.until_asked = false;
    let past_ms = clock::monotonic_ms().saturating_sub(begun);
    query.timeout_ms = query.timeout_ms.map(|ms| ms.saturating_sub(past_ms));
    wait_with_progress(surface, store, ids, &query)
}

/// Waits; on a terminal a line tells meanwhile what goes on.
fn wait_with_progress(
    surface: &mut Surface,
    store: &Store,
    ids: &[RunId],
    query: &WaitQuery<'_>,
) -> Result<Waited, Stop> {
    let waited = if surface.screen.is_talk_terminal() {
        let progress = Progress::new(store, ids);
        thread::scope(|scope| {
            let drawer = scope.spawn(|| progress.draw(&surface.screen));
            let waited = store.wait(ids, query);
            progress.stop();
            // It only draws; how it ended does not matter.
            drawer.join().ok();
            waited
        })
    } else {
        store.wait(ids, query)
    };
    Ok(waited.map_err(|error| wait_failure(&error))?)
}

fn wait_failure(error: &WaitError) -> Failure {
    if let WaitError::Read(error) = error {
        return read_failure(error);
    }
    let is_pattern = matches!(error, WaitError::BadPattern { .. });
    let exit = if is_pattern {
        exit::USAGE
    } else {
        exit::OUTLAST_FAILED
    };
    Failure::new(error, exit)
}

fn print_document(surface: &mut Surface, records: &[Record], waited: &Waited) -> Result<(), Stop> {
    let matched = waited.matched.as_ref();
    let document = Runs::of(records).with_match(matched);
    surface.screen.print_json(&document)?;
    Ok(())
}

/// Says how each run stands, on stderr; the line that matched is the data.
fn say(
    surface: &mut Surface,
    store: &Store,
    records: &[Record],
    waited: &Waited,
) -> Result<(), Stop> {
    if let Some(matched) = &waited.matched {
        surface.screen.print_line(&clean(&matched.line))?;
    }
    let look = surface.screen.talk_look();
    let project = here();
    for record in records {
        let verdict = Verdict::of(record);
        let sign = look.paint(verdict.paint, verdict.glyph);
        let short = short_id(store, &record.id, project.as_deref());
        let (label, state) = (clean(&record.label), state_words(record));
        talk(&format!("{sign} {short} {label}: {state}"));
    }
    if waited.matched.is_none()
        && let Some(id) = waited.running.first()
    {
        let short = short_id(store, id, project.as_deref());
        talk(&format!(
            "hint: outlast wait {short}, outlast logs -f {short}"
        ));
    }
    Ok(())
}

/// Returns the exit code of a wait for `records`, in the order in which they were named.
///
/// 0 when the output matched. With `any`, the code of the run that ended first.
/// Else the first that is not 0, or 75 while one of them goes on.
fn code(records: &[Record], waited: &Waited, any: bool) -> u8 {
    if waited.matched.is_some() {
        return exit::FINE;
    }
    let has_ended = |record: &&Record| waited.ended.contains(&record.id);
    if any {
        let first = records
            .iter()
            .filter(has_ended)
            .min_by_key(|record| record.ended);
        return first.map_or(exit::STILL_RUNNING, Record::wait_code);
    }
    if !waited.running.is_empty() {
        return exit::STILL_RUNNING;
    }
    let mut codes = records.iter().map(Record::wait_code);
    codes.find(|code| *code != exit::FINE).unwrap_or(exit::FINE)
}

#[cfg(test)]
mod tests;
