//! Cases RU and PF: what is small stays small, whatever a run prints and wherever it runs.
//!
//! Each test is a case of `docs/reference/cases.md`. Memory is what the kernel
//! says of each process while it works.

use crate::case_ground::{Ground, SOON, status_number};
use outlast_testkit::{capture, eventually};
use serde_json::{Value, json};
use std::process::Stdio;

mod heavy {
    use super::*;

    /// Memory of a process that was looked at again and again.
    struct Memory {
        pid: i32,
        seen_kib: Vec<u64>,
    }

    impl Memory {
        fn of(pid: i32) -> Self {
            let seen_kib = Vec::new();
            Self { pid, seen_kib }
        }

        fn look(&mut self) {
            self.seen_kib.extend(status_number(self.pid, "VmRSS"));
        }

        /// What grows with output stays grown; buffers that are full for a moment do not.
        #[track_caller]
        fn assert_steady(&self, most_mib: u64) {
            let most_kib = self.seen_kib.iter().copied().max().unwrap_or(0);
            assert!(most_kib <= most_mib << 10, "{most_kib} KiB");
            let (early, late) = self.seen_kib.split_at(self.seen_kib.len() / 2);
            let early = early.iter().copied().max().expect("it was looked at");
            let late = late.iter().copied().min().expect("it was looked at");
            assert!(
                late <= early + (1 << 10),
                "it grew from {early} to {late} KiB"
            );
        }
    }

    /// Case RU-01. The run has 5 s in place of 20, in which it prints some gigabytes: what
    /// grows with output grows by then. The server waits until there is one.
    #[test]
    fn the_memory_of_supervisor_and_follower_does_not_grow_with_output() {
        let ground = Ground::new();
        let options = ["--max-output", "1MiB", "--timeout", "5s", "--grace", "1s"];
        let id = ground.shell_with(&options, "yes");
        let mut command = ground.program.command(&["logs", "-f", &id]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut follower = command.spawn().expect("the program can be started");
        let mut supervisor_memory = Memory::of(ground.supervisor(&id));
        let mut follower_memory = Memory::of(follower.id().try_into().expect("a pid"));
        eventually("the run ends", SOON, || {
            supervisor_memory.look();
            follower_memory.look();
            follower.try_wait().expect("it is our child").is_some()
        });
        let record = ground.record(&id);
        assert_eq!(record["status"], "timed_out", "{record:#}");
        assert!(
            record["output"]["bytes"].as_u64() > Some(100 << 20),
            "{record:#}"
        );
        supervisor_memory.assert_steady(8);
        follower_memory.assert_steady(32);
    }
}

/// Case RU-02, on the command line: `logs --json` answers with 16 KiB, a tool with 8 KiB.
#[test]
fn an_answer_about_fifty_megabytes_of_output_is_small_and_says_how_much_there_is() {
    let ground = Ground::new();
    let print = "yes 'one line of a long build that nobody will read' | head -c 50000000";
    let id = ground.shell(print);
    let record = ground.ended(&id);
    assert_eq!(record["output"]["bytes"], 50_000_000);
    let size = |words: &[&str]| ground.program.run(words).stdout.len();
    assert!(size(&["show", "--json", &id]) <= 11_264);
    assert!(size(&["show", &id]) <= 11_264);
    assert!(size(&["wait", "--json", &id]) <= 11_264);
    for _ in 0..7 {
        ground.wait(&ground.start(&["--", "true"]));
    }
    assert!(size(&["ps", "--json"]) <= 90_112);

    let page = ground.program.json(&["logs", "--json", &id]);
    assert_eq!(
        (&page["total_bytes"], &page["truncated"]),
        (&json!(50_000_000), &json!(true))
    );
    assert_eq!(page["next_byte"], 50_000_000);
    let shown = page["output"].as_str().map(str::len);
    assert!(
        shown.is_some_and(|bytes| bytes > 0 && bytes <= 16 << 10),
        "{shown:?}"
    );
}

/// Case PF-01. With no program to be found, only system calls are left; an image with nothing
/// but busybox would show no less.
#[test]
fn a_run_needs_no_program_but_its_own() {
    let ground = Ground::new();
    let text = "/bin/sleep 300 & echo hi";
    for words in [
        vec!["run", "--", "/bin/sh", "-c", text],
        vec!["run", "-c", text],
    ] {
        let call = |words: &[&str]| {
            let mut command = ground.program.command(words);
            command.env("PATH", "/nonexistent");
            let output = capture(command);
            assert_eq!(output.code, Some(0), "{output:#?}");
            output.stdout
        };
        let id = call(&words);
        let id = id.trim();
        call(&["wait", id]);
        let record: Value =
            serde_json::from_str(&call(&["show", "--json", id])).expect("a document");
        assert_eq!(
            (&record["exit_code"], &record["output"]["bytes"]),
            (&json!(0), &json!(3))
        );
        assert_eq!(record["leftovers"].as_array().map(Vec::len), Some(1));
        call(&["cancel", id]);
        ground.assert_no_process();
    }
}
