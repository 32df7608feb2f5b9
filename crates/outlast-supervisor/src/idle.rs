//! The idle budget: how long a run may go without a reader.

use outlast_journal::{Spec, names};
use std::fs;
use std::path::Path;

/// Returns when to look again, or `None` when nobody has read the run for its whole budget.
///
/// Readers write the monotonic time into the file `polled`; a time that lies
/// ahead is of another boot and counts as now.
pub(crate) fn next(run_dir: &Path, spec: &Spec, now: u64) -> Option<u64> {
    let budget = spec.idle_ttl_ms?;
    let text = fs::read_to_string(run_dir.join(names::POLLED)).unwrap_or_default();
    let read_at: u64 = text.trim().parse().unwrap_or(0);
    let due = read_at.min(now).saturating_add(budget);
    (due > now).then_some(due)
}
