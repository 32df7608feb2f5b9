//! Hearing of the events of a run as they are written.
//!
//! The journal is watched for facts and the supervisor for its death, which
//! no fact tells of. To wait costs no CPU.

use crate::subscribe::{News, Subscription};
use crate::{EventPage, ReadError, Store, WaitError, wait};
use outlast_journal::{RunId, Seq, Status, names};
use outlast_supervisor::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

/// First pause before a look that nobody asked for, in milliseconds. Each next one is twice as
/// long: a supervisor that hung up is mostly gone in a moment.
const LOOK_MS: u64 = 10;

/// Longest such pause where the journal is watched, in milliseconds: it tells all but the death
/// of a supervisor that has no ear for more readers.
const LOOK_MS_MAX: u64 = 2_000;

/// The same where the journal cannot be watched, in milliseconds.
const BLIND_LOOK_MS_MAX: u64 = 100;

/// Longest single sleep in milliseconds, so that no arithmetic overflows: a day.
const SLEEP_MS_MAX: u64 = 86_400_000;

/// What to hear of.
#[derive(Clone, Copy, Debug)]
pub struct HearQuery<'a> {
    /// Most events at once.
    pub events_max: usize,
    /// Longest wait in milliseconds; for ever when absent, not at all when 0.
    pub timeout_ms: Option<u64>,
    /// Return when this descriptor can be read.
    pub interrupt: Option<BorrowedFd<'a>>,
}

/// What was heard.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// The events; none when the time was over, and when the run has no more.
    pub page: EventPage,
    /// Where the run is.
    pub status: Status,
    /// Whether it had ended before the events were read: without `more`, these are the last.
    pub has_ended: bool,
}

impl Store {
    /// Returns the events at or after `since` as soon as there are any, or the run has ended.
    ///
    /// Counts as reading the run for as long as it lasts. That the time is over is an answer,
    /// no error.
    ///
    /// # Errors
    ///
    /// Fails when there is no such run, when it cannot be read, and when the system cannot wait.
    pub fn hear(&self, id: &RunId, since: Seq, query: &HearQuery<'_>) -> Result<Heard, WaitError> {
        let dir = self.existing_dir(id)?;
        let mark_ms = wait::mark_ms(&self.spec(id)?);
        let until = query
            .timeout_ms
            .map(|ms| clock::monotonic_ms().saturating_add(ms));
        // Made before the first look, so that nothing is missed in between; a look alone
        // needs neither.
        let does_wait = query.timeout_ms != Some(0);
        let mut ears = does_wait.then(|| Ears::new(&dir));
        let mut is_interrupted = false;
        loop {
            if mark_ms.is_some() {
                self.mark_read(id);
            }
            let heard = self.heard(&dir, id, since, query.events_max)?;
            let is_late = until.is_some_and(|until| clock::monotonic_ms() >= until);
            let has_news = heard.has_ended || !heard.page.events.is_empty();
            let Some(ears) = ears.as_mut().filter(|_| !has_news && !is_late) else {
                return Ok(heard);
            };
            if is_interrupted {
                return Ok(heard);
            }
            let mark = mark_ms.map(|ms| clock::monotonic_ms() + ms);
            let until = [until, mark].into_iter().flatten().min();
            is_interrupted = ears.sleep(&dir, query.interrupt, until)?;
        }
    }

    fn heard(
        &self,
        dir: &Path,
        id: &RunId,
        since: Seq,
        events_max: usize,
    ) -> Result<Heard, ReadError> {
        // Looked at before the events: what came before the end is then among them.
        let seen = self.look(dir, id)?;
        Ok(Heard {
            status: seen.state.status(),
            has_ended: seen.state.is_ended(),
            page: self.events(id, since, events_max)?,
        })
    }
}

/// What tells of news: the journal, and the supervisor's socket.
struct Ears {
    journal: Option<OwnedFd>,
    supervisor: Option<Subscription>,
    /// Whether the supervisor hung up: it is leaving, or has no ear for us.
    has_hung_up: bool,
    /// Pause before the next look that nobody asks for.
    look_ms: u64,
}

impl Ears {
    fn new(dir: &Path) -> Self {
        Self {
            journal: watch(&dir.join(names::JOURNAL)).ok(),
            supervisor: Subscription::open(dir, false),
            has_hung_up: false,
            look_ms: LOOK_MS,
        }
    }

    /// Returns how long to sleep at most where not everything can be listened to.
    fn pause_ms(&mut self) -> Option<u64> {
        let most = match (&self.journal, &self.supervisor) {
            (Some(_), Some(_)) => return None,
            (Some(_), None) => LOOK_MS_MAX,
            (None, _) => BLIND_LOOK_MS_MAX,
        };
        let pause = self.look_ms.min(most);
        self.look_ms = pause * 2;
        Some(pause)
    }

    /// Sleeps until there is a reason to look; returns whether it is the interrupt.
    fn sleep(
        &mut self,
        dir: &Path,
        interrupt: Option<BorrowedFd<'_>>,
        until: Option<u64>,
    ) -> io::Result<bool> {
        let now = clock::monotonic_ms();
        let look = self.pause_ms().map(|ms| now + ms);
        let until = [until, look].into_iter().flatten().min();
        let ms = until.map_or(SLEEP_MS_MAX, |until| until.saturating_sub(now));
        let ms = ms.min(SLEEP_MS_MAX);
        let time = Timespec {
            tv_sec: i64::try_from(ms / 1_000).unwrap_or(0),
            tv_nsec: i64::try_from(ms % 1_000 * 1_000_000).unwrap_or(0),
        };
        let mut descriptors = Vec::with_capacity(3);
        descriptors.extend(interrupt.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        descriptors.extend(
            self.journal
                .as_ref()
                .map(|fd| PollFd::new(fd, PollFlags::IN)),
        );
        descriptors.extend(self.supervisor.as_ref().map(Subscription::poll_fd));
        match poll(&mut descriptors, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let first = descriptors.first().filter(|_| interrupt.is_some());
        let is_interrupted = first.is_some_and(|first| !first.revents().is_empty());
        drop(descriptors);
        self.take_news(dir);
        Ok(is_interrupted)
    }

    /// Takes what came, so that it wakes nobody again; makes anew what is missing.
    fn take_news(&mut self, dir: &Path) {
        if let Some(journal) = &self.journal {
            let mut events = [0; 1_024];
            while rustix::io::read(journal, &mut events).is_ok_and(|read| read > 0) {}
        }
        if let Some(supervisor) = &mut self.supervisor
            && supervisor.news() == News::Over
        {
            self.supervisor = None;
            self.has_hung_up = true;
        }
        if self.journal.is_none() {
            self.journal = watch(&dir.join(names::JOURNAL)).ok();
        }
        if self.supervisor.is_none() && !self.has_hung_up {
            self.supervisor = Subscription::open(dir, false);
        }
    }
}

/// Returns a descriptor that is readable once something was written to the file at `path`.
fn watch(path: &Path) -> io::Result<OwnedFd> {
    let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    inotify::add_watch(&inotify, path, WatchFlags::MODIFY | WatchFlags::DELETE_SELF)?;
    Ok(inotify)
}

#[cfg(test)]
mod tests;
