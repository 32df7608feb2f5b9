//! What every verb needs: the screen, the store, and what an id means here.

use crate::{
    config::Config,
    failure::{Failure, Stop, exit},
    screen::Screen,
    surroundings::{Surroundings, work_dir},
};
use outlast_lib::{Advice, FindError, ReadError, Record, RunId, Store};
use std::path::PathBuf;

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

    /// Returns the project that the caller stands in, if there is a directory to stand in.
    pub(crate) fn project(&self) -> Option<String> {
        work_dir().ok().map(|dir| outlast_lib::project(&dir))
    }

    /// Returns the run that `typed` means here.
    ///
    /// # Errors
    ///
    /// Fails with exit code 3 when it means none, and 1 when it means several.
    pub(crate) fn find(&self, store: &Store, typed: &str) -> Result<RunId, Failure> {
        store
            .find(typed, self.project().as_deref())
            .map_err(|error| find_failure(&error))
    }

    /// Returns the run that `typed` means here, as it is now.
    ///
    /// # Errors
    ///
    /// As `find`, and when it cannot be read.
    pub(crate) fn record(&self, store: &Store, typed: &str) -> Result<Record, Stop> {
        let id = self.find(store, typed)?;
        store.mark_read(&id);
        Ok(store.record(&id).map_err(|error| read_failure(&error))?)
    }
}

/// Returns the failure of an error that has no exit code of its own.
pub(crate) fn failed(error: &dyn Advice) -> Failure {
    Failure::new(error, exit::ERROR)
}

fn find_failure(error: &FindError) -> Failure {
    let exit = match error {
        FindError::NotFound { .. } => exit::NO_RUN,
        _ => exit::ERROR,
    };
    Failure::new(error, exit)
}

/// Returns the failure of a run that cannot be read: removed since it was found, or damaged.
pub(crate) fn read_failure(error: &ReadError) -> Failure {
    let exit = match error {
        ReadError::NotFound { .. } => exit::NO_RUN,
        _ => exit::ERROR,
    };
    Failure::new(error, exit)
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
