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
    pub(super) refusal: Option<Refusal>,
    pub(super) cut_after: Option<usize>,
    pub(super) held_at: Option<Gate>,
}

/// A call of a tool, by the tool's own name.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Value,
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
        });
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
        self.cut_after = Some(events);
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
