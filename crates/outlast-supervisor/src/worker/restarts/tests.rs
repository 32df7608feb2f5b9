//! A worker that dies is replaced, and one that keeps dying is not.

use super::Restarts;
use outlast_journal::limits::{WORKER_RESTARTS_MAX, WORKERS_WITHIN_MS};

#[test]
fn the_first_restart_is_at_once_and_each_further_one_after_a_longer_pause() {
    let mut restarts = Restarts::default();
    let due: Vec<_> = (0..=WORKER_RESTARTS_MAX)
        .map(|_| restarts.next(1_000))
        .collect();
    let at = |ms: u64| Some(1_000 + ms);
    assert_eq!(due, [at(0), at(100), at(200), at(400), at(800), None]);
}

#[test]
fn restarts_that_lie_back_far_enough_do_not_count() {
    let mut restarts = Restarts::default();
    for _ in 0..WORKER_RESTARTS_MAX {
        restarts.next(0);
    }
    assert_eq!(restarts.next(WORKERS_WITHIN_MS - 1), None);
    assert_eq!(restarts.next(WORKERS_WITHIN_MS), Some(WORKERS_WITHIN_MS));
}
