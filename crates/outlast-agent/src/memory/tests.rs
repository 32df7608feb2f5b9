//! What journals add up to, line by line.

use super::*;
use crate::message::ModelCall;
use outlast_journal::agent::{CallClass, ToolEnded, TurnBegin};
use outlast_journal::worker::{CallClaimed, CallEnd};
use outlast_journal::{Seq, Timestamp};
use serde_json::{Value, json};

fn user(text: &str) -> Work {
    Work::Input(Input {
        text: text.to_owned(),
        ..Input::default()
    })
}

fn turn(number: u64, text: &str, calls: &[&str]) -> Work {
    let calls = calls.iter().map(|id| ModelCall {
        id: (*id).to_owned(),
        name: "shell".to_owned(),
        arguments: Arguments::Json(json!({"command": id})),
    });
    let message = Message::Assistant {
        text: text.to_owned(),
        calls: calls.collect(),
        opaque: Value::Null,
    };
    Work::ModelTurn(Box::new(ModelTurn {
        turn: number,
        message: serde_json::to_value(message).expect("json"),
        usage: Value::Null,
        tokens: 10,
        cost_micros: Some(3),
        stop: "done".to_owned(),
        model: String::new(),
    }))
}

fn begin(turn: u64) -> Work {
    Work::TurnBegin(TurnBegin { turn })
}

fn request(call: &str) -> Work {
    Work::CallRequest(Box::new(CallRequest {
        call: call.to_owned(),
        model_call: String::new(),
        tool: "shell".to_owned(),
        class: CallClass::Once,
        arguments: json!({}),
    }))
}

fn result(call: &str, shown: &str) -> Work {
    Work::CallResult(Box::new(CallResult {
        call: call.to_owned(),
        tool: "shell".to_owned(),
        ok: true,
        is_refused: false,
        is_unknown: false,
        shown: shown.to_owned(),
        brief: String::new(),
        via: None,
        wrote: None,
        saw: None,
    }))
}

fn told(call: &str) -> Work {
    Work::ToolResult(ToolEnded {
        call: call.to_owned(),
        tool: "shell".to_owned(),
        ok: true,
        brief: String::new(),
        code: None,
        exit_code: None,
        elapsed_ms: None,
    })
}

/// Returns who said what.
fn said(memory: &Memory) -> Vec<String> {
    let said = memory.messages.iter().map(|message| match message {
        Message::User { text } => format!("user: {text}"),
        Message::Assistant { text, .. } => format!("model: {text}"),
        Message::Result { call_id, text, .. } => format!("{call_id}: {text}"),
    });
    said.collect()
}

fn fold(facts: &[Work]) -> Memory {
    let mut memory = Memory::default();
    memory.begin_run(Path::new("/run"));
    for fact in facts {
        memory.take(fact);
    }
    memory
}

#[test]
fn inputs_wait_for_the_next_turn_and_results_for_all_of_their_turn() {
    let memory = fold(&[
        user("task"),
        begin(1),
        turn(1, "a", &["x", "y"]),
        request("1.1"),
        user("aside"),
        result("1.1", "first"),
    ]);
    assert_eq!(said(&memory), ["user: task", "model: a"]);
    assert_eq!(memory.open_call(), Some(0), "its event is missing");
    let memory = fold(&[
        user("task"),
        begin(1),
        turn(1, "a", &["x", "y"]),
        request("1.1"),
        request("1.2"),
        result("1.2", "second"),
        user("aside"),
        result("1.1", "first"),
        told("1.1"),
        told("1.2"),
        begin(2),
    ]);
    assert_eq!(
        said(&memory),
        [
            "user: task",
            "model: a",
            "x: first",
            "y: second",
            "user: aside"
        ]
    );
    assert_eq!(memory.open_call(), None);
}

#[test]
fn a_turn_that_begins_twice_is_one_turn_with_what_came_in_between() {
    let memory = fold(&[
        user("task"),
        begin(1),
        user("more"),
        begin(1),
        turn(1, "a", &[]),
    ]);
    assert_eq!(said(&memory), ["user: task", "user: more", "model: a"]);
    assert_eq!(memory.counts.turns, 1);
    assert_eq!((memory.counts.tokens, memory.counts.cost_micros), (10, 3));
}

#[test]
fn the_newest_replacement_of_the_history_counts() {
    let short = |text: &str| {
        let messages = json!([{"role": "user", "text": text}]);
        Work::Compacted(Compacted {
            messages,
            replaced: 3,
            tokens: 5,
            cost_micros: None,
        })
    };
    let memory = fold(&[
        user("task"),
        begin(1),
        turn(1, "a", &[]),
        short("once"),
        begin(2),
        turn(2, "b", &[]),
        short("twice"),
        begin(3),
    ]);
    assert_eq!(said(&memory), ["user: twice"]);
    assert_eq!(memory.counts.tokens, 30);
}

#[test]
fn an_input_that_was_read_is_not_taken_again() {
    let mut memory = fold(&[]);
    let input = |number| Input {
        number,
        text: format!("{number}"),
        by: Some("cli".to_owned()),
    };
    for number in [1, 2, 2, 1, 3] {
        memory.take_input(&input(number));
    }
    memory.take(&begin(1));
    assert_eq!(said(&memory), ["user: 1\n\n2\n\n3"]);
}

#[test]
fn a_call_of_a_dead_run_is_known_as_such_and_the_counts_go_on() {
    let mut memory = fold(&[
        user("task"),
        begin(1),
        turn(1, "a", &["x", "y"]),
        request("1.1"),
    ]);
    let claimed = Fact::CallClaimed(CallClaimed {
        call: "1.1".to_owned(),
    });
    memory.read(&Line::new(&claimed, Seq(0), Timestamp(0)));
    memory.begin_run(Path::new("/next"));
    assert!(memory.end_reading().is_empty());
    let call = &memory.calls[0];
    assert!(
        call.is_claimed && call.is_of_dead_run && call.is_of_dead_worker,
        "{call:?}"
    );
    assert_eq!(memory.counts.turns, 1);
    memory.take(&result("1.1", "unknown"));
    assert!(memory.calls[0].result.is_some());
}

#[test]
fn an_end_is_found_in_the_run_in_which_it_was() {
    let mut memory = fold(&[begin(1), turn(1, "a", &["x"]), request("1.1")]);
    let ended = Fact::CallEnded(Box::new(CallEnded::new("1.1", CallEnd::Exited)));
    memory.read(&Line::new(&ended, Seq(0), Timestamp(0)));
    memory.begin_run(Path::new("/next"));
    let (_, dir) = memory.calls[0].ended.clone().expect("an end");
    assert_eq!(dir, Path::new("/run"));
}

#[test]
fn denials_of_one_turn_are_one_and_of_another_tool_another() {
    let denied = |tool: &str, code: &str| {
        Work::ToolFailed(ToolEnded {
            call: "1.1".to_owned(),
            tool: tool.to_owned(),
            ok: false,
            brief: String::new(),
            code: Some(code.to_owned()),
            exit_code: None,
            elapsed_ms: None,
        })
    };
    let once = [
        turn(1, "", &["x"]),
        denied("shell", "denied"),
        denied("shell", "denied"),
        turn(2, "", &["x"]),
        denied("write_file", "above_tier"),
        denied("shell", "bad_arguments"),
    ];
    assert!(!fold(&once).is_denied_twice());
    let mut twice = once.to_vec();
    twice.push(denied("shell", "above_tier"));
    assert!(fold(&twice).is_denied_twice());
}

#[test]
fn equal_failures_of_the_goal_are_counted_in_a_row() {
    let goal = |iteration, passed, hash: &str| {
        Work::GoalEvaluated(Box::new(GoalEvaluated {
            iteration,
            passed,
            grounded: true,
            exit_code: Some(i32::from(!passed)),
            why: None,
            output_hash: hash.to_owned(),
            shown: format!("not {iteration}"),
        }))
    };
    let memory = fold(&[
        goal(1, false, "a"),
        goal(2, false, "b"),
        goal(3, false, "b"),
    ]);
    assert_eq!((memory.goal.checks, memory.goal.equal_failures), (3, 2));
    let memory = fold(&[goal(1, false, "a"), goal(2, true, "a")]);
    assert_eq!(
        (memory.goal.equal_failures, memory.goal.has_passed),
        (0, true)
    );
}
