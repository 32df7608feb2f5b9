//! A place has one holder, who keeps it as long as it lives and no longer.

use super::{holders, take};
use outlast_testkit::Home;
use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

/// A pool that nobody has used yet.
fn pool(home: &Home) -> PathBuf {
    home.work().join("places/store")
}

fn place(file: &File) -> u64 {
    file.metadata().unwrap().ino()
}

#[test]
fn a_pool_gives_as_many_places_as_it_has() {
    let home = Home::new();
    let pool = pool(&home);
    assert_eq!(holders(&pool, 3).unwrap(), Vec::<String>::new());
    let taken: Vec<File> = ["a", "b", "c"]
        .map(|holder| take(&pool, 3, holder).unwrap().unwrap())
        .into();
    let different: HashSet<u64> = taken.iter().map(place).collect();
    assert_eq!(different.len(), 3);
    assert!(take(&pool, 3, "d").unwrap().is_none());
    assert_eq!(holders(&pool, 3).unwrap(), ["a", "b", "c"]);
    let meta = fs::metadata(&pool).unwrap();
    assert_eq!(meta.mode() & 0o777, 0o700);
    let file = fs::metadata(pool.join("0")).unwrap();
    assert_eq!(file.mode() & 0o777, 0o600);
}

#[test]
fn a_pool_without_places_gives_none() {
    let home = Home::new();
    assert!(take(&pool(&home), 0, "a").unwrap().is_none());
    assert!(holders(&pool(&home), 0).unwrap().is_empty());
}

#[test]
fn a_place_that_is_given_back_can_be_taken_and_loses_its_name() {
    let home = Home::new();
    let pool = pool(&home);
    let first = take(&pool, 2, "a run with a long name").unwrap().unwrap();
    let second = take(&pool, 2, "b").unwrap().unwrap();
    drop(first);
    assert_eq!(holders(&pool, 2).unwrap(), ["b"]);
    let third = take(&pool, 2, "c").unwrap().unwrap();
    assert_eq!(holders(&pool, 2).unwrap(), ["c", "b"]);
    assert!(take(&pool, 2, "d").unwrap().is_none());
    drop((second, third));
    assert!(holders(&pool, 2).unwrap().is_empty());
}

#[test]
fn a_pool_that_became_smaller_lets_its_holders_finish() {
    let home = Home::new();
    let pool = pool(&home);
    let _taken = ["a", "b"].map(|holder| take(&pool, 2, holder).unwrap().unwrap());
    assert!(take(&pool, 1, "c").unwrap().is_none());
    assert_eq!(holders(&pool, 1).unwrap(), ["a"]);
    assert!(take(&pool, 3, "c").unwrap().is_some());
}

#[test]
fn every_place_of_a_large_pool_can_be_taken() {
    let home = Home::new();
    let pool = pool(&home);
    let taken: Vec<File> = (0..100)
        .map(|number| take(&pool, 100, &format!("run {number}")))
        .map(|taken| taken.unwrap().unwrap())
        .collect();
    let different: HashSet<u64> = taken.iter().map(place).collect();
    assert_eq!(different.len(), 100);
    assert!(take(&pool, 100, "one more").unwrap().is_none());
    let mut named = holders(&pool, 100).unwrap();
    named.sort();
    named.dedup();
    assert_eq!(named.len(), 100);
}

/// Sixteen threads want four places, two hundred times each.
#[test]
fn no_two_threads_ever_hold_the_same_place() {
    let home = Home::new();
    let pool = pool(&home);
    let held = Mutex::new(HashSet::new());
    let count = Mutex::new(0_u32);
    thread::scope(|scope| {
        for number in 0..16 {
            let (pool, held, count) = (&pool, &held, &count);
            scope.spawn(move || {
                for _ in 0..200 {
                    let Some(file) = take(pool, 4, &number.to_string()).unwrap() else {
                        thread::yield_now();
                        continue;
                    };
                    assert!(held.lock().unwrap().insert(place(&file)), "held twice");
                    *count.lock().unwrap() += 1;
                    assert!(held.lock().unwrap().len() <= 4);
                    thread::yield_now();
                    held.lock().unwrap().remove(&place(&file));
                }
            });
        }
    });
    assert!(*count.lock().unwrap() >= 200);
    assert!(holders(&pool, 4).unwrap().is_empty());
}

#[test]
fn a_place_is_held_by_whom_it_was_handed_on_to_until_that_process_dies() {
    let home = Home::new();
    let pool = pool(&home);
    let place = take(&pool, 1, "its run").unwrap().unwrap();
    // The child holds the place as its stdout and lives until its stdin ends or it is killed.
    let mut child = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::from(place))
        .spawn()
        .unwrap();
    assert!(take(&pool, 1, "another").unwrap().is_none());
    assert_eq!(holders(&pool, 1).unwrap(), ["its run"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(holders(&pool, 1).unwrap().is_empty());
    assert!(take(&pool, 1, "another").unwrap().is_some());
}

#[test]
fn what_is_no_pool_is_an_error_and_no_place() {
    let home = Home::new();
    let file = home.work().join("file");
    File::create(&file).unwrap();
    assert!(take(&file, 1, "a").is_err());
    assert!(holders(&file, 1).is_err());
}
