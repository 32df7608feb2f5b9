//! The runs that this one started: which are open, and the news of their ends.

use super::Worker;
use crate::channel::ChannelError;
use crate::memory::by;
use outlast_journal::{RunId, ShortRecord, Status, limits};
use outlast_lib::{ListQuery, NoticeScope, Store, WaitQuery};
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Ends that are told at once.
const ENDS_MAX: usize = 16;

/// The runs of this run's own session.
pub(super) struct OwnRuns {
    store: Arc<Store>,
    session: String,
    /// Whether any was started: without one nothing is looked for.
    pub(super) has_any: bool,
}

impl OwnRuns {
    /// Returns the runs that the run `id` started.
    pub(super) fn new(store: Arc<Store>, id: &RunId) -> Self {
        Self {
            store,
            session: id.to_string(),
            has_any: false,
        }
    }

    /// Returns those that go on and have a time limit: they are waited for.
    ///
    /// What cannot be seen is not waited for.
    pub(super) fn open(&self) -> Vec<RunId> {
        if !self.has_any {
            return Vec::new();
        }
        let query = ListQuery {
            session: Some(self.session.clone()),
            statuses: vec![Status::Queued, Status::Running],
            limit: usize::MAX,
            ..ListQuery::default()
        };
        let listing = self.store.list(&query).unwrap_or_default();
        let limited = listing
            .records
            .iter()
            .filter(|record| record.timeout_secs.is_some() || record.deadline.is_some());
        limited.map(|record| record.id).collect()
    }

    /// Returns how many have ended without the model's being told.
    pub(super) fn untold(&self, told: &BTreeSet<String>) -> usize {
        let ends = self.ends().into_iter();
        ends.filter(|end| !told.contains(end.id.as_str())).count()
    }

    /// Returns ends that the session was not told of.
    fn ends(&self) -> Vec<ShortRecord> {
        if !self.has_any {
            return Vec::new();
        }
        let scope = NoticeScope::Session(self.session.clone());
        self.store.notices(&scope, ENDS_MAX).unwrap_or_default()
    }

    /// Waits until one of `ids` has ended, or `interrupt` can be read. Blocks.
    fn wait(store: &Store, ids: &[RunId], interrupt: &UnixStream) {
        let query = WaitQuery {
            any: true,
            timeout_ms: Some(limits::OWN_RUNS_LOOK_MS),
            interrupt: Some(interrupt.as_fd()),
            ..WaitQuery::default()
        };
        // What went wrong shows when they are looked at again.
        store.wait(ids, &query).map(drop).ok();
    }
}

impl Worker<'_> {
    /// Waits, without the model, until a run that this one started has ended, or there is
    /// something else to do.
    pub(super) async fn wait_for_runs(&mut self) -> Result<(), ChannelError> {
        let ids = self.own_runs.open();
        if self.tell_of_runs().await? || ids.is_empty() {
            return Ok(());
        }
        self.log
            .line(&format!("note: waits for {} runs", ids.len()));
        let Ok((ours, theirs)) = UnixStream::pair() else {
            return Ok(());
        };
        let store = Arc::clone(&self.own_runs.store);
        let mut waiting = tokio::task::spawn_blocking(move || OwnRuns::wait(&store, &ids, &theirs));
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
        let ends = self.own_runs.ends();
        let mut told = Vec::new();
        for end in &ends {
            // A worker before this one may have told it and died before it noted so.
            if !self.memory.told_runs.contains(end.id.as_str()) {
                self.say(&format!("{}{}", by::RUN, end.id), notice(end))
                    .await?;
            }
            told.push(end.id);
        }
        if !told.is_empty() {
            // Not noted, it comes again, and is seen to be told already.
            let session = self.own_runs.session.clone();
            self.own_runs.store.acknowledge(&told, &session).ok();
        }
        Ok(!told.is_empty())
    }
}

fn notice(end: &ShortRecord) -> String {
    let code = end.exit_code.map(|code| format!(", exit code {code}"));
    format!(
        "[outlast: the background run {} (`{}`) has ended: {}{}. Summary: {}. Read it with \
         background_output. This comes from the system, not from a person.]",
        end.id,
        end.label,
        end.status,
        code.unwrap_or_default(),
        end.summary.as_deref().unwrap_or("none"),
    )
}
