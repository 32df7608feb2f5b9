//! Where a run is in its life, as a glyph, a word and a colour.

use crate::look::{Paint, clean};
use outlast_journal::{Record, ShortRecord, Status};

/// A state as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// One sign.
    pub(crate) glyph: &'static str,
    /// One short word, or the exit code.
    pub(crate) word: String,
    /// Colour of both.
    pub(crate) paint: Paint,
}

impl Verdict {
    /// Returns the verdict on a run.
    pub(crate) fn of(record: &Record) -> Self {
        if record.cancelling {
            return Self::new("●", "stop", Paint::Yellow);
        }
        if record.needs_approval.is_some() {
            return Self::new("?", "ask", Paint::Yellow);
        }
        if record.status == Status::Failed {
            return Self::new("✗", &failed_word(record), Paint::Red);
        }
        Self::of_status(record.status)
    }

    /// Returns the verdict on a run of which only the short record is there.
    pub(crate) fn of_short(record: &ShortRecord) -> Self {
        match (record.status, record.exit_code) {
            (Status::Failed, Some(code)) => Self::new("✗", &code.to_string(), Paint::Red),
            (status, _) => Self::of_status(status),
        }
    }

    fn of_status(status: Status) -> Self {
        match status {
            Status::Queued => Self::new("◌", "queue", Paint::Dim),
            Status::Running => Self::new("●", "run", Paint::Cyan),
            Status::Completed => Self::new("✓", "0", Paint::Green),
            Status::Failed => Self::new("✗", "fail", Paint::Red),
            Status::Cancelled => Self::new("⊘", "cancel", Paint::Yellow),
            Status::TimedOut => Self::new("⏱", "time", Paint::Yellow),
            Status::Interrupted => Self::new("‼", "intr", Paint::Red),
        }
    }

    fn new(glyph: &'static str, word: &str, paint: Paint) -> Self {
        Self {
            glyph,
            word: word.to_owned(),
            paint,
        }
    }

    /// Returns glyph and word.
    pub(crate) fn text(&self) -> String {
        format!("{} {}", self.glyph, self.word)
    }
}

/// What stands in place of an exit code when there is none: the signal, or why it never began.
fn failed_word(record: &Record) -> String {
    match (record.exit_code, &record.signal, &record.ended_by) {
        (Some(code), _, _) => code.to_string(),
        (None, Some(signal), _) => signal.clone(),
        (None, None, Some(by)) if by == "limit:queue" => "queue".to_owned(),
        (None, None, _) if is_lost(record) => "lost".to_owned(),
        (None, None, _) if record.failure.is_some() => "start".to_owned(),
        (None, None, _) => "fail".to_owned(),
    }
}

/// Whether it began, and nobody knows how it ended.
fn is_lost(record: &Record) -> bool {
    let failure = record.failure.as_ref();
    failure.is_some_and(|failure| failure.code == "engine_lost")
}

/// Returns a state in full words.
pub(crate) fn state_words(record: &Record) -> String {
    if record.cancelling {
        return "being stopped".to_owned();
    }
    if let Some(asked) = &record.needs_approval {
        return format!("needs approval: {}", clean(&asked.question));
    }
    match record.status {
        Status::Queued => match record.queue_position {
            Some(before) => format!("waits for a place, {before} before it"),
            None => "waits for a place".to_owned(),
        },
        Status::Running => "running".to_owned(),
        Status::Completed => "completed".to_owned(),
        Status::Failed => match (record.exit_code, &record.signal) {
            (Some(code), _) => format!("failed with exit code {code}"),
            (None, Some(signal)) => format!("killed by SIG{signal}"),
            (None, None) => match &record.summary {
                Some(summary) => format!("failed: {}", clean(summary)),
                None => "failed".to_owned(),
            },
        },
        Status::Cancelled => match record.ended_by.as_deref() {
            Some("idle") => "cancelled: nobody read it".to_owned(),
            Some("session") => "cancelled: its session is gone".to_owned(),
            Some("host") => "cancelled: the host stopped it".to_owned(),
            Some(_) | None => "cancelled".to_owned(),
        },
        Status::TimedOut => match record.ended_by.as_deref() {
            Some("deadline") => "stopped at its deadline".to_owned(),
            Some(_) | None => "stopped at its time limit".to_owned(),
        },
        Status::Interrupted => "interrupted: how it ended is unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests;
