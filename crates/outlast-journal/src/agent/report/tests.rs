//! Unit tests of the fold: journals written by hand, as a worker and its supervisor write them.

use super::*;
use crate::{Seq, Timestamp};
use serde_json::json;

fn line(kind: &str, message: Option<&str>, data: Value) -> Line {
    Line {
        v: 1,
        seq: Some(Seq(0)),
        ts: Timestamp(1_000),
        kind: kind.to_owned(),
        phase: None,
        message: message.map(str::to_owned),
        data,
    }
}

fn report(lines: &[(&str, Value)]) -> Report {
    let mut report = Report::default();
    for (kind, data) in lines {
        report.take(&line(kind, None, data.clone()));
    }
    report
}

fn request(call: &str, tool: &str, class: &str) -> (&'static str, Value) {
    let data = json!({
        "call": call, "model_call": "m", "tool": tool, "class": class, "arguments": {},
    });
    ("call.request", data)
}

fn called(call: &str, brief: &str) -> (&'static str, Value) {
    (
        "tool_called",
        json!({"call": call, "tool": "shell", "brief": brief}),
    )
}

fn result(call: &str, ok: bool) -> (&'static str, Value) {
    let data = json!({
        "call": call, "tool": "shell", "ok": ok, "shown": "…", "brief": format!("did {call}"),
    });
    ("call.result", data)
}

fn turn(number: u64, tokens: u64, cost: Option<u64>) -> (&'static str, Value) {
    let data = json!({
        "turn": number, "message": {"text": "a long one"}, "model": "m-1",
        "usage": {"input": tokens - 1, "output": 1, "reasoning": null},
        "tokens": tokens, "cost_micros": cost, "stop": "done",
    });
    ("model.turn", data)
}

#[test]
fn what_ran_is_a_receipt_and_what_was_refused_is_none() {
    let refused = json!({
        "call": "1.2", "tool": "write_file", "ok": false, "is_refused": true,
        "shown": "above the tier", "brief": "write a.txt",
    });
    let report = report(&[
        request("1.1", "shell", "once"),
        called("1.1", "make"),
        result("1.1", false),
        request("1.2", "write_file", "idempotent"),
        ("call.result", refused),
    ]);
    let receipt = Receipt {
        call: "1.1".to_owned(),
        tool: "shell".to_owned(),
        ok: false,
        brief: "did 1.1".to_owned(),
        via: None,
    };
    assert_eq!(report.receipts, [receipt]);
    assert_eq!(report.unknown, []);
}

#[test]
fn tokens_and_cost_add_up_and_a_turn_without_a_price_leaves_no_cost() {
    let priced = report(&[turn(1, 100, Some(2_000)), turn(2, 50, Some(500))]);
    assert_eq!((priced.turns, priced.tokens), (2, 150));
    assert_eq!(priced.usage["input"], 148);
    assert_eq!(priced.cost_usd(), Some(0.0025));
    assert_eq!(priced.model.as_deref(), Some("m-1"));
    let unpriced = report(&[turn(1, 100, Some(2_000)), turn(2, 50, None)]);
    assert_eq!(unpriced.cost_usd(), None);
    assert_eq!(Report::default().cost_usd(), None);
}

#[test]
fn an_open_call_of_a_run_whose_supervisor_died_is_unknown_unless_it_only_reads() {
    let lines = [
        request("1.1", "read_file", "read"),
        request("1.2", "shell", "once"),
        called("1.2", "deploy"),
        ("call.claimed", json!({"call": "1.2"})),
        request("1.3", "shell", "once"),
        ("call.claimed", json!({"call": "1.3"})),
        (
            "call.ended",
            json!({"call": "1.3", "end": "exited", "exit_code": 0}),
        ),
    ];
    let interrupted = report(&lines).settled(false);
    let unknown: Vec<_> = interrupted.unknown.iter().map(|one| &*one.brief).collect();
    assert_eq!(unknown, ["deploy"]);
    let done: Vec<_> = interrupted.receipts.iter().map(|one| &*one.call).collect();
    assert_eq!(
        done,
        ["1.3"],
        "its end was written: nothing is unknown of it"
    );
    assert!(interrupted.receipts[0].ok);

    let stopped = report(&lines).settled(true);
    assert_eq!(stopped.unknown, [], "it ended with the run");
    let failed = stopped.receipts.iter().filter(|one| !one.ok);
    assert_eq!(failed.count(), 1);
}

#[test]
fn a_resumed_run_goes_on_with_the_counts_and_settles_the_calls_of_the_one_before() {
    let before = RunId::parse("0123456789abcdef").expect("an id");
    let mut report = report(&[
        turn(1, 100, None),
        request("1.1", "shell", "once"),
        ("call.claimed", json!({"call": "1.1"})),
        (
            "goal_evaluated",
            json!({"iteration": 1, "passed": false, "grounded": true,
                   "output_hash": "h", "shown": ""}),
        ),
    ]);
    report.resume(before);
    let unknown = json!({
        "call": "1.1", "tool": "shell", "ok": false, "is_unknown": true,
        "shown": "nobody knows", "brief": "deploy",
    });
    report.take(&line("call.result", None, unknown));
    let (kind, data) = turn(2, 10, None);
    report.take(&line(kind, None, data));
    assert_eq!((report.turns, report.tokens), (2, 110));
    assert_eq!(report.unknown.len(), 1);
    assert_eq!(report.goal.map(|goal| goal.iterations), Some(1));
    assert_eq!(report.resumed, [before]);
    assert_eq!(report.clone().settled(false).unknown.len(), 1, "told once");
}

#[test]
fn damaged_and_torn_lines_are_passed_over() {
    let (kind, data) = turn(1, 5, None);
    let mut journal = line(kind, None, data).to_bytes();
    journal.extend(b"{\"v\":1,\"ts\n\xff\xfe\n");
    let (kind, data) = turn(2, 5, None);
    journal.extend(line(kind, None, data).to_bytes());
    journal.extend(b"{\"v\":1,\"type\":\"model.turn\"");
    journal.extend([0; 16]);
    assert_eq!(Report::fold(&journal).turns, 2);
}
