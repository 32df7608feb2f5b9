//! What a scripted model says, turn by turn, and how it fails where it is to fail.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;

use super::Asked;

/// How long a turn waits at a gate that nobody opens.
const GATE_LIMIT: Duration = Duration::from_mins(2);

/// Makes a turn out of what was asked.
pub(super) type Step = Box<dyn FnOnce(&Asked) -> Turn + Send>;

/// The turns of a model, in order.
#[derive(Default)]
pub struct Script {
    pub(super) steps: Vec<Step>,
}

impl Script {
    /// Returns a script without turns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a turn.
    #[must_use]
    pub fn turn(self, turn: Turn) -> Self {
        self.turn_from(move |_| turn)
    }

    /// Adds a turn that depends on what was asked, such as on the result of an earlier call.
    ///
    /// What `make` asserts fails the test at `wait_for_turn` or `assert_played`.
    #[must_use]
    pub fn turn_from(mut self, make: impl FnOnce(&Asked) -> Turn + Send + 'static) -> Self {
        self.steps.push(Box::new(make));
        self
    }

    /// Adds a turn that says something and ends the host's turn.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.turn(Turn::text(text))
    }

    /// Adds a turn that calls a tool.
    #[must_use]
    pub fn call(self, tool: &str, arguments: Value) -> Self {
        self.turn(Turn::call(tool, arguments))
    }
}

/// One answer of a scripted model.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    pub(super) text: Option<String>,
    pub(super) calls: Vec<Call>,
    pub(super) reasoning: Option<Reasoning>,
    pub(super) stop: Stop,
    pub(super) tokens: Tokens,
    pub(super) refusal: Option<Refusal>,
    pub(super) raw: Option<Raw>,
    pub(super) kind: Option<String>,
    pub(super) end: End,
    pub(super) last_event: Option<Value>,
    pub(super) held_at: Option<Gate>,
    pub(super) held_after: Option<(usize, Gate)>,
}

/// A call of a tool, by the tool's own name.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Value,
    /// What is said in place of the arguments' JSON.
    pub(super) text: Option<String>,
    /// What is said in place of an id of our own.
    pub(super) id: Option<String>,
}

/// Reasoning, with what proves to the provider that it is its own.
#[derive(Clone, Debug)]
pub(super) struct Reasoning {
    pub(super) text: String,
    pub(super) signature: String,
}

/// Why a model stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stop {
    /// It is done, or it calls.
    #[default]
    Natural,
    /// It may say no more.
    Length,
    /// It may not say this.
    Refused,
}

/// What a turn is said to have taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    /// With the cached ones.
    pub(super) input: u64,
    pub(super) cached: u64,
    pub(super) output: u64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            input: 10,
            cached: 0,
            output: 5,
        }
    }
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    /// When all is said.
    #[default]
    Whole,
    /// After so many events the connection is closed.
    Cut(usize),
    /// After so many events the stream ends as if all were said.
    Short(usize),
}

/// A body as it is.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) status: u16,
    pub(super) kind: String,
    pub(super) body: String,
}

/// An answer of HTTP that is none of the model's.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) retry_after_secs: Option<u64>,
}

impl Turn {
    /// Says something.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// Calls a tool.
    ///
    /// `tool` is the tool's own name. Hosts put a prefix before it (`mcp__server__`); the
    /// one tool offered that ends in `tool` is called. `SERVER/TOOL` calls that of a server
    /// where others have tools with such an end too.
    pub fn call(tool: &str, arguments: Value) -> Self {
        Self::default().and_call(tool, arguments)
    }

    /// Calls one more tool in the same turn.
    #[must_use]
    pub fn and_call(mut self, tool: &str, arguments: Value) -> Self {
        self.calls.push(Call {
            tool: tool.to_owned(),
            arguments,
            text: None,
            id: None,
        });
        self
    }

    /// Says the last call's arguments as this text, which need be no JSON.
    ///
    /// Gemini, whose arguments are no text, says it as a JSON string.
    #[must_use]
    pub fn with_arguments_text(mut self, text: &str) -> Self {
        if let Some(call) = self.calls.last_mut() {
            call.text = Some(text.to_owned());
        }
        self
    }

    /// Gives the last call this id; an empty one is left out where the wire lets it be.
    #[must_use]
    pub fn with_id(mut self, id: &str) -> Self {
        if let Some(call) = self.calls.last_mut() {
            call.id = Some(id.to_owned());
        }
        self
    }

    /// Reasons before it speaks, and signs that in the provider's way.
    #[must_use]
    pub fn with_reasoning(mut self, text: &str, signature: &str) -> Self {
        self.reasoning = Some(Reasoning {
            text: text.to_owned(),
            signature: signature.to_owned(),
        });
        self
    }

    /// Says that it took so many tokens; `cached` are a part of `input`.
    #[must_use]
    pub fn with_tokens(mut self, input: u64, cached: u64, output: u64) -> Self {
        self.tokens = Tokens {
            input,
            cached,
            output,
        };
        self
    }

    /// Stops because it may say no more.
    #[must_use]
    pub fn cut_by_length(mut self) -> Self {
        self.stop = Stop::Length;
        self
    }

    /// Stops because it may not say this.
    #[must_use]
    pub fn refused(mut self) -> Self {
        self.stop = Stop::Refused;
        self
    }

    /// Answers with this body as it is, such as a web page.
    pub fn raw(status: u16, content_type: &str, body: &str) -> Self {
        Self {
            raw: Some(Raw {
                status,
                kind: content_type.to_owned(),
                body: body.to_owned(),
            }),
            ..Self::default()
        }
    }

    /// Says that the answer is of this type, whatever it is.
    #[must_use]
    pub fn with_content_type(mut self, content_type: &str) -> Self {
        self.kind = Some(content_type.to_owned());
        self
    }

    /// Refuses with this status of HTTP, and says when to come again if that is given.
    pub fn refusal(status: u16, retry_after_secs: Option<u64>) -> Self {
        Self {
            refusal: Some(Refusal {
                status,
                retry_after_secs,
            }),
            ..Self::default()
        }
    }

    /// Closes the connection after this many events of the stream, without an end.
    ///
    /// An answer that is not streamed is cut after half of its bytes.
    #[must_use]
    pub fn cut_after(mut self, events: usize) -> Self {
        self.end = End::Cut(events);
        self
    }

    /// Ends the stream in good form after this many events, as if all were said.
    #[must_use]
    pub fn ended_after(mut self, events: usize) -> Self {
        self.end = End::Short(events);
        self
    }

    /// Ends the stream after this many events with one more, such as an error.
    ///
    /// Its `type` is its name, where it has one.
    #[must_use]
    pub fn failed_after(mut self, events: usize, event: Value) -> Self {
        self.last_event = Some(event);
        self.ended_after(events)
    }

    /// Pauses after this many events of the stream until `gate` is open.
    #[must_use]
    pub fn held_after(mut self, events: usize, gate: &Gate) -> Self {
        self.held_after = Some((events, gate.clone()));
        self
    }

    /// Answers only once `gate` is open; the request counts as asked before that.
    #[must_use]
    pub fn held_at(mut self, gate: &Gate) -> Self {
        self.held_at = Some(gate.clone());
        self
    }
}

/// A gate at which turns wait until the test opens it. Clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    state: Arc<(Mutex<bool>, Condvar)>,
}

impl Gate {
    /// Returns a closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        let (is_open, changed) = &*self.state;
        *is_open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    /// Returns once the gate is open, after `GATE_LIMIT` at the latest.
    pub(super) fn wait(&self) {
        let (is_open, changed) = &*self.state;
        let is_open = is_open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(changed.wait_timeout_while(is_open, GATE_LIMIT, |is_open| !*is_open));
    }
}
