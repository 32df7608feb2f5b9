//! Asks the model: for a turn, and for a summary of what was.

use super::Worker;
use crate::channel::{ChannelError, News};
use crate::memory::by;
use crate::message::{Message, StopReason, TokenUsage, Turn};
use crate::models::{ModelError, Progress, TurnRequest, cost};
use crate::{compact, prompt};
use outlast_journal::agent::{Compacted, ModelTurn, TurnBegin, Work};
use outlast_journal::limits;
use outlast_journal::worker::Heard;
use serde_json::json;
use std::cell::Cell;
use tokio::sync::mpsc;

/// A stop whose message lacks its end.
pub(super) const LENGTH: &str = "length";
/// A stop since the provider or the model refused.
pub(super) const REFUSED: &str = "refused";

/// Retries that may wait to be told.
const RETRIES_BEHIND_MAX: usize = 16;

/// What came of a request to the model.
enum Asked {
    Turn(Box<Turn>),
    /// The run is being cancelled, and there was no answer to wait for.
    Dropped,
    Failed(ModelError),
}

impl Worker<'_> {
    /// Asks for a turn.
    pub(super) async fn sample(&mut self) -> Result<(), ChannelError> {
        self.tell_of_restart().await?;
        self.tell_of_runs().await?;
        self.tell_of_budget().await?;
        let turn = self.memory.counts.turns + 1;
        self.tell([Work::TurnBegin(TurnBegin { turn })]).await?;
        if self.is_cancelling {
            return Ok(());
        }
        match self.ask(None).await? {
            Asked::Dropped => Ok(()),
            Asked::Failed(ModelError::TooLong { .. }) if !self.was_shortened => {
                self.compact().await
            }
            Asked::Failed(error) => self.fail(&error).await,
            Asked::Turn(said) => {
                self.was_shortened = false;
                let fact = self.fact_of(turn, &said);
                let has_text = !said.text.trim().is_empty();
                self.channel.tell(fact).await?;
                if has_text {
                    self.channel.tell(Work::Text(said.text)).await?;
                }
                self.tell([]).await
            }
        }
    }

    /// Replaces all but the newest messages by a summary.
    pub(super) async fn compact(&mut self) -> Result<(), ChannelError> {
        let from = compact::kept_from(&self.memory.messages, self.window);
        // A conversation that is all new has nothing to give away.
        let has_old = from > 1;
        let summary = if has_old {
            match self.ask(Some(from)).await? {
                Asked::Turn(said) => Some(said),
                Asked::Dropped => return Ok(()),
                // A summary is worth having, and its lack is no reason to stop.
                Asked::Failed(_) => None,
            }
        } else {
            None
        };
        self.was_shortened = true;
        let text = summary.as_deref().map(|said| said.text.as_str());
        let messages = if has_old {
            compact::shortened(&self.memory.messages, from, text, &self.memory.todo)
        } else {
            self.memory.messages.clone()
        };
        let replaced = if has_old { from } else { 0 };
        let usage = summary.as_deref().map(|said| said.usage);
        let compacted = Compacted {
            messages: serde_json::to_value(&messages).expect("messages have only string keys"),
            replaced: u64::try_from(replaced).unwrap_or(u64::MAX),
            tokens: usage.map_or(0, tokens_of),
            cost_micros: usage.and_then(|usage| self.cost_of(&usage)),
        };
        self.tell([Work::Compacted(compacted)]).await
    }

    /// Asks the model for a turn, or for a summary of the messages before one.
    ///
    /// A cancel lets a request finish whose answer is coming; one that waits to be asked again
    /// is dropped.
    async fn ask(&mut self, summary_before: Option<usize>) -> Result<Asked, ChannelError> {
        let messages = match summary_before {
            None => self.memory.messages.clone(),
            Some(from) => {
                let mut messages: Vec<Message> =
                    self.memory.messages.iter().take(from).cloned().collect();
                let text = compact::REQUEST.to_owned();
                messages.push(Message::User { text });
                messages
            }
        };
        let request = TurnRequest {
            system: &self.system,
            messages: &messages,
            tools: &self.tool_specs,
            output_tokens_max: summary_before.map(|_| limits::COMPACT_SUMMARY_TOKENS),
        };
        let (notes, mut retries) = mpsc::channel(RETRIES_BEHIND_MAX);
        let is_between = Cell::new(false);
        let mut sink = |progress: Progress<'_>| {
            is_between.set(matches!(progress, Progress::Retry { .. }));
            if let Some(note) = note_of(progress) {
                // There is a pause after each: that so many wait is impossible.
                notes.try_send(note).ok();
            }
        };
        // What is heard meanwhile is taken after: the request is made of what was.
        let mut later: Vec<News> = Vec::new();
        let asked = {
            let turn = self.model.turn(&request, &mut sink);
            tokio::pin!(turn);
            loop {
                if self.is_cancelling && is_between.get() {
                    break Asked::Dropped;
                }
                tokio::select! {
                    biased;
                    note = retries.recv() => if let Some(note) = note {
                        self.channel.tell(note).await?;
                    },
                    news = self.channel.news() => {
                        let news = news?;
                        if matches!(news, News::Heard(Heard::Cancel { .. })) {
                            self.is_cancelling = true;
                        }
                        later.push(news);
                    }
                    turn = &mut turn => break match turn {
                        Ok(turn) => Asked::Turn(Box::new(turn)),
                        Err(error) => Asked::Failed(error),
                    },
                }
            }
        };
        for news in later {
            self.take(news);
        }
        self.tell([]).await?;
        Ok(asked)
    }

    fn fact_of(&self, turn: u64, said: &Turn) -> Work {
        Work::ModelTurn(Box::new(ModelTurn {
            turn,
            message: serde_json::to_value(said.message()).expect("a message has only string keys"),
            usage: serde_json::to_value(said.usage).expect("usage has only string keys"),
            tokens: tokens_of(said.usage),
            cost_micros: self.cost_of(&said.usage),
            stop: match &said.stop {
                StopReason::Done => "done".to_owned(),
                StopReason::Calls => "calls".to_owned(),
                StopReason::Length => LENGTH.to_owned(),
                StopReason::Refused => REFUSED.to_owned(),
                StopReason::Other(word) => word.clone(),
            },
            model: said.model.clone(),
        }))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "costs are small and never negative"
    )]
    fn cost_of(&self, usage: &TokenUsage) -> Option<u64> {
        let price = self.price.as_ref()?;
        Some((cost(usage, price) * 1e6).ceil().max(0.0) as u64)
    }

    /// Tells the model once when few turns are left.
    async fn tell_of_budget(&mut self) -> Result<(), ChannelError> {
        let left = self
            .agent
            .turns_max
            .saturating_sub(self.memory.counts.turns);
        let is_due =
            left <= limits::TURNS_LEFT_TOLD && self.agent.turns_max > limits::TURNS_LEFT_TOLD;
        if is_due && self.memory.counts.budget_notes == 0 {
            self.say(by::BUDGET, prompt::turns_left(left)).await?;
        }
        Ok(())
    }
}

/// Returns the event that a request to the model brings, if it does.
fn note_of(progress: Progress<'_>) -> Option<Work> {
    match progress {
        Progress::Retry {
            attempt,
            delay_ms,
            code,
            why,
        } => Some(Work::Note(
            format!("the model is asked again in {delay_ms} ms: {why}"),
            json!({"kind": "model.retry", "attempt": attempt, "delay_ms": delay_ms, "code": code,
                "why": why}),
        )),
        Progress::Text(_) | Progress::Reasoning => None,
    }
}

fn tokens_of(usage: TokenUsage) -> u64 {
    let input = usage.input.unwrap_or_default();
    input.saturating_add(usage.output.unwrap_or_default())
}
