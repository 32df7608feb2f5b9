//! Decides whether a worker that died is replaced, and when.

use outlast_journal::limits::{WORKER_PAUSE_MS, WORKER_RESTARTS_MAX, WORKERS_WITHIN_MS};

/// When workers were replaced, as far back as that counts.
#[derive(Debug, Default)]
pub(crate) struct Restarts {
    at_ms: Vec<u64>,
}

impl Restarts {
    /// Returns when the next worker is due; `None` when there were too many.
    ///
    /// The first replacement is made at once, each further one after a longer pause.
    pub(crate) fn next(&mut self, now: u64) -> Option<u64> {
        self.at_ms
            .retain(|at| now.saturating_sub(*at) < WORKERS_WITHIN_MS);
        let before = self.at_ms.len();
        if before >= WORKER_RESTARTS_MAX {
            return None;
        }
        let pause = before
            .checked_sub(1)
            .map_or(0, |times| WORKER_PAUSE_MS << times);
        self.at_ms.push(now);
        Some(now + pause)
    }
}

#[cfg(test)]
mod tests;
