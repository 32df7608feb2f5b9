//! Cases PT: what a command has of those who started it, which is nothing.
//!
//! Its terminal, signals, descriptors and threads are theirs: they may go, and
//! the run goes on.

use crate::case_ground::{Ground, SOON, assert_within};
use outlast_testkit::{capture, eventually};
use serde_json::json;
use std::{net::TcpListener, time::Instant};

/// Runs a shell text in a terminal, reads one line from it, and closes it.
const CLOSE_TERMINAL: &str = "
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execvp('sh', ['sh', '-c', sys.argv[1]])
seen = b''
while b'\\n' not in seen:
    seen += os.read(master, 1024)
os.close(master)
_, status = os.waitpid(pid, 0)
print(seen.split()[0].decode(), os.WTERMSIG(status))
";

/// Case PT-06. That a systemd unit which is restarted takes the run along is said in the
/// record; scopes of our own are postponed. Python's terminal stands for that of `script`.
#[test]
fn a_run_outlives_the_terminal_it_was_started_from() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    // The shell stays, so that it is the terminal's end that ends it.
    let text = r#""$OUTLAST" run -c 'read -r _ <go; echo ok'; exec sleep 300"#;
    let output = capture(ground.other("python3", &["-c", CLOSE_TERMINAL, text]));
    let (id, signal) = output
        .stdout
        .trim()
        .split_once(' ')
        .expect("an id and a signal");
    assert_eq!(signal, "1", "{output:#?}");
    assert_eq!(ground.record(id)["status"], "running");
    gate.open(1);
    let record = ground.ended(id);
    assert_eq!(
        (&record["status"], &record["exit_code"]),
        (&json!("completed"), &json!(0))
    );
    assert_eq!(record["output"]["bytes"], 3);
    let survives = json!({ "host_exit": true, "terminal": true, "unit_restart": false });
    assert_eq!(record["survives"], survives);
}

/// Case PT-09.
#[test]
fn a_command_has_no_signal_ignored_or_blocked() {
    let ground = Ground::new();
    let command = r#""$OUTLAST" run --wait -c 'grep -E "SigBlk|SigIgn" /proc/self/status'"#;
    let ignoring = format!("trap '' INT QUIT HUP PIPE; {command}");
    let blocking = "
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
os.execvp('sh', ['sh', '-c', sys.argv[1]])
";
    let hosts = [
        ground.other("sh", &["-c", &ignoring]),
        ground.other("nohup", &["sh", "-c", command]),
        ground.other("python3", &["-c", blocking, command]),
    ];
    for host in hosts {
        let output = capture(host);
        let zero = "0000000000000000";
        assert_eq!(
            output.stdout,
            format!("SigBlk:\t{zero}\nSigIgn:\t{zero}\n"),
            "{output:#?}"
        );
        assert_eq!(output.code, Some(0));
    }
}

/// Case PT-10. The kernel says what signal a process gets at its parent's end, so nobody has
/// to wait 30 s for threads to retire; the command line retires with every thread it has.
#[test]
fn a_command_gets_no_signal_at_the_end_of_who_started_it() {
    let ground = Ground::new();
    let ask = "
import ctypes
signal = ctypes.c_int(-1)
PR_GET_PDEATHSIG = 2
assert ctypes.CDLL(None).prctl(PR_GET_PDEATHSIG, ctypes.byref(signal)) == 0
print(signal.value)
";
    let output = ground
        .program
        .run(&["run", "--wait", "--", "python3", "-c", ask]);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), "0\n"),
        "{output:#?}"
    );
}

mod heavy {
    use super::*;

    /// Case PT-10.
    #[test]
    fn fifty_runs_go_on_when_all_who_started_them_are_gone() {
        let ground = Ground::new();
        for _ in 0..50 {
            ground.start(&["--", "sleep", "60"]);
        }
        assert_eq!((ground.count("running"), ground.runs().len()), (50, 50));
        assert_eq!(ground.processes_of("sleep").len(), 50);
    }
}

/// Case PT-15.
#[test]
fn an_exit_of_137_a_kill_from_somewhere_and_a_cancel_are_told_apart() {
    let ground = Ground::new();
    let first = ground.shell("exit 137");
    let second = ground.shell("kill -KILL $$");
    let third = ground.start(&["--", "sleep", "60"]);
    let output = ground.program.run(&["cancel", &third, "--grace", "0"]);
    assert_eq!(output.code, Some(0), "{output:#?}");

    let outcome = |id: &str| {
        let record = ground.ended(id);
        ["status", "exit_code", "signal", "ended_by"].map(|field| record[field].clone())
    };
    assert_eq!(
        outcome(&first),
        [json!("failed"), json!(137), json!(null), json!("self")]
    );
    assert_eq!(
        outcome(&second),
        [
            json!("failed"),
            json!(null),
            json!("KILL"),
            json!("unknown")
        ]
    );
    assert_eq!(
        outcome(&third),
        [
            json!("cancelled"),
            json!(null),
            json!("KILL"),
            json!("cancel")
        ]
    );
}

/// Case PT-16.
#[test]
fn a_command_has_three_descriptors_whatever_its_starter_had_open() {
    let ground = Ground::new();
    let open = "exec 3</dev/null 7</dev/zero 100>/dev/null; ";
    let command = r#"exec "$OUTLAST" run --wait -c 'ls -l /proc/self/fd'"#;
    let output = capture(ground.other("bash", &["-c", &format!("{open}{command}")]));
    let names: Vec<&str> = output
        .stdout
        .lines()
        .filter_map(|line| line.split(" -> ").next()?.split_whitespace().last())
        .filter(|name| name.parse::<u32>().is_ok())
        .collect();
    // The first line counts blocks. The fourth descriptor is the directory that `ls` reads.
    let names = names.get(1..).unwrap_or_default();
    assert_eq!(names, ["0", "1", "2", "3"], "{output:#?}");
}

/// Case PT-16. Any program that listens stands for the server, which is not there yet.
#[test]
fn a_server_that_died_can_listen_again_while_a_run_it_started_goes_on() {
    let ground = Ground::new();
    let server = "
import os, socket, subprocess, sys
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(('127.0.0.1', 0))
listener.listen()
os.set_inheritable(listener.fileno(), True)
print(listener.getsockname()[1], flush=True)
run = [os.environ['OUTLAST'], 'run', '--', 'sleep', '60']
subprocess.run(run, close_fds=False, check=True)
os.kill(os.getpid(), 9)
";
    let output = capture(ground.other("python3", &["-c", server]));
    assert_eq!(output.signal, Some(9), "{output:#?}");
    let mut said = output.stdout.lines();
    let port: u16 = said
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    let id = said.next().expect("an id");
    let begun = Instant::now();
    eventually("the port is free", SOON, || {
        TcpListener::bind(("127.0.0.1", port)).is_ok()
    });
    assert_within(1_000, begun);
    assert_eq!(ground.record(id)["status"], "running");
}
