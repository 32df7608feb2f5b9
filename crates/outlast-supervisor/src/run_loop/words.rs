//! Words from outside for an agent run: answers to its asks, and texts for its model.
//!
//! They stand in the journal before the worker hears them, so that one that
//! dies takes none along.

use super::RunLoop;
use outlast_journal::agent::{Input, Told};
use outlast_journal::control::{Answer, Ask};
use outlast_journal::worker::{Answered, Heard};
use outlast_journal::{Fact, limits};
use serde_json::json;

impl RunLoop {
    /// Takes words and returns what is said to whoever sent them.
    pub(super) fn take_words(&mut self, ask: Ask) -> Answer {
        match self.try_words(ask) {
            Ok(answer) => answer,
            Err((code, message)) => Answer::error(code, message),
        }
    }

    fn try_words(&mut self, ask: Ask) -> Result<Answer, (&'static str, String)> {
        let no_agent = ("no_agent", "the run has no model to talk to".to_owned());
        let head = self.head.as_ref().ok_or(no_agent)?;
        if head.verdict.is_some() || self.life.is_stopping() || self.life.has_ended() {
            return Err(("run_stopping", "the run is at its end".to_owned()));
        }
        let most = limits::SEND_BYTES_MAX;
        let bounded = |text: &str| match text.len() {
            bytes if bytes > most => {
                let message = format!("{bytes} bytes in one message and the limit is {most}");
                Err(("too_long", message))
            }
            _ => Ok(()),
        };
        match ask {
            Ask::Answer {
                ask,
                is_approved,
                text,
                by,
            } => {
                bounded(text.as_deref().unwrap_or_default())?;
                let ask = self.open_ask(ask)?;
                self.answer_ask(Answered {
                    ask: ask.clone(),
                    is_approved,
                    text,
                    by: by.unwrap_or_else(|| "unknown".to_owned()),
                })?;
                Ok(Answer {
                    ask: Some(ask),
                    ..Answer::ok()
                })
            }
            Ask::Input { text, by } => {
                bounded(&text)?;
                let bytes = text.len();
                self.give_input(text, by)?;
                Ok(Answer {
                    accepted_bytes: Some(bytes),
                    ..Answer::ok()
                })
            }
            Ask::Cancel { .. } | Ask::Subscribe { .. } | Ask::Send { .. } | _ => {
                Err(("bad_message", "the message is not understood".to_owned()))
            }
        }
    }

    /// Returns the ask that is meant: the named one, or the only one that is open.
    fn open_ask(&self, named: Option<String>) -> Result<String, (&'static str, String)> {
        let head = self.head.as_ref();
        let open = head.map(|head| head.asks.as_slice()).unwrap_or_default();
        match (named, open) {
            (Some(named), open) if open.contains(&named) => Ok(named),
            (Some(named), _) => Err(("no_open_ask", format!("the ask `{named}` is not open"))),
            (None, [only]) => Ok(only.clone()),
            (None, []) => Err(("no_open_ask", "the run asks nothing".to_owned())),
            (None, several) => Err((
                "ask_ambiguous",
                format!("{} asks are open: {}", several.len(), several.join(", ")),
            )),
        }
    }

    /// Writes an answer down if its ask is open, and tells the worker.
    pub(super) fn answer_ask(&mut self, answered: Answered) -> Result<(), (&'static str, String)> {
        let not_open = || {
            (
                "no_open_ask",
                format!("the ask `{}` is not open", answered.ask),
            )
        };
        let head = self.head.as_mut().ok_or_else(not_open)?;
        let at = head.asks.iter().position(|ask| *ask == answered.ask);
        let at = at.ok_or_else(not_open)?;
        let written = self.owned.journal.append(&Fact::Answered(answered.clone()));
        written.map_err(|error| ("store_unwritable", error.to_string()))?;
        head.asks.swap_remove(at);
        if answered.is_approved {
            head.approved.push(answered.ask.clone());
        }
        head.tell(&Heard::Answered(answered));
        Ok(())
    }

    fn give_input(
        &mut self,
        text: String,
        by: Option<String>,
    ) -> Result<(), (&'static str, String)> {
        let Some(head) = &mut self.head else {
            return Ok(());
        };
        let input = Input {
            number: head.inputs + 1,
            text,
            by,
        };
        let length = input.text.len() as u64;
        if head.fact_bytes.saturating_add(length) > limits::WORKER_FACTS_BYTES_MAX {
            return Err(("journal_full", "the run's journal is full".to_owned()));
        }
        let fact = Fact::Told(Told {
            kind: "input".to_owned(),
            message: None,
            data: json!(input),
        });
        let written = self.owned.journal.append(&fact);
        written.map_err(|error| ("store_unwritable", error.to_string()))?;
        head.inputs += 1;
        head.fact_bytes += length;
        head.tell(&Heard::Input(input));
        Ok(())
    }
}
