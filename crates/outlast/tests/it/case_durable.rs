//! Cases RD: hosts, binaries, disks and supervisors go; the run can be read for ever.
//!
//! Each test is a case of `docs/reference/cases.md`. Gates stand for the
//! seconds that a command takes there.

use crate::case_ground::{BUSY, Ground, OUTLAST, SOON, is_alive, kill, status_number};
use outlast_testkit::{Program, capture, eventually};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, time::Duration};

/// Case RD-01. The host is a shell whose process group is killed.
#[test]
fn a_run_whose_host_was_killed_is_found_and_read_whole() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let text = r#"
        set -m
        bash -c '"$OUTLAST" run --wait --label work -c "
            for i in 1 2 3; do echo \$i; done; read -r _ <go
            for i in 4 5 6; do echo \$i; done; exit 3" & wait' &
        host=$!
        until "$OUTLAST" logs work 2>/dev/null | grep -q 3; do sleep 0.02; done
        kill -KILL -- -$host; wait $host"#;
    capture(ground.other("bash", &["-c", text]));
    let runs = ground.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!(
        (&runs[0]["status"], &runs[0]["label"]),
        (&json!("running"), &json!("work"))
    );
    gate.open(1);
    let id = runs[0]["id"].as_str().expect("a run has an id");
    let record = ground.ended(id);
    assert_eq!(
        (&record["status"], &record["exit_code"]),
        (&json!("failed"), &json!(3))
    );
    assert_eq!(record["output"]["bytes"], 12);
    assert_eq!(record["output"]["gap"], Value::Null);
    assert_eq!(ground.raw(id), b"1\n2\n3\n4\n5\n6\n");
}

/// Case RD-02. Version N+1 is another file with the same program: there is no other version yet.
#[test]
fn live_runs_do_not_notice_that_the_program_was_replaced() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let (old, new) = (
        ground.home.path().join("old"),
        ground.home.path().join("new"),
    );
    fs::copy(OUTLAST, &old).expect("the program can be copied");
    let by_old = Program::new(&old, &ground.home);
    let ids: Vec<String> = (0..4)
        .map(|_| {
            by_old
                .run(&["run", "-c", "read -r _ <go"])
                .stdout
                .trim()
                .to_owned()
        })
        .collect();
    fs::copy(OUTLAST, &new).expect("the program can be copied");
    fs::remove_file(&old).expect("it is ours");

    let by_new = Program::new(&new, &ground.home);
    let listed = by_new.json(&["ps", "--status", "running", "--json"]);
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(4));
    let (first, rest) = ids.split_first().expect("four were started");
    assert_eq!(by_new.run(&["cancel", first]).code, Some(0));
    gate.open(3);
    for id in rest {
        assert_eq!(by_new.run(&["wait", id]).code, Some(0));
        assert_eq!(by_new.run(&["logs", id]).code, Some(0));
    }
    assert_eq!(
        (ground.count("cancelled"), ground.count("completed")),
        (1, 3)
    );
}

/// Case RD-03. Two terminals in one project stand for two sessions.
#[test]
fn a_run_whose_id_was_lost_is_found_by_list_and_by_name_from_anywhere_in_the_project() {
    let ground = Ground::new();
    fs::create_dir_all(ground.home.work().join("src/deep")).expect("the home can be filled");
    fs::create_dir(ground.home.work().join(".git")).expect("the home can be filled");
    let id = ground.start(&["--label", "build", "--", "sleep", "300"]);
    for folder in [".", "src/deep"] {
        let call = |words: &[&str]| {
            let mut command = ground.program.command(words);
            command.current_dir(ground.home.work().join(folder));
            capture(command)
        };
        let listed = call(&["ps"]);
        assert!(listed.stdout.contains("build"), "{listed:#?}");
        assert!(
            listed.stdout.len() <= 2_000,
            "{} bytes",
            listed.stdout.len()
        );
        let shown: Value = serde_json::from_str(&call(&["show", "build", "--json"]).stdout)
            .expect("the name is a handle");
        assert_eq!(
            (&shown["id"], &shown["status"]),
            (&json!(id), &json!("running"))
        );
    }
}

mod heavy {
    use super::*;

    /// Case RD-05.
    #[test]
    fn four_processes_that_start_fifty_runs_each_lose_none() {
        let ground = Ground::new();
        let script = r#"for i in $(seq 50); do "$OUTLAST" run -- true || exit; done"#;
        let all = format!("for j in 1 2 3 4; do ({script}) & done; wait");
        let output = capture(ground.other("bash", &["-c", &all]));
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
        let printed: BTreeSet<&str> = output.stdout.lines().collect();
        let runs = ground.runs();
        let listed: BTreeSet<&str> = runs.iter().filter_map(|run| run["id"].as_str()).collect();
        assert_eq!((runs.len(), listed.len()), (200, 200));
        assert_eq!(listed, printed);
        // The index is only a copy: from the directories comes the same.
        assert_eq!(ground.program.run(&["reindex"]).code, Some(0));
        assert_eq!(ground.runs().len(), 200);
    }

    /// Case RD-10.
    #[test]
    fn no_supervisor_stays_once_its_run_is_over() {
        let ground = Ground::new();
        for _ in 0..100 {
            ground.start(&["--", "true"]);
        }
        eventually(
            "all supervisors are gone",
            Duration::from_secs(2) + BUSY,
            || ground.supervisors().is_empty(),
        );
        assert_eq!(ground.count("completed"), 100);
    }
}

/// What the script of the small disk printed, one document a line.
const SMALL_DISK: &str = r#"
    mount -t tmpfs -o size=2m,mode=700 tmpfs "$OUTLAST_HOME" || exit 77
    "$OUTLAST" run --wait -- true 2>/dev/null || exit
    "$OUTLAST" rm $("$OUTLAST" ps --json | grep -oE '"id": ?"[^"]*"' | cut -d'"' -f4) || exit
    head -c 4M /dev/zero >"$OUTLAST_HOME/filler" 2>/dev/null
    "$OUTLAST" run --json -- touch was-run; echo "$?"
    ls -A "$OUTLAST_HOME"/runs/* | wc -l
    truncate -s -300K "$OUTLAST_HOME/filler"
    id=$("$OUTLAST" run -c 'seq 1 1000000; exit 4') || exit
    "$OUTLAST" wait "$id" 2>/dev/null; echo "$?"
    rm "$OUTLAST_HOME/filler"
    "$OUTLAST" show --json "$id"
"#;

/// Case RD-07. There is no server that could die of it yet.
#[test]
fn a_full_disk_refuses_a_start_and_costs_a_run_output_but_never_its_exit_code() {
    let ground = Ground::new();
    fs::create_dir(ground.home.store()).expect("the home can be filled");
    // In a namespace of its own, so that it needs no rights and is gone with it.
    let output = capture(ground.other("unshare", &["-rm", "bash", "-c", SMALL_DISK]));
    if output.code == Some(77) || output.stderr.starts_with("unshare:") {
        println!("not run: a tmpfs cannot be mounted here");
        return;
    }
    let documents: Vec<Value> = serde_json::Deserializer::from_str(&output.stdout)
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("documents and numbers");
    let [refusal, refused_code, records, waited_code, record] = documents.as_slice() else {
        panic!("{output:#?}");
    };
    assert_eq!(refusal["error"]["code"], "store_full", "{refusal:#}");
    assert!(
        refusal["error"]["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("no space left in the store"))
    );
    assert_eq!((refused_code, records), (&json!(1), &json!(0)));
    assert!(!ground.home.work().join("was-run").exists());

    assert_eq!(waited_code, &json!(4));
    assert_eq!(
        (&record["status"], &record["exit_code"]),
        (&json!("failed"), &json!(4))
    );
    assert!(
        record["output"]["lost"]
            .as_u64()
            .is_some_and(|bytes| bytes > 0),
        "{record:#}"
    );
    ground.assert_no_process();
}

/// Case RD-10. Another run that takes 2 s is the clock, and the supervisor does not even wake
/// up meanwhile: the 10 s of the case would show the same.
#[test]
fn a_supervisor_that_waits_is_small_and_costs_no_time() {
    let ground = Ground::new();
    let clock = |seconds: &str| {
        let output = ground
            .program
            .run(&["run", "--wait", "--", "sleep", seconds]);
        assert_eq!(output.code, Some(0), "{output:#?}");
    };
    let id = ground.start(&["--", "sleep", "300"]);
    let supervisor = ground.supervisor(&id);
    clock("0.5");
    let wakes = || status_number(supervisor, "voluntary_ctxt_switches");
    let before = wakes();
    assert!(before.is_some());
    clock("2");
    assert_eq!(wakes(), before);
    let rss_kib = status_number(supervisor, "VmRSS").expect("it lives");
    assert!(rss_kib <= 8 << 10, "{rss_kib} KiB");
}

/// Case RD-10, with the supervisor killed.
#[test]
fn what_a_killed_supervisor_leaves_is_named_and_stopped_by_a_cancel() {
    let ground = Ground::new();
    let id = ground.start(&["--", "sleep", "300"]);
    kill(ground.supervisor(&id));
    eventually("it is gone", SOON, || ground.supervisors().is_empty());
    let record = ground.record(&id);
    assert_eq!(record["status"], "interrupted", "{record:#}");
    let left = record["leftovers"]
        .as_array()
        .expect("what is left is named");
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["command"], "sleep 300");
    let pid = left[0]["pid"]
        .as_i64()
        .and_then(|pid| i32::try_from(pid).ok());
    let pid = pid.expect("it has a pid");
    // Reading kills nothing.
    assert!(is_alive(pid));

    let output = ground.program.run(&["cancel", &id]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    ground.assert_no_process();
    let record = ground.record(&id);
    assert_eq!(
        (&record["status"], &record["leftovers"]),
        (&json!("interrupted"), &Value::Null)
    );
}
