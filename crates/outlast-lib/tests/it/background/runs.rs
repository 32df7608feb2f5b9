//! What the tools do, and how they refuse.

use super::{Host, id_of, open};
use crate::home::{LIMIT, Place, is_alive};
use libtest_mimic::{Failed, Trial};
use outlast_lib::background::Background;
use outlast_lib::{Limits, ListQuery, Status};
use outlast_testkit::eventually;
use serde_json::{Value, json};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_command_runs_in_the_background_and_is_read_with_status_and_exit_code,
        wrong_arguments_are_answers_that_name_the_field,
        a_ninth_run_is_refused_with_the_eight_named_and_the_way_out,
        a_run_has_thirty_minutes_unless_it_names_another_limit,
        a_cancel_returns_when_the_tree_is_gone,
        a_task_of_another_session_is_not_touched,
        a_label_means_the_run_of_this_session,
        an_answer_has_sixteen_kibibytes_of_output_unless_asked_for_less,
        a_run_of_lifetime_session_ends_with_its_host,
        a_start_that_comes_again_with_its_key_starts_nothing_more,
    );
}

fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().expect("an answer is an object");
    object.keys().map(String::as_str).collect()
}

fn a_command_runs_in_the_background_and_is_read_with_status_and_exit_code() {
    let host = Host::new();
    let asked = json!({"command": "echo one; echo two; exit 3", "label": " build ", "cwd": null});
    let begun = host.call("background_run", &asked);
    let order = [
        "ok",
        "id",
        "status",
        "label",
        "timeout_secs",
        "lifetime",
        "message",
    ];
    assert_eq!(keys(&begun), order);
    assert_eq!(
        (&begun["status"], &begun["label"]),
        (&json!("running"), &json!("build"))
    );
    let id = id_of(&begun);
    host.ended(&id);
    let read = host.call("background_output", &json!({"id": id}));
    assert_eq!(
        keys(&read),
        [
            "ok",
            "id",
            "status",
            "exit_code",
            "exit_rule",
            "summary",
            "output",
            "from_byte",
            "next_byte",
            "total_bytes",
            "truncated",
            "message"
        ]
    );
    let shown = |name: &str| read[name].clone();
    assert_eq!(shown("status"), "failed");
    assert_eq!(
        (shown("exit_code"), shown("exit_rule")),
        (json!(3), json!("shell"))
    );
    assert_eq!(
        (shown("output"), shown("summary")),
        (json!("one\ntwo\n"), json!("two"))
    );
    assert_eq!(shown("message"), "Ended: failed.");
    let list = host.call("background_list", &json!({"status": "failed"}));
    assert_eq!(
        (&list["count"], &list["tasks"][0]["id"]),
        (&json!(1), &json!(id))
    );
    let none = host.call("background_list", &json!({"status": "running"}));
    assert_eq!(none["tasks"], json!([]));
    let unknown = host.call("background_output", &json!({"id": "nonesuch"}));
    assert_eq!(keys(&unknown), ["ok", "id", "found", "message"]);
    assert_eq!(unknown["found"], false);
    let record = host.place.record(&id);
    assert_eq!(record.session.as_deref(), Some("s"));
    assert_eq!(record.cwd, host.place.home.path().to_string_lossy());
    host.place.is_sound();
}

/// What a model may get wrong: the tool, what it gives, the code, and what the message has.
fn wrong_calls() -> Vec<(&'static str, Value, &'static str, &'static str)> {
    vec![
        ("background_run", json!({}), "missing_argument", "`command`"),
        (
            "background_run",
            json!({"command": "  "}),
            "missing_argument",
            "`command`",
        ),
        (
            "background_run",
            json!({"command": 7}),
            "wrong_type",
            "`command` must be a string",
        ),
        (
            "background_run",
            json!([]),
            "wrong_type",
            "must be an object",
        ),
        (
            "background_run",
            json!({"command": "true", "cmd": 1}),
            "unknown_argument",
            "`cmd`",
        ),
        (
            "background_run",
            json!({"command": "true", "timeout_secs": -1}),
            "negative_number",
            "`timeout_secs`",
        ),
        (
            "background_run",
            json!({"command": "true", "lifetime": "long"}),
            "unknown_word",
            "`lifetime` cannot be `long`",
        ),
        (
            "background_run",
            json!({"command": "true", "cwd": "gone"}),
            "work_dir",
            "gone",
        ),
        (
            "background_output",
            json!({"id": "x", "max_bytes": "many"}),
            "wrong_type",
            "`max_bytes`",
        ),
        ("background_cancel", json!(null), "missing_argument", "`id`"),
        (
            "background_agent",
            json!({"task": "t"}),
            "unknown_tool",
            "background_agent",
        ),
        ("rm", json!({}), "unknown_tool", "`rm`"),
    ]
}

fn wrong_arguments_are_answers_that_name_the_field() {
    let host = Host::new();
    for (tool, given, code, said) in wrong_calls() {
        let error = host.refused(tool, &given);
        assert_eq!(error["code"], code, "{tool} {given}: {error}");
        let message = error["message"].as_str().expect("it has words");
        assert!(message.contains(said), "{error}");
        assert!(
            !error["hint"].as_str().unwrap_or_default().is_empty(),
            "{error}"
        );
    }
    assert_eq!(host.place.list(), [], "a refusal leaves no run");
    let id = host.run("echo x");
    host.ended(&id);
    let zero = host.refused("background_output", &json!({"id": id, "max_bytes": 0}));
    assert_eq!(zero["code"], "zero_bytes");
    let pattern = host.refused("background_output", &json!({"id": id, "grep": "("}));
    assert_eq!(pattern["code"], "bad_pattern");
}

fn a_ninth_run_is_refused_with_the_eight_named_and_the_way_out() {
    let host = Host::new();
    let held: Vec<_> = (0..8).map(|_| host.run("exec sleep 600")).collect();
    let error = host.refused("background_run", &json!({"command": "true"}));
    assert_eq!(error["code"], "at_capacity");
    let message = error["message"].as_str().expect("it has words");
    assert!(message.contains("8 runs"), "{message}");
    let hint = error["hint"].as_str().expect("it has a hint");
    assert!(held.iter().all(|id| hint.contains(id.as_str())), "{hint}");
    assert!(hint.contains("background_cancel"), "{hint}");
    let queued = host.call("background_run", &json!({"command": "true", "queue": true}));
    assert_eq!(
        (&queued["status"], &queued["queue_position"]),
        (&json!("queued"), &json!(0))
    );
    host.call("background_cancel", &json!({"id": held[0], "now": true}));
    assert_eq!(host.ended(&id_of(&queued)).status, Status::Completed);
    host.place.is_sound();
}

fn a_run_has_thirty_minutes_unless_it_names_another_limit() {
    let host = Host::new();
    let of = |given: Value| {
        let begun = host.call("background_run", &given);
        let record = host.place.record(&id_of(&begun));
        (
            begun["timeout_secs"].clone(),
            record.timeout_secs,
            begun["notices"].clone(),
        )
    };
    let usual = of(json!({"command": "true"}));
    assert_eq!(usual, (json!(1_800), Some(1_800.0), Value::Null));
    let none = of(json!({"command": "true", "timeout_secs": 0}));
    assert_eq!(none, (json!(0), None, Value::Null));
    let (secs, kept, notices) = of(json!({"command": "true", "timeout_secs": 99_999_999}));
    assert_eq!((secs, kept), (json!(2_592_000), Some(2_592_000.0)));
    assert_eq!(notices.as_array().map(Vec::len), Some(1), "a clamp is said");
    let late = host.call(
        "background_run",
        &json!({"command": "exec sleep 600", "timeout_secs": 1}),
    );
    assert_eq!(host.ended(&id_of(&late)).status, Status::TimedOut);
}

fn a_cancel_returns_when_the_tree_is_gone() {
    let host = Host::new();
    let id = host.run("sleep 600 & echo $! > child; wait");
    let child = host.place.pid_in("child");
    let done = host.call("background_cancel", &json!({"id": id}));
    assert_eq!(
        keys(&done),
        [
            "ok",
            "id",
            "cancelled",
            "status",
            "leftovers_stopped",
            "message"
        ]
    );
    assert_eq!(
        (&done["cancelled"], &done["status"]),
        (&json!(true), &json!("cancelled"))
    );
    assert!(!is_alive(child));
    let again = host.call("background_cancel", &json!({"id": id}));
    assert_eq!(
        (&again["cancelled"], &again["status"]),
        (&json!(false), &json!("cancelled"))
    );
    let unknown = host.call("background_cancel", &json!({"id": "nonesuch"}));
    assert_eq!(
        (&unknown["cancelled"], &unknown["status"]),
        (&json!(false), &Value::Null)
    );
}

fn a_task_of_another_session_is_not_touched() {
    let host = Host::new();
    let other = open(&host.place, "other", |_| {});
    let begun = other.call("background_run", &json!({"command": "exec sleep 600"}));
    let id = id_of(&begun.value());
    let done = host.call("background_cancel", &json!({"id": id}));
    assert_eq!(
        (&done["cancelled"], &done["status"]),
        (&json!(false), &Value::Null)
    );
    assert!(
        done["message"]
            .as_str()
            .is_some_and(|said| said.contains("another session"))
    );
    let read = host.call("background_output", &json!({"id": id}));
    assert_eq!(read["found"], false);
    assert_eq!(host.call("background_list", &json!({}))["count"], 0);
    assert_eq!(host.place.record(&id).status, Status::Running);
}

fn a_label_means_the_run_of_this_session() {
    let host = Host::new();
    let other = open(&host.place, "other", |_| {});
    let labelled = json!({"command": "echo other; exec sleep 600", "label": "build"});
    other.call("background_run", &labelled);
    let mine = host.call(
        "background_run",
        &json!({"command": "echo mine", "label": "build"}),
    );
    host.ended(&id_of(&mine));
    let read = host.call("background_output", &json!({"id": "build"}));
    assert_eq!(
        (&read["id"], &read["output"]),
        (&mine["id"], &json!("mine\n"))
    );
    let again = host.call(
        "background_run",
        &json!({"command": "echo again", "label": "build"}),
    );
    host.ended(&id_of(&again));
    let error = host.refused("background_output", &json!({"id": "build"}));
    assert_eq!(error["code"], "ambiguous_run");
}

fn an_answer_has_sixteen_kibibytes_of_output_unless_asked_for_less() -> Result<(), Failed> {
    let host = Host::new();
    let id = host.run("seq 100000");
    host.ended(&id);
    let length = |read: &Value| read["output"].as_str().map_or(0, str::len);
    let read = host.call("background_output", &json!({"id": id}));
    assert!(
        (8 << 10..=16 << 10).contains(&length(&read)),
        "{}",
        length(&read)
    );
    assert_eq!(read["truncated"], true);
    assert!(
        read["output"]
            .as_str()
            .is_some_and(|said| said.ends_with("\n100000\n"))
    );
    let first = host.call(
        "background_output",
        &json!({"id": id, "since_byte": 0, "max_bytes": 100}),
    );
    assert!(
        first["output"]
            .as_str()
            .is_some_and(|said| said.starts_with("1\n2\n"))
    );
    assert!(length(&first) <= 100);
    let next = first["next_byte"].as_u64().ok_or("there is a next byte")?;
    let on = host.call("background_output", &json!({"id": id, "since_byte": next}));
    assert_eq!(on["from_byte"], next);
    let huge = host.call(
        "background_output",
        &json!({"id": id, "max_bytes": 1 << 30}),
    );
    assert!(length(&huge) <= 32 << 10);
    assert_eq!(
        huge["notices"].as_array().map(Vec::len),
        Some(1),
        "a clamp is said"
    );
    let found = host.call(
        "background_output",
        &json!({"id": id, "grep": "^777..$", "lines": 2}),
    );
    assert_eq!(found["output"], "77798\n77799\n");
    Ok(())
}

fn a_run_of_lifetime_session_ends_with_its_host() -> Result<(), Failed> {
    let place = Place::with(Limits::default());
    let text = r#"{"command": "exec sleep 600", "lifetime": "session"}"#;
    let mut host = super::host(&place, "call", text)
        .stdout(std::fs::File::create(place.home.path().join("said"))?)
        .spawn()?;
    place.has_lines("said", 1);
    let begun: Value = serde_json::from_str(&place.lines("said")[0])?;
    assert_eq!(begun["lifetime"], "session", "{begun}");
    let id = id_of(&begun);
    assert_eq!(place.record(&id).status, Status::Running);
    host.kill()?;
    host.wait()?;
    eventually("the run ends", LIMIT, || {
        place.record(&id).status.is_ended()
    });
    let record = place.record(&id);
    assert_eq!(
        (record.status, record.ended_by.as_deref()),
        (Status::Cancelled, Some("session"))
    );
    Ok(())
}

fn a_start_that_comes_again_with_its_key_starts_nothing_more() {
    let host = Host::new();
    let asked = json!({"command": "echo x >> starts"});
    let start =
        |background: &Background, key: &str| background.call_once("background_run", &asked, key);
    let first = id_of(&start(&host.background, "run:1.1").value());
    host.ended(&first);
    let again = start(&host.background, "run:1.1");
    assert!(!again.is_error(), "{}", again.text());
    assert_eq!(id_of(&again.value()), first);
    let other = id_of(&start(&host.background, "run:1.2").value());
    assert_ne!(other, first);
    host.ended(&other);
    // A later run of the same work is another session: it is told of the run, and starts none.
    let later = open(&host.place, "later", |_| {});
    let told = start(&later, "run:1.1");
    assert!(told.is_error(), "{}", told.text());
    assert!(told.text().contains(first.as_str()), "{}", told.text());
    let all = ListQuery {
        limit: 10,
        ..ListQuery::default()
    };
    let listing = host.place.store.list(&all).expect("the store can be read");
    assert_eq!(listing.records.len(), 2);
}
