//! Servers are killed at random moments under eight clients; no start is lost or doubled.
//!
//! The seed stands in every message; `OUTLAST_SEED` repeats it.

use crate::{case_ground::Ground, mcp_client::Client};
use outlast_testkit::invariants;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};
use serde_json::{Value, json};
use std::{env, process, thread};

const CLIENTS: u64 = 8;
const ROUNDS: u64 = 6;
/// Kills in one round before the start is left alone.
const KILLS: usize = 2;
/// By then a start is answered on a machine that is busy with eight of them, in microseconds.
const KILLED_WITHIN_US: u64 = 500_000;

/// Marsaglia's xorshift: all that is asked of it is another order each time.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

fn seed() -> u64 {
    let given = env::var("OUTLAST_SEED").ok();
    let given = given.and_then(|seed| seed.parse().ok());
    let own = u64::from(process::id()) << 20 | 1;
    given.unwrap_or(own).max(1)
}

/// Waits for a process to end, so long and no longer.
fn ends_within(pid: i32, micros: u64) {
    let pid = Pid::from_raw(pid).expect("a pid is positive");
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("it is our child");
    let time = Timespec {
        tv_sec: 0,
        tv_nsec: i64::try_from(micros * 1_000).expect("it is less than a second"),
    };
    poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&time)).ok();
}

/// One client, with a server of its own each time.
struct Hand<'a> {
    ground: &'a Ground,
    number: u64,
    random: Random,
}

impl Hand<'_> {
    fn server(&self) -> Client {
        let session = format!("s{}", self.number);
        let command = self.ground.program.command(&["mcp", "--session", &session]);
        Client::start(command)
    }

    /// Asks for the start with this key; every second client takes it as a task.
    fn ask(&self, client: &mut Client, key: &str) -> u64 {
        let arguments = json!({
            "command": format!("echo x >>ran.{key}; exit 3"), "idempotency_key": key,
        });
        let params = json!({"name": "background_run", "arguments": arguments});
        let tasks = json!({"io.modelcontextprotocol/tasks": {}});
        let extensions = if self.number.is_multiple_of(2) {
            tasks
        } else {
            json!({})
        };
        client.send_modern(&extensions, "tools/call", params)
    }

    /// Starts with one key, killed and repeated; returns the ids of all answers.
    fn round(&mut self, key: &str) -> Vec<String> {
        let mut ids = Vec::new();
        for kill in 0..=KILLS {
            let mut client = self.server();
            let request = self.ask(&mut client, key);
            if kill < KILLS {
                ends_within(client.pid(), self.random.below(KILLED_WITHIN_US));
                client.kill();
            }
            ids.extend(id_in(&client, request));
        }
        ids
    }
}

/// Returns the run that the answer to a request names, if it came and names one.
fn id_in(client: &Client, request: u64) -> Option<String> {
    loop {
        let answer = client.message()?;
        if answer["id"] != request {
            continue;
        }
        let result = &answer["result"];
        let answer = &result["structuredContent"];
        let named = [&result["taskId"], &answer["id"], &answer["error"]["id"]];
        let id = named.into_iter().find_map(Value::as_str);
        assert!(id.is_some(), "{answer:#}");
        return id.map(str::to_owned);
    }
}

mod heavy {
    use super::*;

    /// Case TW-04, with servers that die.
    #[test]
    fn no_answered_start_is_lost_and_none_doubled_when_servers_are_killed_under_eight_clients() {
        let seed = seed();
        let ground = Ground::new();
        let work = |number: u64| {
            let mut hand = Hand {
                ground: &ground,
                number,
                random: Random(seed.wrapping_mul(number + 1).max(1)),
            };
            let rounds = (0..ROUNDS).map(|round| {
                let key = format!("{number}-{round}");
                let ids = hand.round(&key);
                (key, ids)
            });
            rounds.collect::<Vec<_>>()
        };
        let all: Vec<(String, Vec<String>)> = thread::scope(|scope| {
            let hands: Vec<_> = (0..CLIENTS)
                .map(|number| scope.spawn(move || work(number)))
                .collect();
            let done = hands.into_iter();
            done.flat_map(|hand| hand.join().expect("no client fails"))
                .collect()
        });
        for (key, ids) in &all {
            let id = ids.first().expect("the last start is answered");
            assert!(
                ids.iter().all(|other| other == id),
                "seed {seed}, key {key}: {ids:?}"
            );
            let record = ground.ended(id);
            let ran = ground.file(&format!("ran.{key}")).lines().count();
            let what = format!("seed {seed}, key {key}, ran {ran} times: {record:#}");
            if record["status"] == "interrupted" {
                // Its server died before the supervisor had all that it needs; it is said.
                assert_eq!(ran, 0, "{what}");
                continue;
            }
            assert_eq!(
                (&record["status"], &record["exit_code"]),
                (&json!("failed"), &json!(3)),
                "{what}"
            );
            assert_eq!(ran, 1, "{what}");
        }
        let runs = ground.runs();
        assert_eq!(runs.len(), all.len(), "one key, one run; seed {seed}");
        invariants::assert_sound(&ground.home.store());
    }
}
