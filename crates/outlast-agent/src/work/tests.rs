//! A whole worker against a scripted model over real HTTP, and a supervisor of the test's own.

mod boss;
mod endings;
mod restarts;
mod window;

use boss::Boss;
use outlast_testkit::model::Turn;
use serde_json::json;

#[test]
fn a_message_without_calls_is_the_end_and_its_first_line_the_summary() {
    let boss = Boss::new();
    boss.model
        .answer_all(|_| Turn::text("All is well.\nNothing was to be done."));
    let end = boss.work();
    assert_eq!(end.status, "success");
    assert_eq!(end.summary, "All is well.");
    assert_eq!(end.text, "All is well.\nNothing was to be done.");
    assert_eq!(end.ended_by, "self");
    assert_eq!(
        boss.kinds(),
        [
            "run.meta",
            "input",
            "turn.begin",
            "model.turn",
            "text",
            "final"
        ]
    );
}

#[test]
fn a_call_is_asked_for_run_and_told_in_this_order() {
    let boss = Boss::new();
    boss.model.answer_all(|asked| match asked.results.len() {
        0 => Turn::text("I look.").and_call("shell", json!({"command": "echo here"})),
        _ => Turn::text("It says here."),
    });
    let end = boss.work();
    assert_eq!(end.status, "success");
    assert_eq!(
        boss.kinds(),
        [
            "run.meta",
            "input",
            "turn.begin",
            "model.turn",
            "text",
            "call.request",
            "tool_called",
            "call.claimed",
            "call.ended",
            "call.result",
            "tool_result",
            "turn.begin",
            "model.turn",
            "text",
            "final"
        ]
    );
    let asked = boss.model.turns();
    assert!(
        asked[1].result().text.contains("here"),
        "{:?}",
        asked[1].results
    );
    boss.model.assert_histories();
}

#[test]
fn two_calls_of_one_turn_have_their_results_in_the_order_of_the_calls() {
    let boss = Boss::new();
    boss.model.answer_all(|asked| match asked.results.len() {
        0 => Turn::call("shell", json!({"command": "echo first"}))
            .and_call("calculate", json!({"expression": "6*7"})),
        _ => Turn::text("done"),
    });
    assert_eq!(boss.work().status, "success");
    let asked = &boss.model.turns()[1];
    let texts: Vec<&str> = asked
        .results
        .iter()
        .map(|result| result.text.as_str())
        .collect();
    assert!(texts[0].contains("first"), "{texts:?}");
    assert!(texts[1].contains("42"), "{texts:?}");
}

#[test]
fn the_log_tells_people_what_is_said_and_done() {
    let boss = Boss::new();
    boss.model.answer_all(|asked| match asked.results.len() {
        0 => Turn::text("I look.").and_call("shell", json!({"command": "exit 3"})),
        _ => Turn::text("It failed."),
    });
    boss.work();
    let log = boss.log();
    assert!(
        log.starts_with("I look.\n[1.1] shell exit 3\n[1.1] failed (exit 3"),
        "{log}"
    );
    assert!(log.ends_with("It failed.\nended: success\n"), "{log}");
}
