//! The log of a run as it is shown: that of a sub-agent has a head and a foot.
//!
//! On disk there is only what the sub-agent's program printed, or the final message in the
//! journal of an agent run of our own. What stands around it is made when it is read, so that it
//! says how the run is now.

use crate::{Kind, OutputError, OutputFrom, OutputPage, OutputQuery, Record, RunId, Status, Store};
use std::fmt::Write;

/// Stands where an ended agent has printed nothing.
const NO_MESSAGE: &str = "(sub-agent produced no final message)\n";

impl Store {
    /// Returns a part of the log of a run, as [`Self::output`] does; of a sub-agent with a line
    /// before and after that say how it went.
    ///
    /// The offsets are those of what the program printed. The two lines count towards the most
    /// bytes of the text, as long as that leaves room for a byte of the output.
    ///
    /// Of an agent run of our own below another, it is the final message that is shown, and
    /// offsets are those in it. While it runs, its newest output stands in that place, and there
    /// is nothing yet to read on from.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::output`] does.
    pub fn log(&self, record: &Record, query: &OutputQuery) -> Result<OutputPage, OutputError> {
        if record.kind == Kind::Command || query.bytes_max == 0 {
            return self.output(&record.id, query);
        }
        let spec = self.spec(&record.id).map_err(OutputError::Spec)?;
        if spec.agents_above == 0 {
            return self.output(&record.id, query);
        }
        let frame = frame(record, spec.model.as_deref(), spec.agent.is_some());
        let around = frame.head.len() + frame.foot.len() + 2;
        let query = &OutputQuery {
            bytes_max: query.bytes_max.saturating_sub(around).max(1),
            ..query.clone()
        };
        let mut page = match (spec.agent.is_some(), record.status.is_ended()) {
            (true, true) => self.final_message(&record.id, query)?,
            (true, false) => self.so_far(&record.id, query)?,
            (false, _) => self.output(&record.id, query)?,
        };
        let is_silent = page.total_bytes == 0 || (page.text.trim().is_empty() && !page.truncated);
        let is_search = query.grep.is_some();
        let text = if is_silent && record.status.is_ended() && !is_search {
            NO_MESSAGE
        } else {
            &page.text
        };
        let line_end = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let Frame { head, foot } = frame;
        page.text = format!("{head}\n{text}{line_end}{foot}");
        Ok(page)
    }

    /// Returns the newest output of an agent whose final message does not exist yet.
    fn so_far(&self, id: &RunId, query: &OutputQuery) -> Result<OutputPage, OutputError> {
        let mut page = self.output(id, query)?;
        if query.from != OutputFrom::Newest {
            page.text.clear();
            page.matches.clear();
        }
        Ok(OutputPage {
            from_byte: 0,
            next_byte: 0,
            total_bytes: 0,
            truncated: false,
            gap: None,
            ..page
        })
    }
}

struct Frame {
    head: String,
    foot: String,
}

fn frame(record: &Record, model: Option<&str>, is_ours: bool) -> Frame {
    let how = if is_ours {
        how_of_ours(record)
    } else {
        how(record)
    };
    let mut head = format!("[sub-agent {how}");
    if let Some(session) = &record.child_session_id {
        write!(head, " · child session {session}").ok();
    }
    if let Some(model) = model {
        write!(head, " · model {model}").ok();
    }
    head.push(']');
    let foot = match &record.child_session_id {
        Some(session) => format!("[child session: {session}]\n"),
        None => String::new(),
    };
    Frame { head, foot }
}

/// Says the same of an agent run of our own, whose worker told how it ended.
fn how_of_ours(record: &Record) -> String {
    let has_begun = record.started.is_some();
    match (record.status, &record.failure, &record.summary) {
        (Status::Running, _, _) => "is running; its newest output".to_owned(),
        (Status::Failed, Some(failure), _) if has_begun => {
            format!("failed: {} · success: false", failure.message)
        }
        (Status::Failed, None, Some(summary)) => format!("failed: {summary} · success: false"),
        _ => how(record),
    }
}

/// Says where an agent is, or how it ended, in one line.
fn how(record: &Record) -> String {
    if let Some(failure) = &record.failure {
        return format!("could not be run: {} · success: false", failure.message);
    }
    match record.status {
        Status::Queued => "waits for a place".to_owned(),
        Status::Running => "is running".to_owned(),
        Status::Completed => "finished · success: true".to_owned(),
        Status::Failed => match (&record.signal, record.exit_code) {
            (Some(signal), _) => format!("failed: killed by SIG{signal} · success: false"),
            (None, Some(code)) => format!("failed: exit code {code} · success: false"),
            (None, None) => "failed · success: false".to_owned(),
        },
        Status::TimedOut => match record.timeout_secs {
            Some(secs) => format!("timed out after {secs} s · success: false"),
            None => "timed out · success: false".to_owned(),
        },
        Status::Cancelled => "was cancelled · success: false".to_owned(),
        Status::Interrupted => "was interrupted: its supervisor died · success: false".to_owned(),
    }
}

#[cfg(test)]
mod tests;
