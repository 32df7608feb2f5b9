//! The last word of a worker decides how its run is told to have ended.

use super::Verdict;
use outlast_journal::agent::Final;
use outlast_journal::{Failure, Status, limits};

fn told(status: &str, ended_by: &str) -> Final {
    Final {
        status: status.to_owned(),
        summary: "All is done.".to_owned(),
        text: String::new(),
        answer: serde_json::Value::Null,
        ungrounded_claims: Vec::new(),
        ended_by: ended_by.to_owned(),
        error: None,
        message: None,
        suggestions: Vec::new(),
    }
}

fn verdict(status: &str, ended_by: &str) -> (Status, String, Option<Failure>) {
    let verdict = Verdict::of(&told(status, ended_by));
    (verdict.status, verdict.ended_by, verdict.failure)
}

#[test]
fn each_status_of_a_worker_is_one_of_a_run() {
    let by = |by: &str| by.to_owned();
    assert_eq!(
        verdict("success", "self"),
        (Status::Completed, by("self"), None)
    );
    assert_eq!(
        verdict("max_turns", "limit:turns"),
        (Status::Failed, by("limit:turns"), None)
    );
    assert_eq!(
        verdict("cancelled", "self"),
        (Status::Cancelled, by("cancel"), None)
    );
    assert_eq!(
        verdict("of a later version", ""),
        (Status::Failed, by("self"), None)
    );
}

#[test]
fn an_error_is_named_and_a_summary_is_one_short_line() {
    let verdict = Verdict::of(&Final {
        error: Some("provider_error".to_owned()),
        message: Some("the provider refused".to_owned()),
        summary: format!("\n first \n{}", "x".repeat(500)),
        ..told("error", "self")
    });
    let failure = verdict.failure.unwrap();
    assert_eq!(
        (failure.code.as_str(), failure.message.as_str()),
        ("provider_error", "the provider refused")
    );
    assert_eq!(verdict.summary, "first");
    let long = Verdict::of(&Final {
        summary: "x".repeat(500),
        ..told("success", "self")
    });
    assert_eq!(long.summary.chars().count(), limits::SUMMARY_CHARS);
}
