//! Starters, supervisors and main processes are killed at random moments; what must hold holds.
//!
//! The seed stands in every message; `OUTLAST_SEED` repeats it.

use crate::home::{LIMIT, Place, Said, kill};
use libtest_mimic::{Failed, Trial};
use outlast_lib::{RunId, Status, limits};
use outlast_testkit::{eventually, invariants};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials: forty_random_kills_lose_nothing_and_double_nothing);
}

const RUNS: u32 = 40;
/// No further run is begun after this long.
const BUDGET: Duration = Duration::from_secs(30);

/// Marsaglia's xorshift: all that is asked of it is another order each time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Caller,
    Supervisor,
    Main,
}

pub(crate) fn seed() -> u64 {
    let given = std::env::var("OUTLAST_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let own =
        u64::from(std::process::id()) << 32 | outlast_supervisor::clock::now().0 & 0xffff_ffff;
    given.unwrap_or(own).max(1)
}

fn forty_random_kills_lose_nothing_and_double_nothing() -> Result<(), Failed> {
    let seed = seed();
    let mut random = Random(seed);
    let place = Place::new();
    let begun = Instant::now();
    let mut answered: BTreeMap<u32, RunId> = BTreeMap::new();
    let mut done = 0;
    for number in 0..RUNS {
        if begun.elapsed() > BUDGET {
            break;
        }
        let victim =
            [Victim::Caller, Victim::Supervisor, Victim::Main][usize::try_from(random.below(3))?];
        let after_us = random.below(40_000);
        if let Some(id) = one_kill(&place, number, victim, after_us) {
            answered.insert(number, id);
        }
        done += 1;
    }
    eventually("the last supervisor leaves", LIMIT, || {
        place.supervisors() == 0
    });
    place.is_sound();
    for number in 0..done {
        check(&place, number, answered.get(&number).copied(), seed);
    }
    let records = place.list();
    assert_eq!(
        records.len(),
        usize::try_from(done)?,
        "one key, one run; seed {seed}"
    );
    for record in &records {
        place.cancel_now(&record.id);
    }
    place.is_deserted();
    place.is_sound();
    crate::home::age(place.store.root());
    place
        .store
        .collect_garbage(&outlast_lib::GcQuery::default())?;
    let debris = invariants::debris(place.store.root());
    assert!(debris.is_empty(), "{debris:?}, seed {seed}");
    Ok(())
}

fn text(number: u32) -> String {
    format!("echo x >> ran.{number}; sleep 0.01; echo out; exit 3")
}

fn key(number: u32) -> String {
    format!("key={number}")
}

/// Starts a run, kills a process after a while, and returns the run if the start was answered.
fn one_kill(place: &Place, number: u32, victim: Victim, after_us: u64) -> Option<RunId> {
    let mut command = place.caller(&text(number), &[&key(number)]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut caller = command.spawn().expect("the caller can be started");
    if victim == Victim::Caller {
        ends_within(&caller, after_us);
        caller.kill().expect("it is our child");
    }
    let mut answer = String::new();
    let mut stdout = caller.stdout.take().expect("it is a pipe");
    if victim != Victim::Caller {
        // A start is answered or its supervisor dies, so that this read ends.
        ends_within(&caller, after_us);
        let processes = invariants::supervisors(place.store.root());
        for (dir, supervisor) in processes {
            let id = dir
                .file_name()
                .and_then(|name| RunId::parse(name.to_str()?).ok());
            // A supervisor comes up while its run is still being born.
            let main = id.filter(|_| dir.is_dir()).and_then(|id| {
                let lines = place.journal(&id);
                let started = lines.iter().find(|line| line["type"] == "started")?;
                i32::try_from(started["data"]["main"]["pid"].as_i64()?).ok()
            });
            match (victim, main) {
                (Victim::Main, Some(main)) => kill(main),
                (Victim::Supervisor, _) => kill(supervisor),
                (Victim::Main, None) | (Victim::Caller, _) => {}
            }
        }
    }
    stdout
        .read_to_string(&mut answer)
        .expect("a pipe can be read");
    caller.wait().expect("it is our child");
    let said = Said {
        signal: None,
        answer: serde_json::from_str(&answer).unwrap_or_default(),
    };
    said.error().is_none().then(|| said.id()).flatten()
}

/// Waits for a process to end, so long and no longer.
fn ends_within(child: &Child, micros: u64) {
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .expect("a pid is positive");
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("it is our child");
    let time = Timespec {
        tv_sec: 0,
        tv_nsec: i64::try_from(micros * 1_000).expect("it is less than a second"),
    };
    poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&time)).ok();
}

/// Asks for the run once more and checks that it is the one that was answered, executed once.
fn check(place: &Place, number: u32, answered: Option<RunId>, seed: u64) {
    let again = place.start_apart(&text(number), &[&key(number)]);
    let id = again.id().expect("a start with a used key is answered");
    assert!(
        answered.is_none_or(|answered| answered == id),
        "seed {seed}, run {number}: {again:?}"
    );
    let record = place.ended(&id);
    let executed = place.lines(&format!("ran.{number}")).len();
    let what = format!("seed {seed}, run {number}, {executed} times: {record:?}");
    assert!(executed <= 1, "{what}");
    if record.status == Status::Interrupted {
        assert_eq!(record.exit_code, None, "{what}");
    } else if record.signal.is_none() {
        assert_eq!(
            (record.status, record.exit_code),
            (Status::Failed, Some(3)),
            "{what}"
        );
        assert_eq!((executed, record.output.bytes), (1, 4), "{what}");
    } else {
        assert_eq!(record.signal.as_deref(), Some("KILL"), "{what}");
    }
    assert!(
        record
            .summary
            .is_some_and(|line| line.chars().count() <= limits::SUMMARY_CHARS)
    );
}
