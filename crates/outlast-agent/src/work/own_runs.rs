//! The runs that this one started: waiting for them, and the news of their ends.

use super::Worker;
use crate::channel::ChannelError;
use crate::memory::by;
use crate::tools::background::Runs;
use outlast_journal::{RunId, limits};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// The runs of this run's own session.
pub(super) struct OwnRuns {
    runs: Option<Arc<Runs>>,
    /// Whether any was started: without one nothing is looked for.
    pub(super) has_any: bool,
}

impl OwnRuns {
    /// Returns the runs that may have been started through `runs`.
    pub(super) fn new(runs: Option<Arc<Runs>>) -> Self {
        let has_any = false;
        Self { runs, has_any }
    }

    /// Returns what they are looked at with, if there is anything to see.
    fn any(&self) -> Option<&Arc<Runs>> {
        self.runs.as_ref().filter(|_| self.has_any)
    }

    /// Returns how many go on and have a time limit: they are waited for.
    fn open(&self) -> usize {
        self.any().map_or(0, |runs| runs.open_ones())
    }

    /// Returns whether the model has to hear of one: it goes on, or ended while nobody looked.
    pub(super) fn is_news_to_come(&self) -> bool {
        self.open() > 0 || self.any().is_some_and(|runs| runs.has_ends())
    }
}

impl Worker<'_> {
    /// Waits, without the model, until a run that this one started has ended, or there is
    /// something else to do.
    pub(super) async fn wait_for_runs(&mut self) -> Result<(), ChannelError> {
        let open = self.own_runs.open();
        if self.tell_of_runs().await? || open == 0 {
            return Ok(());
        }
        let runs = self.own_runs.any().map(Arc::clone);
        let (Some(runs), Ok((ours, theirs))) = (runs, UnixStream::pair()) else {
            return Ok(());
        };
        let what = if open == 1 { "run" } else { "runs" };
        self.log.line(&format!("note: waits for {open} {what}"));
        let mut waiting = tokio::task::spawn_blocking(move || {
            runs.wait(limits::OWN_RUNS_LOOK_MS, theirs.as_fd());
        });
        loop {
            tokio::select! {
                _ = &mut waiting => break,
                news = self.channel.news() => {
                    let news = news?;
                    self.take(news);
                    if self.is_cancelling || self.memory.has_pending() {
                        // The closed end wakes the wait, which is over before the next begins.
                        drop(ours);
                        waiting.await.ok();
                        return Ok(());
                    }
                }
            }
        }
        self.tell_of_runs().await.map(drop)
    }

    /// Tells the model of runs that have ended; returns whether there were any.
    pub(super) async fn tell_of_runs(&mut self) -> Result<bool, ChannelError> {
        let Some(runs) = self.own_runs.any().map(Arc::clone) else {
            return Ok(false);
        };
        let mut told: Vec<RunId> = Vec::new();
        for (id, words) in runs.ends() {
            // A worker before this one may have told it and died before it noted so.
            if !self.memory.told_runs.contains(id.as_str()) {
                self.say(&format!("{}{id}", by::RUN), words).await?;
            }
            told.push(id);
        }
        if !told.is_empty() {
            runs.note_told(&told);
        }
        Ok(!told.is_empty())
    }

    /// Asks every run that goes on to stop: also those that a run before this one started,
    /// which are not in its tree.
    pub(super) async fn cancel_runs(&mut self) {
        let Some(runs) = self.own_runs.any().map(Arc::clone) else {
            return;
        };
        // One that cannot be asked is told of by its own record.
        tokio::task::spawn_blocking(move || runs.cancel_all())
            .await
            .ok();
    }
}
