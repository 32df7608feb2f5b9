//! Models: which one a run talks to, and how it is asked for a turn.
//!
//! One type speaks four wires: Anthropic's messages, OpenAI's responses, the
//! chat form that most servers know, and Gemini's. It asks again when an answer
//! breaks off, is late or is refused for the moment, and tells each time.

mod answer;
mod ask;
mod choice;
mod choose;
mod error;
mod fault;
mod list;
mod named;
mod opaque;
mod patience;
mod places;
mod secret;
mod table;
mod tap;
mod web;

pub use choice::{Choice, Provider, key_of};
pub use choose::choose;
pub use error::{ChooseError, Fault, ModelError};
pub use patience::Patience;
pub use secret::Secret;
pub use table::{LongPrice, Price, context_tokens, cost, price};

use crate::message::{Message, ToolSpec, Turn};
use answer::NoTurn;
use fault::{Failure, Judge};
use futures_util::StreamExt;
use genai::chat::{ChatRequest, ChatStreamEvent, StreamEnd};
use outlast_journal::limits;
use std::sync::Arc;
use std::time::Instant;
use tap::Tap;

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
pub struct TurnRequest<'a> {
    /// What stands before the conversation.
    pub system: &'a str,
    /// The conversation. The last message is no answer of the model, and each call in
    /// it has its result.
    pub messages: &'a [Message],
    /// The tools that it may call.
    pub tools: &'a [ToolSpec],
    /// Most tokens of the answer; none is what the provider allows.
    pub output_tokens_max: Option<u32>,
}

/// What happens while an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// A piece of the text.
    Text(&'a str),
    /// The model reasons.
    Reasoning,
    /// It is asked again, from the beginning: the text so far is void.
    Retry {
        /// The attempt that failed, from 1.
        attempt: u32,
        /// How long until the next.
        delay_ms: u64,
        /// What went wrong: the code that the error would have.
        code: &'a str,
        /// The same in words.
        why: &'a str,
    },
}

/// A model that can be asked.
#[derive(Debug)]
pub struct Model {
    choice: Choice,
    key: Option<Secret>,
    patience: Patience,
    web: reqwest::Client,
    client: genai::Client,
}

impl Model {
    /// Returns the model that was chosen. Nothing is asked yet.
    ///
    /// # Errors
    /// Fails when no HTTP client can be made.
    pub fn new(choice: &Choice, key: Option<Secret>) -> Result<Self, ModelError> {
        let web = web::client(choice.base_url.as_deref());
        let web = web.map_err(|source| ModelError::Client { source })?;
        let client = genai::Client::builder().with_reqwest(web.clone()).build();
        Ok(Self {
            choice: choice.clone(),
            key,
            patience: Patience::default(),
            web,
            client: client.expect("a client without a configuration can be built"),
        })
    }

    /// Returns the model, asked with another patience than that of the limits.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Returns what was chosen.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Asks for a turn.
    ///
    /// `sink` is told what comes, also each new attempt. Dropping the future ends the
    /// request; nothing is kept of it.
    ///
    /// # Errors
    /// Fails when the provider refuses, and when attempts or time are used up.
    pub async fn turn(
        &self,
        request: &TurnRequest<'_>,
        sink: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Turn, ModelError> {
        let chat = ask::request(&self.choice, request);
        let mut attempt = 1;
        let mut failing_since = None;
        let mut empty_in_row = 0;
        loop {
            let attempted = self.attempt(chat.clone(), request, sink, &mut empty_in_row);
            let (fault, said, after) = match attempted.await {
                Ok(turn) => return Ok(turn),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Again { fault, said, after }) => (fault, said, after),
            };
            // Without chance all pauses are whole ones.
            let chance = getrandom::u32().unwrap_or(u32::MAX);
            let failing = failing_since.get_or_insert_with(Instant::now).elapsed();
            let wait = self.patience.wait(attempt, failing, after, chance);
            let Some(wait) = wait else {
                return Err(ModelError::Unavailable {
                    model: self.choice.name.clone(),
                    fault,
                    attempts: attempt,
                    said,
                });
            };
            sink(Progress::Retry {
                attempt,
                delay_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                code: fault.code(),
                why: &said,
            });
            pause(wait).await;
            attempt = attempt.saturating_add(1);
        }
    }

    async fn attempt(
        &self,
        chat: ChatRequest,
        request: &TurnRequest<'_>,
        sink: &mut dyn FnMut(Progress<'_>),
        empty_in_row: &mut u32,
    ) -> Result<Turn, Failure> {
        let empty_before = std::mem::take(empty_in_row);
        let judge = Judge {
            choice: &self.choice,
            key: self.key.as_ref(),
        };
        let tap = Arc::new(Tap::default());
        let answer = self.answer(chat, request, &tap, sink);
        let answer = tokio::time::timeout(self.patience.answer, answer).await;
        let seen = tap.seen();
        if let Some(reason) = &seen.blocked {
            return Err(judge.blocked(reason));
        }
        if tap.is_too_long() {
            return Err(judge.endless());
        }
        match answer {
            Err(_) => Err(judge.late()),
            Ok(Err(Failed::Unsent(error))) => Err(judge.unsent(&error)),
            Ok(Err(Failed::Sent(error))) => Err(judge.error(&error, &seen)),
            Ok(Ok(end)) => {
                let has_events = seen.events > 0;
                let end = end.ok_or(NoTurn::NoEnd);
                match end.and_then(|end| answer::turn(&self.choice, request, end, seen)) {
                    Ok(turn) => Ok(turn),
                    Err(NoTurn::MalformedCall) => Err(judge.malformed_call()),
                    Err(NoTurn::NoEnd) if has_events => Err(judge.cut()),
                    Err(NoTurn::NoEnd) => {
                        *empty_in_row = empty_before.saturating_add(1);
                        Err(self.empty(judge, *empty_in_row).await)
                    }
                }
            }
        }
    }

    /// Judges a successful answer without any event, the one with this number in a row: the
    /// client library does not tell a web page from one.
    async fn empty(&self, judge: Judge<'_>, number: u32) -> Failure {
        let place = self.choice.place();
        match list::page(&self.web, &place, self.patience.headers).await {
            Some(what) => judge.no_model(what),
            None if number >= limits::MODEL_EMPTY_ANSWERS_MAX => {
                judge.no_model("it answers without anything that a model says".to_owned())
            }
            None => judge.cut(),
        }
    }

    /// Returns how the answer ended, `None` where it just stopped.
    async fn answer(
        &self,
        chat: ChatRequest,
        request: &TurnRequest<'_>,
        tap: &Arc<Tap>,
        sink: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<StreamEnd>, Failed> {
        let target = ask::target(&self.choice, self.key.as_ref());
        let options = ask::options(&self.choice, request, &self.patience, Arc::clone(tap));
        let asked = self.client.exec_chat_stream(target, chat, Some(&options));
        // Nothing is sent yet: what fails here fails again.
        let mut stream = asked.await.map_err(Failed::Unsent)?.stream;
        while let Some(event) = stream.next().await {
            if tap.is_too_long() {
                return Ok(None);
            }
            match event.map_err(Failed::Sent)? {
                ChatStreamEvent::Chunk(piece) => sink(Progress::Text(&piece.content)),
                ChatStreamEvent::ReasoningChunk(_) => sink(Progress::Reasoning),
                ChatStreamEvent::End(end) => return Ok(Some(end)),
                ChatStreamEvent::Start
                | ChatStreamEvent::ThoughtSignatureChunk(_)
                | ChatStreamEvent::ToolCallChunk(_)
                | ChatStreamEvent::Heartbeat => {}
            }
        }
        Ok(None)
    }
}

/// What the client library failed with.
enum Failed {
    /// Before anything was sent.
    Unsent(genai::Error),
    /// After that.
    Sent(genai::Error),
}

#[expect(
    clippy::disallowed_methods,
    reason = "a pause between requests is a wait for time, and ends when the future is dropped"
)]
async fn pause(time: std::time::Duration) {
    tokio::time::sleep(time).await;
}
