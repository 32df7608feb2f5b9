//! Unit tests of the document, field for field, from specs and journals written by hand.

use super::*;
use crate::agent::{AgentRequest, AgentSpec, report::GoalSeen};
use crate::{Failure, Kind, Posture, Timestamp};
use serde_json::json;

fn spec() -> Spec {
    let text = json!({
        "v": 1, "id": "0123456789abcdef", "kind": "agent", "created": "2026-01-01T00:00:00.000Z",
        "argv": [], "command": "make the tests pass", "label": "make the tests pass",
        "cwd": "/work/here", "project": "/work/here", "grace_ms": 5000, "output_bytes_max": 100,
    });
    let mut spec = Spec::from_json(text.to_string().as_bytes()).expect("a spec");
    assert_eq!(spec.kind, Kind::Agent);
    spec.agent = Some(Box::new(AgentSpec {
        request: AgentRequest {
            task: "make the tests pass".to_owned(),
            model: ModelChoice {
                name: "asked-for".to_owned(),
                ..ModelChoice::default()
            },
            ..AgentRequest::default()
        },
        turns_max: 50,
        call_env_names: Vec::new(),
        has_sub_agents: true,
    }));
    spec
}

fn with_goal(check: &str) -> Spec {
    let mut spec = spec();
    if let Some(agent) = &mut spec.agent {
        agent.request.until = Some(check.to_owned());
    }
    spec
}

fn ended(status: Status, ended_by: &str, summary: &str) -> State {
    let mut end = End::new(status, ended_by, summary.to_owned());
    end.elapsed_ms = Some(1_500);
    State {
        end: Some(Box::new(end)),
        ended_at: Some(Timestamp(2_000)),
        ..State::default()
    }
}

fn last(status: &str, text: &str) -> Final {
    let data = json!({
        "status": status, "summary": "in short", "text": text, "ended_by": "self",
    });
    serde_json::from_value(data).expect("a final")
}

fn report(last: Option<Final>) -> Report {
    let mut report = Report::default();
    report.turns = 3;
    report.model = Some("m-1".to_owned());
    report.tokens = 120;
    report.last = last.map(Box::new);
    report.workers = 1;
    report
}

fn receipt(number: usize, ok: bool) -> Receipt {
    Receipt {
        call: format!("1.{number}"),
        tool: if ok { "shell" } else { "edit_file" }.to_owned(),
        ok,
        brief: format!("call {number}"),
        via: None,
    }
}

fn document(spec: &Spec, state: &State, report: Report) -> Value {
    let built = Document::build(spec, state, report).expect("it has ended");
    serde_json::to_value(built).expect("a document")
}

#[test]
fn a_success_has_every_field_of_the_contract() {
    let mut report = report(Some(last("success", "All tests pass.\nTwo files changed.")));
    report.receipts = vec![receipt(1, true), receipt(2, false)];
    report.cost_micros = 1_250;
    let state = ended(Status::Completed, "self", "All tests pass.");
    let document = document(&spec(), &state, report);
    let expected = json!({
        "schema": "car.do/1",
        "status": "success",
        "summary": "All tests pass.\nTwo files changed.",
        "turns": 3,
        "delegations": 0,
        "model_used": "m-1",
        "receipts": {
            "total": 2,
            "failed": 1,
            "by_tool": {"edit_file": 1, "shell": 1},
            "sample": [
                {"tool": "edit_file", "ok": false, "brief": "call 2"},
                {"tool": "shell", "ok": true, "brief": "call 1"},
            ],
            "sample_omitted": 0,
        },
        "ungrounded_claims": [],
        "sandbox": {
            "mode": "host", "image": null, "network": "full", "tier": "FullAccess",
            "root": "/work/here", "mount": "rw", "fallback_notice": null,
        },
        "elapsed_seconds": 1.5,
        "usage": {"tokens": 120},
        "cost_usd": 0.00125,
        "ended_by": "self",
        "run_id": "0123456789abcdef",
    });
    assert_eq!(document, expected);
}

#[test]
fn an_error_has_a_message_and_suggestions_and_no_summary() {
    let mut said = last("error", "");
    said.error = Some("model_auth".to_owned());
    said.message = Some("the key was refused".to_owned());
    said.suggestions = vec!["set another key".to_owned()];
    let state = ended(Status::Failed, "self", "the key was refused");
    let document = document(&spec(), &state, report(Some(said)));
    let keys: Vec<&str> = document
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    for absent in ["summary", "delegations", "ungrounded_claims", "goal"] {
        assert!(!keys.contains(&absent), "{absent}");
    }
    assert_eq!(document["status"], "error");
    assert_eq!(document["error"], "model_auth");
    assert_eq!(document["message"], "the key was refused");
    assert_eq!(document["suggestions"], json!(["set another key"]));
    assert_eq!(document["receipts"]["total"], 0);
}

/// How a run ended, by whom, what its worker told of it, and status and error of the document.
const ENDINGS: &str = "\
completed   self         success      success      -
failed      limit:turns  max_turns    max_turns    -
failed      self         stalled      stalled      -
failed      limit:goal   goal_pending goal_pending -
failed      self         blocked      blocked      -
failed      limit:tokens budget       budget       -
cancelled   cancel       cancelled    cancelled    -
cancelled   idle         -            cancelled    -
timed_out   timeout      -            error        timed_out
interrupted unknown      -            error        interrupted
failed      self         -            error        run_task_died
failed      limit:memory -            error        memory_limit";

#[test]
fn every_way_to_end_has_its_status() {
    for line in ENDINGS.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [status, ended_by, said, expected, error] = words[..] else {
            unreachable!("five words a line");
        };
        let status = Status::from_word(status).expect("a status");
        let said = Some(said).filter(|said| *said != "-");
        let error = Some(error).filter(|error| *error != "-");
        let error = error.map_or(Value::Null, |error| json!(error));
        let state = ended(status, ended_by, "so it ended");
        let said = said.map(|word| last(word, "what was done"));
        let has_said = said.is_some();
        let document = document(&spec(), &state, report(said));
        assert_eq!(document["status"], expected, "{status} {ended_by}");
        assert_eq!(document["error"], error, "{status} {ended_by}");
        assert_eq!(document["ended_by"], ended_by);
        let is_error = expected == "error";
        assert_eq!(document.get("suggestions").is_some(), is_error);
        assert_eq!(document.get("summary").is_some(), !is_error);
        if !is_error {
            let summary = if has_said {
                "what was done"
            } else {
                "so it ended"
            };
            assert_eq!(document["summary"], summary);
        }
    }
}

#[test]
fn what_could_not_start_is_told_by_its_own_name_and_a_dead_worker_by_one() {
    for (code, expected) in [
        ("no_such_program", "no_such_program"),
        ("run_task_died", "run_task_died"),
    ] {
        let mut state = ended(Status::Failed, "self", "it ended");
        if let Some(end) = &mut state.end {
            end.failure = Some(Failure {
                code: code.to_owned(),
                message: "why".to_owned(),
                errno: None,
            });
        }
        let document = document(&spec(), &state, report(None));
        assert_eq!(document["error"], expected);
        assert_eq!(document["message"], "why");
        let says = document["suggestions"].as_array().expect("a list");
        assert!(!says.is_empty());
    }
}

#[test]
fn a_cancelled_run_tells_what_was_done() {
    let mut report = report(Some(last("cancelled", "I had changed a.rs.")));
    report.receipts = vec![receipt(1, true)];
    let document = document(
        &spec(),
        &ended(Status::Cancelled, "cancel", "cancelled"),
        report,
    );
    assert_eq!(document["summary"], "I had changed a.rs.");
    assert_eq!(document["receipts"]["total"], 1);
}

#[test]
fn a_goal_passed_only_by_its_check() {
    let goal = |seen: Option<GoalSeen>, said: &str, ended_by: &str| {
        let mut said = last(said, "done");
        ended_by.clone_into(&mut said.ended_by);
        let mut report = report(Some(said));
        report.goal = seen;
        let state = ended(Status::Failed, ended_by, "it ended");
        document(&with_goal("cargo test"), &state, report)["goal"].clone()
    };
    let seen = |iterations, passed, grounded| GoalSeen {
        iterations,
        passed,
        grounded,
    };
    let expected = json!({
        "check": "cargo test", "passed": true, "grounded": true, "iterations": 2,
        "halt": "passed",
    });
    assert_eq!(goal(Some(seen(2, true, true)), "success", "self"), expected);
    let pending = goal(
        Some(seen(10, false, true)),
        "goal_pending",
        "limit:goal_checks",
    );
    assert_eq!(
        (&pending["passed"], &pending["halt"]),
        (&json!(false), &json!("goal_checks"))
    );
    let never = goal(None, "max_turns", "limit:turns");
    assert_eq!(
        (&never["iterations"], &never["halt"]),
        (&json!(0), &json!("turns"))
    );
    let stalled = goal(Some(seen(3, false, false)), "stalled", "self");
    assert_eq!(
        (&stalled["grounded"], &stalled["halt"]),
        (&json!(false), &json!("stalled"))
    );
    let plain = document(&spec(), &ended(Status::Completed, "self", ""), report(None));
    assert_eq!(plain.get("goal"), None);
}

#[test]
fn a_sample_has_the_newest_failures_first_and_says_how_much_it_leaves_out() {
    let sampled = |failed: usize, fine: usize| {
        let mut report = report(Some(last("success", "done")));
        let failed = (0..failed).map(|number| receipt(number, false));
        report.receipts = failed.collect();
        let fine = (0..fine).map(|number| receipt(100 + number, true));
        report.receipts.extend(fine);
        let state = ended(Status::Completed, "self", "");
        let receipts = document(&spec(), &state, report)["receipts"].clone();
        let sample = receipts["sample"].as_array().expect("a list").clone();
        let briefs: Vec<String> = sample
            .iter()
            .map(|one| one["brief"].as_str().expect("a text").to_owned())
            .collect();
        (
            briefs.join(" "),
            receipts["sample_omitted"].clone(),
            receipts["total"].clone(),
        )
    };
    assert_eq!(
        sampled(2, 7),
        (
            "call 0 call 1 call 101 call 102 call 103 call 104 call 105 call 106".to_owned(),
            json!(1),
            json!(9)
        )
    );
    let (briefs, omitted, _) = sampled(10, 3);
    assert!(
        briefs.starts_with("call 2 ") && briefs.ends_with("call 9"),
        "{briefs}"
    );
    assert_eq!(omitted, json!(5));
    assert_eq!(sampled(0, 0), (String::new(), json!(0), json!(0)));
}

#[test]
fn long_texts_are_cut_at_a_character_and_say_by_how_much() {
    let long = "ä".repeat(3_000);
    let state = ended(Status::Completed, "self", "");
    let mut told = report(Some(last("success", &long)));
    told.receipts = vec![Receipt {
        brief: "ö".repeat(200),
        ..receipt(1, true)
    }];
    let document = document(&spec(), &state, told);
    let summary = document["summary"].as_str().expect("a text");
    let end = "…[truncated: 4096 of 6000 bytes shown; 1904 elided]…";
    assert_eq!(summary, format!("{}{end}", "ä".repeat(2_048)));
    let brief = document["receipts"]["sample"][0]["brief"]
        .as_str()
        .expect("a text");
    assert!(brief.chars().count() <= limits::BRIEF_CHARS, "{brief}");
    assert!(
        brief.starts_with("öööö") && brief.contains("of 400 bytes shown"),
        "{brief}"
    );
}

#[test]
fn a_local_run_only_reads_and_nothing_is_bound() {
    let mut spec = spec();
    if let Some(agent) = &mut spec.agent {
        agent.request.is_local = true;
    }
    let sandbox = Sandbox::of(&spec, &Posture::host());
    let told = (&*sandbox.mode, &*sandbox.tier, &*sandbox.network);
    assert_eq!(told, ("host", "ReadOnly", "none"));
    assert_eq!(sandbox.mount.as_deref(), Some("ro"));
}

#[test]
fn secrets_are_masked_in_every_text() {
    let secret = "hunter2hunter2";
    let mut said = last("success", &format!("the key is {secret}"));
    said.ungrounded_claims = vec![format!("wrote {secret}")];
    said.answer = json!({"list": [secret]});
    let mut report = report(Some(said));
    report.receipts = vec![Receipt {
        brief: format!("echo {secret}"),
        ..receipt(1, true)
    }];
    report.unknown = vec![UnknownCall {
        call: "2.1".to_owned(),
        tool: "shell".to_owned(),
        brief: secret.to_owned(),
    }];
    let spec = with_goal(&format!("test {secret}"));
    let state = ended(Status::Completed, "self", "");
    let mut built = Document::build(&spec, &state, report).expect("it has ended");
    built.mask(&|text| text.replace(secret, "•••"));
    let text = serde_json::to_string(&built).expect("a document");
    assert!(!text.contains(secret), "{text}");
    assert_eq!(text.matches("•••").count(), 6);
}

#[test]
fn a_run_that_goes_on_and_a_command_have_no_document() {
    assert_eq!(
        Document::build(&spec(), &State::default(), report(None)),
        None
    );
    let mut command = spec();
    command.agent = None;
    let state = ended(Status::Completed, "self", "");
    assert_eq!(Document::build(&command, &state, report(None)), None);
}
