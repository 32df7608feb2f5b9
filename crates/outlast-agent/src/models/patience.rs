//! How long a model is waited for, and how often it is asked again.
//!
//! Decides only: the clock, the chance and the wait are the caller's.

use outlast_journal::limits;
use std::time::Duration;

/// How long to wait for an answer, and for how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the head of an answer.
    pub headers: Duration,
    /// For each further piece of it.
    pub stall: Duration,
    /// For the whole of it.
    pub answer: Duration,
    /// Attempts at one turn.
    pub attempts_max: u32,
    /// Time from the first failure to the beginning of the last attempt.
    pub total: Duration,
    /// The first pause; each further one is twice as long.
    pub pause: Duration,
    /// The longest pause that is not asked for by the provider.
    pub pause_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            headers: Duration::from_millis(limits::MODEL_HEADERS_MS),
            stall: Duration::from_millis(limits::MODEL_STALL_MS),
            answer: Duration::from_millis(limits::MODEL_ANSWER_MS),
            attempts_max: limits::MODEL_ATTEMPTS_MAX,
            total: Duration::from_millis(limits::MODEL_RETRY_MS_MAX),
            pause: Duration::from_millis(limits::MODEL_PAUSE_MS),
            pause_max: Duration::from_millis(limits::MODEL_PAUSE_MS_MAX),
        }
    }
}

impl Patience {
    /// Returns how long to wait after the failure of attempt number `attempt`, `None` to
    /// give up. `failing` is the time since the first failure.
    ///
    /// `after` is what the provider asks for; it is kept to, or it is given up. `chance`
    /// spreads a pause of our own between its half and its whole, so that those who were
    /// refused together do not come back together.
    pub(super) fn wait(
        &self,
        attempt: u32,
        failing: Duration,
        after: Option<Duration>,
        chance: u32,
    ) -> Option<Duration> {
        if attempt >= self.attempts_max {
            return None;
        }
        let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
        let own = self.pause.saturating_mul(doubled).min(self.pause_max);
        let half = own / 2;
        let spread = half + half.mul_f64(f64::from(chance) / f64::from(u32::MAX));
        let wait = after.map_or(spread, |after| after.max(spread));
        (failing.saturating_add(wait) <= self.total).then_some(wait)
    }
}

#[cfg(test)]
mod tests;
