//! A list has every run that a start has answered for, whatever else goes on in the store.
//!
//! Cases RD-01 and RD-05.

use crate::home::Place;
use libtest_mimic::Trial;
use outlast_lib::{Counts, GcQuery, Limits, ListQuery, NoticeScope, Request, RunId, Status, Store};
use std::collections::HashSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_started_run_is_in_the_next_list_while_others_list_and_delete_the_index,
        a_collection_beside_starts_takes_no_run_and_no_key,
        counts_and_notices_follow_the_runs,
    );
}

fn all() -> ListQuery {
    ListQuery {
        limit: usize::MAX,
        ..ListQuery::default()
    }
}

fn ids(store: &Store) -> HashSet<RunId> {
    let listing = store.list(&all()).expect("the store can be listed");
    listing.records.iter().map(|record| record.id).collect()
}

/// Starts `count` runs from each of two threads while `beside` is done again and again.
fn start_beside(
    place: &Place,
    count: usize,
    request: impl Fn(usize) -> Request + Sync,
    each: impl Fn(RunId) + Sync,
    beside: impl Fn(&Store) + Sync,
) -> Vec<RunId> {
    let is_over = AtomicBool::new(false);
    let open = || Store::open(place.store.root(), Limits::default()).expect("it opens");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let store = open();
            while !is_over.load(Ordering::Relaxed) {
                beside(&store);
            }
        });
        let (request, each) = (&request, &each);
        let starters: Vec<_> = (0..2)
            .map(|starter| {
                scope.spawn(move || {
                    let numbers = (0..count).map(|number| number * 2 + starter);
                    let ids = numbers.map(|number| {
                        let id = place.begin(&request(number));
                        each(id);
                        id
                    });
                    ids.collect::<Vec<RunId>>()
                })
            })
            .collect();
        let joined = starters
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join);
        let ids: Result<Vec<Vec<RunId>>, _> = joined.collect();
        is_over.store(true, Ordering::Relaxed);
        ids.expect("every start is answered").concat()
    })
}

/// RD-01 and RD-05.
fn a_started_run_is_in_the_next_list_while_others_list_and_delete_the_index() {
    let place = Place::new();
    let started = start_beside(
        &place,
        20,
        |number| place.shell(if number % 4 == 0 { "sleep 0.3" } else { ":" }),
        |id| assert!(ids(&place.store).contains(&id), "{id} is not listed"),
        |store| {
            ids(store);
            for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
                fs::remove_file(store.root().join(name)).ok();
            }
        },
    );
    for id in &started {
        assert_eq!(place.ended(id).status, Status::Completed);
    }
    assert_eq!(ids(&place.store), started.iter().copied().collect());
    place.is_deserted();
    place.is_sound();
}

fn a_collection_beside_starts_takes_no_run_and_no_key() {
    let place = Place::new();
    let everything = GcQuery {
        older_than_ms: Some(0),
        keep: Some(0),
        dry_run: false,
    };
    let keyed = |number: usize| Request {
        idempotency_key: Some(format!("key {number}")),
        ..place.shell(":")
    };
    let started = start_beside(
        &place,
        15,
        keyed,
        |id| assert!(place.store.record(&id).is_ok(), "{id} is gone"),
        |store| {
            let report = store.collect_garbage(&everything).expect("it can collect");
            // An end that nobody was told of stays.
            assert_eq!(
                (report.removed.len(), report.swept, report.debris),
                (0, 0, 0)
            );
            assert_eq!(report.failed, []);
        },
    );
    let unique: HashSet<&RunId> = started.iter().collect();
    assert_eq!(unique.len(), 30);
    for number in 0..30 {
        let begun = place.store.start(&keyed(number)).expect("the key is known");
        assert!(begun.is_replayed && unique.contains(&begun.id));
    }
    place.is_deserted();
    for id in &started {
        place
            .store
            .acknowledge(&[*id], "s")
            .expect("it can be noted");
    }
    let report = place
        .store
        .collect_garbage(&everything)
        .expect("it can collect");
    assert_eq!((report.removed.len(), report.failed.len()), (30, 0));
    assert_eq!(ids(&place.store), HashSet::new());
    let keys = fs::read_dir(place.store.root().join("keys")).expect("it is there");
    let links = keys
        .flatten()
        .filter(|entry| fs::read_link(entry.path()).is_ok());
    assert_eq!(links.count(), 0);
    place.is_sound();
}

fn counts_and_notices_follow_the_runs() {
    let place = Place::new();
    let of_session = |text: &str| Request {
        session: Some("s".to_owned()),
        ..place.shell(text)
    };
    let counts = || place.store.counts(Some("s")).expect("they can be counted");
    let scope = NoticeScope::Session("s".to_owned());
    let told = || {
        let notices = place.store.notices(&scope, 10).expect("one can look");
        notices.iter().map(|short| short.id).collect::<Vec<_>>()
    };
    place.start("sleep 300");
    let id = place.begin(&of_session("read line < fifo || sleep 300"));
    let count = |running, total| Counts { running, total };
    assert_eq!((counts(), told()), (count(1, 1), vec![]));
    place.cancel_now(&id);
    assert_eq!((counts(), told()), (count(0, 1), vec![id]));
    place
        .store
        .acknowledge(&[id], "s")
        .expect("it can be noted");
    assert_eq!((counts(), told()), (count(0, 1), vec![]));
}
