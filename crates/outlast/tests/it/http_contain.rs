//! A start over HTTP is contained and bound as it asks, and never above what is configured.

use crate::{
    case_ground::{Ground, write},
    http_client::Server,
};
use serde_json::{Value, json};

fn refusal(code: &str, status: u16) -> (u16, String) {
    (status, code.to_owned())
}

#[test]
fn a_start_is_contained_as_it_asks_and_never_above_what_is_configured() {
    let ground = Ground::with_limits("[sandbox]\nmax_tier = \"edit\"");
    let server = Server::start(&ground);
    let text = "touch /etc/outlast-over-http || echo held";
    let above = server.send(&server.post("/api/runs", json!({"command": text, "sandbox": "host"})));
    assert_eq!(above.refusal(), refusal("tier_above_max", 422));
    for body in [
        json!({"command": text, "sandbox": "edit"}),
        json!({"command": text}),
    ] {
        let id = server.run(body);
        assert_eq!(ground.wait(&id), 0);
        assert!(ground.text(&id).ends_with("held\n"));
        assert_eq!(ground.record(&id)["posture"]["tier"], "SandboxEdit");
    }
}

#[test]
fn a_project_lowers_what_contains_a_start_over_http() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let file = ground.home.work().join(".outlast.toml");
    let ask = |body: Value| server.send(&server.post("/api/runs", body));
    write(&file, "[sandbox]\nmax_tier = \"read\"\n");
    let above = ask(json!({"command": "true", "sandbox": "edit", "cwd": "/"}));
    assert_eq!(above.refusal(), refusal("tier_above_max", 422));
    assert!(above.body.contains("work/.outlast.toml`"), "{above:#?}");
    let id = server.run(json!({"command": "true"}));
    assert_eq!(ground.record(&id)["posture"]["tier"], "ReadOnly");
    write(&file, "[sandbox]\nmay_miss = []\n");
    let unusable = ask(json!({"command": "true"}));
    assert_eq!(unusable.refusal().1, "policy_unusable", "{unusable:#?}");
    assert_eq!(ground.runs().len(), 1, "a refusal leaves no run");
}

#[test]
fn a_start_is_bound_by_the_fields_of_the_command_line() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let ask = |body: Value| server.send(&server.post("/api/runs", body));
    let id = server.run(json!({
        "command": "true", "sandbox": "edit", "git": "read", "memory": "256MiB", "pids": 64,
    }));
    assert_eq!(ground.wait(&id), 0);
    let limits = &ground.record(&id)["posture"]["limits"];
    assert_eq!(limits["memory"]["value"], 256 << 20, "{limits:#}");
    assert_eq!(limits["pids"]["value"], 64, "{limits:#}");
    let faults = [
        (json!({"memory": "256MiB"}), "containment_unavailable"),
        (
            json!({"sandbox": "host", "image": "a"}),
            "containment_unavailable",
        ),
        (
            json!({"image": "a", "network": "allow:a.example"}),
            "containment_unavailable",
        ),
        (json!({"sandbox": "edit", "memory": "much"}), "unknown_word"),
        (json!({"sandbox": "edit", "git": "rebase"}), "unknown_word"),
        (json!({"sandbox": "edit", "cpu": -1}), "negative_number"),
        (json!({"sandbox": "edit", "cpu": "two"}), "wrong_type"),
    ];
    for (mut body, code) in faults {
        body["command"] = json!("true");
        let answer = ask(body.clone());
        assert_eq!(answer.refusal().1, code, "{body}: {answer:#?}");
    }
    let file = ground.home.work().join(".outlast.toml");
    write(&file, "[sandbox]\nmax_tier = \"edit\"\n");
    let above = ask(json!({"command": "true", "git": "write"}));
    assert_eq!(above.refusal(), refusal("tier_above_max", 422));
    assert_eq!(ground.runs().len(), 1, "a refusal leaves no run");
}

/// Where no engine answers, native stands in, and the image is told as not used.
#[test]
fn a_start_with_an_image_is_contained_whether_an_engine_answers_or_not() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let body = json!({"command": "true", "image": "localhost/none:none"});
    let answer = server.send(&server.post("/api/runs", body));
    if answer.status == 201 {
        let id = answer.json()["run"]["id"].clone();
        let posture = ground.record(id.as_str().expect("an id"))["posture"].clone();
        assert_eq!(posture["tier"], "SandboxEdit", "{posture:#}");
        let notice = posture["fallback_notice"].as_str().expect("a notice");
        assert!(
            notice.starts_with("native in place of a container"),
            "{notice}"
        );
    } else {
        assert_eq!(answer.refusal().1, "containment_failed", "{answer:#?}");
    }
}
