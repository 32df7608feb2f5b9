//! A run outlives whatever started it; what outlives its supervisor is found and stopped.
//!
//! Cases LS-01, LS-02, LS-10, RD-02 and RD-10.

use crate::home::{LIMIT, Place, is_alive, kill, program};
use libtest_mimic::{Failed, Trial};
use outlast_lib::{CancelQuery, Limits, RunId, Seq, Status, Store, WaitQuery};
use outlast_testkit::{capture, eventually, eventually_some};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_run_outlives_the_whole_tree_that_started_it,
        a_second_opener_changes_no_live_run,
        a_run_whose_supervisor_died_is_interrupted_once_and_its_tree_is_found,
        a_dead_supervisor_wakes_a_wait_at_once,
        a_sweep_finds_what_left_the_session_or_the_environment,
        a_program_may_be_replaced_while_its_runs_go_on,
        no_supervisor_stays_after_its_run,
        a_quick_run_can_be_read_at_once,
    );
}

/// Goes on until the trial makes the file `go`.
const HELD: &str = "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 7";

fn a_run_outlives_the_whole_tree_that_started_it() -> Result<(), Failed> {
    let place = Place::new();
    let host = "\"$IT\" __start \"$STORE\" \"$TEXT\" > answer.part; mv answer.part answer
                sleep 600 & (sleep 601 & sleep 602) & wait";
    let mut command = Command::new("setsid");
    command
        .args(["bash", "-c", host])
        .envs(crate::home::environment(&place.home))
        .env("IT", program().get_program())
        .env("STORE", place.store.root())
        .env("TEXT", HELD)
        .current_dir(place.home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut host = command.spawn()?;
    place.has_lines("answer", 1);
    let root = i32::try_from(host.id())?;
    // Its other children come after the answer.
    let tree = eventually_some("the tree stands", LIMIT, || {
        Some(tree_of(root)).filter(|tree| tree.len() >= 4)
    });
    let group = Pid::from_raw(tree[0]).expect("a pid is positive");
    kill_process_group(group, Signal::HUP).ok();
    kill_process_group(group, Signal::KILL)?;
    for pid in &tree {
        kill(*pid);
    }
    host.wait()?;

    let answer: Value = serde_json::from_str(&place.lines("answer")[0])?;
    let id = RunId::parse(answer["id"].as_str().expect("the start was answered"))?;
    assert_eq!(place.record(&id).status, Status::Running);
    place.touch("go");
    let record = place.ended(&id);
    assert_eq!((record.status, record.exit_code), (Status::Failed, Some(7)));
    assert_eq!(place.output(&id), "one\ntwo\n");
    assert!(
        record
            .survives
            .is_some_and(|what| what.host_exit && what.terminal)
    );
    place.is_sound();
    Ok(())
}

/// A process and all below it, by parents.
fn tree_of(root: i32) -> Vec<i32> {
    let mut tree = vec![root];
    let mut at = 0;
    while let Some(pid) = tree.get(at).copied() {
        at += 1;
        tree.extend(
            crate::home::children_of(pid)
                .into_iter()
                .map(|(pid, _)| pid),
        );
    }
    tree
}

/// LS-02.
fn a_second_opener_changes_no_live_run() -> Result<(), Failed> {
    let place = Place::new();
    let id = place.begin(&place.direct(&["sleep", "600"]));
    let journal = place.run_dir(&id).join("journal.jsonl");
    let before = fs::read(&journal)?;
    let lists: Vec<_> = (0..4)
        .map(|_| {
            let mut command = program();
            command.arg("__list").arg(place.store.root());
            std::thread::spawn(move || capture(command))
        })
        .collect();
    let second = Store::open(place.store.root(), Limits::default())?;
    second.reindex()?;
    for list in lists {
        let output = list.join().expect("the thread ends");
        let seen: Option<Value> = serde_json::from_slice(&output.stdout_bytes).ok();
        let status = seen.as_ref().map(|seen| &seen[0]["status"]);
        assert_eq!(status, Some(&json!("running")), "{output:?}");
    }
    assert_eq!(second.record(&id)?.status, Status::Running);
    assert_eq!(fs::read(&journal)?, before);
    assert!(is_alive(place.main_of(&id).pid));
    assert_eq!(place.supervisors(), 1);
    place.is_sound();
    Ok(())
}

/// LS-01 and the second case of RD-10.
fn a_run_whose_supervisor_died_is_interrupted_once_and_its_tree_is_found() -> Result<(), Failed> {
    let place = Place::new();
    let id = place.begin(&place.direct(&["sleep", "300"]));
    let main = place.main_of(&id).pid;
    kill(place.supervisor_of(&id));
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let mut command = program();
            command.arg("__list").arg(place.store.root());
            std::thread::spawn(move || capture(command))
        })
        .collect();
    let record = place.record(&id);
    for reader in readers {
        reader.join().expect("the thread ends");
    }
    assert_eq!(
        (record.status, record.exit_code),
        (Status::Interrupted, None)
    );
    assert_eq!(record.leftovers.len(), 1, "{record:?}");
    assert_eq!(
        (record.leftovers[0].pid, &*record.leftovers[0].command),
        (main, "sleep 300")
    );
    place.store.events(&id, Seq(0), 100)?;
    place.list();
    assert!(is_alive(main), "reading kills nothing");
    let ends = place
        .journal(&id)
        .iter()
        .filter(|line| line["type"] == "failed")
        .count();
    assert_eq!(ends, 1);
    assert_eq!(
        place.ended(&place.start("exit 0")).status,
        Status::Completed
    );

    let done = place.store.cancel(&id, &CancelQuery::default())?;
    assert_eq!(
        (done.was, done.status),
        (Status::Interrupted, Status::Interrupted)
    );
    assert_eq!((done.cancelled, done.leftovers_stopped), (false, 1));
    assert!(!is_alive(main));
    assert_eq!(place.record(&id).leftovers, []);
    place.is_deserted();
    place.is_sound();
    Ok(())
}

fn a_dead_supervisor_wakes_a_wait_at_once() {
    let place = Place::new();
    let id = place.begin(&place.direct(&["sleep", "300"]));
    let supervisor = place.supervisor_of(&id);
    let root = place.store.root().to_owned();
    let waiting = std::thread::spawn(move || {
        let store = Store::open(&root, Limits::default()).expect("it opens");
        let query = WaitQuery {
            timeout_ms: Some(30_000),
            ..WaitQuery::default()
        };
        let waited = store.wait(&[id], &query).expect("one can wait");
        (waited, Instant::now())
    });
    // It listens when the supervisor has two sockets: the one that it is asked on, and ours.
    let sockets = || {
        let links = fs::read_dir(format!("/proc/{supervisor}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        let links = links.filter_map(|entry| fs::read_link(entry.path()).ok());
        links
            .filter(|link| link.to_string_lossy().starts_with("socket:"))
            .count()
    };
    eventually("the wait listens", LIMIT, || sockets() >= 2);
    let killed = Instant::now();
    kill(supervisor);
    let (waited, woken) = waiting.join().expect("the thread ends");
    assert_eq!(waited.ended, [id]);
    assert!(woken.duration_since(killed) < Duration::from_secs(2));
}

fn a_sweep_finds_what_left_the_session_or_the_environment() -> Result<(), Failed> {
    let place = Place::new();
    let id = place.start(
        "setsid sleep 301 & env -i sleep 302 & (setsid sh -c 'sleep 303 & sleep 304' &) ; \
                          trap '' TERM; echo $$ > ready; while :; do sleep 0.05; done",
    );
    place.pid_in("ready");
    let is_complete = || (301..=304).all(|time| has_process(&place, &format!("sleep {time} ")));
    eventually("all of the tree is there", LIMIT, is_complete);
    kill(place.supervisor_of(&id));
    let record = place.record(&id);
    assert_eq!(record.status, Status::Interrupted);
    assert!(record.leftovers.len() >= 6, "{:?}", record.leftovers);
    let query = CancelQuery {
        grace_ms: Some(200),
        ..CancelQuery::default()
    };
    let done = place.store.cancel(&id, &query)?;
    assert!(done.leftovers_stopped >= 6, "{done:?}");
    place.is_deserted();
    Ok(())
}

fn has_process(place: &Place, line: &str) -> bool {
    crate::home::processes_in(&place.home)
        .iter()
        .any(|(_, own)| own == line)
}

/// RD-02.
fn a_program_may_be_replaced_while_its_runs_go_on() -> Result<(), Failed> {
    let place = Place::new();
    let old = place.home.path().join("old");
    fs::copy(program().get_program(), &old)?;
    let runs: Vec<RunId> = (0..4)
        .map(|_| {
            let said = place.start_apart_by(&old, HELD, &[]);
            said.id().expect("it starts")
        })
        .collect();
    fs::remove_file(&old)?;
    assert!(
        runs.iter()
            .all(|id| place.record(id).status == Status::Running)
    );
    place.cancel_now(&runs[0]);
    assert_eq!(place.record(&runs[0]).status, Status::Cancelled);
    place.touch("go");
    for id in &runs[1..] {
        assert_eq!(place.ended(id).exit_code, Some(7));
        assert_eq!(place.output(id), "one\ntwo\n");
    }
    place.is_sound();
    Ok(())
}

/// The first case of RD-10.
fn no_supervisor_stays_after_its_run() {
    let place = Place::new();
    let request = place.direct(&["true"]);
    let runs: Vec<RunId> = (0..100).map(|_| place.begin(&request)).collect();
    for id in &runs {
        assert_eq!(place.ended(id).status, Status::Completed);
    }
    let limit = Duration::from_secs(2);
    eventually_some("every supervisor leaves", limit, || {
        (place.supervisors() == 0).then_some(())
    });
    assert_eq!(place.list().len(), 100);
    place.is_sound();
}

/// LS-10.
fn a_quick_run_can_be_read_at_once() {
    let place = Place::new();
    for _ in 0..20 {
        let id = place.begin(&place.direct(&["true"]));
        place.record(&id);
        let record = place.ended(&id);
        assert_eq!((record.status, record.output.bytes), (Status::Completed, 0));
    }
}
