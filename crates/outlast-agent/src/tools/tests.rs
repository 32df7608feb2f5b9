//! What is offered, what is refused, and what a later worker knows again.

use super::testing::{Bench, block_on, put, run_dir};
use super::{Plan, Toolbox};
use outlast_journal::Tier;
use outlast_journal::agent::{CallClass, CallRequest, CallResult};
use outlast_journal::limits::BRIEF_CHARS;
use outlast_journal::mask::mark;
use outlast_journal::names;
use serde_json::{Value, json};

const READS: [&str; 4] = ["read_file", "list_dir", "find_files", "grep_files"];

fn offered_to(bench: &Bench) -> Vec<String> {
    let specs = bench.tools.specs();
    specs.into_iter().map(|spec| spec.name).collect()
}

fn code(plan: &Plan) -> (&'static str, Option<Tier>) {
    match plan {
        Plan::Refused { code, needs, .. } => (code, *needs),
        Plan::Own(_) | Plan::Hands { .. } => ("", None),
    }
}

#[test]
fn a_run_that_edits_is_offered_all_but_requests() {
    let bench = Bench::new();
    assert_eq!(
        offered_to(&bench),
        [
            "read_file",
            "list_dir",
            "find_files",
            "grep_files",
            "edit_file",
            "write_file",
            "shell",
            "call_output",
            "calculate",
            "todo_write",
            "remember",
            "recall",
            "events_query"
        ]
    );
}

#[test]
fn a_run_that_reads_is_not_offered_what_writes() {
    let bench = Bench::with(|around| around.tier = Tier::ReadOnly);
    let offered = offered_to(&bench);
    assert!(offered.contains(&"shell".to_owned()));
    for name in ["edit_file", "write_file", "http_request", "remember"] {
        assert!(!offered.contains(&name.to_owned()), "{name}");
    }
}

#[test]
fn a_run_with_full_access_is_offered_requests_and_nobody_a_search_of_the_web() {
    let bench = Bench::with(|around| around.tier = Tier::FullAccess);
    let offered = offered_to(&bench);
    assert!(offered.contains(&"http_request".to_owned()));
    assert!(!offered.contains(&"web_search".to_owned()));
}

#[test]
fn a_local_run_is_offered_reads_alone_and_refused_the_rest_by_name() {
    let mut bench = Bench::with(|around| {
        around.is_local = true;
        around.tier = Tier::ReadOnly;
        around.asks = true;
    });
    let offered = offered_to(&bench);
    assert_eq!(
        offered,
        [
            &READS[..],
            &["calculate", "todo_write", "recall", "events_query"]
        ]
        .concat()
    );
    for (name, arguments) in [
        ("shell", json!({"command": "true"})),
        ("write_file", json!({"path": "a", "content": ""})),
        ("edit_file", json!({"path": "a", "old": "a", "new": "b"})),
        ("remember", json!({"text": "a"})),
    ] {
        let plan = bench.tools.plan(name, &arguments);
        assert_eq!(code(&plan), ("local_reads_only", None), "{name}");
    }
}

#[test]
fn a_call_above_the_tier_is_refused_with_the_tier_that_it_needs() {
    let mut bench = Bench::with(|around| around.tier = Tier::ReadOnly);
    let write = json!({"path": "a", "content": ""});
    let plan = bench.tools.plan("write_file", &write);
    assert_eq!(code(&plan), ("above_tier", Some(Tier::SandboxEdit)));
    let plan = bench
        .tools
        .plan("http_request", &json!({"url": "http://a"}));
    assert_eq!(code(&plan), ("above_tier", Some(Tier::FullAccess)));
    assert!(!bench.path("a").exists());
}

#[test]
fn an_approved_call_above_the_tier_is_planned() {
    let mut bench = Bench::with(|around| {
        around.tier = Tier::ReadOnly;
        around.asks = true;
    });
    let write = json!({"path": "a", "content": ""});
    assert_eq!(
        code(&bench.tools.plan("write_file", &write)).0,
        "above_tier"
    );
    let plan = bench.tools.plan_approved("write_file", &write);
    assert!(matches!(plan, Plan::Hands { .. }), "{plan:?}");
}

#[test]
fn nobody_is_asked_about_a_call_that_is_malformed() {
    let mut bench = Bench::with(|around| {
        around.tier = Tier::ReadOnly;
        around.asks = true;
    });
    let plan = bench.tools.plan("write_file", &json!({"path": "a"}));
    assert_eq!(code(&plan), ("bad_arguments", None));
}

#[test]
fn a_shell_on_the_host_can_be_wanted_only_where_somebody_is_asked() {
    let command = json!({"command": "true", "on_host": true});
    let mut asks = Bench::with(|around| around.asks = true);
    let plan = asks.tools.plan("shell", &command);
    assert_eq!(code(&plan), ("above_tier", Some(Tier::FullAccess)));
    let mut alone = Bench::new();
    let plan = alone.tools.plan("shell", &command);
    assert_eq!(code(&plan), ("above_tier", Some(Tier::FullAccess)));
    let shell = |bench: &Bench| {
        let specs = bench.tools.specs();
        let shell = specs.into_iter().find(|spec| spec.name == "shell");
        shell.unwrap().schema.to_string()
    };
    assert!(shell(&asks).contains("on_host"));
    assert!(!shell(&alone).contains("on_host"));
}

#[test]
fn an_unknown_tool_is_refused_with_those_that_there_are() {
    let mut bench = Bench::new();
    let Plan::Refused { code, why, .. } = bench.tools.plan("web_search", &json!({})) else {
        panic!("planned");
    };
    assert_eq!(code, "unknown_tool");
    assert!(why.contains("`read_file`"), "{why}");
    assert_eq!(bench.tools.class("web_search"), CallClass::Once);
}

#[test]
fn malformed_arguments_are_answered_with_what_is_wrong() {
    let mut bench = Bench::new();
    for (arguments, what) in [
        (json!("read a"), "the arguments are a text, not an object"),
        (json!({}), "`path` is missing"),
        (json!({"path": null}), "`path` is missing"),
        (json!({"path": 1}), "`path` is a number, not a text"),
        (json!({"path": " "}), "`path` is blank"),
        (
            json!({"path": "a", "line": 1}),
            "there is no argument `line`; there are `limit`, `offset`, `path`",
        ),
        (
            json!({"path": "a", "offset": 0}),
            "`offset` is 0, and the least is 1",
        ),
        (
            json!({"path": "a", "offset": -1}),
            "`offset` is a number that is negative or no whole one, not a whole number from 0",
        ),
        (
            json!({"path": "a", "offset": "1"}),
            "`offset` is a text, not a whole number from 0",
        ),
    ] {
        let shown = bench.refused("read_file", &arguments);
        assert_eq!(shown, format!("refused bad_arguments: `read_file`: {what}"));
    }
}

#[test]
fn a_plan_touches_nothing() {
    let mut bench = Bench::new();
    bench
        .tools
        .plan("write_file", &json!({"path": "d/a", "content": "x"}));
    bench.tools.plan("shell", &json!({"command": "touch b"}));
    assert_eq!(std::fs::read_dir(bench.home.work()).unwrap().count(), 0);
}

fn check(schema: &Value, known: &[&str]) {
    for name in schema.as_object().unwrap().keys() {
        assert!(known.contains(&name.as_str()), "{name}");
    }
    if schema["type"] == "object" {
        assert_eq!(schema["additionalProperties"], false);
        let properties = schema["properties"].as_object().unwrap();
        properties.values().for_each(|inner| check(inner, known));
    }
    if schema["type"] == "array" {
        check(&schema["items"], known);
    }
}

#[test]
fn every_schema_keeps_to_what_the_reader_of_arguments_knows() {
    let known = [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "minimum",
        "maximum",
        "minLength",
        "maxItems",
        "description",
    ];
    let bench = Bench::with(|around| {
        around.tier = Tier::FullAccess;
        around.asks = true;
    });
    for spec in bench.tools.specs() {
        check(&spec.schema, &known);
        assert!(spec.name.len() <= 64);
    }
}

#[test]
fn what_models_are_told_of_tools_is_short() {
    let bench = Bench::with(|around| around.tier = Tier::FullAccess);
    let text = serde_json::to_string(&bench.tools.specs()).unwrap();
    assert!(text.len() < 8 << 10, "{}", text.len());
}

#[test]
fn a_brief_is_one_short_line_without_keys_in_addresses() {
    let bench = Bench::new();
    let long = json!({"command": format!("echo\u{1b}[1m {}", "ä".repeat(500))});
    let brief = bench.tools.brief("shell", &long);
    assert_eq!(brief.chars().count(), BRIEF_CHARS);
    assert!(!brief.contains(char::is_control));
    let url = json!({"url": "https://me:secret@a.example/p/q?token=secret#x"});
    assert_eq!(
        bench.tools.brief("http_request", &url),
        "http_request https://a.example/p/q"
    );
}

#[test]
fn a_later_worker_knows_from_the_journal_what_was_read_written_and_listed() {
    let mut bench = Bench::new();
    bench.file("a", "one\ntwo\n");
    let mut journal = Vec::new();
    let items = json!({"items": [{"text": "all", "state": "doing"}]});
    for (name, arguments) in [
        ("read_file", json!({"path": "a"})),
        ("edit_file", json!({"path": "a", "old": "two", "new": "2"})),
        ("write_file", json!({"path": "b", "content": "b\n"})),
        ("todo_write", items),
    ] {
        let outcome = bench.call(name, &arguments);
        assert!(outcome.ok, "{}", outcome.shown);
        let call = journal.len().to_string();
        let request = CallRequest {
            call: call.clone(),
            model_call: String::new(),
            tool: name.to_owned(),
            class: bench.tools.class(name),
            arguments,
        };
        let result = CallResult {
            call,
            tool: name.to_owned(),
            ok: outcome.ok,
            is_refused: false,
            is_unknown: false,
            shown: outcome.shown,
            brief: outcome.brief,
            via: None,
            wrote: outcome.wrote,
            saw: outcome.saw,
        };
        journal.push(serde_json::to_string(&(request, result)).unwrap());
    }
    let todo = bench.tools.todo().clone();
    bench.tools = Toolbox::new(bench.around.clone());
    for line in journal {
        let (request, result) = serde_json::from_str(&line).unwrap();
        bench.tools.replay(&request, &result);
    }
    assert_eq!(bench.tools.todo(), &todo);
    bench.shown("write_file", &json!({"path": "a", "content": "whole\n"}));
    bench.shown("edit_file", &json!({"path": "b", "old": "b", "new": "c"}));
    assert_eq!(bench.content("a"), "whole\n");
    assert_eq!(bench.content("b"), "c\n");
}

#[test]
fn a_workspace_that_is_gone_is_told_by_the_call_that_needs_it() {
    let mut bench = Bench::new();
    std::fs::remove_dir(bench.home.work()).unwrap();
    bench.tools = Toolbox::new(bench.around.clone());
    for (name, arguments) in [
        ("read_file", json!({"path": "a"})),
        ("write_file", json!({"path": "a", "content": ""})),
        ("find_files", json!({"pattern": "*"})),
    ] {
        let shown = bench.refused(name, &arguments);
        assert!(shown.starts_with("refused workspace_gone"), "{shown}");
    }
    assert_eq!(
        bench.shown("calculate", &json!({"expression": "1+1"})),
        "2\n"
    );
}

#[test]
fn a_call_that_is_dropped_is_given_up() {
    let mut bench = Bench::new();
    bench.file("a", "x");
    let Plan::Own(own) = bench.tools.plan("read_file", &json!({"path": "a"})) else {
        panic!("no own call");
    };
    block_on(async {
        let call = bench.tools.run("1.1", own.clone());
        let now = async {};
        tokio::select! {
            biased;
            () = now => {}
            _ = call => {}
        }
    });
    let outcome = block_on(bench.tools.run("1.1", own));
    assert_eq!(outcome.shown, "     1\tx\n");
}

#[test]
fn a_secret_of_the_run_is_masked_in_what_is_shown() {
    let mut bench = Bench::new();
    let secret = "a-long-secret-value-0123456789";
    let key = [7; 32];
    let store = bench.home.store();
    put(&store.join(names::STORE_KEY), &key);
    let dir = run_dir(&store, &bench.around.run);
    let spec = std::fs::read(dir.join(names::SPEC)).unwrap();
    let mut spec: Value = serde_json::from_slice(&spec).unwrap();
    spec["secrets"] = json!([mark(&key, "MY_TOKEN", secret.as_bytes()).unwrap()]);
    put(&dir.join(names::SPEC), spec.to_string().as_bytes());
    bench.file("a", format!("token = {secret}\n"));
    bench.tools = Toolbox::new(bench.around.clone());
    for (name, arguments) in [
        ("read_file", json!({"path": "a"})),
        ("grep_files", json!({"pattern": "token"})),
        ("shell", json!({"command": "cat a"})),
        ("shell", json!({"command": format!("echo {secret}")})),
    ] {
        let outcome = bench.call(name, &arguments);
        assert!(
            outcome.shown.contains("[outlast: MY_TOKEN masked]"),
            "{}",
            outcome.shown
        );
        assert!(!outcome.shown.contains(secret));
        assert!(!outcome.brief.contains(secret), "{}", outcome.brief);
    }
}
