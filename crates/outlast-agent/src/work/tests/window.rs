//! A conversation that nears the model's window is shortened, and the work goes on.

use super::boss::Boss;
use outlast_journal::agent::Work;
use outlast_testkit::model::{Asked, Turn};
use serde_json::json;

fn is_for_summary(asked: &Asked) -> bool {
    asked.body["messages"]
        .to_string()
        .contains("is about to be shortened")
}

/// A run whose model has a window of 8,000 tokens, of which the third turn takes 6,500.
fn boss() -> Boss {
    let mut boss = Boss::new();
    boss.window(8_000);
    boss.model.answer_all(|asked| {
        let said = asked.body["messages"].to_string();
        if is_for_summary(asked) {
            return Turn::text("It wrote one, two and three.").with_tokens(6_500, 0, 20);
        }
        let is_short = said.contains("It wrote one, two and three.");
        match (is_short, asked.results.len()) {
            (false, 0) => Turn::call(
                "todo_write",
                json!({"items": [{"text": "go on", "state": "doing"}]}),
            )
            .with_tokens(900, 0, 10),
            (false, 1) => Turn::call(
                "shell",
                json!({"command": "head -c 6000 /dev/zero | tr '\\0' a"}),
            )
            .with_tokens(3_500, 0, 10),
            (false, _) => {
                Turn::call("shell", json!({"command": "echo newest"})).with_tokens(6_500, 0, 10)
            }
            (true, _) => Turn::text("All is done.").with_tokens(1_000, 0, 10),
        }
    });
    boss
}

#[test]
fn the_newest_messages_stay_and_the_others_give_way_to_a_summary_with_the_task_and_the_list() {
    let boss = boss();
    assert_eq!(boss.work().status, "success");
    let compacted: Vec<_> = boss
        .facts()
        .into_iter()
        .filter_map(|fact| {
            if let Work::Compacted(compacted) = fact {
                Some(compacted)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(compacted.len(), 1);
    assert_eq!(compacted[0].tokens, 6_520);
    let sent = boss.conversations();
    let last = sent.last().expect("a request");
    assert!(last.contains("Look around."), "{last}");
    assert!(last.contains("[doing] go on"), "{last}");
    assert!(last.contains("newest"), "{last}");
    assert!(!last.contains("aaaa"), "{last}");
    boss.model.assert_histories();
}

#[test]
fn a_worker_that_dies_around_it_goes_on_with_the_same_words() {
    let whole = boss();
    whole.work();
    let last = whole.conversations().pop();
    for lines in 1..whole.lines_said() {
        let boss = boss();
        boss.deaths.borrow_mut().push(lines);
        assert_eq!(boss.work().status, "success", "cut off after {lines} lines");
        assert_eq!(
            boss.conversations().pop(),
            last,
            "cut off after {lines} lines"
        );
        assert_eq!(
            boss.executed(),
            whole.executed(),
            "cut off after {lines} lines"
        );
    }
}

#[test]
fn a_task_that_does_not_fit_is_an_error_and_no_endless_shortening() {
    let mut boss = Boss::with(&json!({"task": "x".repeat(40_000)}));
    boss.window(8_000);
    boss.model.answer_all(|_| Turn::text("a summary"));
    let end = boss.work();
    assert_eq!(
        (end.status.as_str(), end.error.as_deref()),
        ("error", Some("window_full"))
    );
}
