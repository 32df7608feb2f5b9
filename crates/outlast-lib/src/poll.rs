//! One look at a run for a caller that comes again: what is new, and what it came to.
//!
//! Bounded in bytes, whatever the run tells. The result of an agent run is its
//! document, which is built here from the whole chain of runs that it resumes.

use crate::events::{hidden, masked};
use crate::read::{self, Seen};
use crate::{EventPage, ReadError, Store};
use outlast_journal::agent::document::Document;
use outlast_journal::agent::report::Report;
use outlast_journal::{Event, Record, RunId, Seq, Spec, limits, text};
use serde_json::{Value, json};
use std::path::Path;

/// What a poll is to bring.
#[derive(Clone, Copy, Debug)]
pub struct PollQuery {
    /// The first event that is wanted.
    pub since: Seq,
    /// Events in bytes of JSON; 0 for none. Above 0 there is at least one event, if one is left.
    pub bytes_max: usize,
}

impl Default for PollQuery {
    fn default() -> Self {
        Self {
            since: Seq(0),
            bytes_max: limits::POLL_BYTES,
        }
    }
}

/// What a poll brought.
#[derive(Clone, Debug, PartialEq)]
pub struct Polled {
    /// The run as it is now.
    pub record: Record,
    /// What is new.
    pub page: EventPage,
    /// What it came to, of an agent run that has ended.
    pub document: Option<Document>,
}

impl Store {
    /// Looks at a run: its record, events from `since` on, and its document once it has ended.
    ///
    /// With the default of bytes, events and document stay together below
    /// [`limits::POLL_ANSWER_BYTES`], unless the document alone is longer. An event that would
    /// not fit is cut and says so. It is for the caller to mark the run as read.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::record`] does.
    pub fn poll(&self, id: &RunId, query: &PollQuery) -> Result<Polled, ReadError> {
        let dir = self.existing_dir(id)?;
        // The state first: what was told before the end is then among the events.
        let seen = self.look(&dir, id)?;
        let document = self.document_of(&dir, &seen)?;
        let result_bytes = document.as_ref().map_or(0, json_bytes);
        let page = self.page(
            &dir,
            &seen,
            query.since,
            within(room(query.bytes_max, result_bytes)),
        )?;
        Ok(Polled {
            record: self.record_of(&dir, &seen),
            page,
            document,
        })
    }

    /// Returns the document of an agent run that has ended; `None` of every other run.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::record`] does.
    pub fn document(&self, id: &RunId) -> Result<Option<Document>, ReadError> {
        let dir = self.existing_dir(id)?;
        let seen = self.look(&dir, id)?;
        self.document_of(&dir, &seen)
    }

    fn document_of(&self, dir: &Path, seen: &Seen) -> Result<Option<Document>, ReadError> {
        if seen.spec.agent.is_none() || !seen.state.is_ended() {
            return Ok(None);
        }
        let report = self.report(dir, &seen.spec)?;
        let mut document = Document::build(&seen.spec, &seen.state, report);
        if let Some(document) = &mut document {
            match self.masker(&seen.spec) {
                Some(masker) if masker.is_empty() => {}
                Some(masker) => document.mask(&|text| masked(&masker, text)),
                None => document.mask(&|_| hidden()),
            }
        }
        Ok(document)
    }

    /// Returns what the journals of an agent run and of those before it in its chain add up to.
    ///
    /// A run of the chain that was removed is missing in it.
    fn report(&self, dir: &Path, spec: &Spec) -> Result<Report, ReadError> {
        let mut report = Report::default();
        for (id, journal) in self.journals_before(spec) {
            report.take_journal(&journal);
            report.resume(id);
        }
        report.take_journal(&read::read_journal(dir)?);
        Ok(report)
    }

    /// Returns the runs that this one goes on with and their journals, oldest first.
    fn journals_before(&self, spec: &Spec) -> Vec<(RunId, Vec<u8>)> {
        let resumes = |spec: &Spec| spec.agent.as_deref().and_then(|one| one.request.resumes);
        let mut chain = Vec::new();
        let mut next = resumes(spec);
        while let Some(id) = next.filter(|_| chain.len() < limits::RESUMES_MAX) {
            let dir = self.run_dir(&id);
            let journal = dir.and_then(|dir| read::read_journal(&dir).ok());
            next = self.spec(&id).ok().as_ref().and_then(resumes);
            chain.push((id, journal.unwrap_or_default()));
        }
        chain.reverse();
        chain
    }
}

/// Returns the bytes that events may have beside a result of `result_bytes`.
fn room(bytes_max: usize, result_bytes: usize) -> usize {
    // Who asks for more than usual knows what its host takes.
    if bytes_max == 0 || bytes_max > limits::POLL_BYTES {
        return bytes_max;
    }
    let most = limits::POLL_ANSWER_BYTES.saturating_sub(result_bytes + HEAD_BYTES);
    bytes_max.min(most.max(limits::POLL_BYTES_MIN))
}

/// What an answer has beside events and result, in bytes.
const HEAD_BYTES: usize = 700;

fn json_bytes(value: &impl serde::Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |bytes| bytes.len())
}

/// Returns what says of each event, in turn, whether it fits into so many bytes.
fn within(bytes_max: usize) -> impl FnMut(&mut Event) -> bool {
    let mut left = bytes_max;
    let mut is_first = true;
    move |event| {
        if bytes_max == 0 {
            return false;
        }
        let mut bytes = json_bytes(event) + 1;
        if bytes > left && is_first {
            cut(event, left);
            bytes = json_bytes(event) + 1;
        } else if bytes > left {
            return false;
        }
        is_first = false;
        left = left.saturating_sub(bytes);
        true
    }
}

/// Cuts an event to about `bytes_max` bytes of JSON and has it say so.
fn cut(event: &mut Event, bytes_max: usize) {
    let data_bytes = json_bytes(&event.data);
    if data_bytes > bytes_max / 2 {
        event.data = json!({"truncated": true, "bytes": data_bytes});
    }
    let message = event.message.take();
    let rest = json_bytes(event);
    event.message = message.map(|message| cut_text(&message, bytes_max.saturating_sub(rest)));
}

/// Returns the beginning of a text that has at most `json_max` bytes as JSON, with what it leaves
/// out told as counts.
fn cut_text(text: &str, json_max: usize) -> String {
    let as_json = |text: &str| Value::from(text).to_string().len();
    if as_json(text) <= json_max {
        return text.to_owned();
    }
    let mut most = json_max.saturating_sub(MARK_BYTES);
    loop {
        let shown = text::char_floor(text.as_bytes(), most);
        let head = text.get(..shown).unwrap_or_default();
        let (of, elided) = (text.len(), text.len() - shown);
        let cut = format!("{head}…[truncated: {shown} of {of} bytes shown; {elided} elided]…");
        // Characters that double as JSON leave room for fewer.
        if as_json(&cut) <= json_max || most < MARK_BYTES {
            return cut;
        }
        most = most / 2 + most / 4;
    }
}

/// What the mark of a cut has in bytes, with room for its numbers.
const MARK_BYTES: usize = 96;

#[cfg(test)]
mod tests;
