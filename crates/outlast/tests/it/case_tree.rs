//! Cases PT: a run is its whole tree of processes, and its end says what became of it.
//!
//! Each test is a case of `docs/reference/cases.md`, run as a person would. A
//! tree is looked at through `/proc`, never through what the program says.

use crate::case_ground::{BUSY, Gate, Ground, SOON, assert_within, children_of, is_alive, span_ms};
use outlast_testkit::{eventually, eventually_some};
use serde_json::json;
use std::{
    process::Child,
    time::{Duration, Instant},
};

/// Case PT-01.
#[test]
fn a_run_ends_with_its_command_though_a_silent_child_holds_the_pipe() {
    let texts = [
        "sleep 300 & echo hi",
        // Only the error stream is held.
        "sleep 300 </dev/null >/dev/null & echo hi",
    ];
    for text in texts {
        let ground = Ground::new();
        let id = ground.shell(text);
        let begun = Instant::now();
        let document = ground
            .program
            .json(&["wait", &id, "--for", "10s", "--json"]);
        assert_within(1_000, begun);
        // What is left may be a copy of the shell for a moment more.
        eventually("it sleeps", SOON, || {
            ground.processes_of("sleep").len() == 1
        });
        let ended = &document["runs"][0];
        assert_eq!(
            ended["leftovers"].as_array().map(Vec::len),
            Some(1),
            "{ended:#}"
        );
        let record = &ground.record(&id);
        assert_eq!(record["status"], "completed", "{record:#}");
        assert_eq!(
            (&record["exit_code"], &record["output"]["bytes"]),
            (&json!(0), &json!(3))
        );
        let left = record["leftovers"]
            .as_array()
            .expect("what is left is named");
        assert_eq!(left.len(), 1);
        assert_eq!(left[0]["command"], "sleep 300");
        assert_eq!(json!(ground.processes()), json!([left[0]["pid"]]));

        let output = ground.program.run(&["cancel", &id, "--grace", "1s"]);
        assert_eq!(output.code, Some(0), "{output:#?}");
        ground.assert_no_process();
        assert_eq!(ground.record(&id)["status"], "completed");
    }
}

/// Case PT-02.
#[test]
fn a_cancel_reaches_descendants_in_sessions_of_their_own() {
    let ground = Ground::new();
    let id = ground.shell("setsid sleep 301 & (setsid bash -c 'sleep 302 &'); sleep 300 & wait");
    eventually("all three sleep", SOON, || {
        ground.processes_of("sleep").len() == 3
    });

    let begun = Instant::now();
    let output = ground.program.run(&["cancel", &id, "--grace", "1s"]);
    assert_within(2_500, begun);
    assert_eq!(output.code, Some(0), "{output:#?}");
    ground.assert_no_process();
    assert_eq!(ground.record(&id)["status"], "cancelled");
}

mod heavy {
    use super::*;

    /// Case PT-03.
    #[test]
    fn a_time_limit_stops_busy_children_and_those_three_levels_below() {
        let ground = Ground::new();
        let spinners = "for i in 1 2 3 4; do (while :; do :; done) & done";
        let below = r#"sh -c "sh -c \"sleep 600; :\"; :""#;
        let text = format!("{spinners}; {below}; kill $(jobs -p)");
        let id = ground.shell_with(&["--timeout", "2s"], &text);
        let record = ground.ended(&id);
        assert_eq!(record["status"], "timed_out", "{record:#}");
        assert_eq!(record["ended_by"], "timeout");
        // 2.0 to 2.5 s, and the grace of 5 s.
        let took_ms = record["elapsed_ms"].as_u64().expect("it ran");
        let busy_ms = u64::try_from(BUSY.as_millis()).expect("it is short");
        assert!((2_000..=7_500 + busy_ms).contains(&took_ms), "{took_ms} ms");
        ground.assert_no_process();
    }

    /// Case PT-13, first part.
    #[test]
    fn three_hundred_fast_exits_at_once_are_all_told() {
        const RUNS: usize = 300;
        let ground = Ground::new();
        let starts: Vec<Child> = (0..RUNS)
            .map(|_| ground.spawn(&["run", "-c", "exit 19"]))
            .collect();
        for start in starts {
            let output = start.wait_with_output().expect("it is our child");
            assert!(output.status.success(), "{output:?}");
        }
        eventually("none runs", SOON, || ground.count("running") == 0);
        let runs = ground.runs();
        let is_told =
            |run: &&serde_json::Value| run["status"] == "failed" && run["exit_code"] == 19;
        assert_eq!(runs.iter().filter(is_told).count(), RUNS);
        assert_eq!(runs.len(), RUNS);
    }
}

/// Case PT-04.
#[test]
fn a_command_that_leaves_its_work_behind_says_so_in_its_record() {
    let ground = Ground::new();
    let id = ground.shell("nohup sleep 600 >/dev/null 2>&1 & echo started");
    let record = ground.ended(&id);
    assert_eq!(
        (&record["status"], &record["exit_code"]),
        (&json!("completed"), &json!(0))
    );
    assert_eq!(ground.raw(&id), b"started\n");
    eventually("it sleeps", SOON, || {
        ground.processes_of("sleep").len() == 1
    });
    let listed = ground.program.json(&["ps", "--json"]);
    let left = &listed["runs"][0]["leftovers"];
    assert_eq!(
        left,
        &json!([{ "pid": ground.processes_of("sleep")[0], "command": "sleep 600" }])
    );
}

/// Case PT-04: what is left stays bounded by the time limit of its run.
#[test]
fn what_a_command_left_behind_ends_at_the_time_limit_of_its_run() {
    let ground = Ground::new();
    let id = ground.shell_with(&["--timeout", "2s"], "sleep 600 & echo started");
    let ended = ground.ended(&id);
    assert_eq!(ended["leftovers"].as_array().map(Vec::len), Some(1));
    eventually("the time limit stops it", SOON, || {
        ground.processes().is_empty()
    });
    let record = ground.record(&id);
    let outcome = |record: &serde_json::Value| {
        (
            record["status"].clone(),
            record["ended"].clone(),
            record["exit_code"].clone(),
        )
    };
    assert_eq!(outcome(&record), outcome(&ended));
    assert_eq!(record["leftovers"], serde_json::Value::Null);
}

/// Case PT-04, policy `wait`: the run goes on as long as its last process.
#[test]
fn with_leftovers_wait_a_run_goes_on_until_its_last_child_has_ended() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let id = ground.shell_with(&["--leftovers", "wait"], "(read -r _ <go) & echo started");
    eventually("the command has ended", SOON, || {
        ground
            .event_types(&id)
            .iter()
            .any(|kind| kind == "main_exited")
    });
    assert_eq!(ground.record(&id)["status"], "running");
    gate.open(1);
    let record = ground.ended(&id);
    assert_eq!(
        (&record["status"], &record["exit_code"]),
        (&json!("completed"), &json!(0))
    );
    ground.assert_no_process();
}

/// Case PT-04, policy `stop`: what is left is stopped with the command.
#[test]
fn with_leftovers_stop_nothing_outlives_the_command() {
    let ground = Ground::new();
    let id = ground.shell_with(&["--leftovers", "stop"], "sleep 600 & echo started");
    let record = ground.ended(&id);
    assert_eq!(
        (&record["status"], &record["exit_code"]),
        (&json!("completed"), &json!(0))
    );
    assert_eq!(record["leftovers"], serde_json::Value::Null);
    ground.assert_no_process();
    let busy_ms = i64::try_from(BUSY.as_millis()).expect("it is short");
    assert!(
        span_ms(&record["started"], &record["ended"]) <= 1_000 + busy_ms,
        "{record:#}"
    );
}

/// Case PT-07. The text of the case stands after `-c`, which it lacks there.
#[test]
fn a_cancel_of_a_command_that_ignores_it_is_told_at_once_and_ends_in_kill() {
    let ground = Ground::with_limits("runs_per_session = 1");
    let options = ["--session", "one"];
    let text = "trap '' TERM; echo up; while :; do sleep 0.2; done";
    let id = ground.shell_with(&options, text);
    ground.prints(&id, "up");

    let begun = Instant::now();
    let cancel = ground.spawn(&["cancel", &id, "--grace", "2s"]);
    let record = eventually_some("the cancel is told", SOON, || {
        let record = ground.record(&id);
        (record["cancelling"] == true).then_some(record)
    });
    assert_eq!(record["status"], "running");
    let output = cancel.wait_with_output().expect("it is our child");
    assert_within(3_000, begun);
    assert!(
        begun.elapsed() >= Duration::from_secs(2),
        "the grace is over before KILL"
    );
    assert!(output.status.success(), "{output:?}");
    ground.assert_no_process();
    let record = ground.record(&id);
    assert_eq!(
        (&record["status"], &record["signal"]),
        (&json!("cancelled"), &json!("KILL"))
    );
    assert_eq!(record["output"]["bytes"], 3);
    // Its place is free in the same step.
    let next = ground.start(&["--session", "one", "--", "true"]);
    assert_eq!(ground.wait(&next), 0);
}

/// A client of another daemon: what works for it is nobody's child here.
struct FakeDocker {
    ground: Ground,
    daemon: Child,
    _requests: Gate,
}

impl FakeDocker {
    fn new() -> Self {
        let ground = Ground::new();
        let requests = ground.gate("requests");
        ground.script(
            "daemon",
            "#!/bin/bash\nwhile read -r request; do case $request in\n\
             start) sleep 300 & echo $! >job ;;\n\
             stop) kill \"$(<job)\"; wait; echo stopped >answer ;;\nesac; done <requests\n",
        );
        ground.script(
            "fakedocker",
            "#!/bin/bash\nend() { echo \"$1\" >>signals; echo stop >requests; read -r _ <answer; \
             exit 143; }\ntrap 'end TERM' TERM; trap 'end INT' INT\n\
             echo start >requests\nwhile :; do sleep 0.1; done\n",
        );
        let daemon = ground.other("bash", &["daemon"]).spawn();
        let daemon = daemon.expect("bash can be started");
        Self {
            ground,
            daemon,
            _requests: requests,
        }
    }

    fn job(&self) -> i32 {
        eventually_some("the daemon has started the job", SOON, || {
            self.ground.file("job").trim().parse().ok()
        })
    }
}

impl Drop for FakeDocker {
    fn drop(&mut self) {
        self.daemon.kill().ok();
        self.daemon.wait().ok();
    }
}

/// Case PT-12: the first signal is one that a client can pass on, and it has time to.
#[test]
fn a_cancel_lets_a_client_stop_what_works_for_it_elsewhere() {
    for (options, first) in [(vec![], "TERM\n"), (vec!["--stop-signal", "INT"], "INT\n")] {
        let docker = FakeDocker::new();
        let _answer = docker.ground.gate("answer");
        let words = [options, vec!["--", "./fakedocker", "run", "job"]].concat();
        let id = docker.ground.start(&words);
        let job = docker.job();
        assert!(is_alive(job));
        let output = docker.ground.program.run(&["cancel", &id, "--grace", "5s"]);
        assert_eq!(output.code, Some(0), "{output:#?}");
        assert_eq!(docker.ground.record(&id)["status"], "cancelled");
        assert!(!is_alive(job), "the job works on");
        assert_eq!(docker.ground.file("signals"), first);
    }
}

/// Case PT-12, with a client that passes nothing on: a command of the run does it.
#[test]
fn a_stop_command_runs_before_the_first_signal_of_a_cancel() {
    let docker = FakeDocker::new();
    let _answer = docker.ground.gate("answer");
    let stop = "echo ran >stop-ran; echo stop >requests; read -r _ <answer";
    let client = "trap 'cat stop-ran >at-signal; exit' TERM; echo start >requests
        while :; do sleep 0.1; done";
    let id = docker.ground.shell_with(&["--stop-command", stop], client);
    let job = docker.job();
    let output = docker.ground.program.run(&["cancel", &id, "--grace", "5s"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert_eq!(docker.ground.record(&id)["status"], "cancelled");
    // It had run when the signal came.
    assert_eq!(docker.ground.file("at-signal"), "ran\n");
    assert!(!is_alive(job), "the job works on");
}

/// Case PT-13, second part. A gate stands for the 3 s that the command stays in the case.
#[test]
fn orphans_are_reaped_and_do_not_touch_the_exit_of_the_command() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let text = "for i in $(seq 200); do (sleep 0.01 &); done; echo up; read -r _ <go; exit 5";
    let id = ground.shell(text);
    ground.prints(&id, "up");
    let supervisor = ground.supervisor(&id);
    // Zombies are children too.
    eventually("only the command is left", SOON, || {
        children_of(supervisor).len() == 1
    });
    assert_eq!(ground.record(&id)["status"], "running");
    gate.open(1);
    let record = ground.ended(&id);
    assert_eq!(
        (&record["status"], &record["exit_code"]),
        (&json!("failed"), &json!(5))
    );
}
