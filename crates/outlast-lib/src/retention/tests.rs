//! Nothing goes before its time, and what goes leaves nothing behind.

use super::*;
use crate::testing::{Fixture, Run, list_birth, put};
use crate::{ListQuery, NoticeScope};
use outlast_journal::Status;
use std::fs::{File, FileTimes};
use std::os::unix::fs::symlink;
use std::time::{Duration, UNIX_EPOCH};

const DAY_MS: u64 = 24 * 3_600 * 1_000;
const DRY: GcQuery = GcQuery {
    older_than_ms: None,
    keep: None,
    dry_run: true,
};

fn ended_days_ago(fixture: &Fixture, number: u16, days: u64) -> Run {
    // Well past the full day, whatever time passes in the test.
    let at = Timestamp(clock::now().0 - days * DAY_MS - 60_000);
    let maker = fixture.run(number).spec(|spec| spec.created = at);
    let json = r#"{"v":1,"seq":0,"ts":"TS","type":"started","data":null}"#;
    let line = json.replace("TS", &at.to_string()) + "\n";
    maker
        .bytes(line.as_bytes())
        .ended_at(Status::Completed, at)
        .make()
}

fn tell(fixture: &Fixture, run: &Run) {
    fixture.store.acknowledge(&[run.id], "s").unwrap();
}

fn collect(fixture: &Fixture, query: &GcQuery) -> GcReport {
    let report = fixture.store.collect_garbage(query).unwrap();
    assert_eq!(report.failed, []);
    report
}

fn removed(report: &GcReport) -> Vec<RunId> {
    report.removed.iter().map(|short| short.id).collect()
}

/// Makes a file, a directory or a link look as if it was changed two hours ago.
fn age(path: &Path) {
    let seconds = i64::try_from(clock::now().0 / 1_000).unwrap() - 7_200;
    let time = rustix::fs::Timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    };
    let times = rustix::fs::Timestamps {
        last_access: time,
        last_modification: time,
    };
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, flags).unwrap();
}

#[test]
fn ended_runs_go_after_the_days_of_retention_and_not_before() {
    let fixture = Fixture::new();
    let old = ended_days_ago(&fixture, 1, 30);
    let young = ended_days_ago(&fixture, 2, 29);
    tell(&fixture, &young);
    old.put("output.log", &[b'x'; 10_000]);
    let dry = collect(&fixture, &DRY);
    assert_eq!(removed(&dry), [old.id]);
    assert!(old.dir.exists());
    let report = collect(&fixture, &GcQuery::default());
    assert_eq!(report, dry);
    assert!(
        report.bytes_freed >= 10_000 && report.bytes_freed < 100_000,
        "{report:?}"
    );
    assert!(!old.dir.exists() && young.dir.exists());
    let left: Vec<_> = fs::read_dir(old.dir.parent().unwrap())
        .unwrap()
        .flatten()
        .collect();
    let in_same_month = usize::from(old.dir.parent() == young.dir.parent());
    assert_eq!(left.len(), in_same_month);
    assert_eq!(collect(&fixture, &GcQuery::default()), GcReport::default());
    let query = ListQuery {
        limit: 10,
        ..ListQuery::default()
    };
    assert_eq!(fixture.store.list(&query).unwrap().records.len(), 1);
}

#[test]
fn an_end_that_nobody_was_told_of_stays_for_its_first_seven_days() {
    let fixture = Fixture::new();
    let untold = ended_days_ago(&fixture, 1, 6);
    let told = ended_days_ago(&fixture, 2, 6);
    let forgotten = ended_days_ago(&fixture, 3, 7);
    tell(&fixture, &told);
    let query = GcQuery {
        older_than_ms: Some(DAY_MS),
        ..GcQuery::default()
    };
    let report = collect(&fixture, &query);
    assert_eq!(removed(&report), [forgotten.id, told.id]);
    assert_eq!(report.kept_untold, 1);
    assert!(untold.dir.exists());
    let scope = NoticeScope::Project("/project".to_owned());
    assert_eq!(fixture.store.notices(&scope, 10).unwrap()[0].id, untold.id);
}

#[test]
fn the_newest_stay_when_so_many_are_to_be_kept() {
    let fixture = Fixture::new();
    let runs: Vec<Run> = (1..6)
        .map(|days| ended_days_ago(&fixture, days, days.into()))
        .collect();
    for run in &runs {
        tell(&fixture, run);
    }
    let query = |older_than_ms| GcQuery {
        older_than_ms,
        keep: Some(2),
        dry_run: true,
    };
    assert_eq!(
        removed(&collect(&fixture, &query(None))),
        [runs[4].id, runs[3].id, runs[2].id]
    );
    assert_eq!(
        removed(&collect(&fixture, &query(Some(4 * DAY_MS)))),
        [runs[4].id, runs[3].id]
    );
    assert_eq!(removed(&collect(&fixture, &query(Some(100 * DAY_MS)))), []);
}

#[test]
fn nothing_goes_before_it_ended() {
    let fixture = Fixture::new();
    let old = Timestamp(clock::now().0 - 100 * DAY_MS);
    let run = fixture
        .run(1)
        .spec(|spec| spec.created = old)
        .claimed()
        .started()
        .make();
    let lock = run.hold();
    let all = GcQuery {
        older_than_ms: Some(0),
        keep: Some(0),
        dry_run: false,
    };
    assert_eq!(collect(&fixture, &all), GcReport::default());
    let error = fixture.store.remove(&run.id).unwrap_err();
    assert_eq!(error.code(), "still_running");
    drop(lock);
    // It is settled now, as an end of this moment that nobody was told of.
    let report = collect(&fixture, &all);
    assert_eq!((report.removed.len(), report.kept_untold), (0, 1));
    assert_eq!(collect(&fixture, &GcQuery::default()).kept_untold, 0);
    assert!(run.dir.exists());
}

#[test]
fn a_run_with_a_live_leftover_or_supervisor_stays_until_it_is_gone() {
    let fixture = Fixture::new();
    let left = fixture.process_of(&fixture.id(1));
    let at = Timestamp(clock::now().0 - 40 * DAY_MS);
    let maker = fixture.run(1).spec(|spec| spec.created = at).claimed();
    let run = maker.ended_with_leftover(left.reference()).make();
    let lock = run.hold();
    let all = GcQuery {
        older_than_ms: Some(0),
        ..DRY
    };
    tell(&fixture, &run);
    assert_eq!(removed(&collect(&fixture, &all)), []);
    assert_eq!(
        fixture.store.remove(&run.id).unwrap_err().code(),
        "leftovers_alive"
    );
    drop(lock);
    assert_eq!(removed(&collect(&fixture, &all)), []);
    let error = fixture.store.remove(&run.id).unwrap_err();
    assert!(
        matches!(&error, RemoveError::LeftoversAlive { pids, .. } if *pids == [left.reference().pid])
    );
    drop(left);
    let lock = run.hold();
    assert_eq!(removed(&collect(&fixture, &all)), []);
    let error = fixture.store.remove(&run.id).unwrap_err();
    assert!(matches!(error, RemoveError::Supervised { .. }), "{error}");
    assert!(run.dir.join("spec.json").exists());
    drop(lock);
    assert_eq!(removed(&collect(&fixture, &all)), [run.id]);
    fixture.store.remove(&run.id).unwrap();
    assert!(!run.dir.exists());
}

#[test]
fn a_dead_run_stays_while_any_process_of_its_tree_is_alive() {
    let fixture = Fixture::new();
    let run = fixture.run(1).claimed().started().make();
    assert_eq!(fixture.store.record(&run.id).unwrap().leftovers, []);
    // Started by something that the settling did not see.
    let left = fixture.process_of(&run.id);
    let error = fixture.store.remove(&run.id).unwrap_err();
    assert_eq!(error.code(), "leftovers_alive");
    drop(left);
    fixture.store.remove(&run.id).unwrap();
    assert!(!run.dir.exists());
}

#[test]
fn what_a_dead_run_left_is_stopped_by_a_collection_and_not_by_a_dry_one() {
    let fixture = Fixture::new();
    let left = fixture.process_of(&fixture.id(1));
    let run = fixture.run(1).claimed().started().make();
    assert_eq!(collect(&fixture, &DRY).swept, 0);
    assert!(left.is_alive());
    assert_eq!(collect(&fixture, &GcQuery::default()).swept, 1);
    assert!(!left.is_alive());
    assert!(run.dir.exists());
}

#[test]
fn a_run_in_which_another_goes_on_stays() {
    let fixture = Fixture::new();
    let (inner, lock) = fixture.live(2);
    let mut end = outlast_journal::End::new(Status::Completed, "self", String::new());
    end.runs_inside = vec![inner.id];
    let at = Timestamp(clock::now().0 - 40 * DAY_MS);
    let fact = outlast_journal::Fact::Ended(Box::new(end));
    let outer = fixture
        .run(1)
        .spec(|spec| spec.created = at)
        .fact_at(&fact, at)
        .make();
    assert_eq!(removed(&collect(&fixture, &DRY)), []);
    drop(lock);
    assert_eq!(removed(&collect(&fixture, &DRY)), [outer.id]);
}

#[test]
fn a_removed_run_takes_its_key_along_and_no_other() {
    let fixture = Fixture::new();
    let with_key = |number, key: &str| {
        let maker = fixture
            .run(number)
            .spec(|spec| spec.key = Some(key.to_owned()));
        maker.claimed().started().ended(Status::Completed).make()
    };
    let (own, taken) = (with_key(1, "own"), with_key(2, "taken"));
    symlink(own.id.as_str(), fixture.path("keys/own")).unwrap();
    symlink(fixture.id(3).as_str(), fixture.path("keys/taken")).unwrap();
    fixture.store.remove(&own.id).unwrap();
    fixture.store.remove(&taken.id).unwrap();
    assert!(fs::read_link(fixture.path("keys/own")).is_err());
    assert!(fs::read_link(fixture.path("keys/taken")).is_ok());
    assert!(!own.dir.exists() && !taken.dir.exists());
    assert_eq!(
        fixture.store.remove(&own.id).unwrap_err().code(),
        "no_such_run"
    );
}

#[test]
fn a_run_with_a_damaged_spec_can_be_removed_by_name_only() {
    let fixture = Fixture::new();
    let run = ended_days_ago(&fixture, 1, 100);
    run.put("spec.json", b"{");
    assert_eq!(removed(&collect(&fixture, &GcQuery::default())), []);
    let lock = run.hold();
    assert_eq!(
        fixture.store.remove(&run.id).unwrap_err().code(),
        "leftovers_alive"
    );
    drop(lock);
    fixture.store.remove(&run.id).unwrap();
    assert!(!run.dir.exists());
}

#[test]
fn a_store_that_is_only_read_loses_nothing() {
    let fixture = Fixture::new();
    let run = ended_days_ago(&fixture, 1, 100);
    let store = fixture.read_only();
    assert_eq!(store.remove(&run.id).unwrap_err().code(), "store_read_only");
    let error = store.collect_garbage(&GcQuery::default()).unwrap_err();
    assert_eq!(error.code(), "store_read_only");
    assert_eq!(removed(&store.collect_garbage(&DRY).unwrap()), [run.id]);
    assert!(run.dir.exists());
}

#[test]
fn debris_goes_once_it_is_old_and_nobody_holds_it() {
    let fixture = Fixture::new();
    let kept = fixture.ended(1);
    let month = kept.dir.parent().unwrap();
    let mut old = Vec::new();
    let mut stays = vec![kept.dir.clone()];
    let hidden = |number| {
        let dir = month.join(names::hidden(&fixture.id(number)));
        fsio::make_private_dir(&dir).unwrap();
        put(&dir.join("lock"), b"");
        dir
    };
    let held = hidden(4);
    let _held = crate::testing::hold(&held.join("lock"));
    age(&held);
    let young = hidden(3);
    let dead = hidden(2);
    age(&dead);
    stays.extend([held, young]);
    let half = month.join(names::removed(&fixture.id(5)));
    fsio::make_private_dirs(&half.join("told")).unwrap();
    old.extend([dead, half]);
    for (name, number, is_debris) in [("stale", 9, true), ("good", 1, false), ("born", 4, false)] {
        let link = fixture.path("keys").join(name);
        symlink(fixture.id(number).as_str(), &link).unwrap();
        age(&link);
        if is_debris { &mut old } else { &mut stays }.push(link);
    }
    let link = fixture.path("keys/new");
    symlink(fixture.id(9).as_str(), &link).unwrap();
    stays.push(link);
    fsio::make_private_dirs(&fixture.path("queue/q")).unwrap();
    let tickets = ["1", "2", "3"].map(|name| fixture.path("queue/q").join(name));
    for ticket in &tickets {
        put(ticket, b"");
        age(ticket);
    }
    let _ticket = crate::testing::hold(&tickets[1]);
    put(&tickets[2], b"new");
    let [first, second, third] = tickets;
    old.push(first);
    stays.extend([second, third]);
    put(&fixture.path("key.123.tmp"), b"");
    age(&fixture.path("key.123.tmp"));
    old.push(fixture.path("key.123.tmp"));

    assert_eq!(collect(&fixture, &DRY).debris, old.len());
    assert!(old.iter().all(|path| fs::symlink_metadata(path).is_ok()));
    assert_eq!(collect(&fixture, &GcQuery::default()).debris, old.len());
    for path in &old {
        assert!(fs::symlink_metadata(path).is_err(), "{}", path.display());
    }
    for path in &stays {
        assert!(fs::symlink_metadata(path).is_ok(), "{}", path.display());
    }
    assert_eq!(collect(&fixture, &GcQuery::default()).debris, 0);
}

#[test]
fn a_birth_that_is_listed_survives_the_removal_of_its_debris() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    let dead = run.dir.with_file_name(names::hidden(&fixture.id(2)));
    fsio::make_private_dir(&dead).unwrap();
    list_birth(&fixture.store, &fixture.id(2));
    let two_hours_ago = UNIX_EPOCH + Duration::from_millis(clock::now().0 - 7_200_000);
    let times = FileTimes::new().set_modified(two_hours_ago);
    File::open(&dead).unwrap().set_times(times).unwrap();
    assert_eq!(collect(&fixture, &GcQuery::default()).debris, 1);
    let query = ListQuery {
        limit: 10,
        ..ListQuery::default()
    };
    let listing = fixture.store.list(&query).unwrap();
    assert_eq!((listing.records.len(), listing.damaged.len()), (1, 0));
}
