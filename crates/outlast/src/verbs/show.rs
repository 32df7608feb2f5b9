//! `outlast show`: one run, for a person or a program.

use crate::{
    cli::ShowArguments,
    doctor::restarted_unit,
    document::Environment,
    failure::{Stop, exit},
    page::run::Page,
    surface::{
        Surface, alive_inside, failed, find_record, here, read_failure, short_id, tell_of_ends,
    },
};
use outlast_lib::{Event, OutputFrom, OutputQuery, ProcessRef, RunId, Seq, Store, limits};
use outlast_supervisor::process;
use serde::Deserialize;
use std::{fs, slice};

/// Lines of output on the page.
const LINES: usize = 10;
/// Bytes of output on the page.
const LINES_BYTES: usize = 4 << 10;

/// Shows a run.
pub(crate) fn show(surface: &mut Surface, arguments: &ShowArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let record = find_record(&store, &arguments.id)?;
    if arguments.env {
        let spec = store
            .spec(&record.id)
            .map_err(|error| read_failure(&error))?;
        if arguments.json {
            let document = Environment::of(record.id, &spec.env_names);
            surface.screen.print_json(&document)?;
            return Ok(exit::FINE);
        }
        for name in &spec.env_names {
            surface.screen.print_line(name)?;
        }
        return Ok(exit::FINE);
    }
    if arguments.json {
        surface.screen.print_json(&record)?;
        tell_of_ends(&store, slice::from_ref(&record));
        return Ok(exit::FINE);
    }
    let events = store.events(&record.id, Seq(0), limits::POLL_EVENTS_MAX);
    let events = events.map_err(|error| failed(&error))?;
    let spec = store.spec(&record.id).ok();
    let document = store.document(&record.id).ok().flatten();
    let unit = unit(&events.events);
    let page = Page {
        record: &record,
        spec: spec.as_ref(),
        events: &events.events,
        document: document.as_ref(),
        last_lines: &last_lines(&store, &record.id),
        short_id: &short_id(&store, &record.id, here().as_deref()),
        inside: &alive_inside(&store, &record),
        unit: unit.as_deref(),
    };
    let look = surface.screen.look();
    surface.screen.print(&page.draw(&look))?;
    tell_of_ends(&store, slice::from_ref(&record));
    Ok(exit::FINE)
}

/// Returns the unit of systemd that holds the main process of a run, if that is alive.
fn unit(events: &[Event]) -> Option<String> {
    let started = events.iter().find(|event| event.kind == "started")?;
    let main = ProcessRef::deserialize(started.data.get("main")?).ok()?;
    // The unit of a process that was given the same number says nothing of the run.
    if !process::is_alive(main) {
        return None;
    }
    let cgroup = fs::read_to_string(format!("/proc/{}/cgroup", main.pid)).ok()?;
    restarted_unit(&cgroup)
}

/// A log that cannot be read is no reason to hide the rest of the page.
fn last_lines(store: &Store, id: &RunId) -> String {
    let page = store.output(
        id,
        &OutputQuery {
            from: OutputFrom::Newest,
            bytes_max: LINES_BYTES,
            lines: Some(LINES),
            grep: None,
            context: 0,
        },
    );
    page.map(|page| page.text).unwrap_or_default()
}
