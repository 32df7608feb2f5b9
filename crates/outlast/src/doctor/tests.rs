//! What the doctor saw, as a page.

use super::*;
use crate::look::tests::look;

#[test]
fn the_page_groups_what_was_seen_and_says_what_to_do() {
    let (store, host) = (Group("store"), Group("what would end the runs"));
    let checks = [
        store.fine("space", "12.0 GiB free"),
        store.failure("mode", "others may write to it", "chmod 700 /s"),
        host.warning(
            "unit",
            "this is a unit of systemd",
            "systemd-run --user --scope …",
        ),
    ];
    insta::assert_snapshot!(page(&checks, &look()), @"
    store
      ✓ ok    12.0 GiB free
      ✗ fail  others may write to it
              → chmod 700 /s

    what would end the runs
      ! warn  this is a unit of systemd
              → systemd-run --user --scope …
    ");
}
