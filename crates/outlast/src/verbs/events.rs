//! `outlast events`: the facts of a run in their order.

use crate::{
    cli::EventsArguments,
    failure::{Stop, exit},
    page::events::line,
    screen::talk,
    surface::{Surface, failed, find},
};
use outlast_lib::{EventPage, RunId, Seq, Store, WaitQuery, limits};

/// How long an event that is no end may stay unseen, in milliseconds.
const LOOK_MS: u64 = 500;

/// Prints the events of a run; with `--follow` until it ends.
pub(crate) fn events(surface: &mut Surface, arguments: &EventsArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let id = find(&store, &arguments.id)?;
    store.mark_read(&id);
    let mut since = Seq(arguments.since);
    loop {
        // Looked at before the events: what came before the end is then among them.
        let has_ended = has_ended(&store, &id)?;
        let page = print_all(surface, &store, &id, since, arguments.jsonl)?;
        since = page.next_seq;
        if !arguments.follow || has_ended {
            return Ok(exit::FINE);
        }
        let query = WaitQuery {
            timeout_ms: Some(LOOK_MS),
            ..WaitQuery::default()
        };
        store.wait(&[id], &query).map_err(|error| failed(&error))?;
    }
}

fn has_ended(store: &Store, id: &RunId) -> Result<bool, Stop> {
    let record = store.record(id).map_err(|error| failed(&error))?;
    Ok(record.status.is_ended())
}

/// Prints what there is and returns the last page.
fn print_all(
    surface: &mut Surface,
    store: &Store,
    id: &RunId,
    since: Seq,
    jsonl: bool,
) -> Result<EventPage, Stop> {
    let look = surface.screen.look();
    let mut since = since;
    loop {
        let page = store.events(id, since, limits::POLL_EVENTS_MAX);
        let page = page.map_err(|error| failed(&error))?;
        if page.skipped > 0 {
            let skipped = page.skipped;
            talk(&format!("note: {skipped} older events are not replayed"));
        }
        for event in &page.events {
            if jsonl {
                surface.screen.print_json_line(event)?;
            } else {
                surface.screen.print_line(&line(event, &look))?;
            }
        }
        if !page.more {
            return Ok(page);
        }
        since = page.next_seq;
    }
}
