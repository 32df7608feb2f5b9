//! A disk that takes no more costs bytes, and every one of them is counted and said.

use super::{CHUNK, Logged};
use crate::small_disk::SmallDisk;
use outlast_journal::Gap;

#[test]
fn what_a_full_disk_does_not_take_is_counted_and_said() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let filler = disk.fill_but(100 << 10);
    let mut logged = Logged::new(disk.path().to_owned(), 1 << 20);
    let mut lost_first_at = None;
    for _ in 0..20 {
        let before = logged.log.bytes();
        logged.append(CHUNK);
        assert_eq!(logged.log.bytes(), before + CHUNK as u64);
        logged.assert_all_right();
        let lost = logged.log.lost_bytes();
        let said = logged.gap().map_or(0, Gap::bytes);
        assert!(said >= lost, "{lost} lost, {said} said");
        if lost > 0 {
            lost_first_at.get_or_insert(before);
        }
    }
    let lost_first_at = lost_first_at.expect("the disk was full");
    let gap = logged.gap().expect("it was said");
    assert!(gap.from <= lost_first_at && gap.from + 4_096 >= lost_first_at);
    let lost = logged.log.lost_bytes();
    drop(filler);
    // What comes after there is room again is kept and stands at its offset.
    let resumed_at = logged.log.bytes();
    logged.append(10_000);
    assert_eq!(logged.log.lost_bytes(), lost);
    assert!(logged.gap().expect("it was said").to <= resumed_at);
    logged.assert_all_right();
    let mut tail = [0; 4_096];
    assert_eq!(logged.log.tail(&mut tail), 4_096);
}

#[test]
fn a_loss_that_could_not_be_said_at_once_is_said_before_what_follows_it() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let filler = disk.fill_but(0);
    let mut logged = Logged::new(disk.path().to_owned(), 1 << 20);
    logged.append(5_000);
    logged.append(7_000);
    assert_eq!(logged.log.bytes(), 12_000);
    assert_eq!(logged.log.lost_bytes(), 12_000);
    drop(filler);
    logged.append(1_000);
    let gap = Gap {
        from: 0,
        to: 12_000,
    };
    assert_eq!(logged.gap(), Some(gap));
    assert_eq!(logged.log.lost_bytes(), 12_000);
    logged.assert_all_right();
}

#[test]
fn the_cap_holds_after_a_loss_too() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let cap = 64 << 10;
    let filler = disk.fill_but(48 << 10);
    let mut logged = Logged::new(disk.path().to_owned(), cap);
    // The loss begins after the head, which is a quarter of the cap.
    while logged.log.lost_bytes() == 0 {
        logged.append(4_000);
    }
    drop(filler);
    for _ in 0..60 {
        logged.append(4_000);
        let most = cap + cap / 16 + 4_096;
        let on_disk = logged.disk_bytes();
        assert!(on_disk <= most, "{on_disk} bytes on disk, the cap is {cap}");
        assert!(logged.kept() <= cap + cap / 32);
        logged.assert_all_right();
    }
    logged.log.trim_all();
    assert!(logged.disk_bytes() <= cap);
    logged.assert_all_right();
}
