//! `outlast export`: a run and everything it left, as one document.
//!
//! It is written in parts, so that its size does not matter. Secrets are masked
//! as in every view: `logs --raw` alone shows bytes as they are kept.

use crate::{
    cli::ExportArguments,
    failure::{Stop, exit},
    surface::{Surface, failed, find_record, read_failure},
    verbs::logs::Pages,
};
use outlast_lib::{Seq, limits};
use serde::Serialize;
use std::io;

/// Prints the document.
pub(crate) fn export(surface: &mut Surface, arguments: &ExportArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let record = find_record(&store, &arguments.id)?;
    let spec = store
        .spec(&record.id)
        .map_err(|error| read_failure(&error))?;
    let events = store.events(&record.id, Seq(0), limits::POLL_EVENTS_MAX);
    let events = events.map_err(|error| failed(&error))?;

    let out = surface.screen.writer();
    write!(
        out,
        r#"{{"schema":"outlast.export/1","record":{}"#,
        text(&record)?
    )?;
    write!(out, r#","spec":{}"#, text(&spec)?)?;
    write!(out, r#","events":{}"#, text(&events.events)?)?;
    write!(out, r#","events_skipped":{}"#, events.skipped)?;
    if spec.agent.is_some() {
        let document = store.document(&record.id);
        let document = document.map_err(|error| read_failure(&error))?;
        write!(out, r#","document":{}"#, text(&document)?)?;
        write!(out, r#","trajectory":["#)?;
        let mut between = "";
        let taken = store.trajectory(&record.id, |line| {
            write!(out, "{between}{}", text(line)?)?;
            between = ",";
            Ok(())
        });
        taken.map_err(|error| read_failure(&error))??;
        write!(out, "]")?;
    }
    write!(out, r#","output":{{"encoding":"text""#)?;
    if let Some(gap) = &record.output.gap {
        write!(out, r#","gap":{}"#, text(gap)?)?;
    }
    write!(out, r#","data":""#)?;
    for page in Pages::from_byte(&store, record.id, 0) {
        let part = text(&page?.text)?;
        // Without its two quotes it is a part of the one string.
        let inner = part
            .strip_prefix('"')
            .and_then(|part| part.strip_suffix('"'));
        out.write_all(inner.unwrap_or_default().as_bytes())?;
    }
    out.write_all(b"\"}}\n")?;
    out.flush()?;
    Ok(exit::FINE)
}

fn text(part: &impl Serialize) -> io::Result<String> {
    serde_json::to_string(part).map_err(io::Error::from)
}
