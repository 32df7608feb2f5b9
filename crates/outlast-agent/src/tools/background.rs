//! The background tools: commands and, at top level, agents that go on beside the run.
//!
//! They are those of the library, for the session of this run. What is started has at most
//! the posture of the run, and a start that comes again starts nothing more.

use super::arguments::Arguments;
use super::{Outcome, Refusal};
use crate::message::ToolSpec;
use crate::models::{Choice, ChooseError};
use outlast_journal::agent::{AgentRequest, AgentSpec, CallClass};
use outlast_journal::limits::BRIEF_CHARS;
use outlast_journal::text::first_line_label;
use outlast_journal::{RunId, Spec};
use outlast_lib::background::{
    Background, BackgroundOptions, Finished, SpawnError, Spawned, Spawner, SubAgent, Tool, offered,
    wake_prompt,
};
use outlast_lib::{Advice, CancelQuery, ListQuery, ReadError, Record, ShortRecord, Status, Store};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Arguments that a run of an agent does not choose: a worker that is started again must not end
/// what the one before it began, and a contained command stays in the workspace.
const LIFETIME: &str = "lifetime";
const DIRECTORY: &str = "cwd";

/// What an agent run may start, and under which keys.
pub(crate) struct Runs {
    store: Arc<Store>,
    session: String,
    directory: PathBuf,
    options: BackgroundOptions,
    /// Opened at the first call: it looks at every run of the store.
    background: OnceLock<Background>,
    /// The run with which the work began: later ones go on with its calls.
    first: RunId,
    is_contained: bool,
}

impl Runs {
    /// Returns what an agent run may start, with the environment of its worker.
    ///
    /// `None` for a run that only reads. Commands get what calls get, agents what the worker has.
    pub(crate) fn of(
        spec: &Spec,
        agent: &AgentSpec,
        store: &Arc<Store>,
        first: RunId,
        environment: Vec<(OsString, OsString)>,
    ) -> Option<Self> {
        if agent.request.is_local {
            return None;
        }
        let for_calls = environment.iter().filter(|(name, _)| {
            let names = &agent.call_env_names;
            names.iter().any(|known| name == known.as_str())
        });
        let options = BackgroundOptions {
            environment: for_calls.cloned().collect(),
            origin: spec.origin.clone(),
            containment: spec.containment.clone(),
            spawner: agent
                .has_sub_agents
                .then(|| spawner(spec, agent, environment)),
            ..BackgroundOptions::default()
        };
        Some(Self {
            store: Arc::clone(store),
            // A run that goes on with another's work goes on with its runs too.
            session: first.to_string(),
            directory: PathBuf::from(&spec.cwd),
            options,
            background: OnceLock::new(),
            first,
            is_contained: spec.containment.is_some(),
        })
    }

    fn background(&self) -> Result<&Background, ReadError> {
        if let Some(background) = self.background.get() {
            return Ok(background);
        }
        let store = Arc::clone(&self.store);
        let (session, directory) = (self.session.clone(), self.directory.clone());
        let opened = Background::new(store, session, directory, self.options.clone())?;
        Ok(self.background.get_or_init(|| opened))
    }

    /// Returns the capability if a run was started by it, or is seen to have been.
    fn begun(&self) -> Option<&Background> {
        if let Some(background) = self.background.get() {
            return Some(background);
        }
        let query = ListQuery {
            session: Some(self.session.clone()),
            limit: 1,
            ..ListQuery::default()
        };
        let has_any = |listed: outlast_lib::Listing| !listed.records.is_empty();
        let is_used = self.store.list(&query).is_ok_and(has_any);
        is_used.then(|| self.background().ok()).flatten()
    }

    fn tools(&self) -> Vec<Tool> {
        offered(self.options.spawner.is_some())
    }

    /// Returns what the model is told of the tools, in their order.
    pub(super) fn specs(&self) -> Vec<ToolSpec> {
        let tools = self.tools().into_iter();
        let specs = tools.map(|tool| ToolSpec {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            schema: self.schema(&tool),
        });
        specs.collect()
    }

    /// Reads the arguments of a call.
    ///
    /// # Errors
    ///
    /// Refuses what does not keep the schema; `None` where there is no such tool.
    pub(super) fn read(&self, name: &str, arguments: &Value) -> Option<Result<Arguments, Refusal>> {
        let tools = self.tools();
        let tool = tools.into_iter().find(|tool| tool.name == name)?;
        let read = Arguments::read(arguments, &self.schema(&tool));
        Some(read.map_err(|what| Refusal::new("bad_arguments", format!("`{name}`: {what}"))))
    }

    /// Carries out a call. Blocks until what is started executes, or what is stopped is gone.
    ///
    /// # Errors
    ///
    /// Refuses when the runs of the store cannot be listed.
    pub(super) fn act(
        &self,
        call: &str,
        name: &str,
        arguments: &Arguments,
    ) -> Result<Outcome, Refusal> {
        let background = self.background().map_err(|error| Refusal {
            code: error.code(),
            why: format!("{error}; {}", error.hint()),
        })?;
        let key = format!("{}:{call}", self.first);
        let answer = background.call_once(name, &arguments.to_value(), &key);
        let value = answer.value();
        let said = if answer.is_error() {
            value["error"]["code"].as_str()
        } else {
            value["id"].as_str().or(value["status"].as_str())
        };
        let about = ["label", "command", "task", "id"]
            .iter()
            .find_map(|about| arguments.text(about));
        let about = first_line_label(about.unwrap_or_default(), BRIEF_CHARS / 2);
        let brief = format!("{name} {about}: {}", said.unwrap_or("done"));
        let mut text = answer.text();
        text.push('\n');
        if answer.is_error() {
            return Ok(Outcome::failed(text, &brief));
        }
        let mut outcome = Outcome::done(text, &brief);
        if class(name) == Some(CallClass::Idempotent) && name != CANCEL {
            outcome.started_run = value["id"].as_str().and_then(|id| RunId::parse(id).ok());
        }
        Ok(outcome)
    }

    /// Returns those that have not ended. What cannot be seen is left out.
    fn live(&self) -> Vec<Record> {
        let query = ListQuery {
            session: Some(self.session.clone()),
            statuses: vec![Status::Queued, Status::Running],
            limit: usize::MAX,
            ..ListQuery::default()
        };
        self.store.list(&query).unwrap_or_default().records
    }

    /// Returns how many go on and have a time limit: they are waited for.
    pub(crate) fn open_ones(&self) -> usize {
        let live = self.live();
        let has_limit =
            |record: &&Record| record.timeout_secs.is_some() || record.deadline.is_some();
        live.iter().filter(has_limit).count()
    }

    /// Asks all that go on to stop, and does not wait for it.
    pub(crate) fn cancel_all(&self) {
        let query = CancelQuery {
            by: Some(format!("run {}", self.session)),
            no_wait: true,
            ..CancelQuery::default()
        };
        for record in self.live() {
            self.store.cancel(&record.id, &query).map(drop).ok();
        }
    }

    /// Hands out ends that the model was not told of, each once; with the words for it.
    pub(crate) fn ends(&self) -> Vec<(RunId, String)> {
        let Some(background) = self.begun() else {
            return Vec::new();
        };
        let drained = background.drain_finished().unwrap_or_default();
        let told = drained.into_iter().map(|one| (one.run.id, notice(one.run)));
        told.collect()
    }

    /// Returns whether there is an end that the model was not told of.
    pub(crate) fn has_ends(&self) -> bool {
        let Some(background) = self.begun() else {
            return false;
        };
        let drained = background.drain_finished().unwrap_or_default();
        let ids: Vec<RunId> = drained.iter().map(|one| one.run.id).collect();
        background.release(&ids);
        !ids.is_empty()
    }

    /// Notes that the model was told of these ends.
    pub(crate) fn note_told(&self, ids: &[RunId]) {
        // Not noted, they come again, and are seen to be told already.
        if let Some(background) = self.begun() {
            background.acknowledge(ids).ok();
        }
    }

    /// Waits until there is an end to tell, the time is over, or `interrupt` can be read. Blocks.
    pub(crate) fn wait(&self, timeout_ms: u64, interrupt: BorrowedFd<'_>) {
        match self.background() {
            // What went wrong shows when they are looked at again.
            Ok(background) => {
                let waited = background.wait_for_end(Some(timeout_ms), Some(interrupt));
                waited.map(drop).ok();
            }
            Err(_) => {
                let mut watched = [PollFd::new(&interrupt, PollFlags::IN)];
                let most = Timespec::try_from(std::time::Duration::from_millis(timeout_ms));
                poll(&mut watched, most.ok().as_ref()).map(drop).ok();
            }
        }
    }

    fn schema(&self, tool: &Tool) -> Value {
        let mut schema = tool.schema.clone();
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.remove(LIFETIME);
            if self.is_contained {
                properties.remove(DIRECTORY);
            }
        }
        schema
    }
}

/// Returns what the model is told of one end. One from before this worker wakes it too: the
/// worker before it was waiting for that.
fn notice(run: ShortRecord) -> String {
    let finished = Finished {
        run,
        restored: false,
    };
    wake_prompt(&[finished]).unwrap_or_default()
}

const CANCEL: &str = "background_cancel";

/// Returns what a repeat of a call would do; `None` for another tool.
pub(super) fn class(name: &str) -> Option<CallClass> {
    match name {
        // A start has a key, and what is gone is not stopped again.
        "background_run" | "background_agent" | CANCEL => Some(CallClass::Idempotent),
        "background_list" | "background_output" => Some(CallClass::Read),
        _ => None,
    }
}

/// Returns what makes the agents below a run: like the run, for a task and a model.
fn spawner(spec: &Spec, agent: &AgentSpec, environment: Vec<(OsString, OsString)>) -> Spawner {
    let containment = spec.containment.clone();
    let above = agent.request.clone();
    Arc::new(move |asked: &SubAgent| {
        let model = below(&above, asked.model.as_deref())?;
        let request = AgentRequest {
            task: asked.task.clone(),
            model: model.to_spec(),
            tokens_max: above.tokens_max,
            cost_micros_max: above.cost_micros_max,
            ..AgentRequest::default()
        };
        Ok(Spawned::Agent {
            request: Box::new(request),
            environment: environment.clone(),
            containment: containment.clone().map(Box::new),
        })
    })
}

fn below(above: &AgentRequest, asked: Option<&str>) -> Result<Choice, SpawnError> {
    let failed = |source| SpawnError::Failed { source };
    let Some(choice) = Choice::from_spec(&above.model) else {
        return Err(failed("the provider of this run is not known".into()));
    };
    choice.below(asked).map_err(|error| {
        if let ChooseError::OtherProvider { asked, .. } = &error {
            return SpawnError::ModelRefused {
                model: asked.clone(),
                known: vec![choice.name.clone()],
            };
        }
        failed(Box::new(error))
    })
}

#[cfg(test)]
mod tests;
