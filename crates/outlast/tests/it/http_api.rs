//! The JSON API: each verb, what it answers, and what it says to bad input.

use crate::{
    case_ground::{Ground, SOON, write},
    http_client::{Answer, Ask, Server},
    http_schema::DESCRIPTION,
};
use outlast_testkit::eventually;
use serde_json::{Value, json};

fn refusal(code: &str, status: u16) -> (u16, String) {
    (status, code.to_owned())
}

#[test]
fn a_start_answers_with_the_record_and_where_it_is() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let body = json!({
        "argv": ["bash", "-c", "echo $A; pwd; exit 3"], "cwd": "sub", "label": "a start",
        "session": "s1", "env": {"A": "x y"}, "timeout_secs": 60, "host": "harness",
    });
    let refused = server.refused(&server.post("/api/runs", body.clone()));
    assert_eq!(refused, refusal("work_dir", 400));
    std::fs::create_dir(ground.home.work().join("sub")).expect("it can be filled");
    let answer = server.send(&server.post("/api/runs", body));
    assert_eq!(answer.status, 201);
    let run = &answer.json()["run"];
    let id = run["id"].as_str().expect("an id");
    assert_eq!(answer.header("location"), format!("/api/runs/{id}"));
    assert_eq!(
        (
            &run["label"],
            &run["session"],
            &run["timeout_secs"],
            &run["origin"]["host"]
        ),
        (
            &json!("a start"),
            &json!("s1"),
            &json!(60.0),
            &json!("harness")
        )
    );
    // The record is that of the command line.
    ground.wait(id);
    let record = server.fine(&server.get(&format!("/api/runs/{id}")));
    assert_eq!(record, ground.record(id));
    let lines = format!("x y\n{}\n", ground.home.work().join("sub").display());
    assert_eq!(ground.text(id), lines);
}

#[test]
fn a_key_makes_a_repeated_start_the_same_run() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let start = |command: &str, key: &str| {
        let ask = server.post("/api/runs", json!({"command": command}));
        server.send(&ask.with("Idempotency-Key", key))
    };
    let first = start("true", "k");
    let again = start("true", "k");
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(again.json()["replayed"], true);
    assert_eq!(first.json()["run"]["id"], again.json()["run"]["id"]);
    assert_eq!(
        start("false", "k").refusal(),
        refusal("idempotency_conflict", 409)
    );
    assert_eq!(start("true", "").refusal(), refusal("blank", 400));
    assert_eq!(server.metric("outlast_starts_total "), 1);
    assert_eq!(ground.runs().len(), 1);
}

#[test]
fn a_list_has_the_runs_that_are_asked_for_newest_first() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let other = json!({"command": "exit 1", "session": "s1", "cwd": "/"});
    let failed = server.run(other);
    ground.wait(&failed);
    let running = server.run(json!({"command": "sleep 300"}));
    let ids = |query: &str| {
        let list = server.fine(&server.get(&format!("/api/runs{query}")));
        let runs = list["runs"].as_array().expect("a list").clone();
        let ids = runs
            .iter()
            .map(|run| run["id"].as_str().expect("an id").to_owned());
        (ids.collect::<Vec<_>>(), list["more"] == true)
    };
    assert_eq!(ids(""), (vec![running.clone(), failed.clone()], false));
    assert_eq!(ids("?limit=1"), (vec![running.clone()], true));
    assert_eq!(ids("?status=live"), (vec![running.clone()], false));
    assert_eq!(
        ids("?status=failed&session=s1"),
        (vec![failed.clone()], false)
    );
    assert_eq!(ids("?project=%2F"), (vec![failed], false));
    assert_eq!(ids("?session=nobody"), (vec![], false));
    let clamped = server.fine(&server.get("/api/runs?limit=0"));
    assert_eq!(clamped["notices"], json!(["`limit` of 0 was set to 1"]));
    let page = server.send(&server.get("/metrics")).body;
    for line in [
        "{status=\"running\"} 1",
        "{status=\"failed\"} 1",
        "{status=\"completed\"} 0",
    ] {
        assert!(page.contains(&format!("outlast_runs{line}\n")), "{page}");
    }
    ground.cancel(&running);
}

#[test]
fn output_is_read_by_cursor_by_line_and_by_pattern() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let id = server.run(json!({"command": "seq 1 1000"}));
    ground.wait(&id);
    let read = |query: &str| server.fine(&server.get(&format!("/api/runs/{id}/output?{query}")));
    let mut text = String::new();
    let mut from = 0;
    while from < 3_893 {
        let page = read(&format!("since_byte={from}&max_bytes=1000"));
        text.push_str(page["output"].as_str().expect("a text"));
        from = page["next_byte"].as_u64().expect("a number");
    }
    assert_eq!(text.as_bytes(), ground.raw(&id));
    assert_eq!(text.lines().count(), 1_000);
    assert_eq!(read("lines=2")["output"], "999\n1000\n");
    let found = read("grep=%5E50%24&context=1");
    assert_eq!(found["output"], "49\n50\n51\n");
    assert_eq!(found["matches"][0]["line_number"], 50);
    let refused =
        |query: &str| server.refused(&server.get(&format!("/api/runs/{id}/output?{query}")));
    assert_eq!(refused("max_bytes=0"), refusal("zero_bytes", 400));
    assert_eq!(refused("max_bytes=-1"), refusal("negative_number", 400));
    assert_eq!(refused("max_bytes=many"), refusal("wrong_type", 400));
    assert_eq!(refused("grep=%28"), refusal("bad_pattern", 400));
    assert_eq!(refused("from=1"), refusal("unknown_argument", 400));
    let clamped = read("max_bytes=9999999");
    assert_eq!(
        clamped["notices"],
        json!(["`max_bytes` of 9999999 was set to 1048576"])
    );
}

#[test]
fn a_wait_tells_the_first_end_all_ends_a_line_or_that_the_time_is_over() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let gate = ground.gate("go");
    let first = server.run(json!({"command": "echo ready; read -r _ <go", "label": "first"}));
    let second = server.run(json!({"command": "sleep 300"}));
    let wait = |query: &str| server.fine(&server.get(&format!("/api/wait?{query}")));
    let over = wait(&format!("id={first}&wait_secs=0"));
    assert_eq!(over["runs"][0]["status"], "running");
    let line = wait("id=first&wait_secs=60&until_output=rea.y");
    assert_eq!(
        line["matched"],
        json!({"id": first, "line": "ready", "byte": 0})
    );
    gate.open(1);
    let any = wait(&format!("id={first}&id={second}&wait_secs=60"));
    let states: Vec<&Value> = (0..2).map(|at| &any["runs"][at]["status"]).collect();
    assert_eq!(states, ["completed", "running"]);
    let all = wait(&format!("id={first}&id={second}&any=false&wait_secs=1"));
    assert_eq!(all["runs"][1]["status"], "running");
    let clamped = wait(&format!("id={first}&wait_secs=9999"));
    assert_eq!(
        clamped["notices"],
        json!(["`wait_secs` of 9999 was set to 280"])
    );
    assert_eq!(
        server.refused(&server.get("/api/wait")),
        refusal("missing_argument", 400)
    );
    let unknown = server.get(&format!("/api/wait?id={first}&id=nonesuch"));
    assert_eq!(server.refused(&unknown), refusal("no_such_run", 404));
    ground.cancel(&second);
}

#[test]
fn what_is_sent_is_read_and_what_is_cancelled_is_gone() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let body =
        json!({"command": "read -r a; echo got $a; cat >/dev/null; sleep 300", "stdin": "pipe"});
    let id = server.run(body);
    let send = |body: Value| server.send(&server.post(&format!("/api/runs/{id}/send"), body));
    assert_eq!(send(json!({"text": "hello\n"})).json()["accepted_bytes"], 6);
    ground.prints(&id, "got hello");
    assert_eq!(send(json!({})).refusal(), refusal("missing_argument", 400));
    assert_eq!(send(json!({"eof": true})).status, 200);
    let cancel = |body: Value| {
        let ask = server.post(&format!("/api/runs/{id}/cancel"), body);
        server.fine(&ask)["runs"][0].clone()
    };
    let cancelled = cancel(json!({"grace_secs": 1, "by": "the boss"}));
    assert_eq!(
        (
            &cancelled["was"],
            &cancelled["status"],
            &cancelled["cancelled"]
        ),
        (&json!("running"), &json!("cancelled"), &json!(true))
    );
    ground.assert_no_process_but(server.pid());
    assert_eq!(cancel(json!({}))["cancelled"], false, "it had ended");
    assert_eq!(
        send(json!({"text": "x"})).refusal(),
        refusal("run_ended", 409)
    );
    let other = server.run(json!({"command": "sleep 300"}));
    let ask = server.post(&format!("/api/runs/{other}/send"), json!({"text": "x"}));
    assert_eq!(server.refused(&ask), refusal("no_stdin", 409));
    let mut bare = server.get(&format!("/api/runs/{other}/cancel"));
    bare.method = "POST".to_owned();
    assert_eq!(
        server.fine(&bare)["runs"][0]["cancelled"],
        true,
        "a body is not needed"
    );
}

#[test]
fn an_ended_run_is_removed_and_a_live_one_is_not() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let id = server.run(json!({"command": "sleep 300"}));
    let mut remove = server.get(&format!("/api/runs/{id}"));
    remove.method = "DELETE".to_owned();
    assert_eq!(server.refused(&remove), refusal("still_running", 409));
    ground.cancel(&id);
    eventually("its supervisor leaves", SOON, || {
        ground.supervisors().is_empty()
    });
    assert_eq!(server.fine(&remove)["removed"], json!([id]));
    assert_eq!(server.refused(&remove), refusal("no_such_run", 404));
}

/// Bodies of a start that mean nothing, the code of the refusal, and what its message names.
fn bad_starts() -> Vec<(Value, &'static str, &'static str)> {
    let with = |name: &str, value: Value| {
        let mut body = json!({"command": "a"});
        body[name] = value;
        body
    };
    vec![
        (json!({}), "missing_argument", "`command`"),
        (json!({"command": " "}), "missing_argument", "`command`"),
        (json!({"command": 5}), "wrong_type", "`command`"),
        (json!({"argv": [5]}), "wrong_type", "`argv`"),
        (with("argv", json!(["b"])), "unknown_argument", "`argv`"),
        (with("shell", json!("zsh")), "unknown_argument", "`shell`"),
        (
            with("timeout_secs", json!(-1)),
            "negative_number",
            "`timeout_secs`",
        ),
        (
            with("timeout_secs", json!("1")),
            "wrong_type",
            "`timeout_secs`",
        ),
        (
            with("env", json!({"LD_PRELOAD": "x"})),
            "env_not_allowed",
            "`LD_PRELOAD`",
        ),
        (
            with("env", json!({"A=B": "x"})),
            "environment_name",
            "`A=B`",
        ),
        (
            with("leftovers", json!("eat")),
            "unknown_word",
            "`leftovers`",
        ),
        (
            with("deadline", json!("soon")),
            "unknown_word",
            "`deadline`",
        ),
        (
            with("deadline", json!("2001-01-01T00:00:00Z")),
            "deadline_passed",
            "2001",
        ),
        (with("cwd", json!("/nonesuch")), "work_dir", "/nonesuch"),
        (json!({"command": "a\u{0}b"}), "nul_byte", "command"),
        (
            with("stop_signal", json!("HURT")),
            "unknown_signal",
            "`HURT`",
        ),
    ]
}

#[test]
fn bad_input_to_a_start_is_refused_by_name_and_leaves_no_run() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let answer = |body: Value| server.send(&server.post("/api/runs", body));
    for (body, code, named) in bad_starts() {
        let answer: Answer = answer(body);
        assert_eq!(answer.refusal(), refusal(code, 400), "{answer:#?}");
        assert!(answer.body.contains(named), "{named}: {answer:#?}");
    }
    let refused = answer(json!({"command": "a", "network": "none"})).refusal();
    assert_eq!(refused, refusal("containment_unavailable", 422));
    assert!(ground.runs().is_empty(), "a refusal leaves no run");
    let missing = answer(json!({"argv": ["nonesuch-program"]}));
    assert_eq!(missing.refusal(), refusal("no_such_program", 422));
    let error = &missing.json()["error"];
    let id = error["id"].as_str().expect("it names its run");
    assert_eq!(ground.record(id)["status"], "failed");
}

#[test]
fn a_full_session_is_refused_with_429_and_names_the_holders() {
    let ground = Ground::with_limits("runs_per_session = 1");
    let server = Server::start(&ground);
    let body = json!({"command": "sleep 300", "session": "s"});
    let id = server.run(body.clone());
    let answer = server.send(&server.post("/api/runs", body.clone()));
    assert_eq!(answer.refusal(), refusal("at_capacity", 429));
    assert!(answer.body.contains(&id), "{answer:#?}");
    let mut queued = body;
    queued["queue_secs"] = json!(60);
    let queued = server.fine(&server.post("/api/runs", queued));
    assert_eq!(queued["run"]["status"], "queued");
    let waiting = queued["run"]["id"].as_str().expect("an id");
    ground.cancel(&id);
    eventually("the queued one runs", SOON, || {
        ground.record(waiting)["status"] == "running"
    });
    ground.cancel(waiting);
}

#[test]
fn a_secret_is_never_shown_over_http() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let secret = "correct-horse-battery";
    let body = json!({"command": "echo it is $PASS; exit 1", "secret_env": {"PASS": secret}});
    let answer = server.send(&server.post("/api/runs", body));
    let id = answer.json()["run"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    ground.wait(&id);
    for target in ["", "/output", "/events"] {
        let answer = server.send(&server.get(&format!("/api/runs/{id}{target}")));
        assert_eq!(answer.status, 200);
        assert!(!answer.body.contains(secret), "{answer:#?}");
    }
    let output = server.fine(&server.get(&format!("/api/runs/{id}/output")));
    assert!(
        output["output"]
            .as_str()
            .expect("a text")
            .starts_with("it is "),
        "{output:#}"
    );
}

#[test]
fn a_path_or_method_that_is_not_there_is_told_with_what_is() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    assert_eq!(
        server.refused(&server.get("/api/nonesuch")),
        refusal("no_route", 404)
    );
    let mut ask: Ask = server.get("/api/runs/x");
    ask.method = "PUT".to_owned();
    let answer = server.send(&ask);
    assert_eq!(answer.refusal(), refusal("method_not_allowed", 405));
    assert_eq!(answer.header("allow"), "GET, DELETE");
    assert_eq!(
        server.refused(&server.get("/api/runs/x")),
        refusal("no_such_run", 404)
    );
}

#[test]
fn the_server_gives_out_the_description_that_its_answers_are_compared_with() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let answer = server.send(&server.get("/api/openapi.json"));
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.json(), *DESCRIPTION);
}

#[test]
fn the_rules_for_hosts_hold_over_http_too() {
    let ground = Ground::new();
    let folder = ground.home.path().join(".config/outlast");
    std::fs::create_dir_all(&folder).expect("the home can be filled");
    let rules = "[policy]\ndeny = [\"*rm -rf*\"]\nenv = [\"CI\"]\ntimeout_max = \"60s\"\n";
    write(&folder.join("config.toml"), rules);
    let server = Server::start(&ground);
    let start = |body: Value| server.send(&server.post("/api/runs", body));
    for body in [
        json!({"command": "rm -rf x"}),
        json!({"argv": ["rm", "-rf", "x"]}),
        json!({"command": "true", "stop_command": "rm -rf x"}),
        json!({"command": "true", "env": {"PATH": "x"}}),
        json!({"command": "true", "secret_env": {"PATH": "x"}}),
    ] {
        assert_eq!(
            start(body.clone()).refusal(),
            refusal("policy_denied", 403),
            "{body}"
        );
    }
    assert!(ground.runs().is_empty(), "a refusal leaves no run");
    let fine = start(json!({"command": "true", "env": {"CI": "1"}})).json();
    assert_eq!(fine["run"]["timeout_secs"], 60.0);
    let notice = fine["notices"][0].as_str().expect("it is said");
    assert!(notice.contains("timeout_max"), "{notice}");
}
