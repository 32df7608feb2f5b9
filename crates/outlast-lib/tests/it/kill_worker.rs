//! Workers, keepers of calls and supervisors are killed; no call is run twice, and none is lost
//! but with its supervisor.
//!
//! The seed stands in every message; `OUTLAST_SEED` repeats it.

use crate::calls::{begin, kinds, request, results};
use crate::home::{LIMIT, Place, is_alive, kill};
use crate::kill_matrix::NO_POINTS;
use crate::kill_random::{Random, seed};
use libtest_mimic::{Completion, Trial};
use outlast_journal::Limits;
use outlast_lib::{RunId, Status, limits};
use outlast_testkit::{eventually, eventually_some};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        ninety_six_calls_under_random_kills_of_their_workers_run_once_each,
        ninety_six_calls_under_random_kills_of_their_supervisors_run_once_at_most,
    );
    for point in KEEPER {
        let name = format!("kill_worker::a_keeper_killed_at_{point}_leaves_an_unknown_call");
        trials.push(Trial::ignorable_test(name, move || {
            Ok(at(|| keeper_at(point)))
        }));
    }
    for (point, is_executed) in SUPERVISOR {
        let name = format!("kill_worker::a_supervisor_killed_at_{point}_leaves_a_claimed_call");
        trials.push(Trial::ignorable_test(name, move || {
            Ok(at(|| supervisor_at(point, is_executed)))
        }));
    }
}

const RUNS: usize = 12;
const STEPS: usize = 4;

/// Points of a keeper, in order.
const KEEPER: [&str; 4] = [
    "call_synced",
    "call_spawned",
    "call_main_ended",
    "call_over",
];

/// Points of a supervisor, and whether the call was executed by then.
const SUPERVISOR: [(&str, bool); 3] = [
    ("call_claimed", false),
    ("call_ended", true),
    ("call_end_written", true),
];

fn at(trial: impl FnOnce()) -> Completion {
    if !cfg!(debug_assertions) {
        return Completion::ignored_with(NO_POINTS);
    }
    trial();
    Completion::Completed
}

/// Two calls a step, each with one effect in its middle.
fn script(number: usize) -> String {
    let step = format!("pair sleep 0.015; echo $OUTLAST_CALL >>effects.{number}; sleep 0.015");
    vec![step; STEPS].join("\n")
}

fn many() -> Place {
    let mut limits = Limits::default();
    limits.agent_runs_max = u32::try_from(RUNS).expect("a small number");
    Place::with(limits)
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

/// Waits for the worker that follows one that was killed; none follows once the run has ended.
fn next_worker(place: &Place, id: &RunId) -> Option<i32> {
    eventually_some("a worker or the end", LIMIT, || {
        if place.record(id).status.is_ended() {
            return Some(None);
        }
        let workers = kinds(place, id, "worker.started");
        let pid = workers.last()?["process"]["pid"].as_i64()?;
        let pid = i32::try_from(pid).ok().filter(|pid| is_alive(*pid))?;
        Some(Some(pid))
    })
}

/// Case RD-04.
fn ninety_six_calls_under_random_kills_of_their_workers_run_once_each() {
    let seed = seed();
    let mut random = Random(seed);
    let place = many();
    let mut all = 0;
    let ids: Vec<RunId> = (0..RUNS)
        .map(|run| {
            let id = begin(&place, &script(run));
            for _ in 0..limits::WORKER_RESTARTS_MAX {
                let Some(worker) = next_worker(&place, &id) else {
                    break;
                };
                ends_within(worker, random.below(150_000));
                all += usize::from(is_alive(worker));
                kill(worker);
            }
            id
        })
        .collect();
    for (run, id) in ids.iter().enumerate() {
        let record = place.ended(id);
        assert_eq!(record.status, Status::Completed, "seed {seed}: {record:?}");
        let mut effects = place.lines(&format!("effects.{run}"));
        effects.sort_unstable();
        let expected: Vec<String> = (1..=STEPS)
            .flat_map(|step| [format!("{step}.1"), format!("{step}.1.2")])
            .collect();
        assert_eq!(effects, expected, "seed {seed}, {all} kills");
        let told = json!(results(&place, id)).to_string();
        assert!(!told.contains("unknown"), "seed {seed}: {told}");
    }
    assert!(all >= RUNS, "seed {seed}: {all} kills say nothing");
    place.is_sound();
    place.is_deserted();
}

fn ids_of(lines: &[Value]) -> BTreeSet<String> {
    let ids = lines.iter().filter_map(|line| line["call"].as_str());
    ids.map(str::to_owned).collect()
}

fn ninety_six_calls_under_random_kills_of_their_supervisors_run_once_at_most() {
    let seed = seed();
    let mut random = Random(seed);
    let place = many();
    let mut open = 0;
    for run in 0..RUNS {
        let id = begin(&place, &script(run));
        let supervisor = place.supervisor_of(&id);
        ends_within(supervisor, random.below(250_000));
        kill(supervisor);
        place.is_deserted();
        let record = place.record(&id);
        let is_over = [Status::Completed, Status::Interrupted].contains(&record.status);
        assert!(is_over, "seed {seed}: {record:?}");
        let effects = place.lines(&format!("effects.{run}"));
        let done: BTreeSet<String> = effects.iter().cloned().collect();
        assert_eq!(
            done.len(),
            effects.len(),
            "seed {seed}: repeated {effects:?}"
        );
        let claimed = ids_of(&kinds(&place, &id, "call.claimed"));
        let ended = ids_of(&kinds(&place, &id, "call.ended"));
        // What has an effect was claimed before, and what is known to have ended has its effect.
        assert!(
            done.is_subset(&claimed),
            "seed {seed}: {done:?} {claimed:?}"
        );
        assert!(ended.is_subset(&done), "seed {seed}: {ended:?} {done:?}");
        open += claimed.difference(&ended).count();
    }
    assert!(
        open > 0,
        "seed {seed}: nobody was killed in the middle of a call"
    );
    place.is_sound();
}

fn armed(place: &Place, point: &str, script: &str) -> RunId {
    let mut request = request(place, script);
    let variable = outlast_supervisor::fault::VARIABLE;
    request.environment.push((variable.into(), point.into()));
    place.begin(&request)
}

fn keeper_at(point: &str) {
    let place = Place::new();
    let id = armed(&place, point, "sh echo x >>effects; setsid -f sleep 600");
    let record = place.ended(&id);
    assert_eq!(record.status, Status::Completed);
    assert_eq!(results(&place, &id), [json!("unknown")]);
    assert_eq!(kinds(&place, &id, "call.claimed").len(), 1);
    assert!(kinds(&place, &id, "call.ended").is_empty());
    assert!(place.lines("effects").len() <= 1);
    place.is_sound();
    place.is_deserted();
}

fn supervisor_at(point: &str, is_executed: bool) {
    let place = Place::new();
    let id = armed(&place, point, "sh echo x >>effects");
    eventually("the supervisor dies", LIMIT, || place.supervisors() == 0);
    place.is_deserted();
    assert_eq!(place.record(&id).status, Status::Interrupted);
    assert_eq!(kinds(&place, &id, "call.claimed").len(), 1);
    assert_eq!(place.lines("effects").len(), usize::from(is_executed));
    place.is_sound();
}
