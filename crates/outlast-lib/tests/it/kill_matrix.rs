//! Each process is killed at each named point of a start and of a life, then everything that
//! must hold of a store is checked from another process.
//!
//! Promised: the store can be read, the run is absent or ends exactly once, the same key
//! gives one run whose command was executed at most once, the next run works, no process
//! and no place is left.

use crate::home::{LIMIT, Place, Said};
use libtest_mimic::{Completion, Trial};
use outlast_lib::{GcQuery, Status};
use outlast_testkit::{capture, eventually, invariants};
use serde_json::Value;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    for case in CASES {
        let name = format!("kill_matrix::a_kill_at_{}_leaves_a_sound_store", case.point);
        trials.push(Trial::ignorable_test(name, move || {
            if !cfg!(debug_assertions) {
                return Ok(Completion::ignored_with(NO_POINTS));
            }
            a_kill_leaves_a_sound_store(&case);
            Ok(Completion::Completed)
        }));
    }
}

/// Why a trial did not run.
pub(crate) const NO_POINTS: &str = "did not run: only debug builds have points to die at";

/// Writes a line that nobody can miss, and ends in its own way.
const COMMAND: &str = "echo executed >> count; exit 3";

/// What is known of a run after a kill.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// Nobody ever saw it; the key is free.
    NoRun,
    /// It was seen and its command was not executed.
    NotExecuted,
    /// Its command may have been executed.
    Unknown,
    /// Its command was executed; how it ended is lost.
    Executed,
    /// It has its true end.
    Ended,
}

/// A point, and what must be seen when a process was killed there.
#[derive(Clone, Copy)]
struct Case {
    point: &'static str,
    /// Whether it is the starting process that dies.
    kills_caller: bool,
    /// Whether the start had given its answer by then.
    is_answered: bool,
    after: After,
    /// In place of the usual command.
    command: Option<&'static str>,
}

const fn caller(point: &'static str, after: After) -> Case {
    Case {
        point,
        kills_caller: true,
        is_answered: false,
        after,
        command: None,
    }
}

const fn supervisor(point: &'static str, is_answered: bool, after: After) -> Case {
    Case {
        point,
        kills_caller: false,
        is_answered,
        after,
        command: None,
    }
}

const CASES: [Case; 19] = [
    caller("born", After::NoRun),
    caller("key_made", After::NoRun),
    caller("placed", After::NoRun),
    caller("spec_written", After::NoRun),
    caller("listed", After::NoRun),
    caller("shown", After::NotExecuted),
    caller("launched", After::NotExecuted),
    supervisor("received", false, After::NotExecuted),
    supervisor("claimed", false, After::NotExecuted),
    supervisor("spawned", false, After::Unknown),
    supervisor("torn_started", false, After::Unknown),
    supervisor("started", false, After::Unknown),
    supervisor("answered", true, After::Unknown),
    supervisor("main_ended", true, After::Executed),
    supervisor("before_end", true, After::Executed),
    supervisor("torn_failed", true, After::Executed),
    Case {
        command: Some("echo executed >> count"),
        ..supervisor("torn_completed", true, After::Executed)
    },
    supervisor("end_written", true, After::Ended),
    supervisor("told", true, After::Ended),
];

fn a_kill_leaves_a_sound_store(case: &Case) {
    let place = Place::new();
    let text = case.command.unwrap_or(COMMAND);
    let mut command = place.caller(text, &["key=k"]);
    command.env("OUTLAST_FAULT", case.point);
    let said = Said::from(capture(command));
    assert_eq!(said.signal.is_some(), case.kills_caller, "{said:?}");
    if !case.kills_caller {
        let error = (!case.is_answered).then_some("supervisor_died");
        assert_eq!(said.error(), error, "{said:?}");
    }
    let point_of_death = || place.supervisors() == 0;
    eventually("the supervisor has died", LIMIT, point_of_death);

    let seen = list_from_outside(&place);
    let expected: &[&str] = match case.after {
        After::NoRun => &[],
        After::NotExecuted | After::Unknown | After::Executed => &["interrupted"],
        After::Ended => &["failed"],
    };
    let statuses: Vec<&str> = seen
        .iter()
        .filter_map(|run| run["status"].as_str())
        .collect();
    assert_eq!(statuses, expected, "{seen:?}");
    place.is_sound();
    if let (Some(id), Some(run)) = (said.id(), seen.first()) {
        assert_eq!(
            run["id"],
            id.as_str(),
            "the answer is of the run that is seen"
        );
    }
    the_key_gives_one_run(&place, case, text, &seen);
    nothing_is_left(&place);
}

/// The store as a process sees it that has nothing to do with the start.
fn list_from_outside(place: &Place) -> Vec<Value> {
    let mut command = crate::home::program();
    command.arg("__list").arg(place.store.root());
    let output = capture(command);
    serde_json::from_slice(&output.stdout_bytes).expect("the store can be listed")
}

fn the_key_gives_one_run(place: &Place, case: &Case, text: &str, seen: &[Value]) {
    let again = place.start_apart(text, &["key=k"]);
    assert_eq!(again.error(), None, "{again:?}");
    let id = again
        .id()
        .expect("a start that is not refused names its run");
    assert_eq!(
        again.answer["replayed"],
        case.after != After::NoRun,
        "{again:?}"
    );
    if let Some(run) = seen.first() {
        assert_eq!(run["id"], id.as_str());
    }
    let record = place.ended(&id);
    assert_eq!(place.list().len(), 1, "one key, one run");
    match case.after {
        After::NoRun | After::Ended => {
            assert_eq!((record.status, record.exit_code), (Status::Failed, Some(3)));
            assert_eq!(place.lines("count").len(), 1);
        }
        After::NotExecuted => assert_eq!(place.lines("count").len(), 0),
        After::Unknown => assert!(place.lines("count").len() <= 1),
        After::Executed => assert_eq!(place.lines("count").len(), 1),
    }
    if case.after != After::NoRun && case.after != After::Ended {
        assert_eq!(
            (record.status, record.exit_code),
            (Status::Interrupted, None)
        );
    }
}

/// The next run works; a cancel and a collection leave no process, no place and no debris.
fn nothing_is_left(place: &Place) {
    for record in place.list() {
        place.cancel_now(&record.id);
    }
    place.is_deserted();
    let next = place.ended(&place.start("exit 0"));
    assert_eq!(next.status, Status::Completed);
    place.is_sound();
    crate::home::age(place.store.root());
    let all = GcQuery {
        older_than_ms: Some(0),
        ..GcQuery::default()
    };
    for record in place.list() {
        place
            .store
            .acknowledge(&[record.id], "trial")
            .expect("it can be noted");
    }
    let report = place
        .store
        .collect_garbage(&all)
        .expect("the store can be collected");
    assert_eq!(report.failed, []);
    assert_eq!(place.list(), []);
    assert_eq!(
        invariants::debris(place.store.root()),
        [""; 0].map(std::path::PathBuf::from)
    );
    place.is_sound();
}
