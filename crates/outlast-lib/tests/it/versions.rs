//! Two versions of the program work beside each other on one store.
//!
//! The other version is played by its files: kinds, fields and version numbers not known here.

use crate::home::Place;
use libtest_mimic::{Failed, Trial};
use outlast_lib::{Access, Advice, GcQuery, Limits, RunId, Seq, Status, Store};
use outlast_supervisor::fsio;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_run_of_a_newer_version_is_read_and_its_unknown_facts_passed_over,
        a_live_run_of_a_newer_version_is_read_and_can_be_cancelled,
        a_dead_run_of_a_newer_version_is_settled_once,
        a_store_of_a_newer_format_is_read_and_never_written,
        what_others_put_into_the_store_hides_no_run,
    );
}

/// Changes what a run's spec says, as a newer version would have written it.
fn make_newer(place: &Place, id: &RunId) -> PathBuf {
    let dir = place.run_dir(id);
    let bytes = fs::read(dir.join("spec.json")).expect("it has a spec");
    let mut spec: Value = serde_json::from_slice(&bytes).expect("it is JSON");
    spec["v"] = json!(2);
    spec["kept_warm"] = json!({"for": "the next"});
    spec["posture"]["memory"] = json!("2g");
    fsio::write_atomic(&dir.join("spec.json"), spec.to_string().as_bytes()).expect("it is ours");
    dir
}

/// Adds a line to a journal in place of its supervisor.
fn add(dir: &std::path::Path, line: &Value) {
    let mut file = fsio::open_append(&dir.join("journal.jsonl")).expect("it is ours");
    file.write_all(format!("{line}\n").as_bytes())
        .expect("there is room");
}

fn unknown(seq: Option<u64>) -> Value {
    json!({"v": 2, "seq": seq, "ts": "2030-01-01T00:00:00.000Z", "type": "dreamt", "phase": "run",
           "message": "of sheep", "data": {"sheep": 3}, "colour": "grey"})
}

fn a_run_of_a_newer_version_is_read_and_its_unknown_facts_passed_over() -> Result<(), Failed> {
    let place = Place::new();
    let id = place.start("echo hi; exit 7");
    place.ended(&id);
    let dir = make_newer(&place, &id);
    let journal = fs::read_to_string(dir.join("journal.jsonl"))?;
    let written = journal.trim_end_matches('\0');
    let end = written.lines().last().expect("it has an end").to_owned();
    let begin = written
        .strip_suffix(&format!("{end}\n"))
        .expect("it is last");
    let mut end: Value = serde_json::from_str(&end)?;
    end["v"] = json!(2);
    end["seq"] = json!(2);
    end["data"]["mood"] = json!("content");
    let text = format!("{begin}{}\n{}\n{end}\n", unknown(Some(1)), unknown(None));
    fsio::write_atomic(&dir.join("journal.jsonl"), text.as_bytes())?;

    let record = place.record(&id);
    assert_eq!((record.status, record.exit_code), (Status::Failed, Some(7)));
    assert_eq!(place.list().len(), 1);
    place.store.reindex()?;
    assert_eq!(place.list().len(), 1);
    let page = place.store.events(&id, Seq(0), 100)?;
    let kinds: Vec<&str> = page
        .events
        .iter()
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(
        (kinds, page.damaged_lines),
        (vec!["started", "dreamt", "failed"], 0)
    );
    assert_eq!(page.events[1].data["sheep"], 3);
    place.is_sound();
    Ok(())
}

fn a_live_run_of_a_newer_version_is_read_and_can_be_cancelled() -> Result<(), Failed> {
    let place = Place::new();
    let id = place.start("exec sleep 600");
    let dir = make_newer(&place, &id);
    add(&dir, &unknown(None));
    let journal = fs::read(dir.join("journal.jsonl"))?;
    assert_eq!(place.record(&id).status, Status::Running);
    place.list();
    assert_eq!(
        fs::read(dir.join("journal.jsonl"))?,
        journal,
        "a reader changes nothing"
    );
    place.cancel_now(&id);
    assert_eq!(place.record(&id).status, Status::Cancelled);
    place.is_deserted();
    place.is_sound();
    Ok(())
}

fn a_dead_run_of_a_newer_version_is_settled_once() {
    let place = Place::new();
    let id = place.start("exec sleep 600");
    let dir = make_newer(&place, &id);
    crate::home::kill(place.supervisor_of(&id));
    add(&dir, &unknown(Some(1)));
    assert_eq!(place.record(&id).status, Status::Interrupted);
    let lines = place.journal(&id);
    assert_eq!(
        lines.last().map(|line| &line["seq"]),
        Some(&json!(2)),
        "it goes on counting"
    );
    place.list();
    assert_eq!(place.journal(&id).len(), lines.len());
    place.cancel_now(&id);
    place.is_deserted();
    place.is_sound();
}

fn a_store_of_a_newer_format_is_read_and_never_written() -> Result<(), Failed> {
    let place = Place::new();
    let id = place.start("exit 3");
    place.ended(&id);
    let dead = place.start("exec sleep 600");
    crate::home::kill(place.supervisor_of(&dead));
    fsio::write_atomic(
        &place.store.root().join("format.json"),
        b"{\"v\":2,\"with\":\"more\"}\n",
    )?;
    let store = Store::open(place.store.root(), Limits::default())?;
    assert_eq!(store.access(), Access::Newer { version: 2 });
    assert_eq!(store.record(&id)?.exit_code, Some(3));
    assert_eq!(store.record(&dead)?.status, Status::Interrupted);
    let ends = |id| {
        place
            .journal(id)
            .iter()
            .filter(|line| line["type"] == "failed")
            .count()
    };
    assert_eq!((ends(&id), ends(&dead)), (1, 0));
    assert!(!store.is_writable());
    let refused = store
        .start(&place.shell("exit 0"))
        .expect_err("its rules are not known");
    assert_eq!(refused.code(), "store_newer");
    assert!(store.collect_garbage(&GcQuery::default()).is_err());
    Ok(())
}

fn what_others_put_into_the_store_hides_no_run() -> Result<(), Failed> {
    let place = Place::new();
    let id = place.start("exit 0");
    place.ended(&id);
    let root = place.store.root();
    let month = place
        .run_dir(&id)
        .parent()
        .expect("it has a month")
        .to_owned();
    for folder in [
        "calls",
        "runs/2025-1",
        "runs/not-a-month",
        "places/pool/of/more",
    ] {
        fsio::make_private_dirs(&root.join(folder))?;
    }
    fsio::write_atomic(&month.join("README"), b"hello")?;
    fsio::write_atomic(&root.join("runs/notes"), b"hello")?;
    fsio::write_atomic(&root.join("queue/store"), b"hello")?;
    fsio::make_private_dir(&month.join("0123456789abcdef"))?;
    let listing = place.store.list(&outlast_lib::ListQuery {
        limit: 10,
        ..outlast_lib::ListQuery::default()
    })?;
    assert_eq!(listing.records.len(), 1);
    assert_eq!(
        place.ended(&place.start("exit 0")).status,
        Status::Completed
    );
    place.store.collect_garbage(&GcQuery::default())?;
    assert_eq!(place.record(&id).status, Status::Completed);
    Ok(())
}
