//! Many at once: every exit is told, every run lives, and all of them can be stopped.
//!
//! Cases PT-13 and RD-05.

use crate::home::{LIMIT, Place, processes_in, program};
use libtest_mimic::{Failed, Trial};
use outlast_lib::{CancelQuery, Limits, ListQuery, Request, RunId, Status, Store, WaitQuery};
use outlast_testkit::{capture, eventually};
use std::collections::BTreeSet;
use std::time::Duration;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        three_hundred_fast_exits_at_once_are_all_told,
        four_processes_lose_no_record_of_each_other,
        a_thousand_runs_live_at_once,
    );
}

/// Longer than a thousand of anything takes here.
const LONG: Duration = Duration::from_mins(2);

/// Starts runs from so many threads at once, each with a store of its own.
fn start_from_threads(place: &Place, request: &Request, threads: usize, each: usize) -> Vec<RunId> {
    let starters: Vec<_> = (0..threads)
        .map(|_| {
            let (root, request) = (place.store.root().to_owned(), request.clone());
            std::thread::spawn(move || {
                let store = Store::open(&root, Limits::default()).expect("the store opens");
                let start = |_| store.start(&request).expect("it starts").id;
                (0..each).map(start).collect::<Vec<RunId>>()
            })
        })
        .collect();
    let runs = starters.into_iter();
    runs.flat_map(|starter| starter.join().expect("it ends"))
        .collect()
}

/// PT-13.
fn three_hundred_fast_exits_at_once_are_all_told() -> Result<(), Failed> {
    let place = Place::new();
    let runs = start_from_threads(&place, &place.shell("exit 19"), 10, 30);
    let query = WaitQuery {
        timeout_ms: Some(60_000),
        ..WaitQuery::default()
    };
    let waited = place.store.wait(&runs, &query)?;
    assert_eq!((waited.ended.len(), waited.running.len()), (300, 0));
    let records = place.list();
    assert_eq!(records.len(), 300);
    for record in records {
        assert_eq!(
            (record.status, record.exit_code),
            (Status::Failed, Some(19)),
            "{record:?}"
        );
    }
    place.is_deserted();
    place.is_sound();
    Ok(())
}

/// RD-05.
fn four_processes_lose_no_record_of_each_other() -> Result<(), Failed> {
    let place = Place::new();
    let script = "for i in $(seq 50); do \"$0\" __start \"$1\" x 'direct=true' || exit 1; done";
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let mut command = std::process::Command::new("sh");
            command
                .args(["-c", script])
                .arg(program().get_program())
                .arg(place.store.root());
            command.current_dir(place.home.path());
            std::thread::spawn(move || capture(command))
        })
        .collect();
    let mut answered = BTreeSet::new();
    for caller in callers {
        let output = caller.join().expect("it ends");
        for line in output.stdout.lines() {
            let answer: serde_json::Value = serde_json::from_str(line)?;
            answered.insert(answer["id"].as_str().map(str::to_owned));
        }
    }
    assert_eq!(answered.len(), 200);
    eventually("all have ended", LIMIT, || {
        place
            .list()
            .iter()
            .all(|record| record.status == Status::Completed)
    });
    let listed: BTreeSet<Option<String>> = place
        .list()
        .iter()
        .map(|record| Some(record.id.to_string()))
        .collect();
    assert_eq!(listed, answered);
    place.is_sound();
    Ok(())
}

fn a_thousand_runs_live_at_once() -> Result<(), Failed> {
    let place = Place::new();
    let runs = start_from_threads(&place, &place.direct(&["sleep", "600"]), 4, 250);
    assert_eq!(place.supervisors(), 1_000);
    let running = ListQuery {
        statuses: vec![Status::Running],
        limit: usize::MAX,
        ..ListQuery::default()
    };
    assert_eq!(place.store.list(&running)?.records.len(), 1_000);
    let at_once = CancelQuery {
        no_wait: true,
        ..CancelQuery::default()
    };
    for id in &runs {
        place.store.cancel(id, &at_once)?;
    }
    let query = WaitQuery {
        timeout_ms: Some(60_000),
        ..WaitQuery::default()
    };
    assert_eq!(place.store.wait(&runs, &query)?.running, []);
    eventually("nothing is left", LONG, || {
        processes_in(&place.home).is_empty()
    });
    for record in place.list() {
        assert_eq!(
            (record.status, record.signal.as_deref()),
            (Status::Cancelled, Some("TERM"))
        );
    }
    place.is_sound();
    Ok(())
}
