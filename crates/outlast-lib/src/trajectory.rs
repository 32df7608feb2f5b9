//! Everything that the journal of a run holds, line by line, for those who keep it elsewhere.
//!
//! Messages of the model, calls and their outcomes, with their times. Secrets
//! are masked. One line is in memory at a time.

use crate::events::{hidden, masked};
use crate::read::unreadable;
use crate::{ReadError, Store};
use outlast_journal::agent::document::mask_value;
use outlast_journal::{Line, RunId, names};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};

impl Store {
    /// Gives every line of a run's journal to `take`, in their order.
    ///
    /// Lines that cannot be read are passed over, and one that is still being written.
    ///
    /// # Errors
    ///
    /// Fails when there is no such run, when its journal cannot be read, and as `take` does.
    pub fn trajectory(
        &self,
        id: &RunId,
        mut take: impl FnMut(&Line) -> io::Result<()>,
    ) -> Result<io::Result<()>, ReadError> {
        let dir = self.existing_dir(id)?;
        let masker = self.masker(&self.spec(id)?);
        let path = dir.join(names::JOURNAL);
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Ok(())),
            other => other.map_err(|source| unreadable(&path, source))?,
        };
        let mut reader = BufReader::new(file);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let read = reader.read_until(b'\n', &mut bytes);
            read.map_err(|source| unreadable(&path, source))?;
            let Some(whole) = bytes.strip_suffix(b"\n") else {
                return Ok(Ok(()));
            };
            let Ok(mut line) = Line::from_bytes(whole) else {
                continue;
            };
            match &masker {
                None => {
                    line.message = line.message.map(|_| hidden());
                    line.data = Value::Null;
                }
                Some(masker) if masker.is_empty() => {}
                Some(masker) => {
                    let of = |text: &str| masked(masker, text);
                    line.message = line.message.as_deref().map(of);
                    mask_value(&mut line.data, &of);
                }
            }
            if let Err(error) = take(&line) {
                return Ok(Err(error));
            }
        }
    }
}

#[cfg(test)]
mod tests;
