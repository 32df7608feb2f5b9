//! A run gets what it was given and nothing else of its caller: signals, descriptors, variables.
//!
//! Cases PT-09, PT-13 and PT-16.

use crate::home::{LIMIT, Place, children_of, environment, program};
use libtest_mimic::{Failed, Trial};
use outlast_lib::{Request, RunId, Status};
use outlast_testkit::{capture, eventually};
use std::process::Command;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        ignored_and_blocked_signals_are_not_inherited,
        descriptors_are_not_inherited,
        a_caller_s_locks_and_sockets_are_free_when_it_is_gone,
        orphans_are_reaped_while_the_main_process_runs,
        a_run_has_no_terminal_and_a_session_of_its_own,
        a_run_has_the_variables_of_its_caller_and_its_own_name,
        what_the_caller_says_goes_before_what_we_say,
        a_variable_for_the_dynamic_loader_does_not_reach_the_supervisor,
        a_tool_s_run_is_told_that_nobody_answers,
    );
}

/// Runs `text` by a caller that `wrapper` starts, and returns its output.
fn output_of(place: &Place, wrapper: &[&str], text: &str) -> String {
    let mut command = Command::new(wrapper[0]);
    command
        .args(&wrapper[1..])
        .arg(program().get_program())
        .args([
            "__start".as_ref(),
            place.store.root().as_os_str(),
            text.as_ref(),
        ])
        .env_clear()
        .envs(environment(&place.home))
        .current_dir(place.home.path());
    let output = capture(command);
    let answer: serde_json::Value =
        serde_json::from_slice(&output.stdout_bytes).expect("the start is answered");
    let id = RunId::parse(answer["id"].as_str().expect("it starts")).expect("it is an id");
    assert_eq!(place.ended(&id).status, Status::Completed);
    place.output(&id)
}

/// PT-09.
fn ignored_and_blocked_signals_are_not_inherited() {
    let place = Place::new();
    let look = "exec grep -E 'SigBlk|SigIgn' /proc/self/status";
    let clean = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n";
    let ignoring = [
        "sh",
        "-c",
        "trap '' HUP INT QUIT TERM PIPE USR1 CHLD; exec \"$@\"",
        "-",
    ];
    assert_eq!(output_of(&place, &ignoring, look), clean);
    let blocking = ["env", "--block-signal"];
    assert_eq!(output_of(&place, &blocking, look), clean);
    let script = "import os, signal, sys
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
os.execv(sys.argv[1], sys.argv[1:])";
    if capture(version("python3")).code == Some(0) {
        assert_eq!(output_of(&place, &["python3", "-c", script], look), clean);
    }
}

fn version(program: &str) -> Command {
    // Some shells say that there is no such program, others that there is no such version.
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$1\" --version", "-", program]);
    command
}

/// PT-16.
fn descriptors_are_not_inherited() {
    let place = Place::new();
    let holding = [
        "bash",
        "-c",
        "exec 5<>held 7</dev/null 200>&5; exec \"$@\"",
        "-",
    ];
    let output = output_of(&place, &holding, "exec ls /proc/self/fd");
    assert_eq!(output, "0\n1\n2\n3\n", "3 is what `ls` reads");
    let supervised = place.start("ls -l /proc/$PPID/fd > fds; exec sleep 600");
    place.has_lines("fds", 5);
    assert!(!place.lines("fds").concat().contains("held"));
    assert_eq!(place.record(&supervised).status, Status::Running);
}

/// PT-16: what a server held is free as soon as it is dead, though its run goes on.
fn a_caller_s_locks_and_sockets_are_free_when_it_is_gone() {
    let place = Place::new();
    let locking = ["bash", "-c", "exec 9>lock; flock -x 9; exec \"$@\"", "-"];
    let text = "(while [ ! -e go ]; do sleep 0.02; done) &";
    output_of(&place, &locking, text);
    let mut again = Command::new("flock");
    again
        .args(["-n", "lock", "true"])
        .current_dir(place.home.path());
    assert_eq!(capture(again).code, Some(0));
    // The shell, and for some moments its `sleep`.
    assert!(
        !place.list()[0].leftovers.is_empty(),
        "the run still has a process"
    );
    place.touch("go");
    place.is_deserted();
}

/// PT-13, the second case.
fn orphans_are_reaped_while_the_main_process_runs() {
    let place = Place::new();
    let id = place.start(
        "for i in $(seq 200); do (sleep 0.01 &); done; echo done > done
         while [ ! -e go ]; do sleep 0.02; done; exit 5",
    );
    place.has_lines("done", 1);
    let supervisor = place.supervisor_of(&id);
    let main = place.main_of(&id).pid;
    eventually("only the main process is left", LIMIT, || {
        let children = children_of(supervisor);
        children.len() == 1 && children[0].0 == main
    });
    assert_eq!(place.record(&id).status, Status::Running);
    place.touch("go");
    let record = place.ended(&id);
    assert_eq!((record.status, record.exit_code), (Status::Failed, Some(5)));
    place.is_sound();
}

/// UX-01.
fn a_run_has_no_terminal_and_a_session_of_its_own() {
    let place = Place::new();
    let id = place.start("read -p 'ok? ' a; echo rc=$?");
    assert_eq!(place.ended(&id).output.bytes, 5);
    assert_eq!(place.output(&id), "rc=1\n");
    let id = place.start("exec cat /dev/tty");
    assert_eq!(place.ended(&id).exit_code, Some(1));
    let id = place.start("set -- $(cat /proc/self/stat); ps -o sid= -p $$ | tr -d ' '; echo $$");
    place.ended(&id);
    let output = place.output(&id);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], lines[1], "it leads its session");
}

fn variables(place: &Place, request: &Request) -> Vec<String> {
    let id = place.begin(request);
    assert_eq!(place.ended(&id).status, Status::Completed);
    let mut lines: Vec<String> = place.output(&id).lines().map(str::to_owned).collect();
    lines.retain(|line| {
        !line.starts_with("OUTLAST_TEST_HOME=") && line != &format!("OUTLAST_RUN={id}")
    });
    lines.sort_unstable();
    lines
}

fn a_run_has_the_variables_of_its_caller_and_its_own_name() {
    let place = Place::new();
    let mut request = place.direct(&["env"]);
    request
        .environment
        .push(("WITH SPACE".into(), "a\nb".into()));
    request
        .environment
        .push(("OUTLAST_RUN".into(), "another".into()));
    request.env_set = vec![("SET".to_owned(), "1".to_owned())];
    let expected = [
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "PYTHONUNBUFFERED=1",
        "SET=1",
        "WITH SPACE=a",
        "b",
    ];
    assert_eq!(variables(&place, &request), expected);
}

fn what_the_caller_says_goes_before_what_we_say() {
    let place = Place::new();
    let mut request = place.direct(&["env"]);
    request.is_for_tool = true;
    request
        .environment
        .push(("PYTHONUNBUFFERED".into(), "".into()));
    request.environment.push(("PAGER".into(), "less".into()));
    request.env_set = vec![("GIT_PAGER".to_owned(), "more".to_owned())];
    let found = variables(&place, &request);
    for expected in ["PYTHONUNBUFFERED=", "PAGER=less", "GIT_PAGER=more"] {
        assert!(found.iter().any(|line| line == expected), "{found:?}");
    }
}

fn a_tool_s_run_is_told_that_nobody_answers() {
    let place = Place::new();
    let mut request = place.direct(&["env"]);
    request.is_for_tool = true;
    let expected = [
        "DEBIAN_FRONTEND=noninteractive",
        "GIT_PAGER=cat",
        "GIT_TERMINAL_PROMPT=0",
        "PAGER=cat",
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "PYTHONUNBUFFERED=1",
    ];
    assert_eq!(variables(&place, &request), expected);
}

fn a_variable_for_the_dynamic_loader_does_not_reach_the_supervisor() -> Result<(), Failed> {
    let place = Place::new();
    let mut request = place.shell("exec sleep 600");
    request.env_set = vec![("LD_PRELOAD".to_owned(), "/nonexistent.so".to_owned())];
    let id = place.begin(&request);
    let environ = format!("/proc/{}/environ", place.supervisor_of(&id));
    let own = std::fs::read_to_string(environ)?;
    assert_eq!(own, format!("OUTLAST_RUN={id}\0"));
    Ok(())
}
