//! Agent runs, as every surface asks for them and tells of them.
//!
//! Words become a request here, with the model that is to do the work; the
//! state of a run becomes the words of its handle. What each surface shows
//! beside is its own business.

use crate::{
    config::Config,
    failure::{Failure, exit},
    surface::read_failure,
};
use outlast_agent::models;
use outlast_journal::agent::{AgentRequest, ModelChoice};
use outlast_lib::{
    AnswerError, CommandLine, Document, Record, Request, RunId, SendError, Status, Store, limits,
};
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
            ask_ms: agent.ask_ms,
            check_ms: agent.check_ms,
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

/// Returns the command of a request whose model is not chosen yet.
pub(crate) fn placeholder() -> CommandLine {
    CommandLine::Agent(Box::default())
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

/// Hands a chain of agents down to a run, and notes it.
pub(crate) fn hand_down(request: &mut Request, ancestry: Vec<String>) {
    if !ancestry.is_empty() {
        request.environment.retain(|(name, _)| name != INVOKED_BY);
        let pair = (INVOKED_BY.into(), as_variable(&ancestry).into());
        request.environment.push(pair);
    }
    request.origin.ancestry = ancestry;
}

/// Returns the chain as the variable holds it.
fn as_variable(ancestry: &[String]) -> String {
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

/// Words for a run, and whose they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    /// What is said.
    pub(crate) text: &'a str,
    /// Who says it.
    pub(crate) by: &'a str,
}

/// What became of words for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// They answered what it asked.
    Answered {
        /// The ask.
        ask: String,
        /// Whether they allow it.
        approved: bool,
    },
    /// Its stdin took them, or its model will.
    Sent {
        /// Bytes.
        bytes: usize,
        /// Whether it is the model that gets them.
        is_input: bool,
    },
}

/// Says something to a run: to a command's stdin, and to an agent what it asked, else what its
/// model is to be told.
///
/// # Errors
///
/// Fails where nobody takes the words.
pub(crate) fn say(
    store: &Store,
    id: &RunId,
    words: &Words<'_>,
    eof: bool,
) -> Result<Said, Failure> {
    let record = store.record(id).map_err(|error| read_failure(&error))?;
    store.mark_read(id);
    if record.needs_approval.is_none() {
        let sent = store.send(id, words.text.as_bytes(), eof);
        let bytes = sent.map_err(|error| send_failure(&error))?;
        let is_input = is_ours(store, id);
        return Ok(Said::Sent { bytes, is_input });
    }
    let (approved, text) = verdict(words.text);
    let answered = store.answer(id, None, approved, text.as_deref(), words.by);
    match answered {
        Ok(ask) => Ok(Said::Answered { ask, approved }),
        Err(AnswerError::Read(error)) => Err(read_failure(&error)),
        Err(error) => Err(Failure::new(&error, exit::ERROR)),
    }
}

fn send_failure(error: &SendError) -> Failure {
    if let SendError::Read(error) = error {
        return read_failure(error);
    }
    Failure::new(error, exit::ERROR)
}

/// Returns whether words allow what is asked, and those of them that are for the model.
///
/// Only `approve` does; every other text denies it and says what to do instead.
fn verdict(words: &str) -> (bool, Option<String>) {
    let words = words.trim();
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rest = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
    match first.to_ascii_lowercase().as_str() {
        "approve" => (true, rest),
        "deny" => (false, rest),
        _ => (
            false,
            Some(words.to_owned()).filter(|words| !words.is_empty()),
        ),
    }
}

/// Returns whether a run is one of our own agent, which can be asked to stop and still reports.
pub(crate) fn is_ours(store: &Store, id: &RunId) -> bool {
    store.spec(id).is_ok_and(|spec| spec.agent.is_some())
}

#[cfg(test)]
mod tests;
