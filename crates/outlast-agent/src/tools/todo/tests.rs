//! The model's list.

use crate::tools::testing::Bench;
use outlast_journal::agent::TodoItem;
use serde_json::json;

#[test]
fn the_list_is_replaced_whole_and_handed_to_the_loop() {
    let mut bench = Bench::new();
    let items = json!({"items": [
        {"text": "a", "state": "done"}, {"text": "b", "state": "doing"}, {"text": "c", "state": "open"},
    ]});
    let outcome = bench.call("todo_write", &items);
    assert_eq!(outcome.shown, "1 open, 1 doing, 1 done\n");
    assert_eq!(outcome.todo.as_ref(), Some(bench.tools.todo()));
    bench.shown(
        "todo_write",
        &json!({"items": [{"text": "d", "state": "open"}]}),
    );
    let item = TodoItem {
        text: "d".to_owned(),
        state: "open".to_owned(),
    };
    assert_eq!(bench.tools.todo().items, [item]);
}

#[test]
fn an_item_in_an_unknown_state_is_refused_and_the_list_stays() {
    let mut bench = Bench::new();
    bench.shown(
        "todo_write",
        &json!({"items": [{"text": "d", "state": "open"}]}),
    );
    let shown = bench.refused(
        "todo_write",
        &json!({"items": [{"text": "e", "state": "later"}]}),
    );
    assert!(
        shown.contains("`items[0].state` is none of `doing`, `done`, `open`"),
        "{shown}"
    );
    assert_eq!(bench.tools.todo().items[0].text, "d");
}
