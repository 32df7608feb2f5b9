//! When the run loop must look again: plain times on the monotonic clock.

/// One time on the monotonic clock, in milliseconds, or never.
pub(crate) type Due = Option<u64>;

/// All times that the run loop waits for.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// The run's time limit.
    pub(crate) timeout: Due,
    /// When the first signal waits for the stop command no longer.
    pub(crate) signal: Due,
    /// End of the grace, which begins with the stop.
    pub(crate) grace: Due,
    /// Next round of killing.
    pub(crate) kill: Due,
    /// When killing is given up.
    pub(crate) give_up: Due,
    /// When runs inside are spared no longer.
    pub(crate) nested: Due,
    /// When the run was idle for its whole budget, unless it was read meanwhile.
    pub(crate) idle: Due,
    /// When subscribers may be told of output again.
    pub(crate) hint: Due,
    /// When the memory of a contained run is looked at.
    pub(crate) memory: Due,
    /// When the journal is synced if nothing else happens before.
    pub(crate) sync: Due,
    /// When a worker that was asked to end its work has had its time.
    pub(crate) patience: Due,
    /// When the next worker is started.
    pub(crate) restart: Due,
    /// When a worker that has told how its work ended must be gone.
    pub(crate) leave: Due,
}

impl Timers {
    /// Returns how long to wait until the first of them, if there is one.
    pub(crate) fn wait_ms(&self, now: u64, other: Due) -> Option<u64> {
        let all = [
            self.timeout,
            self.signal,
            self.grace,
            self.kill,
            self.give_up,
            self.idle,
            self.hint,
            self.memory,
            self.sync,
            self.patience,
            self.restart,
            self.leave,
            other,
        ];
        let first = all.into_iter().flatten().min()?;
        Some(first.saturating_sub(now))
    }
}

/// Returns whether a time has come, and forgets it if so.
pub(crate) fn take_due(due: &mut Due, now: u64) -> bool {
    let is_due = due.is_some_and(|at| at <= now);
    if is_due {
        *due = None;
    }
    is_due
}
