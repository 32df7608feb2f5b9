//! Case RD-04: exactly once, with the real loop: workers and supervisors are killed at random, and every
//! call that a model asked for is run once, or is told as unknown.
//!
//! The seed stands in every message; `OUTLAST_SEED` repeats it.

use crate::{
    agent_proof::{Proof, document, shell},
    case_ground::{SOON, kill},
    contain_ground::Who,
};
use outlast_testkit::{
    eventually, eventually_some,
    model::{Asked, Turn},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};
use serde_json::json;
use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const RUNS: usize = 12;
/// Calls of a run, two a turn: 96 in all.
const CALLS: usize = 8;
/// So often a worker is killed: one time more, and its run would end.
const KILLS: usize = 5;
/// What the model is told of a call whose end nobody knows.
const UNKNOWN: &str = "nobody knows how this call ended";

/// Marsaglia's xorshift: all that is asked of it is another order each time.
struct Random(u64);

impl Random {
    #[expect(clippy::disallowed_methods, reason = "a seed need not be known before")]
    fn new() -> Self {
        let given = std::env::var("OUTLAST_SEED").ok();
        let given = given.and_then(|seed| seed.parse().ok());
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.expect("after 1970").as_nanos() & 0xffff_ffff;
        Self(given.unwrap_or(u64::try_from(now).expect("masked")).max(1))
    }

    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// Waits for the end of a process, but not longer than this.
fn ends_within(pid: i32, limit: Duration) -> bool {
    let Some(pidfd) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
    else {
        return true;
    };
    let limit = Timespec::try_from(limit).expect("a short time");
    poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&limit)).is_ok_and(|ready| ready > 0)
}

/// Returns a project whose model has each run do its calls, each with one effect in its middle.
fn proof() -> Proof {
    let proof = Proof::new(Who::all()[0]);
    proof.model.answer_all(|asked: &Asked| {
        let run = number_of(asked);
        let done = asked.results.len();
        if done >= CALLS {
            return Turn::text(format!("Run {run} is done."));
        }
        let call = |call: usize| {
            shell(&format!(
                "sleep 0.02; echo {call} >> effects.{run}; sleep 0.02; echo said {call}"
            ))
        };
        Turn::call("shell", call(done)).and_call("shell", call(done + 1))
    });
    proof
}

/// Returns the number in the task of a conversation.
fn number_of(asked: &Asked) -> usize {
    let text = asked.body.to_string();
    let (_, rest) = text.split_once("Be run number ").expect("the task is told");
    let digits = rest.chars().take_while(char::is_ascii_digit);
    digits.collect::<String>().parse().expect("a number")
}

fn start(proof: &Proof, run: usize) -> String {
    let tier = if run.is_multiple_of(2) {
        "edit"
    } else {
        "host"
    };
    proof.start(&["--sandbox", tier], &format!("Be run number {run}."))
}

fn effects(proof: &Proof, run: usize) -> Vec<usize> {
    let text = proof.read(format!("effects.{run}"));
    let mut all: Vec<usize> = text
        .lines()
        .map(|line| line.parse().expect("a number"))
        .collect();
    all.sort_unstable();
    all
}

fn is_ended(proof: &Proof, id: &str) -> bool {
    let ends = [
        "completed",
        "failed",
        "cancelled",
        "timed_out",
        "interrupted",
    ];
    ends.iter().any(|kind| !proof.facts(id, kind).is_empty())
}

/// Returns the worker that follows this many others, unless the run ends without one.
fn next_worker(proof: &Proof, id: &str, number: usize) -> Option<i32> {
    eventually_some("a worker or the end", SOON * 2, || {
        let started = proof.facts(id, "worker.started");
        if let Some(last) = started.get(number) {
            return Some(last["process"]["pid"].as_i64());
        }
        is_ended(proof, id).then_some(None)
    })
    .map(|pid| i32::try_from(pid).expect("a pid"))
}

/// Returns what the model was told of each call of a run, in order.
fn told(proof: &Proof, run: usize) -> Vec<String> {
    let turns = proof.model.turns();
    let of_run = turns.iter().rev().find(|asked| number_of(asked) == run);
    let results = &of_run.expect("the model was asked").results;
    results.iter().map(|result| result.text.clone()).collect()
}

mod heavy {
    use super::*;

    #[test]
    fn ninety_six_calls_under_random_kills_of_their_worker_run_once_each_and_are_told() {
        let mut random = Random::new();
        let seed = random.0;
        let proof = proof();
        let mut kills = 0;
        for run in 0..RUNS {
            let id = start(&proof, run);
            for number in 0..KILLS {
                let Some(worker) = next_worker(&proof, &id, number) else {
                    break;
                };
                let limit = Duration::from_micros(random.below(400_000));
                if !ends_within(worker, limit) {
                    kill(worker);
                    kills += 1;
                }
            }
            let waited = proof.run(&["wait", "--for", "80s", &id]);
            assert_eq!(waited.code, Some(0), "seed {seed}, run {run}: {waited:#?}");
            let all: Vec<usize> = (0..CALLS).collect();
            assert_eq!(effects(&proof, run), all, "seed {seed}, run {run}");
            let told = told(&proof, run);
            assert_eq!(told.len(), CALLS, "seed {seed}: {told:#?}");
            for (text, call) in told.iter().zip(0..) {
                assert!(
                    text.contains(&format!("said {call}")),
                    "seed {seed}: {text}"
                );
            }
            for kind in ["call.claimed", "call.ended", "call.result"] {
                let facts = proof.facts(&id, kind);
                let ids: BTreeSet<String> =
                    facts.iter().map(|fact| fact["call"].to_string()).collect();
                assert_eq!(
                    (facts.len(), ids.len()),
                    (CALLS, CALLS),
                    "seed {seed}: {kind}"
                );
            }
        }
        proof.model.assert_histories();
        proof.model.assert_played();
        assert!(kills >= RUNS, "seed {seed}: {kills} kills say nothing");
        println!(
            "seed {seed}: {kills} kills of workers, {} calls",
            RUNS * CALLS
        );
    }

    #[test]
    fn ninety_six_calls_under_random_kills_of_their_supervisor_are_never_repeated() {
        let mut random = Random::new();
        let seed = random.0;
        let proof = proof();
        let (mut kills, mut unknown) = (0, 0);
        for run in 0..RUNS {
            let mut id = start(&proof, run);
            let mut open: BTreeSet<String> = BTreeSet::new();
            let mut chain = vec![id.clone()];
            for _ in 0..2 {
                let supervisor = proof.supervisor();
                let limit = Duration::from_micros(random.below(900_000));
                if let Some(supervisor) = supervisor
                    && !ends_within(supervisor, limit)
                {
                    kill(supervisor);
                }
                eventually("nobody supervises it", SOON, || {
                    proof.supervisor().is_none()
                });
                let record = proof.ground.json(&["show", "--json", &id]);
                if record["status"] != "interrupted" {
                    assert_eq!(record["status"], "completed", "seed {seed}: {record:#}");
                    break;
                }
                kills += 1;
                open.extend(open_calls(&proof, &id));
                let resumed = proof.run(&["resume", &id]);
                assert_eq!(resumed.code, Some(0), "seed {seed}: {resumed:#?}");
                let next = resumed.stdout.trim().to_owned();
                let record = proof.ground.json(&["show", "--json", &next]);
                assert_eq!(record["resumes"], id.as_str(), "seed {seed}: {record:#}");
                id = next;
                chain.push(id.clone());
            }
            let waited = proof.run(&["wait", "--for", "80s", &id]);
            assert_eq!(waited.code, Some(0), "seed {seed}, run {run}: {waited:#?}");
            let done = effects(&proof, run);
            let once: BTreeSet<usize> = done.iter().copied().collect();
            assert_eq!(once.len(), done.len(), "seed {seed}, run {run}: {done:?}");
            let told = told(&proof, run);
            assert_eq!(told.len(), CALLS, "seed {seed}: {told:#?}");
            let mut told_unknown = 0;
            for (text, call) in told.iter().zip(0..) {
                if text.contains(UNKNOWN) {
                    told_unknown += 1;
                } else {
                    assert!(
                        text.contains(&format!("said {call}")),
                        "seed {seed}: {text}"
                    );
                    assert!(once.contains(&call), "seed {seed}: {call} was lost");
                }
            }
            assert_eq!(
                told_unknown,
                open.len(),
                "seed {seed}, run {run}: {told:#?}"
            );
            assert_eq!(
                unknown_calls(&proof, &chain),
                open,
                "seed {seed}, run {run}"
            );
            unknown += open.len();
        }
        proof.model.assert_histories();
        proof.model.assert_played();
        assert!(kills >= RUNS / 2, "seed {seed}: {kills} kills say nothing");
        println!("seed {seed}: {kills} kills of supervisors, {unknown} unknown calls");
    }

    /// What is unknown stands in the document of the run that was resumed.
    #[test]
    fn a_call_that_nobody_knows_is_named_in_the_document_of_the_resumed_run() {
        let proof = Proof::new(Who::all()[0]);
        proof
            .model
            .answer_all(|asked: &Asked| match asked.results.len() {
                0 => Turn::call("shell", shell("echo begun >> begun; sleep 600")),
                _ => Turn::text("I looked."),
            });
        let id = proof.start(&["--sandbox", "edit"], "Do it once.");
        eventually("it begins", SOON, || proof.read("begun") == "begun\n");
        kill(proof.supervisor().expect("it lives"));
        eventually("nobody supervises it", SOON, || {
            proof.supervisor().is_none()
        });
        let end = document(&proof.run(&["resume", "--json", &id]));
        assert_eq!(end["status"], "success", "{end:#}");
        let unknown = end["unknown_outcomes"].as_array().map(Vec::len);
        assert_eq!(unknown, Some(1), "{end:#}");
        assert_eq!(end["resumed"], json!([id]), "{end:#}");
        assert_eq!(proof.read("begun"), "begun\n");
    }
}

/// Returns the calls of a run that were claimed and whose end nobody wrote.
fn open_calls(proof: &Proof, id: &str) -> BTreeSet<String> {
    let ids = |kind: &str| -> BTreeSet<String> {
        let facts = proof.facts(id, kind).into_iter();
        facts.map(|fact| fact["call"].to_string()).collect()
    };
    ids("call.claimed")
        .difference(&ids("call.ended"))
        .cloned()
        .collect()
}

/// Returns the calls that these runs settled as unknown.
fn unknown_calls(proof: &Proof, chain: &[String]) -> BTreeSet<String> {
    let results = chain.iter().flat_map(|id| proof.facts(id, "call.result"));
    let unknown = results.filter(|result| result["is_unknown"] == true);
    unknown.map(|result| result["call"].to_string()).collect()
}
