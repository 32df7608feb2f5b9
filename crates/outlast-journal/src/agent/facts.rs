//! The facts of a worker, each the data of one journal line.
//!
//! Some are events, which readers see numbered; the others are what a later
//! worker needs to go on exactly here.

use super::ModelChoice;
use crate::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a call may do to the world if it is done twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallClass {
    /// Nothing: it only reads.
    Read,
    /// A repeat is seen and changes nothing more.
    Idempotent,
    /// It must not be done twice.
    Once,
}

/// The surroundings of the worker that wrote what follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunMeta {
    /// The model.
    pub model: ModelChoice,
    /// Hash of the tools' schemas.
    pub tools_hash: String,
    /// Hash of the prompt before the first turn.
    pub prompt_hash: String,
    /// Most turns.
    pub turns_max: u64,
    /// The run that this one goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<crate::RunId>,
}

/// A turn begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnBegin {
    /// Its number, from 1.
    pub turn: u64,
}

/// The model's answer of one turn, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelTurn {
    /// The turn.
    pub turn: u64,
    /// The message, neutral and with the provider's own parts.
    pub message: Value,
    /// Tokens that it used, by kind.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub usage: Value,
    /// All tokens, in and out, that count against the budget.
    #[serde(default)]
    pub tokens: u64,
    /// What it cost, in millionths of a US dollar; absent where there is no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Why it stopped.
    #[serde(default)]
    pub stop: String,
    /// The model, as the provider calls it.
    #[serde(default)]
    pub model: String,
}

/// The model wants a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRequest {
    /// The call: turn, dot, number within the turn.
    pub call: String,
    /// The model's own id of it.
    pub model_call: String,
    /// The tool.
    pub tool: String,
    /// What a repeat would do.
    pub class: CallClass,
    /// Its arguments.
    pub arguments: Value,
}

/// What a call came to, as the model was told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    /// The call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// Whether it ran and did what it says.
    pub ok: bool,
    /// Whether it was not run: refused, denied, above the tier, malformed.
    #[serde(default)]
    pub is_refused: bool,
    /// Whether nobody knows how it ended.
    #[serde(default)]
    pub is_unknown: bool,
    /// What the model saw, byte for byte.
    pub shown: String,
    /// The call in at most 160 characters.
    pub brief: String,
    /// Through what it was done, where not by the worker itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Path that it wrote, with the hashes of before and after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrote: Option<Value>,
    /// File that it read, with the hash of what it holds and the lines that were shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saw: Option<Value>,
}

/// Event `tool_called`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCalled {
    /// The call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The call in at most 160 characters.
    pub brief: String,
}

/// Events `tool_result` and `tool_failed`: a tool that ran, and one that did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolEnded {
    /// The call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// Whether it did what it says.
    pub ok: bool,
    /// What came of it, in at most 160 characters.
    pub brief: String,
    /// Stable name of why it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Code of its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Milliseconds that it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
}

/// Event `goal_evaluated`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalEvaluated {
    /// How often it was checked, this time included.
    pub iteration: u64,
    /// Whether the check exited with 0.
    pub passed: bool,
    /// Whether a process ran and said so.
    pub grounded: bool,
    /// Code of the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why it counts as not passed, where no code says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Hash of the output without times and ids.
    pub output_hash: String,
    /// What the model is told of it: the newest part of its output.
    pub shown: String,
}

/// Event `ask`: somebody must say whether a call may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The ask, which is the call.
    pub ask: String,
    /// The tool.
    pub tool: String,
    /// What it would do.
    pub question: String,
    /// When it counts as denied.
    pub expires: Timestamp,
}

/// A text for the model, part of the first turn that begins after it. One from outside is
/// written down by the supervisor as it comes; a worker tells its own words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its number within the run, from 1: a worker that has folded it does not take it again. 0
    /// for a worker's own words.
    #[serde(default)]
    pub number: u64,
    /// The text.
    pub text: String,
    /// Who sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// One thing on the model's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    /// What.
    pub text: String,
    /// `open`, `doing` or `done`.
    pub state: String,
}

/// The model's list of things to do, whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoSet {
    /// Its items.
    pub items: Vec<TodoItem>,
}

/// The history was replaced by a shorter one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compacted {
    /// All messages that stand in its place.
    pub messages: Value,
    /// Messages that it replaces.
    pub replaced: u64,
    /// Tokens that the summary took, which count against the budget.
    #[serde(default)]
    pub tokens: u64,
    /// What it cost, in millionths of a US dollar; absent where there is no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// How the work ended, told by the worker before it leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Final {
    /// Status of the document: `success`, `max_turns`, `stalled`, `goal_pending`, `blocked`,
    /// `budget`, `cancelled`, `error`.
    pub status: String,
    /// First line for lists.
    pub summary: String,
    /// The final message.
    #[serde(default)]
    pub text: String,
    /// The answer that keeps the schema.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub answer: Value,
    /// What the final message claims without a receipt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ungrounded_claims: Vec<String>,
    /// Who or what ended it: `self` or `limit:<name>`.
    pub ended_by: String,
    /// Stable name of an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The error's fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
}

/// A fact as a worker tells it: its kind, and the kind's data.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Work {
    /// `run.meta`.
    Meta(Box<RunMeta>),
    /// `turn.begin`.
    TurnBegin(TurnBegin),
    /// `model.turn`.
    ModelTurn(Box<ModelTurn>),
    /// `call.request`.
    CallRequest(Box<CallRequest>),
    /// `call.result`.
    CallResult(Box<CallResult>),
    /// Event `text`: what the model said in a turn.
    Text(String),
    /// Event `tool_called`.
    ToolCalled(ToolCalled),
    /// Event `tool_result`.
    ToolResult(ToolEnded),
    /// Event `tool_failed`.
    ToolFailed(ToolEnded),
    /// Event `goal_evaluated`.
    GoalEvaluated(Box<GoalEvaluated>),
    /// Event `ask`.
    Ask(Asked),
    /// Event `note`: a retry of the model, a warning, a wait. Words and details.
    Note(String, Value),
    /// `todo.set`.
    TodoSet(TodoSet),
    /// `history.compacted`.
    Compacted(Compacted),
    /// `input`: the supervisor writes those from outside, the worker its own words.
    Input(Input),
    /// `final`.
    Final(Box<Final>),
}

impl Work {
    /// Kinds that readers see as numbered events.
    pub const EVENTS: [&'static str; 6] = [
        "text",
        "tool_called",
        "tool_result",
        "tool_failed",
        "goal_evaluated",
        "ask",
    ];
    /// Kinds that are no events.
    pub const OTHERS: [&'static str; 9] = [
        "run.meta",
        "turn.begin",
        "model.turn",
        "call.request",
        "call.result",
        "todo.set",
        "history.compacted",
        "input",
        "final",
    ];

    /// Returns the kind, as it stands in the journal.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Meta(_) => "run.meta",
            Self::TurnBegin(_) => "turn.begin",
            Self::ModelTurn(_) => "model.turn",
            Self::CallRequest(_) => "call.request",
            Self::CallResult(_) => "call.result",
            Self::Text(_) => "text",
            Self::ToolCalled(_) => "tool_called",
            Self::ToolResult(_) => "tool_result",
            Self::ToolFailed(_) => "tool_failed",
            Self::GoalEvaluated(_) => "goal_evaluated",
            Self::Ask(_) => "ask",
            Self::Note(..) => "note",
            Self::TodoSet(_) => "todo.set",
            Self::Compacted(_) => "history.compacted",
            Self::Input(_) => "input",
            Self::Final(_) => "final",
        }
    }

    /// Returns the fact in words, for an event.
    pub fn message(&self) -> Option<String> {
        match self {
            Self::Text(text) | Self::Note(text, _) => Some(text.clone()),
            Self::ToolCalled(called) => Some(called.brief.clone()),
            Self::ToolResult(ended) | Self::ToolFailed(ended) => Some(ended.brief.clone()),
            Self::GoalEvaluated(goal) => {
                let word = if goal.passed { "passed" } else { "not passed" };
                Some(format!("check {}: {word}", goal.iteration))
            }
            Self::Ask(asked) => Some(asked.question.clone()),
            Self::Meta(_)
            | Self::TurnBegin(_)
            | Self::ModelTurn(_)
            | Self::CallRequest(_)
            | Self::CallResult(_)
            | Self::TodoSet(_)
            | Self::Compacted(_)
            | Self::Input(_)
            | Self::Final(_) => None,
        }
    }

    /// Returns the kind's data.
    pub fn data(&self) -> Value {
        fn value<T: Serialize>(data: &T) -> Value {
            serde_json::to_value(data).expect("facts have only string keys")
        }
        match self {
            Self::Meta(data) => value(data),
            Self::TurnBegin(data) => value(data),
            Self::ModelTurn(data) => value(data),
            Self::CallRequest(data) => value(data),
            Self::CallResult(data) => value(data),
            // Readers are promised an object.
            Self::Text(_) => Value::Object(serde_json::Map::new()),
            Self::ToolCalled(data) => value(data),
            Self::ToolResult(data) | Self::ToolFailed(data) => value(data),
            Self::GoalEvaluated(data) => value(data),
            Self::Ask(data) => value(data),
            Self::Note(_, data) => data.clone(),
            Self::TodoSet(data) => value(data),
            Self::Compacted(data) => value(data),
            Self::Input(data) => value(data),
            Self::Final(data) => value(data),
        }
    }

    /// Returns the worker's fact that a journal line holds; `None` for lines of other writers
    /// and for kinds or data that only a later version knows.
    pub fn read(kind: &str, message: Option<&str>, data: &Value) -> Option<Self> {
        fn read<T: serde::de::DeserializeOwned>(data: &Value) -> Option<T> {
            T::deserialize(data).ok()
        }
        let words = || message.unwrap_or_default().to_owned();
        Some(match kind {
            "run.meta" => Self::Meta(Box::new(read(data)?)),
            "turn.begin" => Self::TurnBegin(read(data)?),
            "model.turn" => Self::ModelTurn(Box::new(read(data)?)),
            "call.request" => Self::CallRequest(Box::new(read(data)?)),
            "call.result" => Self::CallResult(Box::new(read(data)?)),
            "text" => Self::Text(words()),
            "tool_called" => Self::ToolCalled(read(data)?),
            "tool_result" => Self::ToolResult(read(data)?),
            "tool_failed" => Self::ToolFailed(read(data)?),
            "goal_evaluated" => Self::GoalEvaluated(Box::new(read(data)?)),
            "ask" => Self::Ask(read(data)?),
            "note" => Self::Note(words(), data.clone()),
            "todo.set" => Self::TodoSet(read(data)?),
            "history.compacted" => Self::Compacted(read(data)?),
            "input" => Self::Input(read(data)?),
            "final" => Self::Final(Box::new(read(data)?)),
            _ => return None,
        })
    }
}
