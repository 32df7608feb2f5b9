//! Notes outlive the run that left them, and belong to one project.

use super::{Note, NoteError, Noted};
use crate::testing::Fixture;
use outlast_journal::limits::{NOTE_CHARS_MAX, NOTES_MAX, NOTES_SHOWN_MAX};
use outlast_journal::names;
use std::os::unix::fs::MetadataExt;

fn texts(notes: &[Note]) -> Vec<&str> {
    notes.iter().map(|note| note.text.as_str()).collect()
}

#[test]
fn the_note_with_most_of_the_words_comes_first() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    assert!(store.notes("p", "anything").unwrap().is_empty());
    let run = fixture.id(1);
    for text in ["apples are red", "pears are green and red", "the red bus"] {
        assert_eq!(store.note("p", text, &run).unwrap(), Noted::New);
    }
    let found = store.notes("p", "Green PEAR, red?").unwrap();
    assert_eq!(texts(&found)[0], "pears are green and red");
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].run, run.as_str());
    let mode = std::fs::metadata(store.root().join(names::NOTES)).unwrap();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn a_project_sees_no_notes_of_another() {
    let fixture = Fixture::new();
    fixture
        .store
        .note("p", "a secret of p", &fixture.id(1))
        .unwrap();
    assert!(fixture.store.notes("q", "secret").unwrap().is_empty());
}

#[test]
fn the_same_note_is_kept_once() {
    let fixture = Fixture::new();
    let (store, run) = (&fixture.store, fixture.id(1));
    assert_eq!(store.note("p", "a fact", &run).unwrap(), Noted::New);
    assert_eq!(store.note("p", " a fact\n", &run).unwrap(), Noted::Known);
    assert_eq!(store.note("q", "a fact", &run).unwrap(), Noted::New);
    assert_eq!(store.notes("p", "fact").unwrap().len(), 1);
}

#[test]
fn no_words_are_an_order_to_the_search() {
    let fixture = Fixture::new();
    fixture
        .store
        .note("p", "near or not", &fixture.id(1))
        .unwrap();
    for text in [
        "\"",
        "NEAR(a b)",
        "a AND",
        "text:near",
        "*",
        "-",
        "near\u{0}or",
        "o'r",
    ] {
        fixture.store.notes("p", text).unwrap();
    }
    assert_eq!(fixture.store.notes("p", "AND OR NOT").unwrap().len(), 1);
}

#[test]
fn what_is_no_note_is_refused() {
    let fixture = Fixture::new();
    let note = |text: &str| fixture.store.note("p", text, &fixture.id(1));
    assert!(matches!(note(" \n"), Err(NoteError::Blank)));
    let long = "ä".repeat(NOTE_CHARS_MAX + 1);
    assert!(matches!(note(&long), Err(NoteError::TooLong { .. })));
    note(&"ä".repeat(NOTE_CHARS_MAX)).unwrap();
    let read_only = fixture.read_only();
    let refused = read_only.note("p", "a", &fixture.id(1));
    assert!(matches!(refused, Err(NoteError::NotWritable)));
}

#[test]
fn the_oldest_notes_of_a_project_go() {
    let fixture = Fixture::new();
    let run = fixture.id(1);
    fixture.store.note("q", "word of q", &run).unwrap();
    for number in 0..=NOTES_MAX {
        fixture
            .store
            .note("p", &format!("word {number} n{number}"), &run)
            .unwrap();
    }
    assert!(fixture.store.notes("p", "n0").unwrap().is_empty());
    assert_eq!(fixture.store.notes("p", "n1").unwrap().len(), 1);
    assert_eq!(
        fixture.store.notes("p", "word").unwrap().len(),
        NOTES_SHOWN_MAX
    );
    assert_eq!(fixture.store.notes("q", "word").unwrap().len(), 1);
}

#[test]
fn many_at_once_lose_no_note() {
    let fixture = Fixture::new();
    let run = fixture.id(1);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let store = &fixture.store;
            scope.spawn(move || {
                for number in 0..5 {
                    store
                        .note("p", &format!("w{writer}n{number}"), &run)
                        .unwrap();
                }
            });
        }
    });
    for writer in 0..4 {
        for number in 0..5 {
            let found = fixture.store.notes("p", &format!("w{writer}n{number}"));
            assert_eq!(found.unwrap().len(), 1);
        }
    }
}
