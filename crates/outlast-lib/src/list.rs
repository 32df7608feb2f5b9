//! Lists of runs, newest first, and how many there are.
//!
//! Ended runs come from the index, all others from their directories. Without
//! an index everything is read from the directories: slower, the same result.

use crate::index::{self, Filter, Fresh, Index, Stored, Trouble};
use crate::{ReadError, Store};
use outlast_journal::{Record, RunId, Status, Timestamp, error::Advice, names};
use std::cmp::Reverse;
use std::collections::HashSet;
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
            for record in fresh.records.iter().filter(|record| filter.has(record)) {
                running += u64::from(!record.status.is_ended());
                // A run that ended just now is among the rows, if these could be written.
                total += u64::from(!index.is_ended(&record.id)?);
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

    /// Reads every run there is. Of those that match, the newest `limit` are kept in memory.
    pub(crate) fn read_all(&self, filter: &Filter<'_>, limit: usize) -> Result<Listing, ReadError> {
        let mut listing = Listing::default();
        let room = limit.saturating_mul(2).saturating_add(1_000);
        for (id, dir) in self.run_dirs()? {
            match look(self, &dir, &id) {
                Looked::Ended(record) | Looked::Live(record) if filter.has(&record) => {
                    listing.records.push(*record);
                }
                Looked::Ended(_) | Looked::Live(_) | Looked::Gone => {}
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

/// A run as a list looks at it.
pub(crate) enum Looked {
    /// It ended, and its journal says so.
    Ended(Box<Record>),
    /// It is to be looked at again: it has not ended, or its end could not be written.
    Live(Box<Record>),
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
                Looked::Live(record)
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

/// Sorts newest first and cuts.
fn cut(listing: &mut Listing, limit: usize) {
    let records = &mut listing.records;
    records.sort_by_key(|record| Reverse((record.updated, record.id)));
    listing.more |= records.len() > limit;
    records.truncate(limit);
}

/// One line of a list that is not read yet.
enum Entry {
    Fresh(Box<Record>),
    Stored(Stored),
}

impl Entry {
    fn order(&self) -> (Timestamp, RunId) {
        match self {
            Self::Fresh(record) => (record.updated, record.id),
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
    let Fresh { records, damaged } = index.sync(store)?;
    let read: HashSet<RunId> = records.iter().map(|record| record.id).collect();
    let fresh: Vec<Record> = records
        .into_iter()
        .filter(|record| filter.has(record))
        .collect();
    let mut gone: HashSet<RunId> = HashSet::new();
    loop {
        let count = limit
            .saturating_add(1)
            .saturating_add(read.len())
            .saturating_add(gone.len());
        let stored = index.newest(filter, count)?.into_iter();
        let mut entries: Vec<Entry> = stored
            .filter(|stored| !read.contains(&stored.id) && !gone.contains(&stored.id))
            .map(Entry::Stored)
            .chain(fresh.iter().cloned().map(Box::new).map(Entry::Fresh))
            .collect();
        entries.sort_by_key(|entry| Reverse(entry.order()));
        let more = entries.len() > limit;
        entries.truncate(limit);
        let lost: Vec<RunId> = entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Stored(stored) => (!dir_of(store, stored).exists()).then_some(stored.id),
                Entry::Fresh(_) => None,
            })
            .collect();
        if lost.is_empty() {
            let records = entries.into_iter().map(|entry| match entry {
                Entry::Fresh(record) => Ok(*record),
                Entry::Stored(stored) => load(store, index, &stored),
            });
            return Ok(Listing {
                records: records.collect::<Result<_, _>>()?,
                more,
                damaged,
            });
        }
        // Directories were removed by hand: their rows go, and others take their places.
        index.forget(&lost)?;
        gone.extend(lost);
    }
}

pub(crate) fn dir_of(store: &Store, stored: &Stored) -> PathBuf {
    let runs = store.root().join(names::RUNS);
    runs.join(&stored.month).join(stored.id.as_str())
}

/// Returns the record of an ended run, read again where it can still change.
pub(crate) fn load(store: &Store, index: &Index, stored: &Stored) -> Result<Record, Trouble> {
    let kept = index.record(stored)?;
    if kept.leftovers.is_empty() {
        return Ok(kept);
    }
    let dir = dir_of(store, stored);
    match look(store, &dir, &stored.id) {
        Looked::Ended(now) | Looked::Live(now) => {
            let is_over =
                now.leftovers.is_empty() && !crate::read::is_supervised(&dir).unwrap_or(true);
            if is_over {
                index.put(&dir, &now)?;
            }
            Ok(*now)
        }
        Looked::Gone | Looked::Damaged(_) => Ok(kept),
    }
}

#[cfg(test)]
mod tests;
