//! One call of the newest turn, as far as it has come.

use crate::message::{Message, ModelCall};
use outlast_journal::agent::{Asked, CallRequest, CallResult};
use outlast_journal::worker::{Answered, CallEnded};
use std::path::PathBuf;

/// What the model is told of a call of which its worker left no word.
const NO_WORD: &str = "There is no word of what came of this call.";

/// A call that the model asked for.
#[expect(
    clippy::struct_field_names,
    reason = "the model's own call is what this one is made of"
)]
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Turn, dot, number within the turn.
    pub(crate) id: String,
    /// What the model asked.
    pub(crate) model_call: ModelCall,
    /// It was taken up.
    pub(crate) request: Option<CallRequest>,
    /// Readers were told that it is.
    pub(crate) is_called: bool,
    /// A supervisor took it to be run.
    pub(crate) is_claimed: bool,
    /// Its end, and the directory of the run in which it was.
    pub(crate) ended: Option<(CallEnded, PathBuf)>,
    /// Nobody knows its end.
    pub(crate) is_unknown: bool,
    /// What the model is told.
    pub(crate) result: Option<CallResult>,
    /// Readers were told of it.
    pub(crate) is_told: bool,
    /// Somebody was asked whether it may run.
    pub(crate) asked: Option<Asked>,
    /// The answer.
    pub(crate) answered: Option<Answered>,
    /// It was taken up by a worker before this one.
    pub(crate) is_of_dead_worker: bool,
    /// It was taken up in a run before this one.
    pub(crate) is_of_dead_run: bool,
    /// Its result stands in the conversation.
    pub(super) is_in_messages: bool,
}

impl Call {
    pub(super) fn new(id: String, model_call: ModelCall) -> Self {
        Self {
            id,
            model_call,
            request: None,
            is_called: false,
            is_claimed: false,
            ended: None,
            is_unknown: false,
            result: None,
            is_told: false,
            asked: None,
            answered: None,
            is_of_dead_worker: false,
            is_of_dead_run: false,
            is_in_messages: false,
        }
    }

    /// Returns whether the model and readers have been told of its end.
    pub(crate) fn is_done(&self) -> bool {
        self.result.is_some() && self.is_told
    }

    /// Returns the message that tells the model.
    pub(super) fn message(&self) -> Message {
        let (text, ok) = match &self.result {
            Some(result) => (result.shown.clone(), result.ok),
            None => (NO_WORD.to_owned(), false),
        };
        Message::Result {
            call_id: self.model_call.id.clone(),
            name: self.model_call.name.clone(),
            text,
            ok,
        }
    }
}
