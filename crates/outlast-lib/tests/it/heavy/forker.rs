//! A tree that never stops forking is stopped all the same, and nothing of it stays.

use crate::home::{Place, trees_in};
use libtest_mimic::{Failed, Trial};
use outlast_lib::{CancelQuery, Request, RunId, Status};
use outlast_supervisor::fsio;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_chain_of_forks_is_cancelled,
        a_chain_that_changes_its_session_at_each_fork_is_cancelled,
        a_crowd_that_forks_is_cancelled,
        a_forker_is_stopped_at_its_time_limit,
        a_forker_whose_supervisor_died_is_swept,
    );
}

/// Forks for 30 s at most, whatever becomes of the trial. Each of `chains` chains lives in one
/// process at a time, which ends as soon as its child is there; TERM is ignored.
const CHAIN: &str = "
import os, signal, sys, time
end = time.monotonic() + 30
signal.signal(signal.SIGTERM, signal.SIG_IGN)
chains, leaves = int(sys.argv[1]), sys.argv[2] == 'leaves'
for chain in range(chains):
    if os.fork() == 0:
        while time.monotonic() < end:
            if os.fork() > 0:
                os._exit(0)
            if leaves:
                os.setsid()
        os._exit(0)
open('up', 'w').write('up\\n')
time.sleep(30)
";

/// Eight processes that fork and fork; each child sleeps a little and ends.
const CROWD: &str = "
import os, signal, time
end = time.monotonic() + 30
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for chain in range(3):
    os.fork()
open('up', 'w').write('up\\n')
while time.monotonic() < end:
    if os.fork() == 0:
        time.sleep(0.02)
        os._exit(0)
";

fn begin(place: &Place, script: &str, arguments: &str, timeout_ms: Option<u64>) -> RunId {
    let path = place.home.path().join("forker.py");
    fsio::write_atomic(&path, script.as_bytes()).expect("the home can be written");
    let request = Request {
        timeout_ms,
        grace_ms: Some(200),
        ..place.shell(&format!("exec python3 forker.py {arguments}"))
    };
    let id = place.begin(&request);
    place.has_lines("up", 1);
    id
}

#[track_caller]
fn is_cancelled(place: &Place, id: &RunId) {
    let done = place
        .store
        .cancel(id, &CancelQuery::default())
        .expect("it can be cancelled");
    assert!(done.cancelled, "{done:?}");
    let left = trees_in(&place.home);
    assert!(left.is_empty(), "{left:?}");
    let record = place.record(id);
    assert_eq!(
        (record.status, record.unkillable.len()),
        (Status::Cancelled, 0),
        "{record:?}"
    );
    place.is_sound();
}

fn a_chain_of_forks_is_cancelled() {
    let place = Place::new();
    let id = begin(&place, CHAIN, "4 stays", None);
    is_cancelled(&place, &id);
}

fn a_chain_that_changes_its_session_at_each_fork_is_cancelled() {
    let place = Place::new();
    let id = begin(&place, CHAIN, "2 leaves", None);
    is_cancelled(&place, &id);
}

fn a_crowd_that_forks_is_cancelled() {
    let place = Place::new();
    let id = begin(&place, CROWD, "", None);
    is_cancelled(&place, &id);
}

fn a_forker_is_stopped_at_its_time_limit() {
    let place = Place::new();
    let id = begin(&place, CHAIN, "2 stays", Some(1_000));
    let record = place.ended(&id);
    assert_eq!(
        (record.status, record.unkillable.len()),
        (Status::TimedOut, 0),
        "{record:?}"
    );
    place.is_deserted();
}

fn a_forker_whose_supervisor_died_is_swept() -> Result<(), Failed> {
    let place = Place::new();
    let id = begin(&place, CROWD, "", None);
    crate::home::kill(place.supervisor_of(&id));
    assert_eq!(place.record(&id).status, Status::Interrupted);
    place.store.cancel(&id, &CancelQuery::default())?;
    place.is_deserted();
    Ok(())
}
