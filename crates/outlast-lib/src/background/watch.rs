//! How many runs a session has, known without looking as long as nothing happens.
//!
//! Folders are watched for runs that come and go, supervisors are listened to
//! for ends. Whoever asks pays one system call; the store is read when there
//! is news.

use super::arrivals::Arrivals;
use super::live_of;
use crate::subscribe::{News, Subscription};
use crate::{Counts, ReadError, RunId, Store};
use outlast_journal::limits;
use outlast_supervisor::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;

/// What is known of the number of runs.
#[derive(Default)]
pub(super) struct Watch {
    arrivals: Option<Arrivals>,
    live: Vec<Listened>,
    counts: Counts,
    /// When the store was last read; never yet when absent.
    looked_ms: Option<u64>,
    /// Whether something happened since.
    is_stale: bool,
    /// Whether it was done by this process, which expects to see it.
    is_changed: bool,
    /// Whether something cannot be heard.
    is_blind: bool,
}

/// A run that has not ended.
struct Listened {
    id: RunId,
    subscription: Option<Subscription>,
}

impl Watch {
    pub(super) fn note_change(&mut self) {
        self.is_changed = true;
    }

    pub(super) fn counts(&mut self, store: &Store, session: &str) -> Result<Counts, ReadError> {
        self.is_stale |= self.has_news();
        if self.is_due(clock::monotonic_ms()) {
            self.look(store, session)?;
        }
        Ok(self.counts)
    }

    fn is_due(&self, now: u64) -> bool {
        let Some(looked) = self.looked_ms else {
            return true;
        };
        let past = now.saturating_sub(looked);
        self.is_changed
            || (self.is_stale && past >= limits::COUNTS_PAUSE_MS)
            || (self.is_blind && past >= limits::CROWDED_LOOK_MS)
    }

    /// Hears what came, without waiting.
    fn has_news(&mut self) -> bool {
        let arrivals = self.arrivals.as_ref().map(AsFd::as_fd);
        let mut descriptors = Vec::with_capacity(self.live.len() + 1);
        descriptors.extend(arrivals.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        let listening = self.live.iter().filter_map(|run| run.subscription.as_ref());
        descriptors.extend(listening.map(Subscription::poll_fd));
        let at_once = Timespec::default();
        let has_come = poll(&mut descriptors, Some(&at_once)).is_ok_and(|ready| ready > 0);
        drop(descriptors);
        if !has_come {
            return false;
        }
        let mut is_news = self.arrivals.as_ref().is_some_and(Arrivals::take);
        for run in &mut self.live {
            let news = run.subscription.as_mut().map(Subscription::news);
            if news == Some(News::Over) {
                run.subscription = None;
                is_news = true;
            }
        }
        is_news
    }

    fn look(&mut self, store: &Store, session: &str) -> Result<(), ReadError> {
        // Listened to before the look, so that nothing falls between the two.
        match &self.arrivals {
            Some(arrivals) => arrivals.follow(store),
            None => self.arrivals = Arrivals::new(store),
        }
        let live = store.list(&live_of(session))?.records;
        self.live
            .retain(|known| live.iter().any(|record| record.id == known.id));
        for record in live.iter().take(limits::COUNTS_LISTENED_MAX) {
            self.listen_to(store, record.id);
        }
        self.counts = store.counts(Some(session))?;
        let listened = self.live.iter().filter(|run| run.subscription.is_some());
        let running = usize::try_from(self.counts.running).unwrap_or(usize::MAX);
        self.is_blind = self.arrivals.is_none() || listened.count() < running;
        self.looked_ms = Some(clock::monotonic_ms());
        self.is_stale = false;
        self.is_changed = false;
        Ok(())
    }

    fn listen_to(&mut self, store: &Store, id: RunId) {
        let open = || Subscription::open(&store.run_dir(&id)?, false);
        match self.live.iter_mut().find(|run| run.id == id) {
            Some(known) if known.subscription.is_some() => {}
            Some(known) => known.subscription = open(),
            None => self.live.push(Listened {
                id,
                subscription: open(),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
