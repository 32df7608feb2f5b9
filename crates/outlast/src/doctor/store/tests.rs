//! What is wrong with a store comes with its fix, and looking leaves nothing behind.

use super::*;
use crate::doctor::Level;
use outlast_testkit::Home;

#[test]
fn a_store_must_be_ones_own_and_closed_to_others() {
    let check = |owner, mode| owner_check(Path::new("/s"), owner, mode, 1_000);
    assert_eq!(check(1_000, 0o40_700).level, Level::Fine);
    let open = check(1_000, 0o40_755);
    assert_eq!(open.level, Level::Failure);
    assert_eq!(open.fix.as_deref(), Some("chmod 700 /s"));
    assert_eq!(check(0, 0o40_700).level, Level::Failure);
}

#[test]
fn a_damaged_run_is_removed_and_a_damaged_index_made_anew() {
    let fix = |path: &str, what: &str| {
        damage_fix(&Damage {
            path: path.into(),
            what: what.to_owned(),
        })
    };
    let run = "/s/runs/2026-11/m3qd000000000000";
    assert!(fix(run, "the spec is damaged (spec_damaged)").starts_with("outlast rm m3qd0000"));
    assert!(fix(run, "it cannot be read (store_unreadable)").starts_with("make it readable"));
    assert!(fix("/s/index.sqlite", "damaged").starts_with("outlast reindex"));
}

#[test]
fn little_space_is_a_warning_and_none_a_failure() {
    let level = |bytes, files, free| space_check(bytes, files, free).level;
    assert_eq!(level(1 << 40, 1 << 20, 1 << 20), Level::Fine);
    assert_eq!(level(64 << 20, 1 << 20, 1 << 20), Level::Warning);
    assert_eq!(level(1 << 40, 1 << 20, 10), Level::Warning);
    assert_eq!(level(0, 1 << 20, 1 << 20), Level::Failure);
    assert_eq!(level(1 << 40, 0, 0), Level::Fine);
}

#[test]
fn a_network_file_system_is_a_failure_and_memory_a_warning() {
    assert_eq!(kind_check(0x6969).level, Level::Failure);
    assert_eq!(kind_check(0x0102_1994).level, Level::Warning);
    assert_eq!(kind_check(0xef53).level, Level::Fine);
    assert_eq!(kind_check(0x1234).level, Level::Fine);
}

#[test]
fn the_trials_leave_nothing_behind() {
    let home = Home::new();
    let checks = trials(&home.work());
    assert_eq!(checks.len(), 2);
    let locks = checks.iter().find(|check| check.name == "locks");
    assert_eq!(locks.map(|check| check.level), Some(Level::Fine));
    let left = fs::read_dir(home.work()).expect("a directory").count();
    assert_eq!(left, 0);
}

#[test]
fn the_part_of_a_path_that_exists_is_found() {
    let home = Home::new();
    let deep = home.work().join("a/b/c");
    assert_eq!(nearest(&deep), Some(home.work()));
}
