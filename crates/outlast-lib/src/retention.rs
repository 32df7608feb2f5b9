//! Removes runs: those that somebody names, and those that have been ended for long enough.
//!
//! Nothing goes before it ended, or while anything of it is alive. `debris`
//! removes what was left half made or half removed.

mod debris;

use crate::index::{self, Filter};
use crate::read::Seen;
use crate::sweep::{self, Look};
use crate::{Damage, ReadError, Store, containers, notices, read};
use outlast_journal::{RunId, ShortRecord, State, Status, Timestamp, error::Advice, limits, names};
use outlast_supervisor::{clock, fsio, lock};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is to be removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcQuery {
    /// Runs that ended at least this long ago, in milliseconds. When it is absent: the store's
    /// days of retention, or none at all when `keep` is given.
    pub older_than_ms: Option<u64>,
    /// The newest so many ended runs stay, however old.
    pub keep: Option<usize>,
    /// Only tells what would be removed.
    pub dry_run: bool,
}

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GcReport {
    /// Runs, oldest first.
    pub removed: Vec<ShortRecord>,
    /// Bytes on disk that they had.
    pub bytes_freed: u64,
    /// Runs that stay since nobody was told of their end yet.
    pub kept_untold: usize,
    /// Processes that were stopped, of runs whose supervisor is dead.
    pub swept: usize,
    /// Containers that were taken away, of runs whose supervisor is dead.
    pub containers: usize,
    /// Things that were half made or half removed.
    pub debris: usize,
    /// What could not be removed.
    pub failed: Vec<Damage>,
}

impl Store {
    /// Removes the ended runs that `query` asks for, and debris; stops what dead runs left, their
    /// containers included.
    ///
    /// A run stays while it goes on, while anything of it or inside it is alive, and for the
    /// first seven days of its end if no session was told of that.
    ///
    /// # Errors
    ///
    /// Fails when the store is only read and this is no dry run, or cannot be read. What
    /// cannot be removed stops nothing else: see `failed`.
    pub fn collect_garbage(&self, query: &GcQuery) -> Result<GcReport, GcError> {
        if !self.is_writable() && !query.dry_run {
            return Err(GcError::StoreReadOnly);
        }
        let mut report = GcReport::default();
        let (ended, with_leftovers) = self.ended()?;
        if !query.dry_run {
            let orphans = with_leftovers.iter();
            report.swept = orphans
                .map(|id| self.sweep(id, self.limits().grace_ms))
                .sum();
            // Before the records go, which say where the engines are.
            report.containers = containers::clear_dead(&self.engines(&ended)).all;
        }
        let now = clock::now();
        let day_ms = 24 * 3_600 * 1_000;
        let older_than_ms = query.older_than_ms.unwrap_or(match query.keep {
            Some(_) => 0,
            None => u64::from(self.limits().retention_days) * day_ms,
        });
        let last = Timestamp(now.0.saturating_sub(older_than_ms));
        let mut gone = Vec::new();
        let kept = query.keep.unwrap_or(0);
        for id in ended.into_iter().skip(kept).rev() {
            let Some(dir) = self.run_dir(&id) else {
                continue;
            };
            let Ok(seen) = self.look(&dir, &id) else {
                continue;
            };
            match self.judge(&dir, &seen, last, now) {
                Verdict::Stays => {}
                Verdict::Untold => report.kept_untold += 1,
                Verdict::Goes => {
                    let short = self.record_of(&dir, &seen).short();
                    match self.take_out(&dir, &id, query.dry_run) {
                        Ok(bytes) => {
                            report.bytes_freed += bytes;
                            report.removed.push(short);
                            gone.push(id);
                        }
                        Err(error) => report.failed.push(Damage {
                            path: dir,
                            what: error.to_string(),
                        }),
                    }
                }
            }
        }
        if !query.dry_run {
            self.forget(&gone);
        }
        report.debris = self.clear_debris(query.dry_run);
        Ok(report)
    }

    /// Removes one ended run.
    ///
    /// A run whose spec is damaged can be removed too.
    ///
    /// # Errors
    ///
    /// Fails when there is no such run, while it goes on or anything of it is alive, and when
    /// its files cannot be removed.
    pub fn remove(&self, id: &RunId) -> Result<(), RemoveError> {
        let dir = self.run_dir(id).ok_or(RemoveError::NotFound { id: *id })?;
        if !self.is_writable() {
            return Err(RemoveError::StoreReadOnly);
        }
        match self.look(&dir, id) {
            Ok(seen) if !seen.state.is_ended() => return Err(RemoveError::Running { id: *id }),
            Ok(Seen { state, .. }) => {
                check_leftovers(id, &state)?;
                if !is_proven_empty(&state) && self.has_container(id) {
                    return Err(RemoveError::ContainerLeft { id: *id });
                }
            }
            Err(ReadError::SpecDamaged { .. }) => {
                let journal = read::read_journal(&dir)?;
                check_leftovers(id, &State::fold(&journal))?;
            }
            Err(error) => return Err(error.into()),
        }
        match self.take_out(&dir, id, false) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(RemoveError::Supervised { id: *id });
            }
            Err(source) => return Err(RemoveError::Files { path: dir, source }),
        }
        self.forget(&[*id]);
        Ok(())
    }

    /// Returns every ended run, newest first, and those of them that named leftovers.
    fn ended(&self) -> Result<(Vec<RunId>, Vec<RunId>), ReadError> {
        let indexed = index::with_index(self, &mut Vec::new(), |index| {
            index.sync(self)?;
            let newest = index.newest(&Filter::default(), usize::MAX)?;
            let ids = newest.into_iter().map(|stored| stored.id).collect();
            Ok((ids, index.with_leftovers()?))
        });
        if let Some(ended) = indexed {
            return Ok(ended);
        }
        let mut records = self.read_all(&Filter::default(), usize::MAX)?.records;
        records.retain(|record| record.status.is_ended());
        let ids = records.iter().map(|record| record.id).collect();
        let with_leftovers = records.iter().filter(|record| !record.leftovers.is_empty());
        Ok((ids, with_leftovers.map(|record| record.id).collect()))
    }

    /// Returns where engines may listen that have, or had, a container of one of these runs.
    fn engines(&self, ended: &[RunId]) -> BTreeSet<String> {
        let dirs = ended.iter().filter_map(|id| Some((self.run_dir(id)?, id)));
        let specs = dirs.filter_map(|(dir, id)| read::read_spec(&dir, id).ok());
        specs.flat_map(sweep::engines).collect()
    }

    fn judge(&self, dir: &Path, seen: &Seen, last: Timestamp, now: Timestamp) -> Verdict {
        let (Some(ended), Some(end)) = (seen.state.ended_at, seen.state.end.as_deref()) else {
            return Verdict::Stays;
        };
        let mut inside = end.runs_inside.iter();
        let is_busy = read::is_supervised(dir).unwrap_or(true)
            || !read::leftovers_alive(&seen.state).is_empty()
            || inside.any(|id| self.record(id).is_ok_and(|inner| !inner.status.is_ended()));
        let is_new = now.0.saturating_sub(ended.0) < limits::UNTOLD_KEEP_MS;
        if ended > last || is_busy {
            Verdict::Stays
        } else if is_new && !notices::told(dir, None).any {
            Verdict::Untold
        } else {
            Verdict::Goes
        }
    }

    /// Removes the run in `dir`, if nobody holds its lock; returns how much it had on disk.
    fn take_out(&self, dir: &Path, id: &RunId, dry_run: bool) -> io::Result<u64> {
        let bytes = bytes_on_disk(dir);
        if dry_run {
            return Ok(bytes);
        }
        // Who holds the lock is a supervisor; who wants it next finds the run gone.
        let lock = fsio::open_private(&dir.join(names::LOCK))?;
        if !lock::try_lock(&lock)? {
            return Err(ErrorKind::WouldBlock.into());
        }
        let key = read::read_spec(dir, id).ok().and_then(|spec| spec.key);
        let gone = dir.with_file_name(names::removed(id));
        fs::rename(dir, &gone)?;
        if let Some(key) = key {
            debris::remove_key(self, &self.root().join(names::KEYS).join(key), id);
        }
        match fs::remove_dir_all(&gone) {
            // Another process collects garbage.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(bytes),
            removed => removed.map(|()| bytes),
        }
    }

    fn forget(&self, ids: &[RunId]) {
        // What stays in the index is noticed at the next list.
        index::with_index(self, &mut Vec::new(), |index| index.forget(ids));
    }
}

/// What becomes of a run.
enum Verdict {
    Goes,
    Stays,
    Untold,
}

/// Fails when a process of an ended run is alive.
/// Whether the supervisor of an ended run saw that nothing of it was left.
fn is_proven_empty(state: &State) -> bool {
    state.end.as_deref().is_some_and(|end| {
        end.status != Status::Interrupted && end.leftovers.is_empty() && end.leftovers_more == 0
    })
}

fn check_leftovers(id: &RunId, state: &State) -> Result<(), RemoveError> {
    if is_proven_empty(state) {
        return Ok(());
    }
    // Those that the end named, and what they have started since.
    match sweep::look(id, state, None) {
        Look::Processes(alive) if !alive.is_empty() => Err(RemoveError::LeftoversAlive {
            id: *id,
            pids: alive.iter().map(|left| left.process.pid).collect(),
        }),
        Look::Processes(_) | Look::OtherBoot | Look::OtherNamespace => Ok(()),
    }
}

/// Returns the bytes on disk of a directory and all beneath it; the holes of logs are none.
fn bytes_on_disk(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    let own = metadata.blocks().saturating_mul(512);
    if !metadata.is_dir() {
        return own;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    own + entries
        .map(|entry| bytes_on_disk(&entry.path()))
        .sum::<u64>()
}

/// Why nothing can be collected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GcError {
    /// The store is only read.
    #[error("the store cannot be written")]
    StoreReadOnly,
    /// The store cannot be read.
    #[error("the runs cannot be looked through")]
    Read {
        /// Why.
        #[from]
        source: ReadError,
    },
}

impl Advice for GcError {
    fn code(&self) -> &'static str {
        match self {
            Self::StoreReadOnly => "store_read_only",
            Self::Read { source } => source.code(),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::StoreReadOnly => READ_ONLY_HINT.to_owned(),
            Self::Read { source } => source.hint(),
        }
    }
}

const READ_ONLY_HINT: &str = "make the store's directory writable, or work as its owner";

/// Why a run cannot be removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoveError {
    /// There is no such run.
    #[error("there is no run `{id}`")]
    NotFound {
        /// The run.
        id: RunId,
    },
    /// It goes on.
    #[error("run `{id}` has not ended")]
    Running {
        /// The run.
        id: RunId,
    },
    /// It ended, and its supervisor looks after what is left.
    #[error("run `{id}` has ended and its supervisor is still at work")]
    Supervised {
        /// The run.
        id: RunId,
    },
    /// It ended, and processes of it are alive.
    #[error("run `{id}` has ended and {}", still_alive(pids.len()))]
    LeftoversAlive {
        /// The run.
        id: RunId,
        /// The processes.
        pids: Vec<i32>,
    },
    /// It ended, and its container is left.
    #[error("run `{id}` has ended and its container is left")]
    ContainerLeft {
        /// The run.
        id: RunId,
    },
    /// The store is only read.
    #[error("the store cannot be written")]
    StoreReadOnly,
    /// Its files cannot be removed.
    #[error("`{path}` cannot be removed")]
    Files {
        /// The run's directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be read.
    #[error("the run cannot be looked at")]
    Read {
        /// Why.
        #[from]
        source: ReadError,
    },
}

fn still_alive(count: usize) -> String {
    match count {
        1 => "1 of its processes is alive".to_owned(),
        _ => format!("{count} of its processes are alive"),
    }
}

impl Advice for RemoveError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "no_such_run",
            Self::Running { .. } => "still_running",
            Self::Supervised { .. } | Self::LeftoversAlive { .. } | Self::ContainerLeft { .. } => {
                "leftovers_alive"
            }
            Self::StoreReadOnly => "store_read_only",
            Self::Files { .. } => "not_removed",
            Self::Read { source } => source.code(),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::NotFound { .. } => "list the runs to see which there are".to_owned(),
            Self::Running { .. } => "cancel it first, or wait for its end".to_owned(),
            Self::Supervised { .. } | Self::LeftoversAlive { .. } | Self::ContainerLeft { .. } => {
                "cancel the run, which stops what is left of it".to_owned()
            }
            Self::StoreReadOnly => READ_ONLY_HINT.to_owned(),
            Self::Files { path, .. } => format!("delete `{}` by hand", path.display()),
            Self::Read { source } => source.hint(),
        }
    }
}

#[cfg(test)]
mod tests;
