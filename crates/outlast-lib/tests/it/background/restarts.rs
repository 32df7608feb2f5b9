//! A host that was killed is followed by one that knows what it knew.

use super::{Apart, Host, id_of, limit_ms, open};
use crate::home::{LIMIT, Place, kill};
use libtest_mimic::{Failed, Trial};
use outlast_lib::Status;
use outlast_lib::background::wake_prompt;
use outlast_testkit::eventually;
use serde_json::json;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_run_that_ended_while_the_host_was_dead_is_restored_shown_and_wakes_nobody,
        a_run_whose_supervisor_died_with_the_host_is_restored_too,
        a_run_that_outlives_a_killed_host_wakes_the_next_one,
        an_end_that_a_killed_host_was_handed_and_did_not_tell_comes_again,
        an_end_that_was_told_comes_to_no_later_host,
    );
}

const HELD: &str = "while [ ! -e go ]; do sleep 0.02; done; echo built";

fn a_run_that_ended_while_the_host_was_dead_is_restored_shown_and_wakes_nobody()
-> Result<(), Failed> {
    let place = Place::new();
    let first = Apart::start(&place, "said", HELD);
    let id = id_of(&first.said(&place, 0));
    first.kill();
    assert_eq!(place.record(&id).status, Status::Running);
    place.touch("go");
    assert_eq!(place.ended(&id).status, Status::Completed);

    let host = Host::with(place, |_| {});
    assert!(!host.is_woken(200));
    let block = host.background.prompt_block()?.ok_or("there is a block")?;
    let line = format!("  [{id}] command completed exit=0: while ");
    assert!(block.contains(&line), "{block}");
    assert!(
        block.contains("— built (ended while you were away; not read yet)\n"),
        "{block}"
    );
    let finished = host.background.drain_finished()?;
    assert_eq!(finished.len(), 1);
    assert!(finished[0].restored);
    assert_eq!(wake_prompt(&finished), None);
    let read = host.call("background_output", &json!({"id": id}));
    assert_eq!(read["output"], "built\n");
    let block = host.background.prompt_block()?.ok_or("there is a block")?;
    assert!(!block.contains("ended while"), "it was read: {block}");
    Ok(())
}

fn a_run_whose_supervisor_died_with_the_host_is_restored_too() {
    let place = Place::new();
    let first = Apart::start(&place, "said", "exec sleep 600");
    let id = id_of(&first.said(&place, 0));
    let supervisor = place.supervisor_of(&id);
    first.kill();
    kill(supervisor);
    let host = Host::with(place, |_| {});
    assert!(!host.is_woken(200));
    assert_eq!(host.drained(), [(id, true)]);
    assert_eq!(host.place.record(&id).status, Status::Interrupted);
}

fn a_run_that_outlives_a_killed_host_wakes_the_next_one() {
    let place = Place::new();
    let first = Apart::start(&place, "said", HELD);
    let id = id_of(&first.said(&place, 0));
    first.kill();
    let host = Host::with(place, |_| {});
    assert_eq!(host.background.counts().expect("it can be read").running, 1);
    assert_eq!(host.drained(), []);
    host.place.touch("go");
    assert!(host.is_woken(limit_ms()));
    assert_eq!(host.drained(), [(id, false)]);
}

fn an_end_that_a_killed_host_was_handed_and_did_not_tell_comes_again() {
    let place = Place::new();
    let first = Apart::start(&place, "said", "true");
    let id = id_of(&first.said(&place, 0));
    let handed = first.said(&place, 1);
    assert_eq!(
        (&handed["ended"], &handed["restored"]),
        (&json!(id), &json!(false))
    );
    first.kill();
    let host = Host::with(place, |_| {});
    assert_eq!(host.drained(), [(id, true)]);
}

fn an_end_that_was_told_comes_to_no_later_host() -> Result<(), Failed> {
    let host = Host::new();
    let id = host.run("true");
    assert!(host.is_woken(limit_ms()));
    assert_eq!(host.drained(), [(id, false)]);
    host.background.acknowledge(&[id])?;
    let apart = Apart::start(&host.place, "said", "true");
    let theirs = id_of(&apart.said(&host.place, 0));
    let handed = apart.said(&host.place, 1);
    assert_eq!(handed["ended"], json!(theirs), "its own and nothing else");
    apart.kill();
    let later = open(&host.place, "s", |_| {});
    let mut ids = Vec::new();
    eventually("their end is there", LIMIT, || {
        ids = later.drain_finished().expect("it can be read");
        !ids.is_empty()
    });
    assert_eq!(ids.len(), 1);
    assert_eq!((ids[0].run.id, ids[0].restored), (theirs, true));
    Ok(())
}
