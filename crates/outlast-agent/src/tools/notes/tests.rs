//! Notes of one run are found by a later one about the same project.

use crate::tools::testing::Bench;
use outlast_journal::limits::{NOTE_CHARS_MAX, NOTES_PROMPT_BYTES};
use serde_json::json;

#[test]
fn what_was_noted_is_found_by_its_words() {
    let mut bench = Bench::new();
    let note = json!({"text": "The tests need a running postgres on port 5433."});
    assert_eq!(bench.shown("remember", &note), "kept\n");
    assert_eq!(bench.shown("remember", &note), "this was noted before\n");
    bench.shown(
        "remember",
        &json!({"text": "Releases are tagged on fridays."}),
    );
    let shown = bench.shown("recall", &json!({"query": "how to test with Postgres?"}));
    assert!(
        shown.starts_with("- The tests need a running postgres on port 5433. (run "),
        "{shown}"
    );
    assert_eq!(shown.lines().count(), 1);
    let shown = bench.shown("recall", &json!({"query": "\"kubernetes\" AND (*"}));
    assert_eq!(shown, "[no note has any of these words]\n");
}

#[test]
fn the_notes_that_fit_a_task_are_bounded_and_none_without_words() {
    let mut bench = Bench::new();
    assert_eq!(bench.tools.notes_for("run the tests"), None);
    for number in 0..20 {
        let text = format!("tests {number} {}", "x".repeat(900));
        bench.shown("remember", &json!({"text": text}));
    }
    let notes = bench.tools.notes_for("run the tests").unwrap();
    assert!(notes.len() <= NOTES_PROMPT_BYTES, "{}", notes.len());
    assert!(notes.lines().count() > 2);
    assert_eq!(bench.tools.notes_for("do it"), None);
}

#[test]
fn a_note_that_is_too_long_is_refused() {
    let mut bench = Bench::new();
    let shown = bench.refused("remember", &json!({"text": "x".repeat(NOTE_CHARS_MAX + 1)}));
    assert!(shown.contains("code: too_long"), "{shown}");
}
