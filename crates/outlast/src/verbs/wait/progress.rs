//! The line on a terminal that tells what a wait waits for.

use crate::{
    look::{Look, clean},
    screen::{Screen, redraw},
    verdict::Verdict,
    words,
};
use outlast_lib::{Record, RunId, Store};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time between two lines.
const PACE: Duration = Duration::from_millis(500);

/// Draws a line about some runs until it is stopped.
pub(super) struct Progress<'a> {
    store: &'a Store,
    ids: &'a [RunId],
    is_stopped: Mutex<bool>,
    stopped: Condvar,
}

impl<'a> Progress<'a> {
    /// Makes it; nothing is drawn yet.
    pub(super) fn new(store: &'a Store, ids: &'a [RunId]) -> Self {
        Self {
            store,
            ids,
            is_stopped: Mutex::new(false),
            stopped: Condvar::new(),
        }
    }

    /// Ends `draw`, at once.
    pub(super) fn stop(&self) {
        *self.lock() = true;
        self.stopped.notify_all();
    }

    /// Draws until it is stopped, then takes the line away.
    ///
    /// The first line comes after one pace: a wait that ends at once draws nothing.
    pub(super) fn draw(&self, screen: &Screen) {
        let mut has_drawn = false;
        let mut guard = self.lock();
        loop {
            let woken = self.stopped.wait_timeout(guard, PACE);
            guard = woken.unwrap_or_else(PoisonError::into_inner).0;
            if *guard {
                break;
            }
            drop(guard);
            redraw(&self.line(&screen.talk_look()));
            has_drawn = true;
            guard = self.lock();
        }
        drop(guard);
        if has_drawn {
            redraw("");
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_stopped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, look: &Look) -> String {
        let records = self.ids.iter().filter_map(|id| self.store.record(id).ok());
        line(&records.collect::<Vec<_>>(), look)
    }
}

/// Returns the line: how many have ended, and what the first of the rest does.
pub(super) fn line(records: &[Record], look: &Look) -> String {
    let ended = records
        .iter()
        .filter(|record| record.status.is_ended())
        .count();
    let count = if records.len() > 1 {
        format!("{ended} of {} ended · ", records.len())
    } else {
        String::new()
    };
    let Some(record) = records.iter().find(|record| !record.status.is_ended()) else {
        return look.fit(&count, 1);
    };
    let time = record
        .elapsed_ms
        .map(|ms| format!(" · {}", words::span(ms)));
    let last = record
        .summary
        .as_ref()
        .filter(|summary| !summary.is_empty());
    let last = last.map(|last| format!(" · {}", clean(last)));
    let line = format!(
        "{count}{} {}{}{}",
        Verdict::of(record).text(),
        clean(&record.label),
        time.unwrap_or_default(),
        last.unwrap_or_default(),
    );
    // The last column stays free: some terminals wrap when it is written.
    look.fit(&line, 1)
}
