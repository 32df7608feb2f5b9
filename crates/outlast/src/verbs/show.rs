//! `outlast show`: one run, for a person or a program.

use crate::{
    cli::ShowArguments,
    failure::{Stop, exit},
    page::run::Page,
    surface::{Surface, failed, read_failure, short_id},
};
use outlast_lib::{OutputFrom, OutputQuery, RunId, Seq, Store, limits};

/// Lines of output on the page.
const LINES: usize = 10;
/// Bytes of output on the page.
const LINES_BYTES: usize = 4 << 10;

/// Shows a run.
pub(crate) fn show(surface: &mut Surface, arguments: &ShowArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let record = surface.record(&store, &arguments.id)?;
    if arguments.env {
        let spec = store
            .spec(&record.id)
            .map_err(|error| read_failure(&error))?;
        for name in &spec.env_names {
            surface.screen.print_line(name)?;
        }
        return Ok(exit::FINE);
    }
    if arguments.json {
        surface.screen.print_json(&record)?;
        return Ok(exit::FINE);
    }
    let events = store.events(&record.id, Seq(0), limits::POLL_EVENTS_MAX);
    let events = events.map_err(|error| failed(&error))?;
    let spec = store.spec(&record.id).ok();
    let page = Page {
        record: &record,
        spec: spec.as_ref(),
        events: &events.events,
        last_lines: &last_lines(&store, &record.id),
        short_id: &short_id(&store, &record.id, surface.project().as_deref()),
    };
    let look = surface.screen.look();
    surface.screen.print(&page.draw(&look))?;
    Ok(exit::FINE)
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
