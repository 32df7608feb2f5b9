//! Agent runs, as every surface asks for them and tells of them.
//!
//! Words become a request here, with the model that is to do the work; the
//! state of a run becomes the words of its handle. What each surface shows
//! beside is its own business.

use crate::{
    config::Config,
    failure::{Failure, exit},
};
use outlast_agent::models;
use outlast_journal::agent::{AgentRequest, ModelChoice};
use outlast_lib::{CommandLine, Document, Record, RunId, Status, limits};
use serde_json::Value;
use std::{env, io};
use tokio::runtime::Builder;

/// Variable that holds the names of the agents that led to a process, oldest first.
pub(crate) const INVOKED_BY: &str = "OUTLAST_INVOKED_BY";

/// What stands between two names in it.
const BETWEEN: char = ',';

/// What is asked of an agent run, in the words of any surface.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    /// What is to be done.
    pub(crate) task: String,
    /// Shell text that says by exit 0 that it is done.
    pub(crate) until: Option<String>,
    /// Most turns.
    pub(crate) turns_max: Option<u64>,
    /// Whether it only reads, on the host, with nothing bound.
    pub(crate) is_local: bool,
    /// Whether a call above the tier is asked about rather than denied.
    pub(crate) asks: bool,
    /// Schema that the final answer keeps.
    pub(crate) schema: Option<Value>,
    /// Name of the model, if not the usual one.
    pub(crate) model: Option<String>,
    /// The run that it goes on with.
    pub(crate) resumes: Option<RunId>,
}

impl Asked {
    /// Returns the command of the request, with the model that is there for it.
    ///
    /// # Errors
    ///
    /// Fails when there is no such model, with all ways to one.
    pub(crate) fn command(self, config: &Config) -> Result<CommandLine, Failure> {
        let model = choose(self.model.as_deref(), config)?;
        let agent = &config.agent;
        Ok(CommandLine::Agent(Box::new(AgentRequest {
            task: self.task,
            until: self.until,
            turns_max: self.turns_max.or(agent.turns_max),
            is_local: self.is_local,
            asks: self.asks,
            ask_ms: None,
            schema: self.schema,
            model,
            tokens_max: agent.tokens_max,
            cost_micros_max: agent.cost_micros_max,
            resumes: self.resumes,
        })))
    }
}

/// Returns whether answers can be held against a schema.
///
/// # Errors
///
/// Fails when they cannot.
pub(crate) fn check_schema(schema: &Value) -> Result<(), Failure> {
    outlast_agent::check_schema(schema).map_err(|error| Failure::new(&error, exit::USAGE))
}

/// Returns the model for a run: the one that is asked for, else what is configured, else the
/// first that is there.
pub(crate) fn choose(asked: Option<&str>, config: &Config) -> Result<ModelChoice, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| no_runtime(&error))?;
    let configured = config.agent.model.as_deref();
    let chosen = models::choose(asked, configured, &|name| env::var(name).ok());
    let chosen = runtime.block_on(chosen);
    let chosen = chosen.map_err(|error| Failure::new(&error, exit::NOT_STARTED))?;
    Ok(chosen.to_spec())
}

fn no_runtime(error: &io::Error) -> Failure {
    Failure::plain(
        "no_runtime",
        format!("cannot ask for models: {error}"),
        "close some descriptors",
        exit::ERROR,
    )
}

/// Returns the names in a chain of agents: in lower case, blanks and empty names left out.
pub(crate) fn chain(said: &str) -> Vec<String> {
    let names = said.split(BETWEEN);
    let names = names.map(|name| name.trim().to_lowercase());
    let names = names.filter(|name| !name.is_empty());
    names
        .map(|name| name.chars().take(limits::ANCESTOR_CHARS).collect())
        .collect()
}

/// Returns the chain of agents that a run is handed: `before`, then who asks.
///
/// Of a longer one the oldest names go.
pub(crate) fn ancestry(before: &[String], invoked_by: Option<&str>) -> Vec<String> {
    let asking = invoked_by.map(chain).unwrap_or_default();
    let mut all: Vec<String> = before.iter().cloned().chain(asking).collect();
    let old = all.len().saturating_sub(limits::ANCESTRY_MAX);
    all.drain(..old);
    all
}

/// Returns the chain as the variable holds it.
pub(crate) fn as_variable(ancestry: &[String]) -> String {
    ancestry.join(&BETWEEN.to_string())
}

/// Returns the state of a handle: `running`, `ok`, `error` or `cancelled`.
///
/// `ok` says that the run came to an end of its own; which, its result says.
pub(crate) fn handle(record: &Record, document: Option<&Document>) -> &'static str {
    match record.status {
        Status::Queued | Status::Running => "running",
        Status::Completed => "ok",
        Status::Cancelled => "cancelled",
        Status::TimedOut | Status::Interrupted => "error",
        Status::Failed => {
            let is_error = match document {
                Some(document) => document.status == "error",
                None => record.failure.is_some(),
            };
            if is_error { "error" } else { "ok" }
        }
    }
}

#[cfg(test)]
mod tests;
