//! A session is told of each end until it says that it was, then never again.

use super::*;
use crate::testing::{Fixture, Run};
use outlast_journal::Status;
use std::os::unix::fs::PermissionsExt;

fn ended(fixture: &Fixture, number: u16, session: &str) -> Run {
    let maker = fixture.run(number).session(session);
    maker.claimed().started().ended(Status::Completed).make()
}

fn session(name: &str) -> NoticeScope {
    NoticeScope::Session(name.to_owned())
}

fn project() -> NoticeScope {
    NoticeScope::Project("/project".to_owned())
}

/// Asks with and without the index, which must agree.
fn notices(fixture: &Fixture, scope: &NoticeScope) -> Vec<RunId> {
    let [one, other] = [&fixture.store, &fixture.read_only()].map(|store| {
        let notices = store.notices(scope, 10).unwrap();
        let mut ids: Vec<RunId> = notices.iter().map(|short| short.id).collect();
        ids.sort_unstable();
        ids
    });
    assert_eq!(one, other);
    one
}

#[test]
fn an_end_is_told_until_it_is_acknowledged_and_then_never_again() {
    let fixture = Fixture::new();
    let run = ended(&fixture, 1, "s");
    let scope = session("s");
    assert_eq!(notices(&fixture, &scope), [run.id]);
    assert_eq!(notices(&fixture, &scope), [run.id]);
    for _ in 0..2 {
        fixture.store.acknowledge(&[run.id], "s").unwrap();
        assert_eq!(notices(&fixture, &scope), []);
    }
    fs::remove_file(fixture.path("index.sqlite")).unwrap();
    assert_eq!(notices(&fixture, &scope), []);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(run.dir.join("told")), 0o700);
    assert_eq!(mode(run.dir.join("told/s")), 0o600);
}

#[test]
fn a_session_is_told_of_its_own_runs_and_what_others_were_told_does_not_count() {
    let fixture = Fixture::new();
    let mine = ended(&fixture, 1, "mine");
    let theirs = ended(&fixture, 2, "theirs");
    let nobodys = fixture.ended(3);
    fixture
        .store
        .acknowledge(&[mine.id, nobodys.id], "theirs")
        .unwrap();
    assert_eq!(notices(&fixture, &session("mine")), [mine.id]);
    assert_eq!(notices(&fixture, &session("theirs")), [theirs.id]);
    assert_eq!(notices(&fixture, &session("none")), []);
}

#[test]
fn a_project_is_told_of_what_no_session_was_told_of() {
    let fixture = Fixture::new();
    let (a, b, c) = (
        ended(&fixture, 1, "s"),
        ended(&fixture, 2, "t"),
        fixture.ended(3),
    );
    assert_eq!(notices(&fixture, &project()), [a.id, b.id, c.id]);
    fixture.store.acknowledge(&[a.id], "s").unwrap();
    assert_eq!(notices(&fixture, &project()), [b.id, c.id]);
    fixture.store.acknowledge(&[c.id], "/project").unwrap();
    assert_eq!(notices(&fixture, &project()), [b.id]);
    assert_eq!(
        notices(&fixture, &NoticeScope::Project("/other".to_owned())),
        []
    );
}

#[test]
fn a_run_that_goes_on_is_no_notice_and_cannot_be_acknowledged() {
    let fixture = Fixture::new();
    let run = fixture.run(1).session("s").claimed().started().make();
    let lock = run.hold();
    fixture
        .store
        .acknowledge(&[run.id, fixture.id(9)], "s")
        .unwrap();
    assert!(!run.dir.join("told").exists());
    assert_eq!(notices(&fixture, &session("s")), []);
    drop(lock);
    assert_eq!(notices(&fixture, &session("s")), [run.id]);
}

#[test]
fn a_note_that_the_index_missed_counts() {
    let fixture = Fixture::new();
    let run = ended(&fixture, 1, "s");
    assert_eq!(notices(&fixture, &session("s")), [run.id]);
    note(&run.dir, "s").unwrap();
    assert_eq!(notices(&fixture, &session("s")), []);
    assert_eq!(notices(&fixture, &project()), []);
}

#[test]
fn the_newest_ends_come_first_and_at_most_as_many_as_asked_for() {
    let fixture = Fixture::new();
    let runs: Vec<RunId> = (1..6)
        .map(|number| {
            let at =
                outlast_journal::Timestamp(outlast_supervisor::clock::now().0 + u64::from(number));
            let maker = fixture.run(number).session("s").claimed().started();
            maker.ended_at(Status::Failed, at).make().id
        })
        .collect();
    let ask = |limit| -> Vec<RunId> {
        let notices = fixture.store.notices(&session("s"), limit).unwrap();
        notices.iter().map(|short| short.id).collect()
    };
    for _ in 0..2 {
        assert_eq!(ask(2), [runs[4], runs[3]]);
        assert_eq!(ask(0), []);
    }
    fixture.store.acknowledge(&runs[3..], "s").unwrap();
    assert_eq!(ask(2), [runs[2], runs[1]]);
}

#[test]
fn any_text_names_a_session() {
    let fixture = Fixture::new();
    let long = "s".repeat(500);
    let names = [
        "plain-1._x",
        "..",
        ".",
        ".hidden",
        "a/b",
        "/home/user/project",
        "",
        " ",
        "ä",
        "~x",
        &long,
    ];
    for (number, name) in (1..).zip(names) {
        let run = ended(&fixture, number, name);
        assert_eq!(notices(&fixture, &session(name)), [run.id], "{name}");
        fixture.store.acknowledge(&[run.id], name).unwrap();
        assert_eq!(notices(&fixture, &session(name)), [], "{name}");
        assert_eq!(
            fs::read_dir(run.dir.join("told")).unwrap().count(),
            1,
            "{name}"
        );
    }
    let run = ended(&fixture, 99, "a/b");
    fixture.store.acknowledge(&[run.id], "plain").unwrap();
    assert!(run.dir.join("told/plain").exists());
    fixture.store.acknowledge(&[run.id], "a/c").unwrap();
    assert_eq!(notices(&fixture, &session("a/b")), [run.id]);
}

#[test]
fn sessions_that_acknowledge_at_once_lose_no_note() {
    let fixture = Fixture::new();
    let runs: Vec<RunId> = (0..10)
        .map(|number| ended(&fixture, number, "s").id)
        .collect();
    std::thread::scope(|scope| {
        for name in ["a", "b", "s", "s"] {
            let (store, runs) = (&fixture.store, &runs);
            scope.spawn(move || store.acknowledge(runs, name).unwrap());
        }
    });
    assert_eq!(notices(&fixture, &session("s")), []);
    for id in runs {
        let told = fixture.store.run_dir(&id).unwrap().join("told");
        assert_eq!(fs::read_dir(told).unwrap().count(), 3);
    }
}
