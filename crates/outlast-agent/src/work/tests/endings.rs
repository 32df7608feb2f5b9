//! How a run ends: by itself, by its limits, and by what goes wrong.

use super::boss::{Act, Boss, NEVER_ENDS};
use outlast_journal::agent::{GoalEvaluated, Work};
use outlast_testkit::model::Turn;
use serde_json::json;

fn shell(command: &str) -> Turn {
    Turn::call("shell", json!({"command": command}))
}

fn goals(boss: &Boss) -> Vec<GoalEvaluated> {
    let facts = boss.facts().into_iter();
    facts
        .filter_map(|fact| {
            if let Work::GoalEvaluated(goal) = fact {
                Some(*goal)
            } else {
                None
            }
        })
        .collect()
}

#[test]
fn all_turns_used_is_max_turns_and_a_restart_gives_no_new_ones() {
    for death in [None, Some(9), Some(14), Some(20)] {
        let boss = Boss::new().turns_max(3);
        boss.deaths.borrow_mut().extend(death);
        boss.model
            .answer_all(|asked| shell(&format!("echo {}", asked.results.len())));
        let end = boss.work();
        assert_eq!(
            (end.status.as_str(), end.ended_by.as_str()),
            ("max_turns", "limit:turns")
        );
        let turns = boss
            .kinds()
            .iter()
            .filter(|kind| *kind == "model.turn")
            .count();
        assert_eq!(turns, 3);
    }
}

#[test]
fn tokens_over_the_budget_end_the_run() {
    let boss = Boss::with(&json!({"tokens_max": 250}));
    boss.model.answer_all(|asked| {
        shell(&format!("echo {}", asked.results.len())).with_tokens(100, 0, 10)
    });
    let end = boss.work();
    assert_eq!(
        (end.status.as_str(), end.ended_by.as_str()),
        ("budget", "limit:tokens")
    );
    assert_eq!(boss.executed().len(), 3);
}

#[test]
fn a_goal_is_reached_when_its_check_exits_with_0_and_not_when_it_is_claimed() {
    let boss = Boss::with(&json!({"until": "test -f done && exit 0 || exit 1"}));
    boss.model.answer_all(|asked| {
        let text = asked.body["messages"].to_string();
        match (
            text.matches("The goal is not reached").count(),
            asked.results.len(),
        ) {
            (0, _) => Turn::text("It is done."),
            (1, _) => Turn::text("Now it is really done."),
            (_, 0) => shell("touch done"),
            _ => Turn::text("I made the file."),
        }
    });
    let end = boss.work();
    assert_eq!(end.status, "success");
    let verdicts: Vec<bool> = goals(&boss).iter().map(|goal| goal.passed).collect();
    assert_eq!(verdicts, [false, false, true]);
    assert_eq!(end.summary, "I made the file.");
}

#[test]
fn a_check_that_cannot_run_counts_as_not_passed_is_told_and_ends_after_the_same_thrice() {
    let boss = Boss::with(&json!({"until": "no-such-program-here"}));
    boss.model.answer_all(|_| Turn::text("It is done."));
    let end = boss.work();
    assert_eq!(
        (end.status.as_str(), end.ended_by.as_str()),
        ("goal_pending", "limit:goal_repeats")
    );
    let goals = goals(&boss);
    assert_eq!(goals.len(), 3);
    assert_eq!(goals[0].exit_code, Some(127));
    assert!(
        goals[0].shown.contains("no-such-program-here"),
        "{}",
        goals[0].shown
    );
    let asked = boss.model.turns();
    let told = asked[1].body["messages"].to_string();
    assert!(told.contains("exited with 127"), "{told}");
}

#[test]
fn a_check_that_fails_in_ever_new_ways_is_run_ten_times() {
    let boss = Boss::with(
        &json!({"until": "echo x >> n; head -c $(wc -l < n) /dev/zero | tr '\\0' y; exit 1"}),
    );
    boss.model.answer_all(|_| Turn::text("It is done."));
    let end = boss.work();
    assert_eq!(
        (end.status.as_str(), end.ended_by.as_str()),
        ("goal_pending", "limit:goal_checks")
    );
    assert_eq!(goals(&boss).len(), 10);
}

#[test]
fn the_same_call_with_the_same_result_is_warned_of_and_then_ends_the_run_stalled() {
    let boss = Boss::new();
    boss.model.answer_all(|_| shell("echo the same"));
    let end = boss.work();
    assert_eq!(end.status, "stalled");
    assert_eq!(boss.executed().len(), 4);
    let asked = boss.model.turns();
    let warned = asked.iter().map(|one| {
        one.body["messages"]
            .to_string()
            .matches("repeated call")
            .count()
    });
    assert_eq!(warned.collect::<Vec<_>>(), [0, 0, 0, 1]);
}

#[test]
fn three_calls_that_cannot_be_read_end_the_run_and_two_do_not() {
    let bad = || Turn::call("shell", json!({})).with_arguments_text("{\"command\": ");
    let boss = Boss::new();
    boss.model.answer_all(move |_| bad());
    let end = boss.work();
    assert_eq!(
        (end.status.as_str(), end.error.as_deref()),
        ("error", Some("malformed_calls"))
    );
    assert_eq!(boss.executed().len(), 0);
    let failed = boss
        .kinds()
        .iter()
        .filter(|kind| *kind == "tool_failed")
        .count();
    assert_eq!(failed, 3);

    let boss = Boss::new();
    boss.model
        .answer_all(move |asked| match asked.results.len() {
            0 | 1 | 3 | 4 => bad(),
            2 => shell("true"),
            _ => Turn::text("done"),
        });
    assert_eq!(boss.work().status, "success");
}

#[test]
fn a_cancel_in_a_call_ends_with_what_was_done_and_asks_the_model_no_more() {
    let mut boss = Boss::new();
    boss.acts = vec![("tool_called", Act::Cancel)];
    boss.model.answer_all(|_| {
        Turn::text("I work.")
            .and_call("shell", json!({"command": "true"}))
            .and_call("shell", json!({"command": "false"}))
    });
    let end = boss.work();
    assert_eq!(
        (end.status.as_str(), end.text.as_str()),
        ("cancelled", "I work.")
    );
    assert_eq!(boss.model.turns().len(), 1);
    assert_eq!(boss.executed(), ["true"]);
    assert!(boss.kinds().contains(&"tool_failed".to_owned()));
}

#[test]
fn a_cancel_before_the_answer_lets_the_request_finish_and_runs_none_of_its_calls() {
    let mut boss = Boss::new();
    boss.acts = vec![("turn.begin", Act::Cancel)];
    boss.model.answer_all(|_| shell("true"));
    let end = boss.work();
    assert_eq!(end.status, "cancelled");
    assert_eq!(boss.executed(), Vec::<String>::new());
}

#[test]
fn an_answer_that_keeps_its_schema_is_kept_as_a_value_after_a_repair() {
    let schema =
        json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    let boss = Boss::with(&json!({"schema": schema}));
    boss.model.answer_all(|asked| {
        let told = asked.body["messages"].to_string();
        match told.matches("not of the form").count() {
            0 => Turn::text("The number is 4."),
            1 => Turn::text("{\"n\": \"4\"}"),
            _ => Turn::text("```json\n{\"n\": 4}\n```"),
        }
    });
    let end = boss.work();
    assert_eq!(
        (end.status.as_str(), end.answer),
        ("success", json!({"n": 4}))
    );
}

#[test]
fn an_answer_that_never_keeps_its_schema_is_an_error_after_two_repairs() {
    let boss = Boss::with(&json!({"schema": {"type": "object"}}));
    boss.model.answer_all(|_| Turn::text("no"));
    let end = boss.work();
    assert_eq!(
        (end.status.as_str(), end.error.as_deref()),
        ("error", Some("answer_invalid"))
    );
    assert_eq!(boss.model.turns().len(), 3);
}

#[test]
fn a_claim_without_a_receipt_is_named() {
    let boss = Boss::new();
    boss.model
        .answer_all(|_| Turn::text("I ran the tests and they pass."));
    assert_eq!(
        boss.work().ungrounded_claims,
        ["I ran the tests and they pass."]
    );
    let boss = Boss::new();
    boss.model.answer_all(|asked| match asked.results.len() {
        0 => shell("true"),
        _ => Turn::text("I ran the tests and they pass."),
    });
    assert_eq!(boss.work().ungrounded_claims, Vec::<String>::new());
}

#[test]
fn a_refused_key_ends_the_run_with_the_names_and_the_way_on() {
    let boss = Boss::new();
    boss.model.answer_all(|_| Turn::refusal(401, None));
    let end = boss.work();
    assert_eq!(
        (end.status.as_str(), end.error.as_deref()),
        ("error", Some("model_auth"))
    );
    assert_eq!(end.suggestions.len(), 1);
    assert!(end.message.expect("words").contains("scripted"));
}

#[test]
fn an_ask_that_is_denied_is_told_and_the_second_denial_blocks() {
    let mut boss = Boss::with(&json!({"asks": true})).contained("SandboxEdit");
    boss.acts = vec![("ask", Act::Answer(false))];
    boss.model
        .answer_all(|_| Turn::call("http_request", json!({"url": "http://127.0.0.1:1/"})));
    let end = boss.work();
    assert_eq!(end.status, "blocked");
    assert_eq!(boss.kinds().iter().filter(|kind| *kind == "ask").count(), 2);
}

#[test]
fn an_ask_that_nobody_answers_counts_as_denied() {
    let boss = Boss::with(&json!({"asks": true, "ask_ms": 50})).contained("SandboxEdit");
    boss.model
        .answer_all(|_| Turn::call("http_request", json!({"url": "http://127.0.0.1:1/"})));
    assert_eq!(boss.work().status, "blocked");
    let asked = boss.model.turns();
    assert!(
        asked[1].result().text.contains("denied by timeout"),
        "{:?}",
        asked[1].results
    );
}

/// Case AL-06.
#[test]
fn a_check_that_never_ends_is_not_passed_and_said_to_have_timed_out() {
    let boss = Boss::with(&json!({"until": NEVER_ENDS}));
    boss.model.answer_all(|_| Turn::text("It is done."));
    assert_eq!(boss.work().status, "goal_pending");
    let goals = goals(&boss);
    assert_eq!(goals.len(), 3);
    assert!(!goals[0].grounded);
    let why = goals[0].why.as_deref().expect("a reason");
    assert!(why.contains("timed out after 600 s"), "{why}");
}

#[test]
fn a_cancel_between_two_attempts_does_not_wait_for_the_next() {
    let mut boss = Boss::new();
    boss.acts = vec![("note", Act::Cancel)];
    boss.model.answer_all(|_| Turn::refusal(429, Some(50)));
    let begun = std::time::Instant::now();
    assert_eq!(boss.work().status, "cancelled");
    assert!(begun.elapsed().as_secs() < 40, "{:?}", begun.elapsed());
    assert_eq!(boss.model.turns().len(), 1);
}

#[test]
fn few_turns_left_are_told_once() {
    let boss = Boss::new().turns_max(7);
    boss.model
        .answer_all(|asked| shell(&format!("echo {}", asked.results.len())));
    assert_eq!(boss.work().status, "max_turns");
    let told = boss.model.turns().into_iter().map(|asked| {
        asked.body["messages"]
            .to_string()
            .matches("5 turns are left")
            .count()
    });
    assert_eq!(told.collect::<Vec<_>>(), [0, 0, 1, 1, 1, 1, 1]);
}

#[test]
fn a_message_that_is_cut_is_asked_for_again_and_then_an_error() {
    let boss = Boss::new();
    boss.model
        .answer_all(|_| Turn::text("It is do").cut_by_length());
    let end = boss.work();
    assert_eq!(
        (end.status.as_str(), end.error.as_deref()),
        ("error", Some("answer_cut"))
    );
    assert_eq!(boss.model.turns().len(), 3);
}
