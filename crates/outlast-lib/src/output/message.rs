//! The final message of an agent run, as text. It stands in the run's journal.

use super::log::Log;
use super::{OutputError, OutputPage, OutputQuery, check, page};
use crate::Store;
use outlast_journal::agent::Work;
use outlast_journal::{Line, RunId, names};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::Path;

impl Store {
    /// Returns a part of the final message of an agent run, as [`Self::output`] does of its
    /// output. A run that told none has an empty one. Counts as reading the run.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::output`] does.
    pub(crate) fn final_message(
        &self,
        id: &RunId,
        query: &OutputQuery,
    ) -> Result<OutputPage, OutputError> {
        let pattern = check(query)?;
        let (run_dir, masker) = self.output_of(id)?;
        self.mark_read(id);
        let text = read(&run_dir.join(names::JOURNAL)).map_err(OutputError::Unreadable)?;
        let log = Log::of_text(&text).map_err(OutputError::Unreadable)?;
        page(&log, &masker, query, pattern.as_ref()).map_err(OutputError::Unreadable)
    }
}

/// Reads the text of the end that the worker told.
fn read(journal: &Path) -> io::Result<String> {
    let file = match File::open(journal) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        other => other?,
    };
    let mut reader = BufReader::new(file);
    let mut text = String::new();
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        reader.read_until(b'\n', &mut bytes)?;
        let Some(line) = bytes.strip_suffix(b"\n") else {
            return Ok(text);
        };
        if let Some(told) = told(line) {
            text = told;
        }
    }
}

fn told(line: &[u8]) -> Option<String> {
    let line = Line::from_bytes(line).ok()?;
    if line.kind != FINAL {
        return None;
    }
    let work = Work::read(&line.kind, line.message.as_deref(), &line.data)?;
    if let Work::Final(end) = work {
        return Some(end.text);
    }
    None
}

/// The kind of the line.
const FINAL: &str = "final";
