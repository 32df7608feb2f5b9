//! What an agent run is: what is asked of it, and what its journal holds beyond events.
//!
//! The worker tells its facts to the supervisor, which writes them down
//! without looking into them, but for those that say how the run ends. Readers
//! fold them to a report.

pub mod document;
mod facts;
pub mod report;

pub use facts::{
    Asked, CallClass, CallRequest, CallResult, Compacted, Final, GoalEvaluated, Input, ModelTurn,
    RunMeta, TodoItem, TodoSet, ToolCalled, ToolEnded, TurnBegin, Work,
};

use crate::RunId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The model of a run, as it was chosen. No key is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// Who serves it, and with that the wire: `anthropic`, `openai`, `gemini`, `ollama`,
    /// `llama.cpp`, `compatible`.
    pub provider: String,
    /// Name by which the provider knows it.
    pub name: String,
    /// Where it answers, if not where the provider does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// How many tokens its window holds, where its server said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Why it was chosen, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// What a caller asks an agent run for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentRequest {
    /// What is to be done, in the caller's words.
    pub task: String,
    /// Shell text that says by exit 0 that it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Most turns over the whole run; the store's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_max: Option<u64>,
    /// Whether it only reads, on the host, with nothing bound.
    #[serde(default)]
    pub is_local: bool,
    /// Whether a call above the tier is asked about rather than denied.
    #[serde(default)]
    pub asks: bool,
    /// How long an ask stays open, in milliseconds; the limit's time when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_ms: Option<u64>,
    /// How long one check of `until` may take, in milliseconds; the limit's time when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_ms: Option<u64>,
    /// JSON Schema that the final answer keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The model.
    pub model: ModelChoice,
    /// Most tokens over the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    /// Most cost over the whole run, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros_max: Option<u64>,
    /// The run whose journal it folds before its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<RunId>,
}

impl Eq for AgentRequest {}

/// What was checked and bound for an agent run; part of its spec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// What was asked.
    pub request: AgentRequest,
    /// Most turns over the whole run.
    pub turns_max: u64,
    /// Names of the variables that its calls get; none is a key.
    #[serde(default)]
    pub call_env_names: Vec<String>,
    /// Whether it may start agent runs itself: at top level only.
    #[serde(default)]
    pub has_sub_agents: bool,
}

/// A fact of a worker, as it told it.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Kind, one of [`Work`]'s.
    pub kind: String,
    /// The fact in words.
    pub message: Option<String>,
    /// Its data.
    pub data: Value,
}

impl Told {
    /// Returns whether a worker may tell this kind.
    pub fn is_known(&self) -> bool {
        self.is_event() || Work::OTHERS.contains(&self.kind.as_str())
    }

    /// Returns whether it can be a worker's own: texts from outside have a number, which the
    /// supervisor gives, and what a worker says to its model by itself has none.
    pub fn is_of_worker(&self) -> bool {
        let has_number = || self.data.get("number").is_some_and(|number| *number != 0);
        self.is_known() && !(self.kind == "input" && has_number())
    }

    /// Returns whether readers see it as a numbered event.
    pub fn is_event(&self) -> bool {
        self.kind == "note" || Work::EVENTS.contains(&self.kind.as_str())
    }
}
