//! What every verb needs: the screen, the store, and what an id means here.

use crate::{
    config::Config,
    failure::{Failure, Stop, exit},
    screen::Screen,
    surroundings::{Surroundings, work_dir},
};
use outlast_lib::{Advice, FindError, ReadError, Record, RunId, Store};
use std::path::PathBuf;

/// Name under which the store notes that a reader at the command line was told of an end.
const READER: &str = "cli";

/// The command line as a surface over one store.
pub(crate) struct Surface {
    /// Where words go.
    pub(crate) screen: Screen,
    /// What the environment says.
    pub(crate) surroundings: Surroundings,
}

impl Surface {
    /// Makes the surface; opens nothing yet.
    pub(crate) fn new(surroundings: Surroundings) -> Self {
        Self {
            screen: Screen::new(&surroundings),
            surroundings,
        }
    }

    /// Reads the configuration.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be used; nothing is done with half of it.
    pub(crate) fn config(&self) -> Result<Config, Stop> {
        Ok(Config::load(self.surroundings.config()).map_err(|error| failed(&error))?)
    }

    /// Opens the store, and makes it when it is absent.
    ///
    /// # Errors
    ///
    /// Fails as the configuration and `Store::open` do.
    pub(crate) fn open(&self) -> Result<Store, Stop> {
        let config = self.config()?;
        let root = self.root()?;
        Ok(Store::open(&root, config.limits).map_err(|error| failed(&error))?)
    }

    /// Returns the directory of the store.
    ///
    /// # Errors
    ///
    /// Fails when nothing says where it is.
    pub(crate) fn root(&self) -> Result<PathBuf, Stop> {
        Ok(self.surroundings.store().map_err(|error| failed(&error))?)
    }
}

/// Returns the run that `typed` means here.
///
/// # Errors
///
/// Fails with exit code 3 when it means none, and 1 when it means several.
pub(crate) fn find(store: &Store, typed: &str) -> Result<RunId, Failure> {
    store
        .find(typed, here().as_deref())
        .map_err(|error| find_failure(&error))
}

/// Returns the run that `typed` means here, as it is now. It counts as read.
///
/// # Errors
///
/// As `find`, and when it cannot be read.
pub(crate) fn find_record(store: &Store, typed: &str) -> Result<Record, Failure> {
    let id = find(store, typed)?;
    store.mark_read(&id);
    store.record(&id).map_err(|error| read_failure(&error))
}

/// Notes of those `records` that say that their run has ended that a reader was told of it.
///
/// A store that is only read keeps no notes. A note that cannot be made is no error: the run is
/// only kept for longer.
pub(crate) fn tell_of_ends(store: &Store, records: &[Record]) {
    let ended = records.iter().filter(|record| record.status.is_ended());
    let ids: Vec<RunId> = ended.map(|record| record.id).collect();
    if store.is_writable() {
        store.acknowledge(&ids, READER).ok();
    }
}

/// Returns the runs that were started inside `record`, outlived it, and go on.
pub(crate) fn alive_inside(store: &Store, record: &Record) -> Vec<RunId> {
    let goes_on = |id: &RunId| store.record(id).is_ok_and(|inner| !inner.status.is_ended());
    let inside = record.runs_inside.iter().copied();
    inside.filter(goes_on).collect()
}

/// Returns the failure of an error that has no exit code of its own.
pub(crate) fn failed(error: &dyn Advice) -> Failure {
    Failure::new(error, exit::ERROR)
}

fn find_failure(error: &FindError) -> Failure {
    let is_none = matches!(error, FindError::NotFound { .. });
    Failure::new(error, if is_none { exit::NO_RUN } else { exit::ERROR })
}

/// Returns the failure of a run that cannot be read: removed since it was found, or damaged.
pub(crate) fn read_failure(error: &ReadError) -> Failure {
    let is_none = matches!(error, ReadError::NotFound { .. });
    Failure::new(error, if is_none { exit::NO_RUN } else { exit::ERROR })
}

/// Returns the project that the caller stands in, if there is a directory to stand in.
pub(crate) fn here() -> Option<String> {
    work_dir().ok().map(|dir| outlast_lib::project(&dir))
}

/// Returns the shortest beginning of `id`, at least four characters, that means it here.
pub(crate) fn short_id(store: &Store, id: &RunId, project: Option<&str>) -> String {
    let whole = id.as_str();
    let means_it = |prefix: &&str| store.find(prefix, project).is_ok_and(|found| found == *id);
    let prefixes = (4..RunId::LEN).filter_map(|length| whole.get(..length));
    prefixes
        .take(RunId::LEN)
        .find(means_it)
        .unwrap_or(whole)
        .to_owned()
}
