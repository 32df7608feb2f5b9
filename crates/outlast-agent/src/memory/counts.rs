//! What is counted over the whole run, whatever worker or run it was in.

use crate::message::{Arguments, Message, TokenUsage};
use outlast_journal::agent::{CallResult, Compacted, ModelTurn};
use serde::Deserialize;

/// Bytes of text that are counted as one token where nobody counted them: on the safe side for
/// prose and code.
const BYTES_PER_TOKEN: u64 = 3;

/// What was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Turns of the model.
    pub(crate) turns: u64,
    /// Tokens, in and out.
    pub(crate) tokens: u64,
    /// Cost in millionths of a US dollar, as far as it is known.
    pub(crate) cost_micros: u64,
    /// Malformed calls in a row.
    pub(crate) malformed_in_row: u64,
    /// Times that the model was told that its answer does not keep the schema.
    pub(crate) repairs: u64,
    /// Times that it was told that its message was cut.
    pub(crate) cuts: u64,
    /// Times that it was told how little is left.
    pub(crate) budget_notes: u64,
    /// How long the conversation is.
    pub(crate) size: Size,
}

/// An estimate of the conversation's length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// Tokens, as the provider counted them the last time.
    counted: u64,
    /// Bytes that came since.
    bytes: u64,
}

impl Size {
    pub(super) fn grow(&mut self, bytes: usize) {
        self.bytes += u64::try_from(bytes).unwrap_or(u64::MAX / 2);
    }

    /// Returns about how many tokens the next request has.
    pub(crate) fn tokens(self) -> u64 {
        self.counted + self.bytes / BYTES_PER_TOKEN
    }
}

impl Counts {
    pub(super) fn take_turn(&mut self, turn: &ModelTurn) {
        self.turns = self.turns.max(turn.turn);
        self.tokens = self.tokens.saturating_add(turn.tokens);
        let cost = turn.cost_micros.unwrap_or_default();
        self.cost_micros = self.cost_micros.saturating_add(cost);
        let usage = TokenUsage::deserialize(&turn.usage).unwrap_or_default();
        if let (Some(input), Some(output)) = (usage.input, usage.output) {
            self.size = Size {
                counted: input + output,
                bytes: 0,
            };
        } else {
            self.size.grow(turn.message.to_string().len());
        }
    }

    pub(super) fn take_compacted(&mut self, compacted: &Compacted, messages: &[Message]) {
        self.tokens = self.tokens.saturating_add(compacted.tokens);
        let cost = compacted.cost_micros.unwrap_or_default();
        self.cost_micros = self.cost_micros.saturating_add(cost);
        self.size = Size::default();
        for message in messages {
            self.size.grow(length(message));
        }
    }
}

/// Returns about how many bytes of a request a message is.
pub(crate) fn length(message: &Message) -> usize {
    match message {
        Message::User { text } | Message::Result { text, .. } => text.len(),
        // What the provider added stands in for the same text.
        Message::Assistant {
            text,
            calls,
            opaque,
        } => {
            let calls = calls.iter().map(|call| {
                let arguments = match &call.arguments {
                    Arguments::Json(value) => value.to_string().len(),
                    Arguments::Malformed { text, .. } => text.len(),
                };
                call.name.len() + arguments
            });
            (text.len() + calls.sum::<usize>()).max(opaque.to_string().len())
        }
    }
}

/// A tool that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// The tool.
    pub(crate) tool: String,
    /// Whether it did what it says.
    pub(crate) ok: bool,
    /// The call in a few words.
    pub(crate) brief: String,
    /// Whether it changed a file.
    pub(crate) wrote: bool,
}

impl Receipt {
    pub(super) fn new(result: &CallResult) -> Self {
        Self {
            tool: result.tool.clone(),
            ok: result.ok,
            brief: result.brief.clone(),
            wrote: result.wrote.is_some(),
        }
    }
}
