//! The output of one call of an agent run, as text. It is read after the call has ended.

use super::log::Log;
use super::{OutputError, OutputPage, OutputQuery, check, page};
use crate::Store;
use outlast_journal::{RunId, names};
use std::path::{Path, PathBuf};

impl Store {
    /// Returns where the output of a call of the run is kept, if it has any.
    ///
    /// `call` must be the id of a call, not a path.
    pub fn call_log(&self, id: &RunId, call: &str) -> Option<PathBuf> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-".contains(letter);
        if !call.chars().all(is_plain) {
            return None;
        }
        let log = self.run_dir(id)?.join(names::CALLS);
        let log = log.join(format!("{call}.log"));
        log.is_file().then_some(log)
    }

    /// Returns a part of the output of an ended call of the run, as [`Self::output`] does of the
    /// run's own. Does not count as reading the run.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::output`] does. A log that is not there is empty.
    pub fn call_output(
        &self,
        id: &RunId,
        log: &Path,
        query: &OutputQuery,
    ) -> Result<OutputPage, OutputError> {
        let pattern = check(query)?;
        let (_, masker) = self.output_of(id)?;
        let log = Log::open_call(log).map_err(OutputError::Unreadable)?;
        page(&log, &masker, query, pattern.as_ref()).map_err(OutputError::Unreadable)
    }
}

#[cfg(test)]
mod tests;
