//! What is said of a containment is what was bound, and what cannot be bound starts nothing.

use crate::contain_ground::{Contained, Who};
use outlast_testkit::{capture, eventually};
use serde_json::{Value, json};
use std::{fs, path::Path, time::Duration};

/// By then a process is gone, on a machine however busy.
const SOON: Duration = Duration::from_secs(30);

/// Everything that native containment holds, in its order.
const ALL: [&str; 7] = [
    "write_boundary",
    "metadata_ro",
    "read_boundary",
    "net_none",
    "unix_sockets",
    "pid_isolated",
    "killed_with_supervisor",
];

fn refused(ground: &Contained, words: &[&str]) -> Value {
    let words = [&["run", "--json"], words].concat();
    let output = capture(ground.outlast(&words));
    assert_eq!(output.code, Some(126), "{output:#?}");
    let document: Value = serde_json::from_str(&output.stdout).expect("a document");
    document["error"].clone()
}

/// Case SB-02: the posture is the one that was seen from inside, and every descendant has it.
#[test]
fn a_posture_is_what_was_bound_and_descendants_have_it() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let text = "touch /tmp/outlast-probe; touch /etc/outlast-probe; echo rc=$?; \
                    (setsid sh -c 'touch /etc/outlast-late || echo late=$?' >&1 2>&1) & wait";
        let output = ground.run(&["--sandbox", "read"], text);
        assert!(output.stdout.contains("rc=1\n"), "{output:#?}");
        assert!(output.stdout.contains("late=1\n"), "{output:#?}");
        for path in [
            "/tmp/outlast-probe",
            "/etc/outlast-probe",
            "/etc/outlast-late",
        ] {
            assert!(!Path::new(path).exists(), "{who:?}: {path}");
        }
        let runs = ground.json(&["ps", "-a", "--json"]);
        let posture = &runs["runs"][0]["posture"];
        assert_eq!(
            (&posture["mode"], &posture["tier"], &posture["backend"]),
            (&json!("contained"), &json!("ReadOnly"), &json!("native"))
        );
        assert_eq!(
            (
                &posture["guarantees"],
                &posture["network"],
                &posture["mount"]
            ),
            (&json!(ALL), &json!("none"), &json!("ro"))
        );
        let told = output.stderr.lines().next().unwrap_or_default();
        assert!(
            told.starts_with("note: contained by native, tier ReadOnly, network none; holds "),
            "{told}"
        );
    }
}

#[test]
fn a_network_that_is_asked_for_is_no_guarantee() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let words = [
            "run",
            "--json",
            "--sandbox",
            "edit",
            "--network",
            "full",
            "--",
            "true",
        ];
        let record = ground.json(&words);
        let held = record["posture"]["guarantees"]
            .as_array()
            .expect("a list")
            .clone();
        assert!(!held.contains(&json!("net_none")), "{record:#}");
        assert!(held.contains(&json!("unix_sockets")), "{record:#}");
    }
}

#[test]
fn a_command_ends_in_there_as_it_would_outside() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let code = |text: &str| ground.run(&["--sandbox", "edit"], text).code;
        assert_eq!(code("exit 0"), Some(0));
        assert_eq!(code("exit 7"), Some(7));
        assert_eq!(code("kill -KILL $$"), Some(137));
        assert_eq!(code("kill -SEGV $$"), Some(139));
        let record = ground.json(&["ps", "-a", "--json"]);
        assert_eq!(record["runs"][0]["signal"], "SEGV");
        let words = [
            "run",
            "--wait",
            "--sandbox",
            "edit",
            "--",
            "no-such-program",
        ];
        let missing = capture(ground.outlast(&words));
        assert_eq!(missing.code, Some(127), "{missing:#?}");
        assert!(
            missing.stderr.contains("code: no_such_program"),
            "{missing:#?}"
        );
    }
}

#[test]
fn a_program_that_the_containment_hides_is_said_to_be_hidden() {
    let ground = Contained::new(Who::all()[0]);
    ground.file("../hidden/tool", "#!/bin/sh\n");
    let tool = ground.home.path().join("hidden/tool");
    crate::contain_ground::set_mode(&tool, 0o755);
    let tool = tool.to_str().expect("text");
    let output = capture(ground.outlast(&["run", "--sandbox", "edit", "--", tool]));
    assert_eq!(output.code, Some(127), "{output:#?}");
    assert!(output.stderr.contains("which hides it"), "{output:#?}");
}

#[test]
fn a_directory_that_is_no_workspace_starts_nothing() {
    let ground = Contained::new(Who::all()[0]);
    let home = ground.home.path().to_str().expect("text").to_owned();
    let store = ground.home.store();
    fs::create_dir_all(&store).expect("the home can be filled");
    crate::contain_ground::set_mode(&store, 0o700);
    ground.hand_over();
    let store = store.to_str().expect("text").to_owned();
    for (path, code) in [
        ("/", "workspace_refused"),
        ("/usr", "workspace_refused"),
        (home.as_str(), "workspace_refused"),
        (store.as_str(), "workspace_refused"),
        ("/nonexistent/project", "workspace_gone"),
    ] {
        let error = refused(&ground, &["--sandbox", "edit", "--cwd", path, "--", "true"]);
        assert_eq!(error["code"], code, "{path}: {error}");
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| text.contains(path)),
            "{error}"
        );
    }
    let error = refused(
        &ground,
        &["--sandbox", "edit", "--stop-command", "true", "--", "true"],
    );
    assert_eq!(error["code"], "stop_command_outside");
    let runs = ground.json(&["ps", "-a", "--json"]);
    assert_eq!(runs["runs"], json!([]));
}

#[test]
fn what_is_left_in_there_is_named_and_ends_with_a_cancel() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let text = "for i in $(seq 200); do setsid sleep 3600 & done; echo up";
        let output = ground.run(&["--sandbox", "edit"], text);
        assert_eq!(output.code, Some(0), "{output:#?}");
        let runs = ground.json(&["ps", "-a", "--json"]);
        let id = runs["runs"][0]["id"].as_str().expect("an id").to_owned();
        let record = ground.json(&["show", "--json", &id]);
        let left = record["leftovers"].as_array().expect("a list").clone();
        assert_eq!(left[0]["command"], "sleep 3600", "{record:#}");
        let done = ground.json(&["cancel", "--json", &id]);
        assert_eq!(done["runs"][0]["leftovers_stopped"], 200, "{done}");
        let alive = left.iter().filter(|one| {
            let path = format!("/proc/{}", one["pid"]);
            Path::new(&path).exists()
        });
        assert_eq!(alive.count(), 0);
    }
}

#[test]
fn a_killed_supervisor_leaves_nothing_of_a_contained_run() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let text = "trap '' TERM HUP INT; for i in 1 2 3; do (setsid sleep 3600 &) done; \
                    echo up; while :; do sleep 3600; done";
        let words = ["run", "--json", "--sandbox", "edit", "-c", text];
        let id = ground.json(&words)["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let inside = || children_of_supervisor(&id);
        eventually("the whole tree is up", SOON, || inside().len() >= 6);
        let tree = inside();
        let supervisor = supervisor(&id);
        let pid = rustix::process::Pid::from_raw(supervisor).expect("a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is alive");
        eventually("nothing of it is left", SOON, || {
            tree.iter().all(|pid| !is_alive(*pid))
        });
        let record = ground.json(&["show", "--json", &id]);
        assert_eq!(record["status"], "interrupted");
    }
}

fn supervisor(id: &str) -> i32 {
    let is_it = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("__supervise") && line.contains(id)
    };
    let found = pids().into_iter().find(is_it);
    found.expect("the run has a supervisor")
}

fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("the tests need /proc");
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

fn stat(pid: i32) -> Option<(String, i32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.to_owned();
    Some((state, fields.next()?.parse().ok()?))
}

fn is_alive(pid: i32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != "Z" && state != "X")
}

fn children_of_supervisor(id: &str) -> Vec<i32> {
    let mut found = vec![supervisor(id)];
    let all: Vec<(i32, i32)> = pids()
        .into_iter()
        .filter_map(|pid| Some((pid, stat(pid)?.1)))
        .collect();
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        at += 1;
        let children = all.iter().filter(|(_, above)| *above == parent);
        found.extend(children.map(|(pid, _)| *pid));
    }
    found.remove(0);
    found
}

/// What bounds a run is said, and holds.
#[test]
fn processes_beyond_a_limit_are_not_made() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let text = "for i in $(seq 40); do sleep 60 & done 2>/dev/null; jobs -p | wc -l";
        let output = ground.run(&["--sandbox", "edit", "--pids", "12"], text);
        let made: Vec<u32> = output
            .stdout
            .split_ascii_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let runs = ground.json(&["ps", "-a", "--json"]);
        let posture = &runs["runs"][0]["posture"];
        assert_eq!(posture["limits"]["pids"]["value"], 12, "{posture:#}");
        assert!(
            posture["guarantees"]
                .as_array()
                .is_some_and(|held| held.contains(&json!("pids_limit")))
        );
        let id = runs["runs"][0]["id"].as_str().expect("an id").to_owned();
        let left = ground.json(&["show", "--json", &id])["leftovers"].clone();
        let left = left.as_array().map_or(0, Vec::len);
        assert!(left <= 12, "{who:?}: {left} are left, {made:?}");
    }
}

#[test]
fn a_run_that_uses_up_its_memory_is_told_so() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let hog = format!(
            "exec {} -c 'x = [bytearray(1 << 20) for _ in range(4096)]; import time; time.sleep(60)'",
            crate::contain_ground::PYTHON
        );
        let output = ground.run(&["--sandbox", "edit", "--memory", "64MiB"], &hog);
        assert_eq!(output.code, Some(137), "{who:?}: {output:#?}");
        let runs = ground.json(&["ps", "-a", "--json"]);
        let run = &runs["runs"][0];
        assert_eq!(
            (&run["status"], &run["ended_by"], &run["signal"]),
            (&json!("failed"), &json!("limit:memory"), &json!("KILL")),
            "{run:#}"
        );
        assert_eq!(run["summary"], "out of memory: it used its limit of 64 MiB");
        let limit = &run["posture"]["limits"]["memory"];
        assert_eq!(limit["value"], 64 << 20);
        let by = limit["enforced_by"].as_str().expect("a word").to_owned();
        assert!(
            ["cgroup1", "cgroup2", "watchdog"].contains(&by.as_str()),
            "{by}"
        );
        let fine = ground.run(&["--sandbox", "edit", "--memory", "64MiB"], "echo fine");
        assert_eq!(fine.stdout, "fine\n");
    }
}

/// A limit that nothing here enforces is a refusal, never a promise.
#[test]
fn processors_are_bounded_or_the_run_is_refused() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let words = [
            "run",
            "--json",
            "--sandbox",
            "edit",
            "--cpu",
            "0.5",
            "--",
            "true",
        ];
        let output = capture(ground.outlast(&words));
        let document: Value = serde_json::from_str(&output.stdout).expect("a document");
        if output.code == Some(0) {
            let limit = &document["posture"]["limits"]["cpu"];
            assert_eq!(limit["value"], 500, "{document:#}");
        } else {
            assert_eq!(document["error"]["code"], "containment_failed");
            let message = document["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains("`limit: cpu`"), "{message}");
        }
    }
}

/// What a host gets is what the user configured, and a call may only lower it.
#[test]
fn a_host_gets_what_is_configured_and_may_ask_for_less() {
    let ground = crate::case_ground::Ground::new();
    let folder = ground.home.path().join(".config/outlast");
    fs::create_dir_all(&folder).expect("the home can be filled");
    crate::case_ground::write(
        &folder.join("config.toml"),
        "[sandbox]\ncommands = \"edit\"\nmax_tier = \"edit\"\n",
    );
    let mut client = crate::mcp_client::Client::open(&ground);
    let mut posture = |arguments: Value| {
        let begun = client.fine("background_run", arguments);
        begun["posture"].as_str().expect("a line").to_owned()
    };
    let told = posture(json!({"command": "true"}));
    let begins = "contained by native, tier SandboxEdit, network none; holds write_boundary";
    assert!(told.starts_with(begins), "{told}");
    let told = posture(json!({"command": "true", "sandbox": "read", "network": "full"}));
    assert!(
        told.starts_with("contained by native, tier ReadOnly, network full"),
        "{told}"
    );
    let (code, message) = client.refused(
        "background_run",
        json!({"command": "true", "sandbox": "host"}),
    );
    assert_eq!(code, "tier_above_max", "{message}");
}

/// Case SB-01: the doctor names what works here, and of what does not the step.
#[test]
fn the_doctor_says_what_can_contain_a_run_here() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let report = ground.json(&["doctor", "--json"]);
        let checks = report["checks"].as_array().expect("a list").clone();
        let check = |name: &str| {
            let found = checks.iter().find(|check| check["name"] == name);
            found.expect("it was looked at").clone()
        };
        let native = check("native");
        assert_eq!(native["level"], "ok", "{native}");
        let message = native["message"].as_str().expect("a text");
        assert!(ALL.iter().all(|held| message.contains(held)), "{message}");
        let limits = check("limits")["message"]
            .as_str()
            .expect("a text")
            .to_owned();
        assert!(
            limits.contains("memory by ") && limits.contains("cpu by "),
            "{limits}"
        );
        if cfg!(debug_assertions) {
            let mut command = ground.outlast(&["doctor", "--json"]);
            command.env("OUTLAST_FAULT", "contain:proc");
            let output = capture(command);
            assert!(output.stdout.contains("step `proc` failed"), "{output:#?}");
        }
    }
}

/// Who asks for a run does not choose what of the home is shown to it.
#[test]
fn variables_that_a_call_sets_show_nothing_of_the_home() {
    let ground = crate::case_ground::Ground::new();
    let home = ground.home.path();
    fs::create_dir(home.join(".ssh")).expect("the home can be filled");
    crate::case_ground::write(&home.join(".ssh/id"), "bait");
    let keys = home.join(".ssh").to_string_lossy().into_owned();
    let mut client = crate::mcp_client::Client::open(&ground);
    for variable in [
        "PATH",
        "GOPATH",
        "CARGO_HOME",
        "JAVA_HOME",
        "VIRTUAL_ENV",
        "HOME",
    ] {
        let value = match variable {
            "PATH" => format!("{keys}:/usr/bin:/bin"),
            "HOME" => "/tmp".to_owned(),
            _ => keys.clone(),
        };
        let ended = client.fine(
            "background_run",
            json!({
                "command": format!("cat {keys}/id || echo hidden"),
                "sandbox": "edit",
                "env": {variable: value},
                "wait_secs": 30,
            }),
        );
        let output = ended["output"].as_str().unwrap_or_default().to_owned();
        assert!(
            output.contains("hidden") && !output.contains("bait"),
            "{variable}: {ended:#}"
        );
    }
}
