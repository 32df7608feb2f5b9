//! A list has every run once, newest change first, whatever state the index is in.

use super::*;
use crate::testing::{Fixture, Run, list_birth, put};
use outlast_supervisor::{clock, fsio};
use std::fs;

fn query(limit: usize) -> ListQuery {
    ListQuery {
        limit,
        ..ListQuery::default()
    }
}

fn ids(listing: &Listing) -> Vec<RunId> {
    listing.records.iter().map(|record| record.id).collect()
}

fn listed(store: &Store, limit: usize) -> Vec<RunId> {
    let listing = store.list(&query(limit)).unwrap();
    assert_eq!(listing.damaged, []);
    ids(&listing)
}

/// Makes a run that ended this long ago.
fn ended_ago(fixture: &Fixture, number: u16, ago_ms: u64) -> Run {
    let at = Timestamp(clock::now().0 - ago_ms);
    let claimed = fixture.run(number).spec(|spec| spec.created = at);
    let json = r#"{"v":1,"seq":0,"ts":"TS","type":"started","data":null}"#;
    let line = json.replace("TS", &at.to_string()) + "\n";
    claimed
        .bytes(line.as_bytes())
        .ended_at(Status::Completed, at)
        .make()
}

#[test]
fn a_store_without_runs_has_an_empty_list() {
    let fixture = Fixture::new();
    assert_eq!(fixture.store.list(&query(10)).unwrap(), Listing::default());
    assert_eq!(
        fixture.read_only().list(&query(10)).unwrap(),
        Listing::default()
    );
    assert_eq!(fixture.store.counts(None).unwrap(), Counts::default());
}

#[test]
fn the_newest_change_comes_first_and_more_is_said() {
    let fixture = Fixture::new();
    let runs = [3, 1, 2].map(|number| ended_ago(&fixture, number, u64::from(number) * 1_000));
    let [third, first, second] = runs.map(|run| run.id);
    for store in [&fixture.store, &fixture.store, &fixture.read_only()] {
        assert_eq!(listed(store, 3), [first, second, third]);
        let cut = store.list(&query(2)).unwrap();
        assert_eq!((ids(&cut), cut.more), (vec![first, second], true));
        assert!(!store.list(&query(3)).unwrap().more);
        let none = store.list(&query(0)).unwrap();
        assert_eq!((none.records.len(), none.more), (0, true));
    }
}

#[test]
fn a_record_from_the_index_is_the_record_from_the_directory() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    run.put("output.log", b"hello\n");
    listed(&fixture.store, 1);
    let from_index = fixture.store.list(&query(1)).unwrap().records;
    assert_eq!(from_index, [fixture.store.record(&run.id).unwrap()]);
    assert_eq!(
        fixture.read_only().list(&query(1)).unwrap().records,
        from_index
    );
}

#[test]
fn a_run_is_listed_from_its_birth_to_its_removal() {
    let fixture = Fixture::new();
    listed(&fixture.store, 10);
    let (run, lock) = fixture.live(1);
    let status = |store: &Store| store.list(&query(10)).unwrap().records[0].status;
    assert_eq!(status(&fixture.store), Status::Running);
    assert_eq!(status(&fixture.store), Status::Running);
    drop(lock);
    assert_eq!(status(&fixture.store), Status::Interrupted);
    assert_eq!(status(&fixture.store), Status::Interrupted);
    fs::remove_dir_all(&run.dir).unwrap();
    assert_eq!(listed(&fixture.store, 10), []);
}

#[test]
fn a_live_run_takes_its_place_among_ended_ones_by_its_last_output() {
    let fixture = Fixture::new();
    let old = ended_ago(&fixture, 1, 60_000).id;
    let new = ended_ago(&fixture, 2, 5_000).id;
    let at = Timestamp(clock::now().0 - 30_000);
    let json = format!(r#"{{"v":1,"ts":"{at}","type":"claimed","data":null}}"#) + "\n";
    let live = fixture
        .run(3)
        .spec(|spec| spec.created = at)
        .bytes(json.as_bytes())
        .make();
    let _lock = live.hold();
    assert_eq!(listed(&fixture.store, 10), [new, live.id, old]);
    live.put("output.log", b"now");
    assert_eq!(listed(&fixture.store, 10), [live.id, new, old]);
}

#[test]
fn a_live_run_is_listed_as_it_is_now_each_time() {
    let fixture = Fixture::new();
    let (run, lock) = fixture.live(1);
    let now = || {
        let mut records = fixture.store.list(&query(1)).unwrap().records;
        let mut now = fixture.store.record(&run.id).unwrap();
        // Time goes on between the two.
        now.elapsed_ms = records[0].elapsed_ms;
        assert_eq!(records[0], now);
        records.remove(0)
    };
    assert_eq!((now().summary, now().cancelling), (None, false));
    run.put("output.log", b"half a line");
    assert_eq!(now().summary.as_deref(), Some("half a line"));
    let stop = br#"{"v":1,"seq":1,"ts":"2026-01-01T00:00:00.000Z","type":"note","data":{"stop":{"cause":"cancel","grace_ms":1}}}"#;
    run.put("journal.jsonl", &[&run.journal()[..], stop, b"\n"].concat());
    assert_eq!((now().status, now().cancelling), (Status::Running, true));
    let ended = fixture.ended(2).journal();
    let end = ended
        .split_inclusive(|byte| *byte == b'\n')
        .next_back()
        .unwrap();
    run.put("journal.jsonl", &[&run.journal()[..], end].concat());
    let only = |statuses: &[Status]| {
        let query = ListQuery {
            statuses: statuses.to_vec(),
            ..query(10)
        };
        fixture.store.list(&query).unwrap().records.len()
    };
    // The supervisor stays for what is left, and the run has ended all the same.
    assert_eq!(only(&[Status::Completed]), 2);
    assert_eq!(only(&[Status::Running]), 0);
    drop(lock);
    assert_eq!(only(&[Status::Completed]), 2);
}

#[test]
fn a_queued_run_that_starts_is_listed_as_running() {
    let fixture = Fixture::new();
    let queued = outlast_journal::Fact::Queued(outlast_journal::Queued { ticket: 1 });
    let run = fixture.run(1).claimed().fact(&queued).make();
    let _lock = run.hold();
    let status = || fixture.store.list(&query(1)).unwrap().records[0].status;
    assert_eq!((status(), status()), (Status::Queued, Status::Queued));
    let started = fixture.run(2).claimed().fact(&queued).started().make();
    run.put("journal.jsonl", &started.journal());
    fs::remove_dir_all(&started.dir).unwrap();
    assert_eq!((status(), status()), (Status::Running, Status::Running));
}

#[test]
fn a_list_among_many_live_runs_reads_only_what_it_shows() {
    let fixture = Fixture::new();
    let runs: Vec<_> = (0..500).map(|number| fixture.live(number)).collect();
    let first = fixture.store.list(&query(10)).unwrap();
    assert_eq!((first.records.len(), first.more), (10, true));
    let begun = std::time::Instant::now();
    assert_eq!(fixture.store.list(&query(10)).unwrap().records.len(), 10);
    println!("10 of 500 live runs: {:?}", begun.elapsed());
    // What is not shown is not read: it can be broken unnoticed.
    for (run, _) in &runs {
        run.put("spec.json", b"");
    }
    let counts = fixture.store.counts(None).unwrap();
    assert_eq!((counts.running, counts.total), (500, 500));
}

#[test]
fn a_list_can_be_of_a_project_a_session_and_some_states() {
    let fixture = Fixture::new();
    let ended = |number, project: &str, session: &str, status| {
        let maker = fixture.run(number).project(project).session(session);
        maker.claimed().started().ended(status).make().id
    };
    let a = ended(1, "/a", "s", Status::Completed);
    let b = ended(2, "/a", "t", Status::Failed);
    let c = ended(3, "/b", "s", Status::Failed);
    let live = fixture
        .run(4)
        .project("/a")
        .session("s")
        .claimed()
        .started()
        .make();
    let _lock = live.hold();
    let check =
        |project: Option<&str>, session: Option<&str>, statuses: &[Status], expected: &[RunId]| {
            let query = ListQuery {
                project: project.map(str::to_owned),
                session: session.map(str::to_owned),
                statuses: statuses.to_vec(),
                limit: 10,
            };
            for store in [&fixture.store, &fixture.read_only()] {
                let mut found = ids(&store.list(&query).unwrap());
                found.sort_unstable();
                assert_eq!(found, expected, "{query:?}");
            }
        };
    check(None, None, &[], &[a, b, c, live.id]);
    check(Some("/a"), None, &[], &[a, b, live.id]);
    check(None, Some("s"), &[], &[a, c, live.id]);
    check(Some("/a"), Some("s"), &[], &[a, live.id]);
    check(None, None, &[Status::Failed], &[b, c]);
    check(
        None,
        None,
        &[Status::Running, Status::Completed],
        &[a, live.id],
    );
    check(Some("/b"), Some("s"), &[Status::Failed], &[c]);
    check(Some("/b"), Some("t"), &[], &[]);
    check(None, None, &[Status::Queued], &[]);
    let counts = |session| fixture.store.counts(session).unwrap();
    assert_eq!(
        counts(None),
        Counts {
            running: 1,
            total: 4
        }
    );
    assert_eq!(
        counts(Some("s")),
        Counts {
            running: 1,
            total: 3
        }
    );
    assert_eq!(counts(Some("none")), Counts::default());
    assert_eq!(
        fixture.read_only().counts(Some("s")).unwrap(),
        counts(Some("s"))
    );
}

#[test]
fn a_damaged_run_is_said_each_time_and_hides_no_other() {
    let fixture = Fixture::new();
    let good = fixture.ended(1);
    let bad = fixture.ended(2);
    bad.put("spec.json", b"{");
    for store in [&fixture.store, &fixture.store, &fixture.read_only()] {
        let listing = store.list(&query(10)).unwrap();
        assert_eq!(ids(&listing), [good.id]);
        assert_eq!(listing.damaged.len(), 1);
        assert_eq!(listing.damaged[0].path, bad.dir);
        assert!(
            listing.damaged[0].what.contains("spec_damaged"),
            "{:?}",
            listing.damaged
        );
    }
}

#[test]
fn a_run_without_a_spec_is_said_too() {
    let fixture = Fixture::new();
    fsio::make_private_dirs(
        &fixture
            .path("runs")
            .join(clock::now().month())
            .join(fixture.id(1).as_str()),
    )
    .unwrap();
    assert_eq!(fixture.store.list(&query(10)).unwrap().damaged.len(), 1);
}

#[test]
fn leftovers_that_ended_leave_the_list_too() {
    let fixture = Fixture::new();
    let left = fixture.process_of(&fixture.id(1));
    let maker = fixture.run(1).claimed().started();
    let run = maker.ended_with_leftover(left.reference()).make();
    let leftovers = |store: &Store| store.list(&query(1)).unwrap().records[0].leftovers.len();
    assert_eq!(
        (leftovers(&fixture.store), leftovers(&fixture.store)),
        (1, 1)
    );
    run.put("output.log", b"after");
    let after = fixture.store.list(&query(1)).unwrap().records[0]
        .output
        .after_end;
    assert_eq!(after, Some(5));
    drop(left);
    assert_eq!(
        (leftovers(&fixture.store), leftovers(&fixture.store)),
        (0, 0)
    );
}

#[test]
fn a_run_that_is_being_born_is_listed_once_it_can_be_seen() {
    let fixture = Fixture::new();
    let run = fixture.run(1).unlisted().claimed().started().make();
    let hidden = run.dir.with_file_name(names::hidden(&run.id));
    fs::rename(&run.dir, &hidden).unwrap();
    let lock = crate::testing::hold(&hidden.join("lock"));
    list_birth(&fixture.store, &run.id);
    assert_eq!(listed(&fixture.store, 10), []);
    assert_eq!(listed(&fixture.store, 10), []);
    fs::rename(&hidden, &run.dir).unwrap();
    // Another birth, so that the folder's time of change has its reason.
    let other = fixture.ended(2);
    let mut found = listed(&fixture.store, 10);
    found.sort_unstable();
    assert_eq!(found, [run.id, other.id]);
    drop(lock);
}

#[test]
fn a_birth_that_came_to_nothing_is_forgotten() {
    let fixture = Fixture::new();
    let run = fixture.run(1).unlisted().make();
    let hidden = run.dir.with_file_name(names::hidden(&run.id));
    fs::rename(&run.dir, &hidden).unwrap();
    list_birth(&fixture.store, &run.id);
    list_birth(&fixture.store, &fixture.id(2));
    assert_eq!(listed(&fixture.store, 10), []);
}

#[test]
fn a_torn_line_of_births_loses_no_run() {
    let fixture = Fixture::new();
    listed(&fixture.store, 10);
    let first = fixture
        .run(1)
        .unlisted()
        .claimed()
        .started()
        .ended(Status::Failed)
        .make();
    put(&fixture.path("births"), &first.id.as_str().as_bytes()[..5]);
    assert_eq!(listed(&fixture.store, 10), [first.id]);
    let second = fixture.ended(2);
    let mut found = listed(&fixture.store, 10);
    found.sort_unstable();
    assert_eq!(found, [first.id, second.id]);
}

#[test]
fn many_listers_at_once_agree() {
    let fixture = Fixture::new();
    let mut expected: Vec<RunId> = (0..50).map(|number| fixture.ended(number).id).collect();
    expected.sort_unstable();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let store = Store::open(fixture.store.root(), outlast_journal::Limits::default());
                let mut found = ids(&store.unwrap().list(&query(100)).unwrap());
                found.sort_unstable();
                assert_eq!(found, expected);
            });
        }
    });
}
