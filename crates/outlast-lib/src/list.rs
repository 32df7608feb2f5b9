//! Lists of runs, newest first, and how many there are.
//!
//! Ended runs come from the index, all others from their directories. Without
//! an index everything is read from the directories: slower, the same result.

use crate::index::{self, Filter, Fresh, Index, Stored, Trouble};
use crate::{ReadError, Store, read};
use outlast_journal::{Record, RunId, Status, Timestamp, error::Advice, names};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Which runs are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Only those of this project.
    pub project: Option<String>,
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those in one of these states; all when empty.
    pub statuses: Vec<Status>,
    /// At most this many.
    pub limit: usize,
}

/// Runs, newest change first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The runs.
    pub records: Vec<Record>,
    /// Whether there are more than asked for.
    pub more: bool,
    /// What could not be read. It hides nothing else.
    pub damaged: Vec<Damage>,
}

/// Something that was set aside, since it cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file or directory.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

/// How many runs there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those that have not ended.
    pub running: u64,
    /// All.
    pub total: u64,
}

impl Store {
    /// Returns the newest runs that `query` asks for, sorted by their last change.
    ///
    /// Runs whose supervisor is gone are settled on the way, as by [`Self::record`].
    ///
    /// # Errors
    ///
    /// Fails when the folder of runs cannot be read; what else cannot be is in `damaged`.
    pub fn list(&self, query: &ListQuery) -> Result<Listing, ReadError> {
        let filter = Filter {
            project: query.project.as_deref(),
            session: query.session.as_deref(),
            statuses: &query.statuses,
        };
        let mut said = Vec::new();
        let indexed = index::with_index(self, &mut said, |index| {
            from_index(self, index, &filter, query.limit)
        });
        let mut listing = match indexed {
            Some(listing) => listing,
            None => self.read_all(&filter, query.limit)?,
        };
        listing.damaged.extend(said);
        Ok(listing)
    }

    /// Returns how many runs there are, of one session or of all.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::list`] does.
    pub fn counts(&self, session: Option<&str>) -> Result<Counts, ReadError> {
        let filter = Filter {
            session,
            ..Filter::default()
        };
        let counted = index::with_index(self, &mut Vec::new(), |index| {
            let fresh = index.sync(self)?;
            let mut total = index.count_ended(session)?;
            let mut running = 0;
            for run in fresh.runs.iter().filter(|run| filter.has_run(run)) {
                running += u64::from(!run.status.is_ended());
                // A run that ended just now is among the rows, if these could be written.
                total += u64::from(!index.is_ended(&run.id)?);
            }
            Ok(Counts { running, total })
        });
        if let Some(counts) = counted {
            return Ok(counts);
        }
        let records = self.read_all(&filter, usize::MAX)?.records;
        let running = records.iter().filter(|record| !record.status.is_ended());
        Ok(Counts {
            running: u64::try_from(running.count()).unwrap_or(u64::MAX),
            total: u64::try_from(records.len()).unwrap_or(u64::MAX),
        })
    }

    /// Returns how many runs are in each state, states without a run among them.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::list`] does.
    pub fn status_counts(&self) -> Result<[(Status, u64); Status::ALL.len()], ReadError> {
        let mut counts = Status::ALL.map(|status| (status, 0));
        let mut add = |wanted: Status, more: u64| {
            let mut known = counts.iter_mut();
            if let Some((_, count)) = known.find(|(status, _)| *status == wanted) {
                *count += more;
            }
        };
        let indexed = index::with_index(self, &mut Vec::new(), |index| {
            let fresh = index.sync(self)?;
            let mut found = index.count_by_status()?;
            for run in &fresh.runs {
                // A run that ended just now is among the rows, if these could be written.
                if !index.is_ended(&run.id)? {
                    found.push((run.status, 1));
                }
            }
            Ok(found)
        });
        if let Some(found) = indexed {
            for (status, count) in found {
                add(status, count);
            }
        } else {
            for record in self.read_all(&Filter::default(), usize::MAX)?.records {
                add(record.status, 1);
            }
        }
        Ok(counts)
    }

    /// Reads every run there is. Of those that match, the newest `limit` are kept in memory.
    pub(crate) fn read_all(&self, filter: &Filter<'_>, limit: usize) -> Result<Listing, ReadError> {
        let mut listing = Listing::default();
        let room = limit.saturating_mul(2).saturating_add(1_000);
        for (id, dir) in self.run_dirs()? {
            match look(self, &dir, &id) {
                Looked::Ended(record) | Looked::Live(record, _) => {
                    if filter.has(&record.project, record.session.as_deref(), record.status) {
                        listing.records.push(*record);
                    }
                }
                Looked::Gone => {}
                Looked::Damaged(damage) => listing.damaged.push(damage),
            }
            if listing.records.len() >= room {
                cut(&mut listing, limit);
            }
        }
        cut(&mut listing, limit);
        Ok(listing)
    }
}

/// What a list has to know of a run to sort it in.
#[derive(Clone, Debug)]
pub(crate) struct Glimpse {
    pub(crate) id: RunId,
    pub(crate) dir: PathBuf,
    pub(crate) project: String,
    pub(crate) session: Option<String>,
    pub(crate) label: String,
    pub(crate) status: Status,
    pub(crate) updated: Timestamp,
    /// Bytes of the journal that say so.
    pub(crate) journal_bytes: u64,
    /// The whole record, if it was read.
    pub(crate) record: Option<Box<Record>>,
}

impl Glimpse {
    pub(crate) fn new(dir: &Path, record: Box<Record>, journal_bytes: u64) -> Self {
        Self {
            id: record.id,
            dir: dir.to_owned(),
            project: record.project.clone(),
            session: record.session.clone(),
            label: record.label.clone(),
            status: record.status,
            updated: record.updated,
            journal_bytes,
            record: Some(record),
        }
    }
}

/// A run as a list looks at it.
pub(crate) enum Looked {
    /// It ended, and its journal says so.
    Ended(Box<Record>),
    /// It is to be looked at again: it has not ended, or its end could not be written. So many
    /// bytes of its journal were read.
    Live(Box<Record>, u64),
    /// It was removed.
    Gone,
    /// It cannot be read.
    Damaged(Damage),
}

/// Looks at the run in `dir`.
pub(crate) fn look(store: &Store, dir: &Path, id: &RunId) -> Looked {
    match store.look(dir, id) {
        Ok(seen) => {
            let record = Box::new(store.record_of(dir, &seen));
            if seen.state.is_ended() && seen.unwritten.is_none() {
                Looked::Ended(record)
            } else {
                Looked::Live(record, seen.journal_bytes)
            }
        }
        Err(ReadError::NotFound { .. }) => Looked::Gone,
        Err(error) => {
            let cause = std::error::Error::source(&error);
            let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
            Looked::Damaged(Damage {
                path: dir.to_owned(),
                what: format!("{error}{cause} ({})", error.code()),
            })
        }
    }
}

/// Returns when the log of a live run last grew, if nothing else of the run can have changed:
/// its lock is held, and its journal has `journal_bytes` as at the last look.
///
/// With a thousand live runs, this is what makes a list quick.
pub(crate) fn unchanged(dir: &Path, journal_bytes: u64) -> Option<Timestamp> {
    let journal = fs::metadata(dir.join(names::JOURNAL)).ok()?;
    let is_same = journal.len() == journal_bytes && read::is_supervised(dir).unwrap_or(false);
    let log = fs::metadata(dir.join(names::OUTPUT)).ok();
    is_same.then(|| {
        log.as_ref()
            .and_then(read::last_output_at)
            .unwrap_or_default()
    })
}

/// Sorts newest first and cuts.
fn cut(listing: &mut Listing, limit: usize) {
    let records = &mut listing.records;
    records.sort_by_key(|record| Reverse((record.updated, record.id)));
    listing.more |= records.len() > limit;
    records.truncate(limit);
}

/// One line of a list that may not be read yet.
enum Entry {
    Fresh(Box<Glimpse>),
    Stored(Stored),
}

impl Entry {
    fn order(&self) -> (Timestamp, RunId) {
        match self {
            Self::Fresh(run) => (run.updated, run.id),
            Self::Stored(stored) => (stored.updated, stored.id),
        }
    }
}

fn from_index(
    store: &Store,
    index: &mut Index,
    filter: &Filter<'_>,
    limit: usize,
) -> Result<Listing, Trouble> {
    let Fresh { runs, damaged } = index.sync(store)?;
    let read: HashSet<RunId> = runs.iter().map(|run| run.id).collect();
    let fresh: Vec<Glimpse> = runs.into_iter().filter(|run| filter.has_run(run)).collect();
    let mut gone: HashSet<RunId> = HashSet::new();
    loop {
        let count = limit
            .saturating_add(1)
            .saturating_add(read.len())
            .saturating_add(gone.len());
        let stored = index.newest(filter, count)?.into_iter();
        let mut entries: Vec<Entry> = stored
            .filter(|stored| !read.contains(&stored.id))
            .map(Entry::Stored)
            .chain(fresh.iter().cloned().map(Box::new).map(Entry::Fresh))
            .filter(|entry| !gone.contains(&entry.order().1))
            .collect();
        entries.sort_by_key(|entry| Reverse(entry.order()));
        let more = entries.len() > limit;
        entries.truncate(limit);
        let mut records = Vec::with_capacity(entries.len());
        let mut lost = Vec::new();
        let mut months = HashSet::new();
        for entry in entries {
            let (_, id) = entry.order();
            let month = match &entry {
                Entry::Stored(stored) => Some(stored.month.clone()),
                Entry::Fresh(_) => None,
            };
            match (load(store, index, entry)?, month) {
                (Some(record), _) => records.push(record),
                (None, None) => lost.push(id),
                // Where one was removed by hand, others may have been too: all at once.
                (None, Some(month)) if months.insert(month.clone()) => {
                    let folder = store.root().join(names::RUNS).join(&month);
                    lost.extend(index.missing(&folder, &month)?);
                    lost.push(id);
                }
                (None, Some(_)) => {}
            }
        }
        if lost.is_empty() {
            return Ok(Listing {
                records,
                more,
                damaged,
            });
        }
        // Their rows go, and others take their places.
        index.forget(&lost)?;
        gone.extend(lost);
    }
}

pub(crate) fn dir_of(store: &Store, stored: &Stored) -> PathBuf {
    let runs = store.root().join(names::RUNS);
    runs.join(&stored.month).join(stored.id.as_str())
}

/// Returns the record of a run; `None` when the run is gone.
fn load(store: &Store, index: &Index, entry: Entry) -> Result<Option<Record>, Trouble> {
    let (dir, id, kept) = match entry {
        Entry::Fresh(run) => match run.record {
            Some(record) => return Ok(Some(*record)),
            None => (run.dir, run.id, None),
        },
        Entry::Stored(stored) => {
            let dir = dir_of(store, &stored);
            if !dir.exists() {
                return Ok(None);
            }
            let kept = index.record(&stored)?;
            if kept.leftovers.is_empty() {
                return Ok(Some(kept));
            }
            // What is left of it can still write and end.
            (dir, stored.id, Some(kept))
        }
    };
    match look(store, &dir, &id) {
        Looked::Ended(now) | Looked::Live(now, _) => {
            let is_settled = kept.is_some() && now.leftovers.is_empty();
            if is_settled && !read::is_supervised(&dir).unwrap_or(true) {
                index.put(&dir, &now)?;
            }
            Ok(Some(*now))
        }
        Looked::Damaged(_) => Ok(kept),
        Looked::Gone => Ok(None),
    }
}

#[cfg(test)]
mod tests;
