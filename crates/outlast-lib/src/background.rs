//! The background capability of one session, for programs that drive a model themselves.
//!
//! A host offers the tools to its model, passes calls on, puts the block into
//! its prompt, and wakes its model when something has ended. Nothing is kept
//! here that the store does not have: a host that comes back after a crash
//! opens the same session and goes on. Talking to a model is the host's part.

mod act;
mod answer;
mod arguments;
mod arrivals;
mod ends;
mod log;
mod look;
mod spawner;
mod tools;
mod wake;
mod watch;

pub use answer::Answer;
pub use arguments::ArgumentError;
pub use ends::Finished;
pub use look::{CommandError, HostTask, HostTasks};
pub use spawner::{SpawnError, Spawned, Spawner, SubAgent};
pub use tools::{Tool, offered};
pub use wake::wake_prompt;

use crate::{Containment, Counts, ListQuery, Origin, ReadError, Record, Status, Store};
use ends::Ends;
use outlast_supervisor::clock;
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use watch::Watch;

/// States of a run that has not ended.
pub(crate) const LIVE: [Status; 2] = [Status::Running, Status::Queued];

/// What a host says once about all the runs of a session.
#[derive(Clone, Default)]
pub struct BackgroundOptions {
    /// The whole environment of the runs: the library reads none.
    pub environment: Vec<(OsString, OsString)>,
    /// Who asks, for the records.
    pub origin: Origin,
    /// Time limit of a run that names none, in milliseconds; the store's when absent, 0 is none.
    pub timeout_ms: Option<u64>,
    /// What contains commands; `None` is the host as it is. A sub-agent's program contains what
    /// it runs itself.
    pub containment: Option<Containment>,
    /// Makes the program of a sub-agent. Without one there is no `background_agent`.
    pub spawner: Option<Spawner>,
    /// Tasks that the host itself has in the background, to be listed with the runs.
    pub host_tasks: Option<HostTasks>,
}

/// The background capability of one session. Safe to share between threads.
pub struct Background {
    store: Arc<Store>,
    session: String,
    project: PathBuf,
    options: BackgroundOptions,
    ends: Mutex<Ends>,
    watch: Mutex<Watch>,
}

impl Background {
    /// Opens the capability for `session`, whose commands run in `project` by default.
    ///
    /// The same session opened again, by this process or a later one, has the same runs. What
    /// ended before this call is later told as `restored`.
    ///
    /// # Errors
    ///
    /// Fails as [`Store::list`] does.
    pub fn new(
        store: Arc<Store>,
        session: impl Into<String>,
        project: impl Into<PathBuf>,
        options: BackgroundOptions,
    ) -> Result<Self, ReadError> {
        let session = session.into();
        // A run that is settled by this look ended before, and its end is dated now: so the
        // clock is read after the look.
        let live = store.list(&live_of(&session))?.records;
        let ends = Ends::new(clock::now(), live.iter().map(|record| record.id));
        Ok(Self {
            store,
            session,
            project: project.into(),
            options,
            ends: Mutex::new(ends),
            watch: Mutex::new(Watch::default()),
        })
    }

    /// Returns the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Returns the tools that the host offers its model, always in this order.
    pub fn tools(&self) -> Vec<Tool> {
        offered(self.has_spawner())
    }

    /// Returns what to show a person while a tool works; `None` for a tool that is not here.
    pub fn narration(&self, tool: &str, arguments: &Value) -> Option<String> {
        tools::narration(tool, arguments)
    }

    /// Carries out a call of the model and returns the answer for it.
    ///
    /// Nothing that a model can write is an error of this function: wrong arguments and
    /// refusals are answers that say what to do next, with `is_error`. It blocks: a start until
    /// the command executes, a cancel until the tree is gone, at most its grace and some
    /// seconds. An ended run that was read, and one that was cancelled, is not drained.
    pub fn call(&self, tool: &str, arguments: &Value) -> Answer {
        self.call_with_key(tool, arguments, None)
    }

    /// The same for a call that may come again: a start with the same `key` starts nothing more
    /// and answers with the run that there is.
    pub fn call_once(&self, tool: &str, arguments: &Value, key: &str) -> Answer {
        self.call_with_key(tool, arguments, Some(key))
    }

    fn call_with_key(&self, tool: &str, arguments: &Value, key: Option<&str>) -> Answer {
        match tool {
            tools::RUN => self.run(arguments, key),
            tools::AGENT if self.has_spawner() => self.agent(arguments, key),
            tools::LIST => self.list(arguments),
            tools::OUTPUT => self.output(arguments),
            tools::CANCEL => self.cancel(arguments),
            _ => Answer::refused(&ArgumentError::NoSuchTool {
                tool: arguments::shown(tool),
                known: tools::names(self.has_spawner()),
            }),
        }
    }

    /// Returns how many runs of the session have not ended, and how many there are.
    ///
    /// Made to be asked for with each frame of a screen: where nothing happened it is one
    /// system call. What others changed may come a quarter of a second late; what this object
    /// did is counted at once.
    ///
    /// # Errors
    ///
    /// Fails as [`Store::counts`] does.
    pub fn counts(&self) -> Result<Counts, ReadError> {
        locked(&self.watch).counts(&self.store, &self.session)
    }

    fn has_spawner(&self) -> bool {
        self.options.spawner.is_some()
    }

    fn live(&self) -> Result<Vec<Record>, ReadError> {
        Ok(self.store.list(&live_of(&self.session))?.records)
    }

    fn ends(&self) -> MutexGuard<'_, Ends> {
        locked(&self.ends)
    }

    /// Has the next `counts` look anew.
    fn note_change(&self) {
        locked(&self.watch).note_change();
    }
}

fn live_of(session: &str) -> ListQuery {
    ListQuery {
        session: Some(session.to_owned()),
        statuses: LIVE.to_vec(),
        limit: usize::MAX,
        ..ListQuery::default()
    }
}

/// Locks; what a thread that panicked left is whole, since each change is one assignment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
