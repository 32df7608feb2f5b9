//! A sweep stops what belongs to a dead run, all of it, and nothing else.

use super::*;
use crate::testing::{Fixture, Process, nobody, put};
use outlast_testkit::eventually;
use std::process::Stdio;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10);

fn state_with_main(fixture: &Fixture, main: ProcessRef) -> State {
    let run = fixture.run(1).claimed().started_as(main).make();
    State::fold(&run.journal())
}

fn found(fixture: &Fixture, state: &State) -> Vec<i32> {
    match look(&fixture.id(1), state, None) {
        Look::Processes(found) => found.iter().map(|left| left.process.pid).collect(),
        Look::OtherBoot | Look::OtherNamespace => panic!("the state is of here and now"),
    }
}

/// A process that leads a session of its own, without a cookie.
fn leader(fixture: &Fixture, script: &str) -> Process {
    let mut setsid = fixture.command("setsid");
    setsid.current_dir(fixture.home.work());
    let process = Process::spawn(setsid.args(["sh", "-c", script]));
    let pid = process.reference().pid;
    eventually("it leads a session", LIMIT, || {
        process::session(pid) == Some(pid)
    });
    process
}

fn children_of(process: &Process, count: usize) -> Vec<ProcessRef> {
    let pid = process.reference().pid;
    eventually("it has children", LIMIT, || {
        process::children(pid).len() == count
    });
    process::children(pid)
        .into_iter()
        .filter_map(process::current)
        .collect()
}

#[test]
fn a_process_is_of_the_tree_by_its_cookie() {
    let fixture = Fixture::new();
    let state = state_with_main(&fixture, nobody());
    let ours = fixture.process_of(&fixture.id(1));
    let _other = fixture.process_of(&fixture.id(2));
    let _none = Process::spawn(fixture.command("sleep").arg("600"));
    assert_eq!(found(&fixture, &state), [ours.reference().pid]);
}

#[test]
fn a_process_is_of_the_tree_by_its_session() {
    let fixture = Fixture::new();
    let main = leader(&fixture, "sleep 600 & sleep 600 & wait");
    let state = state_with_main(&fixture, main.reference());
    let mut tree: Vec<i32> = children_of(&main, 2).iter().map(|one| one.pid).collect();
    tree.push(main.reference().pid);
    tree.sort_unstable();
    let mut seen = found(&fixture, &state);
    seen.sort_unstable();
    assert_eq!(seen, tree);
}

#[test]
fn a_process_in_the_session_that_is_of_a_run_inside_is_not_of_the_tree() {
    let fixture = Fixture::new();
    let main = leader(&fixture, "OUTLAST_RUN=0000000000000000 sleep 600 & wait");
    let state = state_with_main(&fixture, main.reference());
    let inner = children_of(&main, 1)[0].pid;
    let cookie = Some(b"0000000000000000".to_vec());
    eventually("the inner one is executed", LIMIT, || {
        cookie_of(inner) == cookie
    });
    assert_eq!(found(&fixture, &state), [main.reference().pid]);
}

#[test]
fn a_supervisor_is_not_of_the_tree_that_it_stands_in() {
    let fixture = Fixture::new();
    let state = state_with_main(&fixture, nobody());
    // A script that waits without a child, under a name that only supervisors have.
    let script = |name: &str| {
        put(&fixture.home.work().join(name), b"read line");
        let mut command = fixture.command("sh");
        command
            .args([name, "/store/runs/2026-01/x"])
            .stdin(Stdio::piped());
        command.current_dir(fixture.home.work());
        Process::spawn(command.env(names::RUN_VARIABLE, fixture.id(1).as_str()))
    };
    let supervisor = script(names::SUPERVISE);
    let plain = script("plain");
    eventually("both are executed", LIMIT, || {
        process::supervised_dir(supervisor.reference().pid).is_some()
            && !found(&fixture, &state).is_empty()
    });
    assert_eq!(found(&fixture, &state), [plain.reference().pid]);
}

#[test]
fn a_session_whose_number_went_to_a_stranger_is_not_the_runs() {
    let fixture = Fixture::new();
    let stranger = leader(&fixture, "sleep 600 & wait");
    let earlier = ProcessRef {
        start_ticks: stranger.reference().start_ticks - 1,
        ..stranger.reference()
    };
    let state = state_with_main(&fixture, earlier);
    children_of(&stranger, 1);
    assert!(found(&fixture, &state).is_empty());
}

#[test]
fn a_sweep_kills_the_whole_tree_and_only_that() {
    let fixture = Fixture::new();
    let main = leader(&fixture, "trap '' TERM; sleep 600 & sleep 600 & wait");
    let children = children_of(&main, 2);
    let by_cookie = fixture.process_of(&fixture.id(1));
    let other = fixture.process_of(&fixture.id(2));
    let run = fixture.run(1).claimed().started_as(main.reference()).make();
    assert_eq!(fixture.store.sweep(&run.id, 0), 4);
    assert!(children.iter().all(|one| !process::is_alive(*one)));
    assert!(!main.is_alive() && !by_cookie.is_alive());
    assert!(other.is_alive());
    assert_eq!(fixture.store.sweep(&run.id, 0), 0);
}

#[test]
fn with_a_grace_a_process_can_end_in_order() {
    let fixture = Fixture::new();
    let mark = fixture.home.work().join("mark");
    let script = format!(
        "trap 'echo bye > {}; exit' TERM; echo; sleep 600 & wait",
        mark.display()
    );
    let main = leader(&fixture, &script);
    children_of(&main, 1);
    let run = fixture.run(1).claimed().started_as(main.reference()).make();
    assert_eq!(fixture.store.sweep(&run.id, 10_000), 2);
    assert_eq!(fs::read_to_string(mark).unwrap(), "bye\n");
}

#[test]
fn a_process_that_ignores_the_grace_is_killed_after_it() {
    let fixture = Fixture::new();
    let main = leader(&fixture, "trap '' TERM; while :; do sleep 600; done");
    children_of(&main, 1);
    let run = fixture.run(1).claimed().started_as(main.reference()).make();
    let begun = clock::monotonic_ms();
    assert!(fixture.store.sweep(&run.id, 300) >= 2);
    assert!(clock::monotonic_ms() - begun >= 300);
    assert!(!main.is_alive());
}

#[test]
fn a_tree_that_forks_all_the_time_is_gone_after_a_sweep() {
    let fixture = Fixture::new();
    put(
        &fixture.home.work().join("fork"),
        b"sleep 0.2; sh ./fork & sleep 1",
    );
    let main = leader(&fixture, "for i in 1 2; do sh ./fork & done; sleep 600");
    let run = fixture.run(1).claimed().started_as(main.reference()).make();
    let state = State::fold(&run.journal());
    eventually("it forks", LIMIT, || found(&fixture, &state).len() > 4);
    assert!(fixture.store.sweep(&run.id, 0) > 0);
    assert!(found(&fixture, &state).is_empty());
}

#[test]
fn a_run_with_a_supervisor_is_not_swept() {
    let fixture = Fixture::new();
    let ours = fixture.process_of(&fixture.id(1));
    let (run, _lock) = fixture.live(1);
    assert_eq!(fixture.store.sweep(&run.id, 0), 0);
    assert!(ours.is_alive());
}

#[test]
fn a_sweep_spares_whoever_asks_and_those_above() {
    let own = process::own().pid;
    let line = own_line();
    assert!(line.contains(&own));
    assert!(line.contains(&process::parent(own).unwrap()));
    assert!(!line.contains(&1));
}
