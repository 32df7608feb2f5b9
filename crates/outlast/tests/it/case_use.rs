//! Cases UX, MU, SB and PR: what people meet who use the program.
//!
//! Each test is a case of `docs/reference/cases.md`.

use crate::case_ground::{Ground, SOON, assert_within, kill, lines};
use outlast_testkit::{capture, eventually};
use serde_json::{Value, json};
use std::time::Instant;

/// Runs a shell text in a terminal of its own and prints what it printed.
const IN_TERMINAL: &str = "
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execvp('sh', ['sh', '-c', sys.argv[1]])
seen = b''
while True:
    try:
        part = os.read(master, 4096)
    except OSError:
        break
    if not part:
        break
    seen += part
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
sys.exit(os.WEXITSTATUS(status))
";

/// Case UX-01. Started in a terminal, which a command could read from. The hint of a run in a
/// terminal of its own is postponed with it.
#[test]
fn a_command_that_asks_gets_no_answer_and_no_terminal() {
    let ground = Ground::new();
    let setup = "git init -q repo && cd repo && for i in 1 2 3; do
        git -c user.name=a -c user.email=a@b commit -q --allow-empty -m \"commit $i\" || exit; done";
    let made = capture(ground.other("bash", &["-c", setup]));
    assert_eq!(made.code, Some(0), "{made:#?}");
    let in_terminal = |text: &str| {
        let begun = Instant::now();
        let call = r#""$OUTLAST" run --wait -c "$ASKS" 2>talk"#;
        let mut command = ground.other("python3", &["-c", IN_TERMINAL, call]);
        command.env("ASKS", text);
        let output = capture(command);
        assert_within(1_000, begun);
        output
    };
    let read = in_terminal(r#"read -p "ok? " a; echo rc=$?"#);
    assert_eq!(read.stdout, "rc=1\r\n", "{read:#?}");
    assert_eq!(ground.runs()[0]["output"]["bytes"], 5);
    let tty = in_terminal("cat /dev/tty");
    assert_eq!(tty.code, Some(1), "{tty:#?}");
    let log = in_terminal("git -C repo log --oneline");
    assert_eq!(
        (log.code, log.stdout.lines().count()),
        (Some(0), 3),
        "{log:#?}"
    );
    // Without sudo it is no such program, which is no prompt either.
    let sudo = in_terminal("sudo -k true </dev/null");
    assert_ne!(sudo.code, Some(75), "{sudo:#?}");
}

/// Case UX-02.
#[test]
fn each_outcome_of_a_run_has_its_own_exit_code() {
    let ground = Ground::new();
    let run = |words: &[&str]| {
        ground
            .program
            .run(&[&["run", "--wait"], words].concat())
            .code
    };
    assert_eq!(run(&["--", "true"]), Some(0));
    assert_eq!(run(&["--", "sh", "-c", "exit 7"]), Some(7));
    assert_eq!(run(&["-c", "kill -KILL $$"]), Some(128 + 9));
    assert_eq!(run(&["--timeout", "200ms", "--", "sleep", "60"]), Some(124));
    assert_eq!(run(&["--cwd", "/nonexistent", "--", "true"]), Some(126));
    assert_eq!(run(&["--", "/etc/passwd"]), Some(126));
    assert_eq!(run(&["--", "no-such-program"]), Some(127));
    assert_eq!(run(&["--timeout", "abc", "--", "true"]), Some(2));

    let stopped = |stop: &dyn Fn(&str)| {
        let wait = ground.spawn(&["run", "--wait", "--label", "stopped", "-c", "sleep 60"]);
        eventually("it runs", SOON, || ground.count("running") == 1);
        stop("stopped");
        wait.wait_with_output()
            .expect("it is our child")
            .status
            .code()
    };
    assert_eq!(stopped(&|label| ground.cancel(label)), Some(130));
    let killed = stopped(&|label| {
        let id = ground.record(label)["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        kill(ground.supervisor(&id));
    });
    assert_eq!(killed, Some(125));

    let id = ground.start(&["--", "sleep", "60"]);
    assert_eq!(
        ground.program.run(&["wait", "--for", "1s", &id]).code,
        Some(75)
    );
    assert_eq!(ground.program.run(&["show", "nothing"]).code, Some(3));
    assert_eq!(ground.program.run(&["launch"]).code, Some(2));
}

/// Case MU-02. A process that is killed stands for a session of `outlast mcp` at its end.
#[test]
fn the_end_of_a_session_ends_the_runs_that_asked_for_it_and_no_other() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let mut session = ground
        .other("sleep", &["300"])
        .spawn()
        .expect("sleep can be started");
    let holder = session.id().to_string();
    let options = ["--lifetime", "session", "--session-pid", &holder];
    let held = ground.shell_with(&options, "exec sleep 60");
    let detached = ground.shell_with(&["--lifetime", "detached"], "read -r _ <go; echo kept");
    let shown = ground.record(&detached);
    assert_eq!(shown["lifetime"], "detached");
    assert_eq!(ground.record(&held)["lifetime"], "session");

    let begun = Instant::now();
    session.kill().expect("it is our child");
    session.wait().expect("it is our child");
    let record = ground.ended(&held);
    assert_within(5_000, begun);
    let seen = ["status", "ended_by"].map(|field| record[field].clone());
    assert_eq!(seen, [json!("cancelled"), json!("session")]);
    assert_eq!(ground.record(&detached)["status"], "running");
    gate.open(1);
    let record = ground.ended(&detached);
    assert_eq!(
        (&record["status"], &record["output"]["bytes"]),
        (&json!("completed"), &json!(5))
    );
}

/// Case SB-01, what no backend can bind. Steps that fail are in `contain_honest`.
#[test]
fn what_cannot_be_contained_as_asked_is_refused_and_leaves_nothing() {
    let ground = Ground::new();
    for asked in [["--network", "none"], ["--memory", "1GiB"], ["--image", ""]] {
        let mut command = ground.program.command(&["run", "--json"]);
        command.args(asked).args(["--", "touch", "was-run"]);
        let output = capture(command);
        assert_eq!(output.code, Some(126), "{output:#?}");
        let refused: Value = serde_json::from_str(&output.stdout).expect("a document");
        let error = &refused["error"];
        assert_eq!(error["code"], "containment_unavailable");
        for field in ["message", "hint"] {
            assert!(
                error[field]
                    .as_str()
                    .is_some_and(|text| text.contains(asked[0])),
                "{error}"
            );
        }
    }
    assert_eq!(ground.run_dirs().len(), 0);
    assert!(!ground.home.work().join("was-run").exists());
    ground.assert_no_process();
}

/// Case PR-05, following. A cut stream of a server waits for it; here the supervisor is killed
/// under those who follow, which is an end that is told.
#[test]
fn those_who_follow_a_run_whose_supervisor_dies_are_told_the_end() {
    let ground = Ground::new();
    let id = ground.shell("echo up; exec sleep 300");
    ground.prints(&id, "up");
    let events = ground.spawn(&["events", "--jsonl", "-f", &id]);
    let logs = ground.spawn(&["logs", "-f", &id]);
    kill(ground.supervisor(&id));
    let ended = |child: std::process::Child| {
        let output = child.wait_with_output().expect("it is our child");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).expect("it prints text")
    };
    let followed: Vec<Value> = ended(events)
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is a document"))
        .collect();
    let numbers: Vec<u64> = followed
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    let is_end = |event: &&Value| event["type"] == "completed" || event["type"] == "failed";
    assert_eq!(followed.iter().filter(is_end).count(), 1);
    assert!(
        followed.last().as_ref().is_some_and(is_end),
        "{followed:#?}"
    );
    assert_eq!(ended(logs), "up\n");

    // Who was cut goes on from any event and misses none.
    for since in 0..=numbers.len() {
        let words = ["events", "--jsonl", "--since", &since.to_string(), &id];
        let rest = lines(&ground.program.run(&words));
        assert_eq!(rest, followed[since..]);
    }
}
