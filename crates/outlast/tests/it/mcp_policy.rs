//! Rules for what a host may start: the user's, and those with which a project tightens them.

use crate::{
    case_ground::{Ground, write},
    mcp_client::Client,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink};

/// Returns a home whose user has these rules.
fn ground_with(rules: &str) -> Ground {
    let ground = Ground::new();
    let folder = ground.home.path().join(".config/outlast");
    fs::create_dir_all(&folder).expect("the home can be filled");
    write(&folder.join("config.toml"), &format!("[policy]\n{rules}\n"));
    ground
}

#[track_caller]
fn refusal(client: &mut Client, arguments: Value) -> String {
    let (code, message) = client.refused("background_run", arguments);
    assert_eq!(code, "policy_denied", "{message}");
    message
}

#[test]
fn a_start_that_a_rule_forbids_is_refused_with_rule_and_file_and_leaves_nothing() {
    let ground = ground_with("allow = [\"echo *\"]\ndeny = [\"*secret*\"]\nenv = [\"A\"]");
    let mut client = Client::open(&ground);
    let fine = json!({"command": "echo hello", "env": {"A": "1"}, "wait_secs": 45});
    assert_eq!(client.fine("background_run", fine)["output"], "hello\n");
    for (arguments, rule) in [
        (json!({"command": "echo x; touch f"}), "`policy.allow`"),
        (json!({"command": "touch f"}), "`policy.allow`"),
        (
            json!({"command": "echo secret"}),
            "`*secret*` (number 1 of `policy.deny`",
        ),
        (
            json!({"command": "echo x", "env": {"B": "1"}}),
            "`B` by `policy.env`",
        ),
    ] {
        let said = refusal(&mut client, arguments);
        assert!(said.contains(rule), "{said}");
        assert!(said.contains(".config/outlast/config.toml`"), "{said}");
    }
    assert_eq!(ground.runs().len(), 1);
    assert_eq!(ground.file("f"), "");
}

#[test]
fn a_file_in_the_project_tightens_and_cannot_be_left_by_another_directory() {
    let ground = ground_with("deny = [\"*forbidden*\"]\ntimeout_max = \"1h\"");
    let project = ground.home.work().join(".outlast.toml");
    write(&project, "[policy]\nallow = [\"*\"]\ntimeout_max = 600\n");
    let mut client = Client::open(&ground);
    let said = refusal(&mut client, json!({"command": "echo forbidden"}));
    assert!(said.contains("config.toml"), "{said}");
    let elsewhere = json!({"command": "echo a; echo b", "cwd": "/"});
    let said = refusal(&mut client, elsewhere);
    assert!(said.contains(".outlast.toml"), "{said}");
    let begun = client.fine(
        "background_run",
        json!({"command": "true", "timeout_secs": 0}),
    );
    assert_eq!(begun["timeout_secs"], 600);
    let notice = begun["notices"][0].as_str().expect("a notice");
    assert!(
        notice.contains("set to 10m by `policy.timeout_max`"),
        "{notice}"
    );

    // The rules of the directory that a run starts in hold too.
    let other = ground.home.path().join("other");
    fs::create_dir_all(&other).expect("the home can be filled");
    write(
        &other.join(".outlast.toml"),
        "[policy]\ndeny = [\"true\"]\n",
    );
    let said = refusal(&mut client, json!({"command": "true", "cwd": other}));
    assert!(said.contains("other/.outlast.toml"), "{said}");
}

#[test]
fn a_project_file_that_cannot_be_used_stops_starts_and_nothing_else() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "echo x", "wait_secs": 45}));
    let path = ground.home.work().join(".outlast.toml");
    symlink("/etc/hostname", &path).expect("a link");
    let (code, message) = client.refused("background_run", json!({"command": "true"}));
    assert_eq!(code, "policy_unusable");
    assert!(message.contains("is no regular file"), "{message}");
    assert_eq!(
        client.fine("background_output", json!({"id": id}))["output"],
        "x\n"
    );
    fs::remove_file(&path).expect("it is ours");
    write(&path, "[limits]\nruns_per_session = 1000\n");
    let (code, message) = client.refused("background_run", json!({"command": "true"}));
    assert_eq!(code, "policy_unusable");
    assert!(message.contains("unknown key `limits`"), "{message}");
}

/// The lower of both values holds, wherever it stands, and a refusal says where.
#[test]
fn a_project_lowers_what_contains_a_start_and_raises_nothing() {
    let ground = Ground::with_limits("[sandbox]\nmax_tier = \"edit\"");
    let project = ground.home.work().join(".outlast.toml");
    let mut client = Client::open(&ground);
    let mut tier = |file: &str, cwd: &str, asked: Option<&str>| {
        write(&project, file);
        let mut arguments = json!({"command": "true", "cwd": cwd});
        if let Some(asked) = asked {
            arguments["sandbox"] = asked.into();
        }
        let said = client.call("background_run", arguments).object;
        let text = said["posture"]
            .as_str()
            .or(said["error"]["message"].as_str());
        let text = text.unwrap_or_else(|| panic!("{said:#}"));
        match said["error"]["code"].as_str() {
            Some(code) => format!("{code}: {text}"),
            None => text.to_owned(),
        }
    };
    let raising = "[sandbox]\ncommands = \"host\"\nmax_tier = \"host\"\n";
    assert!(tier(raising, ".", None).contains("tier SandboxEdit"));
    let said = tier(raising, ".", Some("host"));
    assert!(said.starts_with("tier_above_max"), "{said}");
    assert!(said.contains("outlast/config.toml`"), "{said}");

    let default = "[sandbox]\ncommands = \"read\"\n";
    assert!(tier(default, ".", None).contains("tier ReadOnly"));
    assert!(tier(default, ".", Some("edit")).contains("tier SandboxEdit"));

    let most = "[sandbox]\nmax_tier = \"read\"\n";
    assert!(tier(most, ".", None).contains("tier ReadOnly"));
    for cwd in [".", "/"] {
        let said = tier(most, cwd, Some("edit"));
        assert!(said.starts_with("tier_above_max"), "{said}");
        assert!(said.contains("work/.outlast.toml`"), "{said}");
    }
    let said = tier("[sandbox]\nproxy = \"/run/p\"\n", ".", Some("read"));
    assert!(said.starts_with("policy_unusable"), "{said}");
}

#[test]
fn the_rules_are_for_hosts_and_not_for_the_command_line() {
    let ground = ground_with("allow = []");
    let id = ground.shell("echo mine");
    assert_eq!(ground.ended(&id)["status"], "completed");
    refusal(
        &mut Client::open(&ground),
        json!({"command": "echo theirs"}),
    );
}
