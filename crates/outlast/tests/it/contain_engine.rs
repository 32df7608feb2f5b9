//! A run in an image is contained by an engine, is as any other run, and leaves no container.
//!
//! Each test has a real engine of its own, without a registry. Where none can be started, a
//! line says so.

use crate::case_ground::write;
use crate::contain_engine_daemon::{IMAGE, SOON};
use crate::contain_engine_ground::Ground;
use outlast_testkit::{capture, eventually, invariants};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;

mod heavy {
    use super::*;

    #[test]
    fn a_run_in_an_image_ends_as_its_command_and_leaves_no_container() {
        let Some(ground) = Ground::new() else { return };
        let (output, record) = ground.run(&[], "echo out; echo err >&2; echo x > made; exit 3");
        assert_eq!(output.code, Some(3), "{output:#?}");
        assert_eq!(record["exit_code"], 3, "{record:#}");
        assert!(ground.contained.work().join("made").exists());
        let posture = &record["posture"];
        assert_eq!(
            (
                &posture["mode"],
                &posture["backend"],
                &posture["image"],
                &posture["mount"]
            ),
            (
                &json!("contained"),
                &json!("container"),
                &json!(IMAGE),
                &json!("rw")
            ),
            "{record:#}"
        );
        // An engine reads the two by two pipes.
        let mut lines: Vec<&str> = output.stdout.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["err", "out"], "{output:#?}");
        assert_eq!(ground.containers(), Vec::<Value>::new());
        let lines = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done";
        let (output, record) = ground.run(&[], lines);
        assert_eq!(record["output"]["bytes"], 208_890, "{record:#}");
        assert!(output.stdout.ends_with("line 19999\n"));
        let id = ground.begin(&["--stdin", "pipe"], "read -r word; echo heard $word");
        let sent = capture(ground.contained.outlast(&["send", &id, "it\n"]));
        assert_eq!(sent.code, Some(0), "{sent:#?}");
        assert_eq!(ground.ended(&id)["summary"], "heard it");
        assert_eq!(ground.containers(), Vec::<Value>::new());
    }

    /// Case PT-12.
    #[test]
    fn a_stop_reaches_into_the_container_with_its_signal_and_its_grace() {
        let Some(ground) = Ground::new() else { return };
        let text = "trap 'echo asked; exit 5' TERM; touch up; while :; do sleep 0.1; done";
        let id = ground.begin(&["--timeout", "3s"], text);
        let record = ground.ended(&id);
        assert_eq!(
            (&record["status"], &record["exit_code"]),
            (&json!("timed_out"), &json!(5)),
            "{record:#}"
        );
        let deaf = "trap '' TERM; touch deaf; while :; do sleep 0.1; done";
        let id = ground.begin(&["--grace", "300ms"], deaf);
        ground.wait_for("deaf");
        let done = ground.contained.json(&["cancel", "--json", &id]);
        assert_eq!(done["runs"][0]["status"], "cancelled", "{done:#}");
        let record = ground.ended(&id);
        assert_eq!(record["signal"], "KILL", "{record:#}");
        let id = ground.begin(&[], "touch plain; sleep 3600");
        ground.wait_for("plain");
        let done = ground.contained.json(&["cancel", "--json", &id]);
        assert_eq!(done["runs"][0]["status"], "cancelled", "{done:#}");
        assert_eq!(ground.ended(&id)["signal"], "TERM");
        assert_eq!(ground.containers(), Vec::<Value>::new());
    }

    #[test]
    fn a_container_goes_with_its_supervisor_or_at_a_cancel_at_gc_and_at_the_next_run() {
        let Some(ground) = Ground::new() else { return };
        let id = ground.begin(&[], "touch up; sleep 3600");
        ground.wait_for("up");
        assert_eq!(ground.containers().len(), 1);
        let supervisor = supervisor(&ground, &id);
        kill(supervisor);
        eventually("the container is gone", SOON, || {
            ground.containers().is_empty()
        });
        assert_eq!(ground.ended(&id)["status"], "interrupted");
        // Both at once: nobody is left to take it away.
        let id = ground.begin(&[], "touch again; sleep 3600");
        ground.wait_for("again");
        leave_container(&ground, &id);
        let (output, _) = ground.run(&[], "true");
        assert_eq!(output.code, Some(0), "{output:#?}");
        eventually("the container is gone", SOON, || {
            ground.containers().is_empty()
        });
        // A cancel of that run takes it away, and so does `gc` for all such runs.
        for words in [&["cancel", "--json"][..], &["gc", "--json"]] {
            let id = ground.begin(&[], "touch left; sleep 3600");
            ground.wait_for("left");
            fs::remove_file(ground.contained.work().join("left")).expect("it is there");
            leave_container(&ground, &id);
            let kept = capture(ground.contained.outlast(&["rm", &id]));
            assert_eq!(kept.code, Some(1), "{kept:#?}");
            assert!(kept.stderr.contains("code: leftovers_alive"), "{kept:#?}");
            let of_run = [words, &[&id]].concat();
            let words = if words.contains(&"gc") {
                words
            } else {
                &of_run
            };
            let done = ground.contained.json(words);
            assert_eq!(ground.containers(), Vec::<Value>::new(), "{done:#}");
            match words.first() {
                Some(&"gc") => assert_eq!(done["containers"], 1, "{done:#}"),
                _ => assert_eq!(done["runs"][0]["status"], "interrupted", "{done:#}"),
            }
        }
        // What talks to the engine alone: how the command ends is not known then.
        let id = ground.begin(&[], "touch third; sleep 3600");
        ground.wait_for("third");
        kill(helper(self::supervisor(&ground, &id)));
        let record = ground.ended(&id);
        assert_eq!(
            (
                &record["status"],
                &record["failure"]["code"],
                &record["exit_code"]
            ),
            (&json!("failed"), &json!("engine_lost"), &Value::Null),
            "{record:#}"
        );
    }

    #[test]
    fn a_record_is_not_removed_while_its_container_is_there_though_nothing_is_executed_in_it() {
        let Some(ground) = Ground::new() else { return };
        let id = ground.begin(&[], "touch up; sleep 3600");
        ground.wait_for("up");
        leave_container(&ground, &id);
        let container = ground.containers()[0]["Id"].clone();
        let path = format!("/containers/{}/kill", container.as_str().expect("an id"));
        ground.engine.ask("POST", &path, b"").expect("it answers");
        eventually("nothing is executed", SOON, || {
            ground.containers()[0]["State"] == "exited"
        });
        let kept = capture(ground.contained.outlast(&["rm", &id]));
        assert_eq!(kept.code, Some(1), "{kept:#?}");
        assert!(kept.stderr.contains("its container is left"), "{kept:#?}");
        assert!(kept.stderr.contains("hint: cancel the run"), "{kept:#?}");
        ground.contained.json(&["cancel", "--json", &id]);
        assert_eq!(ground.containers(), Vec::<Value>::new());
        let gone = capture(ground.contained.outlast(&["rm", &id]));
        assert_eq!(gone.code, Some(0), "{gone:#?}");
    }

    #[test]
    fn what_is_inside_writes_its_workspace_and_reaches_nothing_else() {
        let Some(ground) = Ground::new() else { return };
        let outside = ground.contained.home.path().join("outside");
        write(&outside, "bait");
        ground.contained.file(".git/config", "[core]\n");
        ground.contained.file(".envrc", "bait");
        let bait = outside.display();
        let text = format!(
            "
            try() {{ name=$1; shift; if (eval \"$*\") >/dev/null 2>&1; then echo got $name; fi; }}
            try home cat {bait}
            try root 'echo x > /etc/x'
            try bin 'echo x > /bin/x'
            try envrc 'echo x > .envrc'
            try config 'echo x > .git/config'
            try move 'mv .git other'
            try core 'echo x > /proc/sys/kernel/core_pattern'
            try mount 'mount -t tmpfs none /tmp'
            try node 'mknod node b 8 0'
            try address 'ip addr | grep inet | grep -v 127.0.0'
            try socket 'test -S /var/run/docker.sock || test -S /run/docker.sock'
            try processes 'test $(ls -d /proc/[0-9]* | wc -l) -gt 12'
            try privileges 'grep -q \"CapEff:.*[1-9a-f]\" /proc/self/status'
            try more 'grep -q \"NoNewPrivs:.0\" /proc/self/status'
            try tmp 'echo x > /tmp/x && test -s /tmp/x'
            try work 'echo x > mine && test -s mine'
            "
        );
        let (output, record) = ground.run(&[], &text);
        let got: Vec<&str> = output
            .stdout
            .lines()
            .filter(|line| line.starts_with("got"))
            .collect();
        assert_eq!(got, ["got tmp", "got work"], "{output:#?}");
        let holds = [
            "write_boundary",
            "metadata_ro",
            "read_boundary",
            "net_none",
            "unix_sockets",
            "pid_isolated",
        ];
        assert_eq!(record["posture"]["guarantees"], json!(holds), "{record:#}");
        assert_eq!(
            record["posture"]["missing"],
            json!(["killed_with_supervisor"])
        );
        let (output, _) = ground.run(&["--sandbox", "read"], "echo x > other");
        assert_ne!(output.code, Some(0), "{output:#?}");
        assert!(!ground.contained.work().join("other").exists());
        let (_, record) = ground.run(&["--network", "full"], "true");
        assert_eq!(
            record["posture"]["missing"],
            json!(["unix_sockets", "killed_with_supervisor"])
        );
    }

    #[test]
    fn a_shell_text_too_long_for_a_word_runs_in_an_image() {
        let Some(ground) = Ground::new() else { return };
        let filler = "# nothing to see here\n".repeat(8_000);
        ground
            .contained
            .file("text", &format!("{filler}echo ran; ls -A \"${{0%/*}}\"\n"));
        let mut command = ground.outlast(&["run", "--wait", "--image", IMAGE, "-c", "-"]);
        let text = fs::File::open(ground.contained.work().join("text"));
        command.stdin(text.expect("it is there"));
        let output = capture(command);
        assert_eq!(output.code, Some(0), "{output:#?}");
        assert_eq!(output.stdout, "ran\ncommand\n", "{output:#?}");
    }

    #[test]
    fn limits_are_enforced_by_the_engine_and_memory_is_told_as_such() {
        let Some(ground) = Ground::new() else { return };
        let options = ["--memory", "32MiB", "--pids", "20", "--cpu", "0.5"];
        let text = "head -c 200000000 /dev/zero | tail -c 190000000 > /dev/null";
        let (_, record) = ground.run(
            &options,
            &format!("exec sh -c 'x=$(head -c 100000000 /dev/zero | tr \"\\\\0\" a)'; {text}"),
        );
        assert_eq!(
            (&record["status"], &record["ended_by"]),
            (&json!("failed"), &json!("limit:memory")),
            "{record:#}"
        );
        let limits = &record["posture"]["limits"];
        assert_eq!(
            limits,
            &json!({
                "cpu": {"value": 500, "enforced_by": "engine"},
                "memory": {"value": 32 << 20, "enforced_by": "engine"},
                "pids": {"value": 20, "enforced_by": "engine"},
            })
        );
        let bomb = "i=0; while [ $i -lt 40 ]; do sleep 3600 & i=$((i+1)); done; echo all";
        let (output, _) = ground.run(&["--pids", "20"], bomb);
        assert!(!output.stdout.contains("all"), "{output:#?}");
    }

    /// Case SB-01.
    #[test]
    fn what_is_not_there_is_refused_with_the_step_and_the_fix_or_native_stands_in_and_says_so() {
        let Some(mut ground) = Ground::new() else {
            return;
        };
        let words = [
            "run",
            "--json",
            "--image",
            "localhost/none",
            "--",
            "touch",
            "was-run",
        ];
        let refused = capture(ground.outlast(&words));
        assert_eq!(refused.code, Some(126), "{refused:#?}");
        let document: Value = serde_json::from_str(&refused.stdout).expect("a document");
        let error = &document["error"];
        assert_eq!(error["code"], "containment_failed", "{document:#}");
        assert_eq!(error["hint"], "get it first: `docker pull localhost/none`");
        assert!(!ground.contained.work().join("was-run").exists());
        assert_eq!(ground.containers(), Vec::<Value>::new());
        ground.stop(Signal::TERM);
        let (output, record) = ground.run(&[], "echo here");
        assert_eq!(output.code, Some(0), "{output:#?}");
        let posture = &record["posture"];
        assert_eq!(
            (&posture["backend"], &posture["image"]),
            (&json!("native"), &Value::Null)
        );
        let notice = posture["fallback_notice"].as_str().expect("a notice");
        assert!(
            notice.starts_with("native in place of a container"),
            "{notice}"
        );
        assert!(notice.contains("no container engine answers"), "{notice}");
        let mut other = ground.outlast(&["run", "--json", "--image", IMAGE, "--", "true"]);
        other.env("DOCKER_HOST", "tcp://127.0.0.1:2375");
        let told = capture(other).stdout;
        assert!(told.contains("only unix sockets are used"), "{told}");
    }

    #[test]
    fn an_engine_that_stops_in_the_middle_is_told_and_nothing_is_guessed() {
        let Some(mut ground) = Ground::new() else {
            return;
        };
        let id = ground.begin(&[], "echo begun; touch up; sleep 3600");
        ground.wait_for("up");
        ground.stop(Signal::TERM);
        let record = ground.ended(&id);
        assert_eq!(
            (
                &record["status"],
                &record["failure"]["code"],
                &record["exit_code"],
                &record["signal"]
            ),
            (
                &json!("failed"),
                &json!("engine_lost"),
                &Value::Null,
                &Value::Null
            ),
            "{record:#}"
        );
        let told = record["failure"]["message"].as_str().expect("a text");
        assert!(
            told.contains("went away in the middle of the run"),
            "{told}"
        );
        assert_eq!(record["summary"], record["failure"]["message"]);
        let waited = capture(ground.outlast(&["wait", &id]));
        assert_eq!(waited.code, Some(125), "{waited:#?}");
        ground.start();
        let (output, _) = ground.run(&[], "true");
        assert_eq!(output.code, Some(0), "{output:#?}");
        eventually("what was left is gone", SOON, || {
            ground.containers().is_empty()
        });
    }
}

/// Kills the supervisor of a run and what talks to its engine: nobody is left who knows.
fn leave_container(ground: &Ground, id: &str) {
    let supervisor = supervisor(ground, id);
    let helper = helper(supervisor);
    kill_process(pid(helper), Signal::STOP).expect("it is ours");
    kill(supervisor);
    kill(helper);
    assert_eq!(ground.containers().len(), 1);
}

fn supervisor(ground: &Ground, id: &str) -> i32 {
    let all = invariants::supervisors(&ground.contained.home.store());
    let found = all.iter().find(|(dir, _)| dir.ends_with(id));
    *found.expect("it lives").1
}

fn helper(supervisor: i32) -> i32 {
    let path = format!("/proc/{supervisor}/task/{supervisor}/children");
    let children = fs::read_to_string(path).expect("it lives");
    children.trim().parse().expect("one child")
}

fn pid(number: i32) -> Pid {
    Pid::from_raw(number).expect("a number")
}

fn kill(number: i32) {
    kill_process(pid(number), Signal::KILL).expect("it is ours");
}
