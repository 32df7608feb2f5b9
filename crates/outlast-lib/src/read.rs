//! One run as it is now: its spec, its journal folded, and what can be seen beside them.
//!
//! A run whose supervisor is gone is settled on the way (`settle`). The newest
//! line of a live run is cut from its log here; all other views of output are
//! the business of `output`.

use crate::settle::{self, Settled};
use crate::{Store, sweep};
use outlast_journal::{
    Gap, LeftoverRecord, Line, Live, ProcessRef, Record, RunId, Spec, SpecError, State, Status,
    Timestamp, error::Advice, limits, mask::Masker, names, text,
};
use outlast_supervisor::{clock, fsio, lock, process};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A run at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// What was bound.
    pub(crate) spec: Spec,
    /// What its journal adds up to.
    pub(crate) state: State,
    /// How many bytes of the journal that was; 0 when it was read more than once.
    pub(crate) journal_bytes: u64,
    /// The end that could not be written into the journal of a run that is dead.
    pub(crate) unwritten: Option<Box<Line>>,
}

impl Store {
    /// Returns what was bound when the run was born.
    ///
    /// # Errors
    ///
    /// Fails when there is no such run, or its spec cannot be read.
    pub fn spec(&self, id: &RunId) -> Result<Spec, ReadError> {
        read_spec(&self.existing_dir(id)?, id)
    }

    /// Returns the run as it is now.
    ///
    /// A run whose supervisor died without an end is closed as `interrupted`, once and for
    /// all readers; where the store cannot be written, the same is told and nothing written.
    /// Nothing is killed.
    ///
    /// # Errors
    ///
    /// Fails when there is no such run, or its files cannot be read.
    pub fn record(&self, id: &RunId) -> Result<Record, ReadError> {
        let dir = self.existing_dir(id)?;
        let seen = self.look(&dir, id)?;
        Ok(self.record_of(&dir, &seen))
    }

    /// Notes that the run was read now, which renews its idle budget; a run without one is left alone.
    ///
    /// Best effort: a note that cannot be written is a read that did not count.
    pub fn mark_read(&self, id: &RunId) {
        if let Ok(dir) = self.existing_dir(id)
            && let Ok(spec) = read_spec(&dir, id)
            && spec.idle_ttl_ms.is_some()
            && let Ok(file) = fsio::open_private(&dir.join(names::POLLED))
        {
            // Of one width, so that a later mark replaces an earlier one whole.
            let mark = format!("{:020}\n", clock::monotonic_ms());
            file.write_all_at(mark.as_bytes(), 0).ok();
        }
    }

    pub(crate) fn existing_dir(&self, id: &RunId) -> Result<PathBuf, ReadError> {
        self.run_dir(id).ok_or(ReadError::NotFound { id: *id })
    }

    /// Returns the run in `dir` as its files tell, settled if its supervisor is gone.
    pub(crate) fn look(&self, dir: &Path, id: &RunId) -> Result<Seen, ReadError> {
        let spec = read_spec(dir, id)?;
        let journal = read_journal(dir)?;
        let mut seen = Seen {
            spec,
            state: State::fold(&journal),
            journal_bytes: u64::try_from(journal.len()).unwrap_or(0),
            unwritten: None,
        };
        // The lock is looked at after the journal: a supervisor writes its end before it
        // lets go, so a free lock and no end means that the end may have come in between,
        // which settling looks at once more.
        if seen.state.is_ended() || is_supervised(dir)? {
            return Ok(seen);
        }
        let settled = settle::settle(self, dir, &seen.spec).map_err(|source| {
            // A removal may have renamed the directory away under our hands.
            if dir.is_dir() {
                unreadable(dir, source)
            } else {
                ReadError::NotFound { id: *id }
            }
        })?;
        seen.journal_bytes = 0;
        match settled {
            Settled::Alive(state) | Settled::Ended(state) => seen.state = state,
            Settled::Unwritten(state, line) => {
                seen.state = state;
                seen.unwritten = Some(line);
            }
        }
        Ok(seen)
    }

    /// Returns the record of a run that was looked at, with what can be seen beside its journal.
    pub(crate) fn record_of(&self, dir: &Path, seen: &Seen) -> Record {
        let (spec, state) = (&seen.spec, &seen.state);
        let log = fs::metadata(dir.join(names::OUTPUT)).ok();
        let is_ended = state.is_ended();
        let status = state.status();
        let live = Live {
            output_bytes: log.as_ref().map_or(0, MetadataExt::size),
            gap: read_gap(dir),
            last_output_at: log.as_ref().and_then(last_output_at),
            last_line: (!is_ended).then(|| self.last_line_of(dir, spec)).flatten(),
            elapsed_ms: elapsed_ms(state).filter(|_| !is_ended),
            leftovers: leftovers_now(state).map(|alive| self.leftovers(spec, &alive)),
            queue_position: (status == Status::Queued)
                .then(|| self.queue_position(spec))
                .flatten(),
        };
        Record::build(spec, state, live)
    }

    /// Returns the newest line of a run's output, its secrets masked.
    pub(crate) fn last_line_of(&self, dir: &Path, spec: &Spec) -> Option<String> {
        let log = File::open(dir.join(names::OUTPUT)).ok()?;
        let bytes = log.metadata().ok()?.len();
        let from = bytes.saturating_sub(limits::LAST_LINE_BYTES);
        let mut tail = vec![0; usize::try_from(bytes - from).ok()?];
        log.read_exact_at(&mut tail, from).ok()?;
        if !spec.secrets.is_empty() {
            tail = self.masker(spec)?.mask(&tail).into_owned();
        }
        let line = text::last_line(&tail)?;
        Some(text::cut_chars(&line, limits::SUMMARY_CHARS))
    }

    /// Returns what masks the secrets of a run; `None` where they cannot be, and what may hold
    /// them is not to be shown.
    pub fn masker(&self, spec: &Spec) -> Option<Masker> {
        if spec.secrets.is_empty() {
            return Some(Masker::new(&[0; 32], &[]));
        }
        Some(Masker::new(&self.key().ok()?, &spec.secrets))
    }

    /// Returns processes as they are now: at the end of the run, one may have been a copy of
    /// its parent still.
    fn leftovers(&self, spec: &Spec, alive: &[ProcessRef]) -> Vec<LeftoverRecord> {
        if alive.is_empty() {
            return Vec::new();
        }
        let masker = self.masker(spec);
        let named = alive.iter().map(|process| LeftoverRecord {
            pid: process.pid,
            command: process::command(process.pid, masker.as_ref()),
        });
        named.collect()
    }

    fn queue_position(&self, spec: &Spec) -> Option<u64> {
        let queue = spec.queue.as_ref()?;
        let folder = self.root().join(names::QUEUE).join(&queue.name);
        let mut before = 0;
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let number = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<u64>().ok());
            if number.is_some_and(|number| number < queue.ticket)
                && File::open(entry.path())
                    .is_ok_and(|file| lock::is_locked(&file).unwrap_or(false))
            {
                before += 1;
            }
        }
        Some(before)
    }
}

/// Returns whether somebody holds the lock of the run in `dir`.
pub(crate) fn is_supervised(dir: &Path) -> Result<bool, ReadError> {
    let path = dir.join(names::LOCK);
    let locked = match File::open(&path) {
        Ok(file) => lock::is_locked(&file),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    locked.map_err(|source| unreadable(&path, source))
}

pub(crate) fn read_spec(dir: &Path, id: &RunId) -> Result<Spec, ReadError> {
    let path = dir.join(names::SPEC);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound && !dir.is_dir() => {
            return Err(ReadError::NotFound { id: *id });
        }
        other => other.map_err(|source| unreadable(&path, source))?,
    };
    let damaged = |source| ReadError::SpecDamaged {
        path: path.clone(),
        source,
    };
    let spec = Spec::from_json(&bytes).map_err(|source| damaged(Some(source)))?;
    // A directory that was copied by hand must not stand in for another run.
    if spec.id == *id {
        Ok(spec)
    } else {
        Err(damaged(None))
    }
}

/// Returns the bytes of a journal; a run that has none yet has an empty one.
pub(crate) fn read_journal(dir: &Path) -> Result<Vec<u8>, ReadError> {
    let path = dir.join(names::JOURNAL);
    match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(|source| unreadable(&path, source)),
    }
}

pub(crate) fn unreadable(path: &Path, source: io::Error) -> ReadError {
    ReadError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

fn read_gap(dir: &Path) -> Option<Gap> {
    Gap::from_file(&fs::read(dir.join(names::GAP)).ok()?)
}

/// Returns when a log last grew; an empty one never did.
pub(crate) fn last_output_at(log: &fs::Metadata) -> Option<Timestamp> {
    if log.size() == 0 {
        return None;
    }
    let seconds = u64::try_from(log.mtime()).ok()?;
    let nanos = u64::try_from(log.mtime_nsec()).ok()?;
    Some(Timestamp(seconds * 1_000 + nanos / 1_000_000))
}

fn elapsed_ms(state: &State) -> Option<u64> {
    let claimed = state.claimed.as_ref()?;
    let began = state.started.as_ref()?.monotonic_ms?;
    sweep::is_this_boot(claimed).then(|| clock::monotonic_ms().saturating_sub(began))
}

/// Returns which of the processes named in the end are alive; `None` where that cannot be seen.
fn leftovers_now(state: &State) -> Option<Vec<ProcessRef>> {
    let end = state.end.as_deref()?;
    let claimed = state.claimed.as_ref()?;
    if end.leftovers.is_empty() {
        return None;
    }
    if !sweep::is_this_boot(claimed) {
        return Some(Vec::new());
    }
    if !sweep::is_this_namespace(claimed) {
        return None;
    }
    let named = end.leftovers.iter().map(|left| left.process);
    Some(named.filter(|one| process::is_alive(*one)).collect())
}

/// Returns the processes named in the end that are known to be alive.
pub(crate) fn leftovers_alive(state: &State) -> Vec<ProcessRef> {
    leftovers_now(state).unwrap_or_default()
}

/// Why a run cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no such run.
    #[error("there is no run `{id}`")]
    NotFound {
        /// The run.
        id: RunId,
    },
    /// What was bound cannot be understood, or belongs to another run.
    #[error("the spec `{path}` is damaged")]
    SpecDamaged {
        /// The file.
        path: PathBuf,
        /// Why; absent when it is the spec of another run.
        source: Option<SpecError>,
    },
    /// A file cannot be read.
    #[error("`{path}` cannot be read")]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The index can neither be used nor made.
    #[error("the index cannot be made: {what}")]
    IndexUnusable {
        /// Why.
        what: String,
    },
}

impl Advice for ReadError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "no_such_run",
            Self::SpecDamaged { .. } => "spec_damaged",
            Self::Unreadable { .. } => "store_unreadable",
            Self::IndexUnusable { .. } => "index_unusable",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::NotFound { .. } => {
                "list the runs to see which there are; ended ones are removed after a while"
                    .to_owned()
            }
            Self::SpecDamaged { path, .. } => format!(
                "what the run wrote is still in `{}`; remove the run when it is not needed",
                path.parent().unwrap_or(path).display()
            ),
            Self::Unreadable { path, .. } => {
                format!("make `{}` readable for you", path.display())
            }
            Self::IndexUnusable { .. } => {
                "try again in a while; lists work without it, only slower".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests;
