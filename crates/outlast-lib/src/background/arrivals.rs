//! Hearing that runs appear in a store, or are removed from it.
//!
//! A run is shown by a rename into the folder of its month: that is what is
//! watched, so a run that was heard of can be read.

use crate::Store;
use outlast_journal::names;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Newest months that are watched: older ones hold nothing that changes.
const MONTHS_MAX: usize = 12;

/// Tells when runs come and go.
pub(super) struct Arrivals {
    inotify: OwnedFd,
}

impl Arrivals {
    /// Starts to listen; `None` where the system has no watch left, or there is no store yet.
    pub(super) fn new(store: &Store) -> Option<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let runs = store.root().join(names::RUNS);
        let months = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        inotify::add_watch(&inotify, &runs, months).ok()?;
        let arrivals = Self { inotify };
        arrivals.follow(store);
        Some(arrivals)
    }

    /// Listens to the folders of months that are there now. Once more does nothing more.
    pub(super) fn follow(&self, store: &Store) {
        let runs = store.root().join(names::RUNS);
        let months = store.months().unwrap_or_default();
        let moved = WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM | WatchFlags::ONLYDIR;
        for month in months.iter().rev().take(MONTHS_MAX) {
            inotify::add_watch(&self.inotify, runs.join(month), moved).ok();
        }
    }

    /// Takes what came, so that it is heard once; returns whether anything did.
    pub(super) fn take(&self) -> bool {
        let mut events = [0; 4_096];
        let mut has_come = false;
        while rustix::io::read(&self.inotify, &mut events).is_ok_and(|read| read > 0) {
            has_come = true;
        }
        has_come
    }
}

impl AsFd for Arrivals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}
