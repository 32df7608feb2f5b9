//! Agent runs under random kills: no call is run twice, none is lost with a worker, and those
//! that were lost with a supervisor are told to the model as unknown.
//!
//! The model wants two calls a turn, eight in all; each has one effect in its middle. The seed
//! stands in every message.

use crate::agent_ground::{Agents, shell};
use crate::case_ground::{SOON, kill};
use outlast_testkit::eventually_some;
use outlast_testkit::model::Turn;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::Value;
use std::collections::BTreeSet;

/// Calls of one run.
const CALLS: usize = 8;

/// Marsaglia's xorshift: all that is asked of it is another order each time.
struct Random(u64);

impl Random {
    fn new() -> (Self, u64) {
        let own = u64::from(std::process::id());
        let given = std::env::var("OUTLAST_SEED");
        let seed = given.ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or(own << 20 | 0x5_eed1).max(1);
        (Self(seed), seed)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// Returns a home whose model wants its calls and then says that it is done.
fn agents() -> Agents {
    let agents = Agents::new();
    agents.model.answer_all(|asked| {
        let done = asked.results.len();
        if done >= CALLS {
            return Turn::text("All of it is done.");
        }
        let call = |number: usize| {
            shell(&format!(
                "sleep 0.02; echo {number} >>effects.$OUTLAST_RUN; sleep 0.02"
            ))
        };
        Turn::call("shell", call(done)).and_call("shell", call(done + 1))
    });
    agents
}

/// Waits for the end of a process, but not longer than this.
fn ends_within(pid: i32, after_us: u64) {
    let Some(pid) = Pid::from_raw(pid) else {
        return;
    };
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let limit = Timespec {
        tv_sec: 0,
        tv_nsec: i64::try_from(after_us * 1_000).unwrap_or(0),
    };
    poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&limit)).ok();
}

/// Waits for a worker that lives, of a number above `before`; none comes once the run has ended.
fn next_worker(agents: &Agents, id: &str, before: u64) -> Option<(i32, u64)> {
    eventually_some("a worker or the end", SOON, || {
        let workers = agents.facts(id, "worker.started");
        let last = workers.last()?;
        let (pid, number) = (last["process"]["pid"].as_i64()?, last["number"].as_u64()?);
        if number > before {
            return Some(Some((i32::try_from(pid).ok()?, number)));
        }
        let journal = agents.journal(id);
        let is_over = |line: &Value| line["type"] == "completed" || line["type"] == "failed";
        journal.iter().any(is_over).then_some(None)
    })
}

fn ids(facts: &[Value]) -> BTreeSet<String> {
    let ids = facts.iter().filter_map(|fact| fact["call"].as_str());
    ids.map(str::to_owned).collect()
}

mod heavy {
    use super::*;

    /// Case RD-04.
    #[test]
    fn ninety_six_calls_of_models_under_random_kills_of_their_workers_run_once_each() {
        let (mut random, seed) = Random::new();
        let agents = agents();
        let mut kills = 0;
        for _ in 0..12 {
            let id = agents.start(&["--sandbox", "host"], "Do all of it.");
            let mut number = 0;
            for _ in 0..5 {
                let Some((worker, new)) = next_worker(&agents, &id, number) else {
                    break;
                };
                number = new;
                ends_within(worker, random.below(600_000));
                kill(worker);
                kills += 1;
            }
            let record = agents.ground.ended(&id);
            assert_eq!(record["status"], "completed", "seed {seed}: {record:#}");
            let mut effects = agents.effects(&format!("effects.{id}"));
            effects.sort_unstable();
            let expected: Vec<String> = (0..CALLS).map(|call| call.to_string()).collect();
            assert_eq!(effects, expected, "seed {seed}, {kills} kills");
            let results = agents.facts(&id, "call.result");
            assert!(results.iter().all(|result| result["is_unknown"] != true));
        }
        assert!(kills > 12, "seed {seed}: {kills} kills say nothing");
        agents.model.assert_histories();
    }

    #[test]
    fn calls_that_were_open_when_their_supervisor_was_killed_are_told_as_unknown_and_not_repeated()
    {
        let (mut random, seed) = Random::new();
        let agents = agents();
        let mut open = 0;
        for _ in 0..8 {
            let id = agents.start(&["--sandbox", "host"], "Do all of it.");
            agents.comes(&id, "call.claimed");
            let supervisor = agents.facts(&id, "claimed")[0]["supervisor"]["pid"].clone();
            let supervisor = supervisor.as_i64().and_then(|pid| i32::try_from(pid).ok());
            let supervisor = supervisor.expect("it is a process");
            ends_within(supervisor, random.below(300_000));
            kill(supervisor);
            let record = agents.ground.ended(&id);
            if record["status"] == "completed" {
                continue;
            }
            assert_eq!(record["status"], "interrupted", "seed {seed}: {record:#}");
            let claimed = ids(&agents.facts(&id, "call.claimed"));
            let known = ids(&agents.facts(&id, "call.ended"));
            let lost: BTreeSet<String> = claimed.difference(&known).cloned().collect();
            open += lost.len();
            let output = agents.run(&["resume", &id]);
            assert_eq!(output.code, Some(0), "seed {seed}: {output:#?}");
            let next = output.stdout.trim().to_owned();
            let record = agents.ground.ended(&next);
            assert_eq!(record["status"], "completed", "seed {seed}: {record:#}");
            assert_eq!(record["resumes"], id.as_str());
            let mut results = agents.facts(&next, "call.result");
            results.retain(|result| result["is_unknown"] == true);
            assert_eq!(ids(&results), lost, "seed {seed}");
            let mut effects = agents.effects(&format!("effects.{id}"));
            effects.extend(agents.effects(&format!("effects.{next}")));
            let once: BTreeSet<&String> = effects.iter().collect();
            assert_eq!(
                once.len(),
                effects.len(),
                "seed {seed}: repeated {effects:?}"
            );
            assert!(
                effects.len() + lost.len() >= CALLS,
                "seed {seed}: lost {effects:?}"
            );
        }
        assert!(
            open > 0,
            "seed {seed}: nobody was killed in the middle of a call"
        );
    }
}
