//! Events of a run, one line each.

use crate::{
    look::{Look, Paint, clean, columns, pad, pad_left},
    words,
};
use outlast_journal::Event;

/// Columns for the type of an event: the longest that command runs have.
const KIND_COLUMNS: usize = 11;

/// Returns one event as a line: number, time, type, and words as far as they fit.
pub(crate) fn line(event: &Event, look: &Look) -> String {
    let seq = pad_left(&event.seq.0.to_string(), 4);
    let time = words::moment(event.ts, look);
    let kind = pad(&clean(&event.kind), KIND_COLUMNS);
    let used = columns(&seq) + columns(&time) + columns(&kind) + 6;
    let message = look.fit(&clean(event.message.as_deref().unwrap_or("")), used);
    let paint = match event.kind.as_str() {
        "completed" => Paint::Green,
        "failed" => Paint::Red,
        _ => Paint::Plain,
    };
    format!(
        "{}  {}  {}  {message}",
        look.paint(Paint::Dim, &seq),
        look.paint(Paint::Dim, &time),
        look.paint(paint, &kind),
    )
}
