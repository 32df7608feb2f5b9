//! What a model may ask to have done: the tools of a run, and what came of each call.
//!
//! A call is planned first, which touches nothing. Then the worker does it itself, if it
//! only reads, or the supervisor has the hands do it, contained. Whatever a model
//! gets wrong is a text that says how to put it right.

mod arguments;
pub(crate) mod background;
mod calculate;
mod call_output;
mod catalogue;
pub(crate) mod change;
mod events;
mod fetch;
mod find;
mod grep;
mod list;
mod notes;
mod outcome;
mod read;
pub(crate) mod seen;
mod shell;
#[cfg(test)]
mod testing;
mod todo;
mod walk;
pub(crate) mod workspace;

use outcome::OwnAct;
pub(crate) use outcome::Refusal;
pub use outcome::{Outcome, OwnCall, Plan};

use crate::message::ToolSpec;
use arguments::Arguments;
use background::Runs;
use catalogue::{Kind, TOOLS, Tool};
use outlast_journal::agent::{CallClass, CallRequest, CallResult, TodoSet};
use outlast_journal::limits::OWN_CALL_MS;
use outlast_journal::mask::Masker;
use outlast_journal::worker::CallEnded;
use outlast_journal::{RunId, Tier};
use outlast_lib::Store;
use seen::{Saw, Seen, Wrote};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use workspace::Workspace;

/// Where a run works, and what it may.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The run's directory, beneath which all paths are.
    pub workspace: PathBuf,
    /// The project that notes belong to.
    pub project: String,
    /// What is bound for the run's calls.
    pub tier: Tier,
    /// Whether nothing is bound and the run only reads.
    pub is_local: bool,
    /// Whether a call above the tier is asked about.
    pub asks: bool,
    /// The store of the run.
    pub store: Arc<Store>,
    /// The run.
    pub run: RunId,
    /// Those that it goes on with, newest first.
    pub earlier: Vec<RunId>,
}

/// The tools of one run, and what the model knows of its files.
pub struct Toolbox {
    surroundings: Surroundings,
    workspace: Option<Arc<Workspace>>,
    runs: Option<Arc<Runs>>,
    /// Finds the secrets of the run in what a model is shown.
    masker: Option<Masker>,
    seen: Seen,
    todo: TodoSet,
}

impl Toolbox {
    /// Returns the tools of a run. A workspace that is gone is told by each call that needs it.
    pub fn new(surroundings: Surroundings) -> Self {
        let store = surroundings.store.root();
        let workspace = Workspace::open(&surroundings.workspace, Some(store));
        Self {
            workspace: workspace.ok().map(Arc::new),
            runs: None,
            masker: masker_of(&surroundings),
            surroundings,
            seen: Seen::default(),
            todo: TodoSet::default(),
        }
    }

    /// Returns the tools with those that start runs.
    pub(crate) fn with_runs(self, runs: Option<Arc<Runs>>) -> Self {
        Self { runs, ..self }
    }

    /// Returns what the model is told of, always in the same order: only what can work here.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let here = TOOLS.iter().filter(|tool| self.is_here(tool));
        let specs = here.map(|tool| ToolSpec {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            schema: self.schema(tool),
        });
        let runs = self.runs.iter().flat_map(|runs| runs.specs());
        specs.chain(runs).collect()
    }

    /// Returns what a repeat of a call of this tool would do. Nobody knows it of an unknown one.
    pub fn class(&self, name: &str) -> CallClass {
        let own = catalogue::tool(name).map(|tool| tool.class);
        own.or_else(|| background::class(name))
            .unwrap_or(CallClass::Once)
    }

    /// Returns the call in words, at most `BRIEF_CHARS` of them.
    pub fn brief(&self, name: &str, arguments: &Value) -> String {
        self.masked(outcome::brief_of(name, arguments))
    }

    /// Returns the model's list of things to do.
    pub fn todo(&self) -> &TodoSet {
        &self.todo
    }

    /// Returns the notes of earlier runs that fit a task, a line each, for the prompt.
    ///
    /// They are data: some run wrote them, and nobody has checked them.
    pub fn notes_for(&self, task: &str) -> Option<String> {
        notes::for_task(&self.surroundings, task)
    }

    /// Decides how a call is done. Nothing is touched.
    pub fn plan(&mut self, name: &str, arguments: &Value) -> Plan {
        self.plan_within(name, arguments, self.surroundings.tier)
    }

    /// The same for a call that somebody allowed although it is above the tier.
    ///
    /// Its hands are to work on the host.
    pub fn plan_approved(&mut self, name: &str, arguments: &Value) -> Plan {
        self.plan_within(name, arguments, Tier::FullAccess)
    }

    fn plan_within(&self, name: &str, arguments: &Value, tier: Tier) -> Plan {
        let tool = catalogue::tool(name);
        let is_for_local = tool.is_some_and(|tool| tool.is_for_local);
        let is_known = tool.is_some() || background::class(name).is_some();
        if self.surroundings.is_local && is_known && !is_for_local {
            let why = format!(
                "`{name}` is refused: this run is local, nothing contains it, and so it only reads; \
                 say in your answer what you would have done"
            );
            return Refusal::new("local_reads_only", why).into();
        }
        let Some(tool) = tool else {
            return self.plan_run(name, arguments);
        };
        let needs = needs(tool, arguments);
        if needs > tier && !self.surroundings.asks {
            return above(name, tier, needs);
        }
        match Arguments::read(arguments, &self.schema(tool)) {
            Err(what) => Refusal::new("bad_arguments", format!("`{name}`: {what}")).into(),
            Ok(_) if needs > tier => above(name, tier, needs),
            Ok(read) => self.plan_read(tool, &read),
        }
    }

    fn plan_run(&self, name: &str, arguments: &Value) -> Plan {
        let read = self
            .runs
            .as_ref()
            .and_then(|runs| runs.read(name, arguments));
        match read {
            Some(Ok(arguments)) => Plan::Own(OwnCall {
                act: OwnAct::Background(name.to_owned()),
                arguments,
            }),
            Some(Err(refusal)) => refusal.into(),
            None => Refusal::new("unknown_tool", self.unknown(name)).into(),
        }
    }

    fn plan_read(&self, tool: &'static Tool, arguments: &Arguments) -> Plan {
        let workspace = || self.workspace.as_deref().ok_or_else(workspace_gone);
        let planned = match tool.kind {
            Kind::WriteFile => workspace().and_then(|at| change::write(at, &self.seen, arguments)),
            Kind::EditFile => workspace().and_then(|at| change::edit(at, &self.seen, arguments)),
            Kind::Shell => Ok(shell::plan(arguments)),
            Kind::HttpRequest => fetch::plan(arguments),
            Kind::ReadFile | Kind::ListDir | Kind::FindFiles | Kind::GrepFiles => {
                workspace().map(|_| own(tool, arguments))
            }
            Kind::CallOutput
            | Kind::Calculate
            | Kind::TodoWrite
            | Kind::Remember
            | Kind::Recall
            | Kind::EventsQuery => Ok(own(tool, arguments)),
        };
        planned.unwrap_or_else(Plan::from)
    }

    /// Does a call in the worker, the one with the id `call` of this run. Dropped, it is given
    /// up; a search may then go on for `SEARCH_MS` in its thread, and a start is done.
    pub async fn run(&mut self, call: &str, own: OwnCall) -> Outcome {
        let name = own.name().to_owned();
        let done = self.act(call, own).await;
        let outcome = done.unwrap_or_else(|refusal| refusal.outcome(&name));
        self.note(outcome.saw.as_ref(), None, false);
        self.shown(outcome)
    }

    async fn act(&mut self, call: &str, own: OwnCall) -> Result<Outcome, Refusal> {
        let arguments = own.arguments;
        let tool = match own.act {
            OwnAct::Tool(tool) => tool,
            OwnAct::Background(name) => {
                let runs = self.runs.clone().ok_or_else(not_planned)?;
                let call = call.to_owned();
                return in_thread(Box::new(move || runs.act(&call, &name, &arguments))).await;
            }
        };
        let workspace = self.workspace.clone();
        let around = self.surroundings.clone();
        let act: Act = match tool.kind {
            Kind::ReadFile => files(workspace, read::read, arguments),
            Kind::ListDir => files(workspace, list::list, arguments),
            Kind::FindFiles => files(workspace, find::find, arguments),
            Kind::GrepFiles => files(workspace, grep::grep, arguments),
            Kind::CallOutput => Box::new(move || call_output::read(&around, &arguments)),
            Kind::Remember => Box::new(move || notes::remember(&around, &arguments)),
            Kind::Recall => Box::new(move || notes::recall(&around, &arguments)),
            Kind::EventsQuery => Box::new(move || events::query(&around, &arguments)),
            Kind::Calculate => return calculate::calculate(&arguments),
            Kind::TodoWrite => {
                self.todo = todo::read(&arguments);
                return Ok(todo::outcome(&self.todo));
            }
            Kind::EditFile | Kind::WriteFile | Kind::Shell | Kind::HttpRequest => {
                return Err(not_planned());
            }
        };
        in_thread(act).await
    }
    /// Returns what came of a call that the hands did. The same arguments, end and log make the
    /// same outcome, whenever it is asked for.
    pub fn finish(
        &mut self,
        name: &str,
        arguments: &Value,
        ended: &CallEnded,
        log: &Path,
    ) -> Outcome {
        let kind = catalogue::tool(name).map(|tool| tool.kind);
        let around = &self.surroundings;
        let outcome = match kind {
            Some(Kind::WriteFile | Kind::EditFile) => change::finish(name, arguments, ended, log),
            Some(Kind::HttpRequest) => fetch::finish(around, arguments, ended, log),
            Some(_) | None => shell::finish(around, arguments, ended, log),
        };
        let is_whole = kind == Some(Kind::WriteFile);
        self.note(None, outcome.wrote.as_ref(), is_whole);
        self.shown(outcome)
    }

    /// Returns an outcome without the secrets of the run: it goes into the journal.
    fn shown(&self, outcome: Outcome) -> Outcome {
        Outcome {
            shown: self.masked(outcome.shown),
            brief: self.masked(outcome.brief),
            ..outcome
        }
    }

    fn masked(&self, text: String) -> String {
        match &self.masker {
            Some(masker) if masker.is_empty() => text,
            Some(masker) => String::from_utf8_lossy(&masker.mask(text.as_bytes())).into_owned(),
            // What may hold a secret is not shown where it could not be found.
            None => "[outlast: not shown: the secrets of the run cannot be masked]\n".to_owned(),
        }
    }

    /// Folds a call of an earlier worker: what was read and written, and the list.
    pub fn replay(&mut self, request: &CallRequest, result: &CallResult) {
        if !result.ok {
            return;
        }
        let kind = catalogue::tool(&request.tool).map(|tool| tool.kind);
        let is_whole = kind == Some(Kind::WriteFile);
        self.note(result.saw.as_ref(), result.wrote.as_ref(), is_whole);
        if kind == Some(Kind::TodoWrite)
            && let Ok(arguments) = Arguments::read(&request.arguments, &todo::schema())
        {
            self.todo = todo::read(&arguments);
        }
    }

    fn note(&mut self, saw: Option<&Value>, wrote: Option<&Value>, is_whole: bool) {
        if let Some(saw) = saw.and_then(|saw| Saw::deserialize(saw).ok()) {
            self.seen.note_read(&saw);
        }
        if let Some(wrote) = wrote.and_then(|wrote| Wrote::deserialize(wrote).ok()) {
            self.seen.note_write(&wrote, is_whole);
        }
    }

    fn is_here(&self, tool: &Tool) -> bool {
        if self.surroundings.is_local {
            return tool.is_for_local;
        }
        tool.tier <= self.surroundings.tier || self.surroundings.asks
    }

    /// Returns the schema of a tool here: where nobody is asked, nothing is asked for.
    fn schema(&self, tool: &Tool) -> Value {
        let can_leave = self.surroundings.asks && self.surroundings.tier < Tier::FullAccess;
        if tool.kind == Kind::Shell && can_leave {
            return shell::schema_with_host();
        }
        (tool.schema)()
    }

    fn unknown(&self, name: &str) -> String {
        let specs = self.specs();
        let names: Vec<String> = specs
            .iter()
            .map(|spec| format!("`{}`", spec.name))
            .collect();
        format!("there is no tool `{name}`; there are {}", names.join(", "))
    }
}

type Act = Box<dyn FnOnce() -> Result<Outcome, Refusal> + Send>;

/// Does what blocks in a thread of its own: the worker must hear a cancel meanwhile.
async fn in_thread(act: Act) -> Result<Outcome, Refusal> {
    let bound = Duration::from_millis(OWN_CALL_MS);
    match tokio::time::timeout(bound, tokio::task::spawn_blocking(act)).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(Refusal::new(
            "tool_broke",
            "the tool broke; do it another way",
        )),
        Err(_) => {
            let why = format!(
                "it took longer than {} s; ask for less",
                OWN_CALL_MS / 1_000
            );
            Err(Refusal::new("too_slow", why))
        }
    }
}

fn files(
    workspace: Option<Arc<Workspace>>,
    act: fn(&Workspace, &Arguments) -> Result<Outcome, Refusal>,
    arguments: Arguments,
) -> Act {
    Box::new(move || act(&*workspace.ok_or_else(workspace_gone)?, &arguments))
}

/// Returns the least tier in which a call is done.
fn needs(tool: &Tool, arguments: &Value) -> Tier {
    if tool.kind == Kind::Shell && shell::wants_host(arguments) {
        return Tier::FullAccess;
    }
    tool.tier
}

fn own(tool: &'static Tool, arguments: &Arguments) -> Plan {
    Plan::Own(OwnCall {
        act: OwnAct::Tool(tool),
        arguments: arguments.clone(),
    })
}

fn above(name: &str, tier: Tier, needs: Tier) -> Plan {
    let why = format!(
        "`{name}` is refused: it needs the tier {needs}, and this run has {tier}; go on without \
         it, or say in your answer what is missing"
    );
    Plan::Refused {
        code: Refusal::new("above_tier", why.clone()).code,
        why,
        needs: Some(needs),
    }
}

fn not_planned() -> Refusal {
    Refusal::new("unknown_tool", "the call is not one of the worker's own")
}

fn masker_of(around: &Surroundings) -> Option<Masker> {
    let spec = around.store.spec(&around.run).ok()?;
    around.store.masker(&spec)
}

fn workspace_gone() -> Refusal {
    let why = "the directory of this run is gone; nothing in it can be read or written";
    Refusal::new("workspace_gone", why)
}

#[cfg(test)]
mod tests;
