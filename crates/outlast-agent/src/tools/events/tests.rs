//! The events of the own run.

use crate::tools::testing::{Bench, put, run_dir};
use outlast_journal::names;
use serde_json::json;
use std::fmt::Write;

fn with_events(count: u64) -> Bench {
    let bench = Bench::new();
    let mut lines = String::new();
    for seq in 0..count {
        let kind = if seq % 10 == 3 { "tool_failed" } else { "text" };
        let line = json!({
            "v": 1, "seq": seq, "ts": "2026-01-02T03:04:05.000Z", "type": kind,
            "message": format!("event number {seq}\nmore"),
        });
        writeln!(lines, "{line}").unwrap();
    }
    let dir = run_dir(&bench.home.store(), &bench.around.run);
    put(&dir.join(names::JOURNAL), lines.as_bytes());
    bench
}

#[test]
fn the_newest_events_are_shown_in_their_order() {
    let mut bench = with_events(60);
    let shown = bench.shown("events_query", &json!({"limit": 2}));
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 3, "{shown}");
    assert!(lines[0].contains("older events are not shown"));
    let shown = bench.shown(
        "events_query",
        &json!({"type": "tool_failed", "contains": "number 13"}),
    );
    assert_eq!(
        shown,
        "13 2026-01-02T03:04:05.000Z tool_failed: event number 13 more\n"
    );
    let shown = bench.shown("events_query", &json!({"contains": "nothing like it"}));
    assert_eq!(shown, "[no event fits]\n");
}
