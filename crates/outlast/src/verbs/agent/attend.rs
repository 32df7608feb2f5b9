//! Watching an agent run to its end: by its log for a person, by its events for a program.

use super::broken;
use crate::{
    failure::{Failure, Stop, exit},
    interrupt::Interrupt,
    page::list::left_behind,
    screen::{talk, talk_bytes},
    surface::{Surface, here, read_failure, short_id, tell_of_ends},
    verdict::state_words,
};
use outlast_journal::agent::document::Sandbox;
use outlast_lib::{Document, Followed, HearQuery, Record, RunId, Seq, Store, limits};
use std::slice;

/// An agent run that is watched.
pub(super) struct Attend<'a> {
    pub(super) store: &'a Store,
    pub(super) id: RunId,
    pub(super) interrupt: &'a Interrupt,
}

impl Attend<'_> {
    /// Tells the id and the log on stderr as it comes, and at the end the final message on
    /// stdout; returns the run's code.
    pub(super) fn by_log(&self, surface: &mut Surface) -> Result<u8, Stop> {
        talk(self.id.as_str());
        talk(&format!("note: {}", self.record()?.posture.line()));
        let has_ended = self.follow()?;
        let record = self.record()?;
        if !has_ended || !record.status.is_ended() {
            self.say_how_to_come_back();
            return Ok(exit::STILL_RUNNING);
        }
        let document = self.store.document(&self.id);
        let document = document.map_err(|error| read_failure(&error))?;
        self.say_end(&record, document.as_ref());
        if let Some(summary) = document.as_ref().and_then(|one| one.summary.as_ref()) {
            surface.screen.print_line(summary.trim_end())?;
        }
        tell_of_ends(self.store, slice::from_ref(&record));
        Ok(record.wait_code())
    }

    /// Tells the events as JSON lines on stderr as they come, and at the end the document on
    /// stdout; returns the run's code.
    pub(super) fn by_document(&self, surface: &mut Surface) -> Result<u8, Stop> {
        let has_ended = self.hear()?;
        let record = self.record()?;
        if !has_ended || !record.status.is_ended() {
            let document = self.still_running(&record)?;
            surface.screen.print_json(&document)?;
            return Ok(exit::STILL_RUNNING);
        }
        let document = self.store.document(&self.id);
        let document = document.map_err(|error| read_failure(&error))?;
        surface.screen.print_json(&document)?;
        tell_of_ends(self.store, slice::from_ref(&record));
        Ok(record.wait_code())
    }

    fn record(&self) -> Result<Record, Failure> {
        self.store
            .record(&self.id)
            .map_err(|error| read_failure(&error))
    }

    /// Passes the log on; returns whether the run has ended, else the wait was interrupted.
    fn follow(&self) -> Result<bool, Stop> {
        let follow = self.store.follow(&self.id, 0);
        let mut follow = follow.map_err(|error| read_failure(&error))?;
        let mut buffer = Vec::new();
        loop {
            let followed = follow.next(&mut buffer, Some(self.interrupt.fd()));
            match followed.map_err(|error| broken(&error))? {
                Followed::Output { .. } => talk_bytes(&buffer),
                Followed::Ended => return Ok(true),
                Followed::Interrupted => return Ok(false),
            }
        }
    }

    /// Passes the events on; returns whether the run has ended, else the wait was interrupted.
    fn hear(&self) -> Result<bool, Stop> {
        let mut since = Seq(0);
        loop {
            let query = HearQuery {
                events_max: limits::POLL_EVENTS_MAX,
                timeout_ms: None,
                interrupt: Some(self.interrupt.fd()),
            };
            let heard = self.store.hear(&self.id, since, &query);
            let heard = heard.map_err(|error| broken(&error))?;
            for event in &heard.page.events {
                talk(&serde_json::to_string(event).unwrap_or_default());
            }
            since = heard.page.next_seq;
            if heard.has_ended && !heard.page.more {
                return Ok(true);
            }
            // Without an end and without events, it was the interrupt.
            if heard.page.events.is_empty() && !heard.has_ended {
                return Ok(false);
            }
        }
    }

    /// Returns the document of a run that goes on although the wait for it ends.
    fn still_running(&self, record: &Record) -> Result<Document, Failure> {
        let spec = self.store.spec(&self.id);
        let spec = spec.map_err(|error| read_failure(&error))?;
        let id = self.id;
        let mut document = Document::unfinished(
            "still_running",
            &format!("the wait has ended and run {id} goes on"),
            &format!("the user can come back with `outlast wait {id}`"),
            Sandbox::of(&spec, &record.posture),
        );
        document.run_id = Some(id);
        Ok(document)
    }

    fn short_id(&self) -> String {
        short_id(self.store, &self.id, here().as_deref())
    }

    fn say_how_to_come_back(&self) {
        let id = self.short_id();
        talk(&format!(
            "\nthe run goes on\nhint: outlast wait {id}, outlast logs -f {id}, outlast cancel {id}"
        ));
    }

    /// Says on stderr what the final message does not: how it ended, and what to doubt of it.
    fn say_end(&self, record: &Record, document: Option<&Document>) {
        let Some(document) = document else {
            talk(&format!("note: {}", state_words(record)));
            return;
        };
        if let (Some(error), Some(message)) = (&document.error, &document.message) {
            talk(&format!("error: {message}"));
            for hint in document.suggestions.iter().flatten() {
                talk(&format!("hint: {hint}"));
            }
            talk(&format!("code: {error}"));
        } else if document.status != "success" {
            talk(&format!("note: it ended as {}", document.status));
        }
        if let Some(goal) = document.goal.as_ref().filter(|goal| !goal.passed) {
            let halt = &goal.halt;
            talk(&format!("note: the check did not pass ({halt})"));
        }
        for claim in document.ungrounded_claims.iter().flatten() {
            talk(&format!("note: no receipt shows what it claims: {claim}"));
        }
        for call in &document.unknown_outcomes {
            talk(&format!(
                "note: nobody knows how this ended: {}",
                call.brief
            ));
        }
        if let Some(left) = left_behind(record, &self.short_id()) {
            talk(&format!("note: {left}"));
        }
    }
}
