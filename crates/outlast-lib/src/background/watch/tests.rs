//! When the store is read for the counts.

use super::*;
use crate::testing::Fixture;

#[test]
fn the_store_is_read_at_first_at_once_after_own_changes_and_soon_after_others() {
    let later = limits::COUNTS_PAUSE_MS;
    let blind = limits::CROWDED_LOOK_MS;
    let due = |looked_ms, is_changed, is_stale, is_blind, now| {
        let watch = Watch {
            looked_ms,
            is_stale,
            is_changed,
            is_blind,
            ..Watch::default()
        };
        watch.is_due(now)
    };
    assert!(due(None, false, false, false, 0));
    assert!(
        !due(Some(0), false, false, false, u64::MAX),
        "nothing happened"
    );
    assert!(due(Some(0), true, false, false, 0));
    assert!(!due(Some(0), false, true, false, later - 1));
    assert!(due(Some(0), false, true, false, later));
    assert!(!due(Some(0), false, false, true, blind - 1));
    assert!(due(Some(0), false, false, true, blind));
}

#[test]
fn a_run_that_nobody_can_listen_to_is_looked_at_again() {
    let fixture = Fixture::new();
    let run = fixture.run(1).session("s").claimed().started().make();
    let lock = run.hold();
    let mut watch = Watch::default();
    let of = |running, total| Counts { running, total };
    let counts = watch.counts(&fixture.store, "s").expect("it can be read");
    assert_eq!(counts, of(1, 1));
    assert!(watch.is_blind, "it has no supervisor to hear from");
    drop(lock);
    watch.looked_ms = Some(0);
    let counts = watch.counts(&fixture.store, "s").expect("it can be read");
    assert_eq!(counts, of(0, 1));
    assert!(!watch.is_blind);
}
