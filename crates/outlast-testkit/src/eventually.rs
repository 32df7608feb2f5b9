//! Waits for a condition, the only wait that tests may use.
//!
//! Here alone a pause is right: what is waited for happens in another process
//! and tells nobody. Pauses grow, so that a short wait is short and a long one
//! costs little.

use std::time::{Duration, Instant};

/// First pause between two looks.
const PAUSE_FIRST: Duration = Duration::from_millis(1);
/// Longest pause: a test ends at most this much later than it could.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// Returns once `condition` is true.
///
/// It is looked at once more when `limit` is over, so that a slow machine is
/// not punished for a pause.
///
/// # Panics
/// Panics with `what` when the condition is still false after `limit`.
#[track_caller]
pub fn eventually(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    eventually_some(what, limit, || condition().then_some(()));
}

/// Returns the first value that `look` finds.
///
/// # Panics
/// Panics with `what` when there is none after `limit`.
#[track_caller]
pub fn eventually_some<T>(what: &str, limit: Duration, look: impl FnMut() -> Option<T>) -> T {
    let found = poll(limit, look);
    assert!(found.is_some(), "not within {limit:?}: {what}");
    found.expect("looked at in the line above")
}

/// Returns the first value that `look` finds, `None` when there is none after `limit`.
pub(crate) fn poll<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    let mut pause = PAUSE_FIRST;
    loop {
        let spent = begun.elapsed();
        let found = look();
        if found.is_some() || spent >= limit {
            return found;
        }
        pause_for(pause.min(limit.saturating_sub(begun.elapsed())));
        pause = (pause * 3 / 2).min(PAUSE_MAX);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one pause in the tree, between two looks at a condition"
)]
fn pause_for(pause: Duration) {
    std::thread::sleep(pause);
}

#[cfg(test)]
mod tests;
