//! The limit of open files that a server raises for itself and keeps from its runs.
//!
//! Programs that use `select` break above 1,024, and some close every number up to
//! the limit. So a supervisor, and with it its run, starts with the limit that the
//! launcher had at first.

use crate::platform::files;
use std::sync::atomic::{AtomicU64, Ordering};

/// Stands for a limit that was never raised; no limit that was is as high.
const NOT_RAISED: u64 = u64::MAX;

/// The soft limit before it was raised.
static BEFORE: AtomicU64 = AtomicU64::new(NOT_RAISED);

/// Raises the soft limit of open files of this process to `most`, as far as the hard one
/// allows. The runs that it starts keep the limit that it had.
///
/// A limit that cannot be raised is no error, and one that is higher stays.
pub fn raise(most: u64) {
    let Some((soft, hard)) = files::limits() else {
        return;
    };
    if soft >= most.min(hard) {
        return;
    }
    // Noted first: no start in between may hand the raised limit on. A second raise keeps
    // what the first one noted.
    let noted = BEFORE.compare_exchange(NOT_RAISED, soft, Ordering::SeqCst, Ordering::SeqCst);
    if !files::set_soft(most) && noted.is_ok() {
        BEFORE.store(NOT_RAISED, Ordering::SeqCst);
    }
}

/// Returns the soft limit to start runs with, where this process has raised its own.
pub(crate) fn before() -> Option<u64> {
    Some(BEFORE.load(Ordering::SeqCst)).filter(|limit| *limit != NOT_RAISED)
}
