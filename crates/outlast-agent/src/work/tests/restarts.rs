//! A worker may die at any point: its successor makes the same requests, and no call runs
//! twice.

use super::boss::{Act, Boss};
use outlast_testkit::model::{Asked, Turn};
use serde_json::json;

fn play(asked: &Asked) -> Turn {
    match asked.results.len() {
        0 => Turn::text("I look.")
            .and_call("shell", json!({"command": "echo one; echo one >> done"}))
            .and_call("calculate", json!({"expression": "1+1"}))
            .and_call(
                "shell",
                json!({"command": "echo two; echo two >> done; exit 4"}),
            ),
        3 => Turn::call(
            "todo_write",
            json!({"items": [{"text": "go on", "state": "doing"}]}),
        ),
        4 => Turn::call(
            "shell",
            json!({"command": "echo three; echo three >> done"}),
        ),
        _ => Turn::text("All is done."),
    }
}

fn boss() -> Boss {
    let boss = Boss::with(&json!({"until": "test $(wc -l < done) -ge 3"}));
    boss.model.answer_all(play);
    boss
}

/// Asserts that both runs sent the same; the first difference is named.
#[track_caller]
fn assert_same(one: &Boss, whole: &Boss, what: &str) {
    let (sent, expected) = (one.conversations(), whole.conversations());
    for (sent, expected) in sent.iter().zip(&expected) {
        let differing = sent
            .lines()
            .zip(expected.lines())
            .find(|(one, other)| one != other);
        assert_eq!(differing, None, "{what}");
        assert_eq!(sent.lines().count(), expected.lines().count(), "{what}");
    }
    assert_eq!(sent.len(), expected.len(), "{what}");
    assert_eq!(one.executed(), whole.executed(), "{what}");
    one.model.assert_histories();
}

#[test]
fn wherever_a_worker_dies_the_next_one_says_the_same_and_nothing_runs_twice() {
    let whole = boss();
    assert_eq!(whole.work().status, "success");
    let said = whole.lines_said();
    assert!(said > 20, "{said}");
    for lines in 1..said {
        let boss = boss();
        boss.deaths.borrow_mut().push(lines);
        let end = boss.work();
        assert_eq!(end.status, "success", "cut off after {lines} lines");
        assert_same(&boss, &whole, &format!("cut off after {lines} lines"));
        let events =
            |boss: &Boss, kind: &str| boss.kinds().iter().filter(|one| *one == kind).count();
        for kind in [
            "tool_called",
            "tool_result",
            "text",
            "call.result",
            "goal_evaluated",
        ] {
            assert_eq!(
                events(&boss, kind),
                events(&whole, kind),
                "{kind}, cut off after {lines} lines"
            );
        }
    }
}

#[test]
fn a_worker_that_dies_again_and_again_comes_to_the_same_end() {
    let whole = boss();
    whole.work();
    for every in 3..9 {
        let boss = boss();
        *boss.deaths.borrow_mut() = vec![every; 30];
        assert_eq!(boss.work().status, "success", "every {every} lines");
        assert_same(&boss, &whole, &format!("every {every} lines"));
    }
}

#[test]
fn a_text_from_outside_is_told_with_the_next_turn_whatever_dies_in_between() {
    let play = |boss: &Boss| {
        boss.model.answer_all(|asked| match asked.results.len() {
            0 => Turn::call("shell", json!({"command": "true"})),
            _ => Turn::text("done"),
        });
    };
    let with_input = || {
        let mut boss = Boss::new();
        boss.acts = vec![("tool_called", Act::Input("Mind the gap."))];
        play(&boss);
        boss
    };
    let whole = with_input();
    whole.work();
    let sent = whole.conversations();
    assert_eq!(sent[1].matches("Mind the gap.").count(), 1, "{}", sent[1]);
    for lines in 1..whole.lines_said() {
        let boss = with_input();
        boss.deaths.borrow_mut().push(lines);
        boss.work();
        assert_same(&boss, &whole, &format!("cut off after {lines} lines"));
    }
}
