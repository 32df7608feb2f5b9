//! A look at the processes of the machine tells the live from the dead.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use super::{look_at, processes_with};
use crate::eventually;

#[test]
fn a_zombie_is_not_live() {
    let mark = format!("OUTLAST_TEST_ZOMBIE={}", std::process::id());
    let (name, value) = mark.split_once('=').unwrap();
    let mut child = Command::new("cat")
        .env(name, value)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    assert_eq!(processes_with(&mark), [pid]);

    drop(child.stdin.take());
    eventually("cat has ended", Duration::from_secs(10), || {
        look_at(pid).is_none()
    });
    assert!(processes_with(&mark).is_empty());
    child.wait().unwrap();
}

#[test]
fn the_caller_is_never_among_those_found() {
    // Our own environment holds this: cargo sets it for every test.
    let own = i32::try_from(std::process::id()).unwrap();
    assert!(!processes_with("CARGO_MANIFEST_DIR=").contains(&own));
    assert!(look_at(own).is_some());
}

#[test]
fn an_empty_mark_finds_nothing() {
    assert!(processes_with("").is_empty());
}
