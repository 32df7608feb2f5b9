//! Ends of runs that the host's model was not told of: each is handed out once.
//!
//! What was told is a note in the store, so that it holds for every later host
//! of the session. What was handed out and not yet told is known to this
//! process alone: if it dies, the next host gets it again.

use super::Background;
use super::arrivals::Arrivals;
use crate::subscribe;
use crate::{NoticeScope, ReadError, RunId, ShortRecord, Timestamp, WaitError, WaitQuery};
use outlast_journal::limits;
use outlast_supervisor::clock;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The end of a run, to be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// The run.
    pub run: ShortRecord,
    /// Whether it ended before this host opened the session: it is shown and wakes nobody.
    pub restored: bool,
}

/// What this process knows of ends beyond the store.
pub(super) struct Ends {
    opened: Timestamp,
    /// Runs that did not have an end when this process first saw them.
    live: HashSet<RunId>,
    /// Ends that were handed out.
    leased: HashSet<RunId>,
    /// Ends that are told another way.
    silent: HashSet<RunId>,
}

impl Ends {
    pub(super) fn new(opened: Timestamp, live: impl Iterator<Item = RunId>) -> Self {
        Self {
            opened,
            live: live.collect(),
            leased: HashSet::new(),
            silent: HashSet::new(),
        }
    }

    pub(super) fn note_live(&mut self, id: RunId) {
        self.live.insert(id);
    }

    /// Keeps the end of a run from being handed out; returns whether it was kept already.
    pub(super) fn silence(&mut self, id: RunId) -> bool {
        !self.silent.insert(id)
    }

    pub(super) fn unsilence(&mut self, id: &RunId) {
        self.silent.remove(id);
    }

    /// Returns whether the end of an ended run is from before this process opened the session.
    pub(super) fn is_restored(&self, run: &ShortRecord) -> bool {
        !self.live.contains(&run.id) && run.updated <= self.opened
    }

    /// Returns whether nobody was handed the end, and nobody is told it another way.
    fn is_free(&self, id: &RunId) -> bool {
        !self.leased.contains(id) && !self.silent.contains(id)
    }

    fn forget(&mut self, ids: &[RunId]) {
        for id in ids {
            self.live.remove(id);
            self.leased.remove(id);
            self.silent.remove(id);
        }
    }
}

impl Background {
    /// Hands out the ends that the model was not told of, oldest first; each once.
    ///
    /// An end is handed out until it is acknowledged, released, or this object is gone. Ends
    /// that the session caused by `background_cancel`, or has read, are not among them. At
    /// most 64 at a time: call again for more.
    ///
    /// # Errors
    ///
    /// Fails as [`Store::notices`](crate::Store::notices) does.
    pub fn drain_finished(&self) -> Result<Vec<Finished>, ReadError> {
        let mut ends = self.ends();
        let finished = self.untold(&ends)?;
        ends.leased.extend(finished.iter().map(|one| one.run.id));
        Ok(finished)
    }

    /// Notes that the model was told of these ends: they never come again, to no host.
    ///
    /// # Errors
    ///
    /// Fails when a note cannot be written. Then none of them comes again to this object, and
    /// those without a note come to the next one.
    pub fn acknowledge(&self, ids: &[RunId]) -> io::Result<()> {
        let mut ends = self.ends();
        self.store.acknowledge(ids, &self.session)?;
        ends.forget(ids);
        Ok(())
    }

    /// Gives ends back that could not be told, so that they are handed out again.
    pub fn release(&self, ids: &[RunId]) {
        let mut ends = self.ends();
        for id in ids {
            ends.leased.remove(id);
        }
    }

    /// Waits until an end can be drained that wakes, at most `timeout_ms` (for ever when absent).
    ///
    /// Returns whether there is one. It costs no CPU: runs are listened to, those among them
    /// that are started meanwhile, by whomever. Returns `false` when the time is over, or when
    /// `interrupt` can be read. Several threads may wait; all of them are woken.
    ///
    /// # Errors
    ///
    /// Fails when the store cannot be read, and when the system cannot wait.
    pub fn wait_for_end(
        &self,
        timeout_ms: Option<u64>,
        interrupt: Option<BorrowedFd<'_>>,
    ) -> Result<bool, WaitError> {
        let until = timeout_ms.map(|ms| clock::monotonic_ms().saturating_add(ms));
        let ears = Ears::new(self, interrupt)?;
        loop {
            // Listened to before the look, so that no start and no end falls between the two.
            ears.follow(self);
            let live = self.note_all_live()?;
            if self.has_wake()? {
                return Ok(true);
            }
            let now = clock::monotonic_ms();
            if until.is_some_and(|until| now >= until) || is_readable(interrupt)? {
                return Ok(false);
            }
            ears.sleep(self, &live, until)?;
            // Others may start run after run: those are looked at a few times a second.
            let pause_ends = now + limits::COUNTS_PAUSE_MS;
            let until = until.map_or(pause_ends, |until| until.min(pause_ends));
            self.listen(&live, interrupt, Some(until))?;
        }
    }

    /// Sleeps until one of `live` has ended, `interrupt` can be read, or the time comes.
    fn listen(
        &self,
        live: &[RunId],
        interrupt: Option<BorrowedFd<'_>>,
        until: Option<u64>,
    ) -> Result<(), WaitError> {
        let now = clock::monotonic_ms();
        if until.is_some_and(|until| until <= now) {
            return Ok(());
        }
        if live.is_empty() {
            subscribe::sleep(&[], interrupt, until)?;
            return Ok(());
        }
        let query = WaitQuery {
            any: true,
            timeout_ms: until.map(|until| until - now),
            interrupt,
            ..WaitQuery::default()
        };
        match self.store.wait(live, &query) {
            // One of them was removed: the next look has those that are left.
            Ok(_) | Err(WaitError::Read(ReadError::NotFound { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the ends that nobody was told of or handed, oldest first.
    fn untold(&self, ends: &Ends) -> Result<Vec<Finished>, ReadError> {
        let scope = NoticeScope::Session(self.session.clone());
        let most = limits::FINISHED_MAX + ends.leased.len() + ends.silent.len();
        let mut untold = self.store.notices(&scope, most)?;
        untold.retain(|run| ends.is_free(&run.id));
        untold.truncate(limits::FINISHED_MAX);
        untold.reverse();
        let finished = untold.into_iter().map(|run| Finished {
            restored: ends.is_restored(&run),
            run,
        });
        Ok(finished.collect())
    }

    fn has_wake(&self) -> Result<bool, ReadError> {
        let untold = self.untold(&self.ends())?;
        Ok(untold.iter().any(|finished| !finished.restored))
    }

    /// Returns which ended runs of these the model was not told of yet, handed out or not.
    pub(super) fn unread(&self) -> Result<Vec<Finished>, ReadError> {
        let scope = NoticeScope::Session(self.session.clone());
        let ends = self.ends();
        let untold = self.store.notices(&scope, limits::FINISHED_MAX)?;
        let finished = untold.into_iter().map(|run| Finished {
            restored: ends.is_restored(&run),
            run,
        });
        Ok(finished.collect())
    }

    fn note_all_live(&self) -> Result<Vec<RunId>, ReadError> {
        let live: Vec<RunId> = self.live()?.iter().map(|record| record.id).collect();
        self.ends().live.extend(live.iter().copied());
        Ok(live)
    }

    /// Notes that an answer told these ends.
    pub(super) fn told(&self, ids: &[RunId]) {
        let mut ends = self.ends();
        match self.store.acknowledge(ids, &self.session) {
            Ok(()) => ends.forget(ids),
            // The store cannot be written: here it is remembered none the less.
            Err(_) => ends.silent.extend(ids),
        }
    }
}

/// What a wait listens to beside the runs: starts in the store, and the caller's interrupt.
struct Ears {
    arrivals: Option<Arrivals>,
    /// Readable when one of both is.
    both: OwnedFd,
}

impl Ears {
    fn new(background: &Background, interrupt: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let arrivals = Arrivals::new(&background.store);
        let both = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let listen = |fd: BorrowedFd<'_>| {
            let data = epoll::EventData::new_u64(0);
            epoll::add(&both, fd, data, epoll::EventFlags::IN)
        };
        if let Some(arrivals) = &arrivals {
            listen(arrivals.as_fd())?;
        }
        if let Some(interrupt) = interrupt {
            listen(interrupt)?;
        }
        Ok(Self { arrivals, both })
    }

    /// Takes what came, and listens to folders of runs that are new.
    fn follow(&self, background: &Background) {
        if let Some(arrivals) = &self.arrivals {
            arrivals.take();
            arrivals.follow(&background.store);
        }
    }

    fn sleep(
        &self,
        background: &Background,
        live: &[RunId],
        until: Option<u64>,
    ) -> Result<(), WaitError> {
        let now = clock::monotonic_ms();
        // A system that lets nobody watch: starts by others are looked for.
        let blind = self.arrivals.is_none();
        let look = blind.then_some(now + limits::CROWDED_LOOK_MS);
        let until = [until, look].into_iter().flatten().min();
        background.listen(live, Some(self.both.as_fd()), until)
    }
}

/// Returns whether there is a descriptor, and it can be read.
fn is_readable(fd: Option<BorrowedFd<'_>>) -> io::Result<bool> {
    let Some(fd) = fd else {
        return Ok(false);
    };
    let mut descriptors = [PollFd::new(&fd, PollFlags::IN)];
    let at_once = Timespec::default();
    Ok(poll(&mut descriptors, Some(&at_once))? > 0)
}

#[cfg(test)]
mod tests;
