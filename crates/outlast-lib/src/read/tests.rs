//! A record says what is known of a run at this moment; events come in pages without silent gaps.

use super::*;
use crate::testing::{Fixture, hold, nobody, put};
use outlast_journal::{Fact, Queue, Queued, Seq, mask};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_run_that_is_not_there_is_named() {
    let fixture = Fixture::new();
    let error = fixture.store.record(&fixture.id(9)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("there is no run `{}`", fixture.id(9))
    );
    assert_eq!(error.code(), "no_such_run");
    assert_eq!(
        fixture.store.spec(&fixture.id(9)).unwrap_err().code(),
        "no_such_run"
    );
    assert_eq!(
        fixture
            .store
            .events(&fixture.id(9), Seq(0), 1)
            .unwrap_err()
            .code(),
        "no_such_run"
    );
}

#[test]
fn a_live_run_shows_its_output_so_far() {
    let fixture = Fixture::new();
    let (run, _lock) = fixture.live(1);
    run.put("output.log", b"one\nhalf");
    let gap = Gap { from: 1, to: 3 };
    run.put("output.gap", &gap.to_file());
    let record = fixture.store.record(&run.id).unwrap();
    assert_eq!(record.status, Status::Running);
    assert_eq!(record.summary.as_deref(), Some("half"));
    assert_eq!((record.output.bytes, record.output.kept), (8, 6));
    assert_eq!(record.output.gap, Some(gap));
    assert!(record.output.last_output_at.is_some());
    assert!(record.elapsed_ms.is_some_and(|ms| ms < 60_000));
    assert!(record.updated >= record.created);
}

#[test]
fn a_live_run_without_output_has_no_summary_and_no_time_of_output() {
    let fixture = Fixture::new();
    let (run, _lock) = fixture.live(1);
    run.put("output.log", b"");
    let record = fixture.store.record(&run.id).unwrap();
    assert_eq!((record.summary, record.output.last_output_at), (None, None));
}

#[test]
fn the_last_line_of_a_long_log_is_its_newest() {
    let fixture = Fixture::new();
    let (run, _lock) = fixture.live(1);
    let mut log = "x".repeat(100_000).into_bytes();
    log.extend_from_slice("\nlast of ä\n\n".as_bytes());
    run.put("output.log", &log);
    assert_eq!(
        fixture.store.record(&run.id).unwrap().summary.as_deref(),
        Some("last of ä")
    );
    run.put("output.log", &"y".repeat(100_000).into_bytes());
    let summary = fixture.store.record(&run.id).unwrap().summary.unwrap();
    assert_eq!(summary.chars().count(), limits::SUMMARY_CHARS);
}

#[test]
fn a_secret_in_the_last_line_is_masked() {
    let fixture = Fixture::new();
    let key = fixture.store.key().unwrap();
    let mark = mask::mark(&key, "TOKEN", b"open-sesame-open").unwrap();
    let run = fixture
        .run(1)
        .spec(|spec| spec.secrets = vec![mark])
        .claimed()
        .started()
        .make();
    let _lock = run.hold();
    run.put("output.log", b"say open-sesame-open now\n");
    let summary = fixture.store.record(&run.id).unwrap().summary.unwrap();
    assert!(!summary.contains("sesame"), "{summary}");
    assert!(
        summary.starts_with("say ") && summary.ends_with(" now"),
        "{summary}"
    );
    // Without the key nothing can be masked, so nothing is shown.
    fs::remove_file(fixture.path("key")).unwrap();
    assert_eq!(fixture.read_only().record(&run.id).unwrap().summary, None);
}

#[test]
fn the_awake_time_of_another_boot_is_not_told() {
    let fixture = Fixture::new();
    let run = fixture.run(1).claimed_as("another", 1).started().make();
    let _lock = run.hold();
    assert_eq!(fixture.store.record(&run.id).unwrap().elapsed_ms, None);
}

#[test]
fn a_queued_run_counts_those_that_wait_before_it() {
    let fixture = Fixture::new();
    let queue = Queue {
        name: "q".to_owned(),
        ticket: 7,
        wait_ms: None,
    };
    let run = fixture
        .run(1)
        .spec(|spec| spec.queue = Some(queue))
        .claimed()
        .fact(&Fact::Queued(Queued { ticket: 7 }))
        .make();
    let _lock = run.hold();
    let folder = fixture.path("queue/q");
    fsio::make_private_dirs(&folder).unwrap();
    let _held: Vec<File> = ["3", "5", "7", "8", "10", "x"]
        .map(|name| hold(&folder.join(name)))
        .into();
    put(&folder.join("4"), b"free");
    let record = fixture.store.record(&run.id).unwrap();
    assert_eq!(
        (record.status, record.queue_position),
        (Status::Queued, Some(2))
    );
}

#[test]
fn leftovers_are_shown_while_they_live() {
    let fixture = Fixture::new();
    let left = fixture.process_of(&fixture.id(1));
    let run = fixture
        .run(1)
        .claimed()
        .started()
        .ended_with_leftover(left.reference())
        .make();
    let record = fixture.store.record(&run.id).unwrap();
    assert_eq!(record.leftovers.len(), 1);
    assert_eq!(record.status, Status::Completed);
    drop(left);
    assert_eq!(fixture.store.record(&run.id).unwrap().leftovers, []);
    let elsewhere = fixture
        .run(2)
        .claimed_as(&process::boot_id(), 1)
        .started()
        .ended_with_leftover(nobody())
        .make();
    // Not looked at: what the end named is all that is known.
    assert_eq!(
        fixture.store.record(&elsewhere.id).unwrap().leftovers.len(),
        1
    );
}

#[test]
fn a_damaged_spec_names_its_file() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    run.put("spec.json", b"{\"v\":1,");
    let error = fixture.store.record(&run.id).unwrap_err();
    assert_eq!(error.code(), "spec_damaged");
    let path = run.dir.join("spec.json");
    assert_eq!(
        error.to_string(),
        format!("the spec `{}` is damaged", path.display())
    );
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn a_directory_with_the_spec_of_another_run_is_damaged() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    let other = fixture.ended(2);
    run.put("spec.json", &fs::read(other.dir.join("spec.json")).unwrap());
    assert_eq!(
        fixture.store.record(&run.id).unwrap_err().code(),
        "spec_damaged"
    );
}

#[test]
fn a_spec_of_a_later_version_is_read() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    let text = fs::read_to_string(run.dir.join("spec.json")).unwrap();
    let later = text.replacen("\"v\":1", "\"v\":2,\"colour\":{\"deep\":[1]}", 1);
    run.put("spec.json", later.as_bytes());
    assert_eq!(fixture.store.record(&run.id).unwrap().label, "run 1");
}

#[test]
fn a_read_renews_the_idle_budget_of_runs_that_have_one() {
    let fixture = Fixture::new();
    let with = fixture
        .run(1)
        .spec(|spec| spec.idle_ttl_ms = Some(1_000))
        .make();
    let without = fixture.run(2).make();
    let begun = clock::monotonic_ms();
    for id in [with.id, without.id, fixture.id(3)] {
        fixture.store.mark_read(&id);
    }
    let polled = with.dir.join("polled");
    let at: u64 = fs::read_to_string(&polled).unwrap().trim().parse().unwrap();
    assert!(at >= begun && at <= clock::monotonic_ms());
    assert_eq!(
        fs::metadata(&polled).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(!without.dir.join("polled").exists());
}
