//! Unit tests of the words of agent runs.

use super::*;
use crate::sample;

#[test]
fn who_asks_is_joined_to_the_chain_in_lower_case() {
    let before = chain(" Claude-Code ,, codex");
    assert_eq!(before, ["claude-code", "codex"]);
    let joined = ancestry(&before, Some("Gemini"));
    assert_eq!(joined, ["claude-code", "codex", "gemini"]);
    assert_eq!(as_variable(&joined), "claude-code,codex,gemini");
    assert_eq!(chain(&as_variable(&joined)), joined);
    assert_eq!(ancestry(&[], None), Vec::<String>::new());
    assert_eq!(ancestry(&before, Some("  ")), before);
}

#[test]
fn a_chain_is_bounded_and_its_newest_names_stay() {
    let mut before = Vec::new();
    for number in 0..100 {
        before = ancestry(&before, Some(&format!("agent-{number}{}", "x".repeat(500))));
    }
    assert_eq!(before.len(), limits::ANCESTRY_MAX);
    let newest = before.last().expect("there are some");
    assert!(newest.starts_with("agent-99x"));
    assert_eq!(newest.chars().count(), limits::ANCESTOR_CHARS);
}

#[test]
fn a_handle_of_a_command_is_ok_however_it_exits_and_an_error_where_nobody_knows() {
    for (status, expected) in [
        (Status::Queued, "running"),
        (Status::Running, "running"),
        (Status::Completed, "ok"),
        (Status::Failed, "ok"),
        (Status::Cancelled, "cancelled"),
        (Status::TimedOut, "error"),
        (Status::Interrupted, "error"),
    ] {
        let mut record = sample::running();
        record.failure = None;
        record.status = status;
        assert_eq!(handle(&record, None), expected, "{status}");
    }
}

#[test]
fn only_the_word_approve_allows_what_is_asked() {
    for (words, approved, text) in [
        ("approve", true, None),
        (" Approve\n", true, None),
        ("approve once only", true, Some("once only")),
        ("deny", false, None),
        (
            "deny use the staging host",
            false,
            Some("use the staging host"),
        ),
        ("yes", false, Some("yes")),
        ("approved", false, Some("approved")),
        ("", false, None),
    ] {
        let text = text.map(str::to_owned);
        assert_eq!(verdict(words), (approved, text), "{words}");
    }
}
