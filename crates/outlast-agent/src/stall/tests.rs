//! What counts as a repeat.

use super::*;
use serde_json::json;

fn request(command: &str, class: CallClass) -> CallRequest {
    CallRequest {
        call: "1.1".to_owned(),
        model_call: "a".to_owned(),
        tool: "shell".to_owned(),
        class,
        arguments: json!({"command": command}),
    }
}

fn result(ok: bool, shown: &str, wrote: bool) -> CallResult {
    CallResult {
        call: "1.1".to_owned(),
        tool: "shell".to_owned(),
        ok,
        is_refused: false,
        is_unknown: false,
        shown: shown.to_owned(),
        brief: String::new(),
        via: None,
        wrote: wrote.then(|| json!({})),
        saw: None,
    }
}

/// Takes one call with its result as the worker does; returns what was shown.
fn take(repeats: &mut Repeats, request: &CallRequest, ok: bool, shown: &str) -> String {
    let shown = repeats.warned(request, ok, shown.to_owned());
    repeats.take(request, &result(ok, &shown, false));
    shown
}

#[test]
fn the_third_equal_call_is_warned_and_the_fourth_ends() {
    let mut repeats = Repeats::default();
    let call = request("ls", CallClass::Once);
    let mut warned = Vec::new();
    for _ in 0..4 {
        warned.push(take(&mut repeats, &call, true, "a b").contains(WARNING));
        warned.push(repeats.is_over());
    }
    assert_eq!(
        warned,
        [false, false, false, false, true, false, true, true]
    );
}

#[test]
fn the_second_equal_failed_write_is_warned_and_the_third_ends() {
    let mut repeats = Repeats::default();
    let call = request("x", CallClass::Idempotent);
    assert!(!take(&mut repeats, &call, false, "no match").contains(WARNING));
    assert!(take(&mut repeats, &call, false, "no match").contains(WARNING));
    assert!(!repeats.is_over());
    take(&mut repeats, &call, false, "no match");
    assert!(repeats.is_over());
}

#[test]
fn calls_in_turn_are_counted_each_and_other_results_are_other_calls() {
    let mut repeats = Repeats::default();
    for round in 0..3 {
        for command in ["a", "b"] {
            let call = request(command, CallClass::Read);
            let shown = take(&mut repeats, &call, true, "the same");
            assert_eq!(shown.contains(WARNING), round == 2);
        }
        take(
            &mut repeats,
            &request("c", CallClass::Read),
            true,
            &format!("line {round}"),
        );
    }
    assert!(!repeats.is_over());
}

#[test]
fn a_write_and_a_word_from_outside_begin_anew() {
    let mut repeats = Repeats::default();
    let call = request("test", CallClass::Once);
    for _ in 0..3 {
        take(&mut repeats, &call, false, "red");
        take(&mut repeats, &call, false, "red");
        repeats.take(
            &request("edit", CallClass::Idempotent),
            &result(true, "ok", true),
        );
    }
    for _ in 0..3 {
        take(&mut repeats, &call, false, "red");
        take(&mut repeats, &call, false, "red");
        repeats.begin_anew();
    }
    assert!(!repeats.is_over());
}

#[test]
fn what_was_read_from_a_journal_counts_as_what_was_lived() {
    let mut lived = Repeats::default();
    let mut read = Repeats::default();
    let call = request("ls", CallClass::Once);
    for _ in 0..4 {
        let shown = take(&mut lived, &call, true, "a");
        read.take(&call, &result(true, &shown, false));
        assert_eq!(read.is_over(), lived.is_over());
    }
    assert!(read.is_over());
}

#[test]
fn times_and_ids_do_not_count_and_other_numbers_do() {
    let same = [
        ("took 1.23s", "took 4.56s"),
        ("at 12:30:01", "at 12:30:59"),
        ("2026-01-02T10:11:12Z done", "2026-01-03T00:00:00Z done"),
        ("pid 123456", "pid 654321"),
        ("commit 1a2b3c4d5e", "commit 99aa88bb77"),
        ("run 0123456789abcdef ended", "run zzzz456789abcdef ended"),
    ];
    for (one, other) in same {
        assert_eq!(fingerprint(one), fingerprint(other), "{one}");
    }
    let differing = [
        ("12 passed", "13 passed"),
        ("src/lib.rs:120:5", "src/lib.rs:121:5"),
        ("a", "b"),
    ];
    for (one, other) in differing {
        assert_ne!(fingerprint(one), fingerprint(other), "{one}");
    }
}

#[test]
fn a_fingerprint_is_the_same_in_every_version() {
    assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
}
