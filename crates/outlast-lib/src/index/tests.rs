//! The index can be deleted, damaged and outdated, and a list is right all the same.

use super::*;
use crate::testing::{Fixture, put};
use crate::{ListQuery, Listing, Reindexed};
use outlast_journal::{RunId, Status, Timestamp};
use outlast_supervisor::clock;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::time::Instant;

fn list(store: &Store) -> Listing {
    let query = ListQuery {
        limit: 1_000,
        ..ListQuery::default()
    };
    let mut listing = store.list(&query).unwrap();
    listing.records.sort_by_key(|record| record.id);
    listing
}

fn ids(listing: &Listing) -> Vec<RunId> {
    listing.records.iter().map(|record| record.id).collect()
}

/// A store with three ended runs that an index knows.
fn three() -> (Fixture, Vec<RunId>) {
    let fixture = Fixture::new();
    let expected: Vec<RunId> = (1..4).map(|number| fixture.ended(number).id).collect();
    assert_eq!(ids(&list(&fixture.store)), expected);
    (fixture, expected)
}

fn remove(fixture: &Fixture, name: &str) {
    fs::remove_file(fixture.path(name)).unwrap();
}

/// Lists twice: the damage is said once, the runs are there both times.
fn is_repaired(fixture: &Fixture, expected: &[RunId]) -> String {
    let first = list(&fixture.store);
    assert_eq!(ids(&first), expected);
    assert_eq!(first.damaged.len(), 1, "{:?}", first.damaged);
    let second = list(&fixture.store);
    assert_eq!(
        (ids(&second).as_slice(), second.damaged.as_slice()),
        (expected, &[][..])
    );
    assert!(first.damaged[0].path.exists());
    first.damaged[0].what.clone()
}

#[test]
fn an_index_is_for_its_owner_alone() {
    let (fixture, _) = three();
    for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
        let mode = fs::metadata(fixture.path(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_deleted_index_comes_back() {
    let (fixture, expected) = three();
    for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
        remove(&fixture, name);
    }
    let listing = list(&fixture.store);
    assert_eq!((ids(&listing), listing.damaged), (expected, Vec::new()));
    assert!(fixture.path("index.sqlite").exists());
}

#[test]
fn an_index_that_is_deleted_without_its_log_comes_back() {
    let (fixture, expected) = three();
    remove(&fixture, "index.sqlite");
    assert_eq!(ids(&list(&fixture.store)), expected);
    assert_eq!(ids(&list(&fixture.store)), expected);
}

#[test]
fn a_file_that_is_no_database_is_set_aside_and_said_once() {
    let (fixture, expected) = three();
    // Everything may still be in the log, from which SQLite would read it.
    remove(&fixture, "index.sqlite-wal");
    put(
        &fixture.path("index.sqlite"),
        &b"no database at all ".repeat(500),
    );
    let what = is_repaired(&fixture, &expected);
    assert!(what.contains("damaged"), "{what}");
    let aside = fs::read(fixture.path("index.sqlite.damaged-1")).unwrap();
    assert!(aside.starts_with(b"no database"));
    remove(&fixture, "index.sqlite-wal");
    put(
        &fixture.path("index.sqlite"),
        b"once more, and longer than a header of sixteen bytes",
    );
    is_repaired(&fixture, &expected);
    assert!(fixture.path("index.sqlite.damaged-2").exists());
}

#[test]
fn an_index_with_overwritten_pages_is_made_again() {
    let (fixture, expected) = three();
    let index = Index::open(&fixture.store).unwrap();
    index
        .connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    drop(index);
    let path = fixture.path("index.sqlite");
    let length = fs::metadata(&path).unwrap().len();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let garbage = vec![0xA5; usize::try_from(length - 100).unwrap()];
    file.write_all_at(&garbage, 100).unwrap();
    is_repaired(&fixture, &expected);
}

#[test]
fn an_index_with_other_tables_is_made_again() {
    let (fixture, expected) = three();
    let index = Index::open(&fixture.store).unwrap();
    index
        .connection
        .execute_batch("DROP TABLE progress")
        .unwrap();
    drop(index);
    is_repaired(&fixture, &expected);
}

#[test]
fn an_index_that_lost_its_schema_number_is_made_again() {
    let (fixture, expected) = three();
    let index = Index::open(&fixture.store).unwrap();
    index
        .connection
        .execute_batch("PRAGMA user_version = 0")
        .unwrap();
    drop(index);
    is_repaired(&fixture, &expected);
}

#[test]
fn a_record_in_the_index_that_is_no_record_has_it_made_again() {
    let (fixture, expected) = three();
    let index = Index::open(&fixture.store).unwrap();
    index
        .connection
        .execute_batch("UPDATE runs SET record = '{'")
        .unwrap();
    drop(index);
    is_repaired(&fixture, &expected);
}

#[test]
fn a_list_of_births_that_shrank_has_the_index_made_again() {
    let (fixture, expected) = three();
    put(&fixture.path("births"), b"");
    let what = is_repaired(&fixture, &expected);
    assert!(what.contains("list of births"), "{what}");
}

#[test]
fn an_index_of_a_newer_version_is_not_touched() {
    let (fixture, expected) = three();
    let index = Index::open(&fixture.store).unwrap();
    index
        .connection
        .execute_batch("PRAGMA user_version = 2")
        .unwrap();
    drop(index);
    for _ in 0..2 {
        let listing = list(&fixture.store);
        assert_eq!(ids(&listing), expected);
        assert!(
            listing.damaged[0].what.contains("newer version"),
            "{:?}",
            listing.damaged
        );
    }
    assert!(!fixture.path("index.sqlite.damaged-1").exists());
}

#[test]
fn an_index_that_cannot_be_opened_is_done_without() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    fsio::make_private_dir(&fixture.path("index.sqlite")).unwrap();
    let listing = list(&fixture.store);
    assert_eq!(ids(&listing), [run.id]);
    assert!(
        listing.damaged[0].what.contains("not used"),
        "{:?}",
        listing.damaged
    );
}

#[test]
fn a_store_that_is_only_read_gets_no_index() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    let listing = list(&fixture.read_only());
    assert_eq!((ids(&listing), listing.damaged), (vec![run.id], Vec::new()));
    assert!(!fixture.path("index.sqlite").exists());
}

#[test]
fn an_index_that_another_process_writes_is_still_read() {
    let (fixture, mut expected) = three();
    let mut index = Index::open(&fixture.store).unwrap();
    let writing = index
        .connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    expected.push(fixture.ended(4).id);
    let listing = list(&fixture.store);
    assert_eq!(
        (ids(&listing), listing.damaged),
        (expected.clone(), Vec::new())
    );
    let counts = fixture.store.counts(None).unwrap();
    assert_eq!((counts.running, counts.total), (0, 4));
    drop(writing);
    assert_eq!(ids(&list(&fixture.store)), expected);
}

#[test]
fn runs_that_were_copied_or_deleted_by_hand_are_noticed_in_this_month() {
    let (fixture, mut expected) = three();
    let copied = fixture
        .run(9)
        .unlisted()
        .claimed()
        .started()
        .ended(Status::Failed)
        .make();
    expected.push(copied.id);
    assert_eq!(ids(&list(&fixture.store)), expected);
    fs::remove_dir_all(&copied.dir).unwrap();
    expected.pop();
    assert_eq!(ids(&list(&fixture.store)), expected);
    let index = Index::open(&fixture.store).unwrap();
    assert_eq!(index.count_ended(None).unwrap(), 3);
}

#[test]
fn a_row_of_an_older_month_whose_run_is_gone_is_not_listed() {
    let fixture = Fixture::new();
    let old = |number| {
        let maker = fixture.run(number);
        let maker = maker.spec(|spec| spec.created = Timestamp(1_700_000_000_000));
        maker.claimed().started().ended(Status::Completed).make()
    };
    let (kept, lost) = (old(1), old(2));
    assert_eq!(list(&fixture.store).records.len(), 2);
    fs::remove_dir_all(&lost.dir).unwrap();
    assert_eq!(ids(&list(&fixture.store)), [kept.id]);
    let index = Index::open(&fixture.store).unwrap();
    assert_eq!(index.count_ended(None).unwrap(), 1);
}

#[test]
fn to_reindex_is_to_read_every_directory() {
    let (fixture, expected) = three();
    let bad = fixture.ended(4);
    bad.put("spec.json", b"{");
    let index = Index::open(&fixture.store).unwrap();
    index
        .connection
        .execute_batch("UPDATE runs SET label = 'wrong', status = 'failed'")
        .unwrap();
    drop(index);
    let Reindexed { runs, damaged } = fixture.store.reindex().unwrap();
    assert_eq!((runs, damaged.len()), (4, 1));
    assert_eq!(damaged[0].path, bad.dir);
    let query = ListQuery {
        statuses: vec![Status::Completed],
        limit: 10,
        ..ListQuery::default()
    };
    assert_eq!(
        fixture.store.list(&query).unwrap().records.len(),
        expected.len()
    );
    assert!(fixture.read_only().reindex().is_err());
}

/// Puts 100,000 ended runs into the index, of which the newest fifty have directories.
/// Returns the newest.
fn fill(fixture: &Fixture) -> RunId {
    let template = fixture.ended(1);
    let record = fixture.store.record(&template.id).unwrap();
    let json = serde_json::to_string(&record).unwrap();
    let index = Index::open(&fixture.store).unwrap();
    let connection = &index.connection;
    connection
        .pragma_update(None, "cache_size", FILL_CACHE)
        .unwrap();
    let now = clock::now();
    let statuses = "substr('completed failed    cancelled timed_out ', 1 + 10 * (n % 4), 10)";
    let sql = format!(
        "WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers LIMIT 100000),
         ids(n, id) AS (SELECT n, printf('%08x%08x', n * 2654435761 % 4294967296, n) FROM numbers)
         INSERT INTO runs SELECT id, ?1, printf('/project/%d', n % 7), printf('session-%d', n % 11),
         printf('label %d', n), trim({statuses}), ?2 + n, 0, n % 2, n % 2, 0, replace(?3, ?4, id)
         FROM ids"
    );
    let values = rusqlite::params![
        now.month(),
        rows::integer(now.0),
        json,
        template.id.as_str()
    ];
    assert_eq!(connection.execute(&sql, values).unwrap(), 100_000);
    index.empty_log();
    let newest = "SELECT id FROM runs ORDER BY updated DESC LIMIT 50";
    let newest = index.ids(newest).unwrap();
    for id in &newest {
        let folder = fixture.path("runs").join(now.month());
        fsio::make_private_dir(&folder.join(id.as_str())).unwrap();
    }
    newest[0]
}

#[test]
fn the_newest_fifty_of_a_hundred_thousand_runs_are_listed_quickly() {
    let fixture = Fixture::new();
    let begun = Instant::now();
    let newest = fill(&fixture);
    println!("100,000 rows put in: {:?}", begun.elapsed());
    let query = ListQuery {
        limit: 50,
        ..ListQuery::default()
    };
    let mut best = None;
    for _ in 0..10 {
        let begun = Instant::now();
        let store = Store::open(fixture.store.root(), outlast_journal::Limits::default()).unwrap();
        let listing = store.list(&query).unwrap();
        let took = begun.elapsed();
        best = Some(best.map_or(took, |best: Duration| best.min(took)));
        assert_eq!((listing.records.len(), listing.more), (50, true));
        assert_eq!(listing.records[0].id, newest);
    }
    println!("newest 50 of 100,000: {best:?}");
    let begun = Instant::now();
    let project = ListQuery {
        project: Some("/project/3".to_owned()),
        statuses: vec![Status::Failed],
        limit: 1,
        ..ListQuery::default()
    };
    assert_eq!(fixture.store.list(&project).unwrap().records.len(), 1);
    println!("one of a project and state: {:?}", begun.elapsed());
    let begun = Instant::now();
    assert_eq!(fixture.store.counts(None).unwrap().total, 100_001);
    println!("counts: {:?}", begun.elapsed());
    // Ever so many that were deleted by hand are found out at once.
    let folder = fixture.path("runs").join(clock::now().month());
    fs::remove_dir_all(folder.join(newest.as_str())).unwrap();
    let begun = Instant::now();
    let listing = fixture
        .store
        .list(&ListQuery {
            limit: 100,
            ..ListQuery::default()
        })
        .unwrap();
    assert_eq!((listing.records.len(), listing.more), (50, false));
    println!("99,951 rows without runs: {:?}", begun.elapsed());
}
