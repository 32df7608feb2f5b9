//! Waiting for runs: for any or all to end, or until the output of one matches.
//!
//! To wait is to listen to the supervisors' sockets: it costs no CPU, and a
//! supervisor that is killed is heard as well as one that ends its run.

use crate::matcher::Matcher;
use crate::subscribe::{self, News, Subscription};
use crate::{Advice, ReadError, Store};
use outlast_journal::{RunId, Spec, Status, limits};
use outlast_supervisor::clock;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

/// How often reading that lasts marks a run with an idle budget as read, at the least, in
/// milliseconds.
const MARK_MS: u64 = 5_000;

/// Marks in one idle budget, so that one of them may come late.
const MARKS_PER_BUDGET: u64 = 4;

/// How long a supervisor that hung up may take to be gone, in milliseconds.
const LEAVING_MS: u64 = 5_000;

/// How often it is looked whether it is gone, in milliseconds.
const LEAVING_LOOK_MS: u64 = 2;

/// What to wait for.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitQuery<'a> {
    /// Return when one run has ended, not when all have.
    pub any: bool,
    /// Longest wait in milliseconds; for ever when absent.
    pub timeout_ms: Option<u64>,
    /// Return when a line of output matches this pattern, looked for from byte 0.
    pub until_output: Option<&'a str>,
    /// Return when an agent run asks something.
    pub until_asked: bool,
    /// Return when this descriptor can be read.
    pub interrupt: Option<BorrowedFd<'a>>,
}

/// A line that matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matched {
    /// The run.
    pub id: RunId,
    /// The line, cleaned and masked.
    pub line: String,
    /// Offset of its first byte in the log.
    pub byte: u64,
}

/// How a wait ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Runs that have ended.
    pub ended: Vec<RunId>,
    /// Runs that go on.
    pub running: Vec<RunId>,
    /// The line that matched.
    pub matched: Option<Matched>,
    /// Runs of those that go on that ask something.
    pub asking: Vec<RunId>,
    /// The wait was interrupted by its descriptor.
    pub interrupted: bool,
}

/// Why a wait failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// A run cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The pattern cannot be understood.
    #[error("the pattern `{pattern}` cannot be understood")]
    BadPattern {
        /// The pattern.
        pattern: String,
        /// Why.
        source: Box<regex::Error>,
    },
    /// The system could not wait.
    #[error("cannot wait")]
    System(#[from] io::Error),
}

impl Advice for WaitError {
    fn code(&self) -> &'static str {
        match self {
            Self::Read(error) => error.code(),
            Self::BadPattern { .. } => "bad_pattern",
            Self::System(_) => "cannot_wait",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Read(error) => error.hint(),
            Self::BadPattern { .. } => "write `\\` before characters that are meant as such".into(),
            Self::System(_) => "try again".into(),
        }
    }
}

/// One run that is waited for.
struct Waiting {
    id: RunId,
    dir: Option<PathBuf>,
    subscription: Option<Subscription>,
    matcher: Option<Matcher>,
    mark_ms: Option<u64>,
    /// Whether it may ask something.
    may_ask: bool,
    is_asking: bool,
    has_ended: bool,
}

impl Store {
    /// Waits for runs.
    ///
    /// Returns at once what has ended already. That the time is over is an answer, no error.
    ///
    /// ```no_run
    /// # fn wait(store: &outlast_lib::Store, id: outlast_lib::RunId) -> Result<(), Box<dyn std::error::Error>> {
    /// use outlast_lib::WaitQuery;
    ///
    /// let waited = store.wait(&[id], &WaitQuery {
    ///     timeout_ms: Some(45_000),
    ///     ..WaitQuery::default()
    /// })?;
    /// if waited.running.is_empty() {
    ///     println!("{:?}", store.record(&id)?.exit_code);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails when a run cannot be read, or the pattern is no regular expression.
    pub fn wait(&self, ids: &[RunId], query: &WaitQuery<'_>) -> Result<Waited, WaitError> {
        let until = query
            .timeout_ms
            .map(|ms| clock::monotonic_ms().saturating_add(ms));
        let mut runs = Vec::with_capacity(ids.len());
        for id in ids {
            if !runs.iter().any(|run: &Waiting| run.id == *id) {
                runs.push(self.begin_wait(*id, query)?);
            }
        }
        let mut matched = None;
        let mut interrupted = false;
        loop {
            for run in &mut runs {
                matched = matched.or(self.look_at(run)?);
            }
            let has_any = runs.iter().any(|run| run.has_ended);
            let has_all = runs.iter().all(|run| run.has_ended);
            let is_late = until.is_some_and(|until| clock::monotonic_ms() >= until);
            let is_asked = query.until_asked && runs.iter().any(|run| run.is_asking);
            if is_asked
                || matched.is_some()
                || has_all
                || (query.any && has_any)
                || is_late
                || interrupted
            {
                break;
            }
            interrupted = Self::sleep(&mut runs, query, until)?;
        }
        let ids = |has_ended: bool| {
            let these = runs.iter().filter(move |run| run.has_ended == has_ended);
            these.map(|run| run.id).collect()
        };
        let asking = runs.iter().filter(|run| run.is_asking);
        let asking = asking.map(|run| run.id);
        Ok(Waited {
            ended: ids(true),
            running: ids(false),
            matched,
            asking: asking.collect(),
            interrupted,
        })
    }

    fn begin_wait(&self, id: RunId, query: &WaitQuery<'_>) -> Result<Waiting, WaitError> {
        let spec = self.spec(&id)?;
        let dir = self.run_dir(&id);
        let matcher = match query.until_output {
            Some(pattern) => Some(Matcher::new(self, &spec, pattern)?),
            None => None,
        };
        Ok(Waiting {
            id,
            // Subscribed before the first look, so that no end falls between the two.
            subscription: dir
                .as_ref()
                .and_then(|dir| Subscription::open(dir, matcher.is_some())),
            dir,
            matcher,
            mark_ms: mark_ms(&spec),
            may_ask: spec.agent.as_ref().is_some_and(|agent| agent.request.asks),
            is_asking: false,
            has_ended: false,
        })
    }

    /// Looks at one run: has it ended, does its output match?
    fn look_at(&self, run: &mut Waiting) -> Result<Option<Matched>, WaitError> {
        if run.has_ended {
            return Ok(None);
        }
        if run.mark_ms.is_some() {
            self.mark_read(&run.id);
        }
        // The state first: what was written before the end is then in the log.
        let status = self.settled_status(run)?;
        run.has_ended = status.is_ended();
        let (Some(matcher), Some(dir)) = (&mut run.matcher, &run.dir) else {
            return Ok(None);
        };
        let found = matcher.advance(dir).map_err(WaitError::System)?;
        Ok(found.map(|(byte, line)| Matched {
            id: run.id,
            line,
            byte,
        }))
    }

    /// Returns the state of a run; of one whose supervisor hung up, what it is settled to.
    fn settled_status(&self, run: &mut Waiting) -> Result<Status, WaitError> {
        let is_over = run
            .subscription
            .as_mut()
            .is_none_or(|subscription| subscription.news() == News::Over);
        let record = self.record(&run.id)?;
        let status = record.status;
        run.is_asking = record.needs_approval.is_some();
        if status.is_ended() || !is_over {
            return Ok(status);
        }
        let subscription = run.subscription.take();
        if subscription.is_some_and(|subscription| !subscription.was_served()) {
            // It lives and has no room for us: we look ourselves, before long.
            return Ok(status);
        }
        // The socket of a dying process may close a moment before its lock is free.
        let give_up_at = clock::monotonic_ms() + LEAVING_MS;
        loop {
            let status = self.record(&run.id)?.status;
            if status.is_ended() {
                return Ok(status);
            }
            // It lives: a supervisor that has just begun, or one that was asked too much.
            let dir = run.dir.as_ref();
            run.subscription = dir.and_then(|dir| Subscription::open(dir, run.matcher.is_some()));
            if run.subscription.is_some() || clock::monotonic_ms() >= give_up_at {
                return Ok(self.record(&run.id)?.status);
            }
            let soon = clock::monotonic_ms() + LEAVING_LOOK_MS;
            subscribe::sleep(&[], None, Some(soon))?;
        }
    }

    fn sleep(
        runs: &mut [Waiting],
        query: &WaitQuery<'_>,
        until: Option<u64>,
    ) -> Result<bool, WaitError> {
        let live = || runs.iter().filter(|run| !run.has_ended);
        let now = clock::monotonic_ms();
        let mark = live().filter_map(|run| run.mark_ms).min();
        let mark = mark.map(|ms| now + ms);
        // Without a subscription there is nobody to hear from: look again before long.
        let blind = live()
            .any(|run| run.subscription.is_none())
            .then_some(now + limits::CROWDED_LOOK_MS);
        // An ask is told by no subscription.
        let asked = live()
            .any(|run| run.may_ask)
            .then_some(now + limits::ASK_LOOK_MS);
        let until = [until, mark, blind, asked].into_iter().flatten().min();
        let subscriptions: Vec<&Subscription> =
            live().filter_map(|run| run.subscription.as_ref()).collect();
        Ok(subscribe::sleep(&subscriptions, query.interrupt, until)?)
    }
}

/// Returns how often reading that lasts must mark a run as read, if it has an idle budget.
pub(crate) fn mark_ms(spec: &Spec) -> Option<u64> {
    let budget_ms = spec.idle_ttl_ms?;
    Some((budget_ms / MARKS_PER_BUDGET).clamp(1, MARK_MS))
}
