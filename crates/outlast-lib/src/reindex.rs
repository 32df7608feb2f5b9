//! The run directories of a store, one after another, and the index made anew from them.

use crate::{Damage, ReadError, Store, index, read};
use outlast_journal::{RunId, names};
use outlast_supervisor::lock;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What came of making the index anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reindexed {
    /// Runs in the store.
    pub runs: u64,
    /// What was set aside.
    pub damaged: Vec<Damage>,
}

impl Store {
    /// Makes the index anew from the run directories.
    ///
    /// # Errors
    ///
    /// Fails when the store cannot be written, or another process keeps the index busy.
    pub fn reindex(&self) -> Result<Reindexed, ReadError> {
        let mut damaged = Vec::new();
        let filled = index::with_index(self, &mut damaged, |index| index.refill(self));
        match filled {
            Some((runs, mut unreadable)) => {
                damaged.append(&mut unreadable);
                Ok(Reindexed { runs, damaged })
            }
            None => Err(ReadError::IndexUnusable {
                what: damaged
                    .pop()
                    .map_or_else(|| "the store is only read".to_owned(), |damage| damage.what),
            }),
        }
    }

    /// Returns every run that can be seen, newest month first.
    pub(crate) fn run_dirs(&self) -> Result<impl Iterator<Item = (RunId, PathBuf)>, ReadError> {
        let runs = self.root().join(names::RUNS);
        let mut months = self
            .months()
            .map_err(|source| read::unreadable(&runs, source))?;
        months.reverse();
        Ok(months.into_iter().flat_map(move |month| {
            let folder = runs.join(month);
            let ids = visible(&folder);
            ids.into_iter()
                .map(move |id| (id, folder.join(id.as_str())))
        }))
    }
}

/// Returns the runs in the folder of a month, in no order.
pub(crate) fn visible(folder: &Path) -> Vec<RunId> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| RunId::parse(entry.file_name().to_str()?).ok())
        .collect()
}

/// Returns the month in whose folder the run directory `dir` lies.
pub(crate) fn month_of(dir: &Path) -> String {
    let month = dir.parent().and_then(Path::file_name).unwrap_or_default();
    month.to_string_lossy().into_owned()
}

/// Returns whether a run has a hidden directory whose lock is held.
pub(crate) fn is_being_born(store: &Store, id: &RunId) -> bool {
    let runs = store.root().join(names::RUNS);
    let months = store.months().unwrap_or_default();
    months.iter().rev().any(|month| {
        let lock = runs.join(month).join(names::hidden(id)).join(names::LOCK);
        File::open(lock).is_ok_and(|file| lock::is_locked(&file).unwrap_or(false))
    })
}

#[cfg(test)]
mod tests;
