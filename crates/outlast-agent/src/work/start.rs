//! From the words on the command line to a worker that knows everything.

use super::{OwnRuns, Worker};
use crate::channel::{Channel, ChannelError, News};
use crate::log::Log;
use crate::memory::Memory;
use crate::models::{Choice, Model, ModelError, context_tokens, key_of, price};
use crate::tools::background::Runs;
use crate::tools::{Surroundings, Toolbox};
use crate::{prompt, stall};
use outlast_journal::agent::{AgentSpec, Final, RunMeta, Work};
use outlast_journal::error::Advice;
use outlast_journal::worker::Heard;
use outlast_journal::{Limits, Line, RunId, Spec, SpecError, Tier, limits, names, text};
use outlast_lib::{OpenError, Store};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a worker cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum StartError {
    /// The words on the command line are not a worker's.
    #[error("a worker is started with the id of its run and the run's directory")]
    Words,
    /// A file of the run cannot be read.
    #[error("`{path}` cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The spec means nothing.
    #[error("the run's spec is damaged")]
    Spec(#[from] SpecError),
    /// The run is none of an agent.
    #[error("the run is no agent run")]
    NoAgent,
    /// The store cannot be opened.
    #[error("the store cannot be opened")]
    Store(#[from] OpenError),
    /// The supervisor is not there.
    #[error("the supervisor cannot be talked to")]
    Channel(#[from] ChannelError),
    /// The descriptor to the supervisor is missing.
    #[error("nobody started this process as a worker")]
    NoChannel(#[source] io::Error),
    /// The model of the spec is of no provider that is known here.
    #[error("the provider `{provider}` is not known")]
    Provider {
        /// Its name.
        provider: String,
    },
    /// The model cannot be asked.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Reads the spec of the run in `dir`.
pub(crate) fn read_spec(dir: &Path) -> Result<Spec, StartError> {
    let path = dir.join(names::SPEC);
    let bytes = std::fs::read(&path).map_err(|source| StartError::Unreadable { path, source })?;
    Ok(Spec::from_json(&bytes)?)
}

/// Returns a worker that knows what stands in its journal, greeted by its supervisor.
pub(crate) async fn begin<'a>(
    spec: &'a Spec,
    dir: &Path,
    limits: Limits,
    socket: UnixStream,
    log: Log<'a>,
) -> Result<Worker<'a>, StartError> {
    let agent = spec.agent.as_deref().ok_or(StartError::NoAgent)?;
    // The store is three folders up: its runs, the month, the run.
    let root = dir.ancestors().nth(3).ok_or(StartError::Words)?;
    let store = Arc::new(Store::open(root, limits)?);
    let mut channel = Channel::new(socket).map_err(StartError::NoChannel)?;
    channel.greet().await?;
    // Everything told before this worker stands in the journal once it is welcome.
    let is_cancelling = loop {
        if let News::Heard(Heard::Welcome { is_cancelling, .. }) = channel.news().await? {
            break is_cancelling;
        }
    };
    let (choice, model) = match model(agent) {
        Ok(found) => found,
        Err(error) => {
            // Another worker would find the same: this is how the run ends.
            give_up(&mut channel, &error).await?;
            return Err(error);
        }
    };
    let chain = chain(&store, agent);
    let first = chain.last().copied().unwrap_or(spec.id);
    let environment = std::env::vars_os().collect();
    let runs = Runs::of(spec, agent, &store, first, environment);
    let around = surroundings(spec, agent, &store, &chain);
    let runs = runs.map(Arc::new);
    let mut own_runs = OwnRuns::new(runs.clone());
    let mut tools = Toolbox::new(around).with_runs(runs);
    let mut memory = Memory::default();
    for id in chain.iter().rev() {
        let dir = store.directory_of(id).unwrap_or_default();
        read_journal(&mut memory, &dir)?;
    }
    read_journal(&mut memory, dir)?;
    for (request, result) in memory.end_reading() {
        own_runs.has_any |= request.tool.starts_with("background_");
        tools.replay(&request, &result);
    }
    let mut worker = Worker {
        spec,
        agent,
        dir: dir.to_owned(),
        channel,
        memory,
        log,
        price: price(&choice),
        window: context_tokens(&choice),
        model,
        tool_specs: tools.specs(),
        tools,
        system: prompt::system(spec, agent),
        own_runs,
        is_cancelling,
        was_shortened: false,
    };
    if worker.memory.ended.is_none() {
        let meta = worker.meta();
        worker.tell([Work::Meta(Box::new(meta))]).await?;
    }
    Ok(worker)
}

impl Worker<'_> {
    fn meta(&self) -> RunMeta {
        let schemas = serde_json::to_vec(&self.tool_specs).unwrap_or_default();
        RunMeta {
            model: self.agent.request.model.clone(),
            tools_hash: format!("{:016x}", stall::hash(&schemas)),
            prompt_hash: format!("{:016x}", stall::hash(self.system.as_bytes())),
            turns_max: self.agent.turns_max,
            resumes: self.agent.request.resumes,
        }
    }
}

/// Returns the runs that this one goes on with, newest first.
fn chain(store: &Store, agent: &AgentSpec) -> Vec<RunId> {
    let mut chain = Vec::new();
    let mut next = agent.request.resumes;
    while let Some(id) = next.filter(|id| !chain.contains(id) && chain.len() < limits::RESUMES_MAX)
    {
        chain.push(id);
        next = store
            .spec(&id)
            .ok()
            .and_then(|spec| spec.agent?.request.resumes);
    }
    chain
}

fn surroundings(
    spec: &Spec,
    agent: &AgentSpec,
    store: &Arc<Store>,
    chain: &[RunId],
) -> Surroundings {
    let contained = spec.containment.as_ref();
    Surroundings {
        workspace: PathBuf::from(&spec.cwd),
        project: spec.project.clone(),
        tier: contained.map_or(Tier::FullAccess, |contained| contained.tier),
        is_local: agent.request.is_local,
        asks: agent.request.asks,
        store: Arc::clone(store),
        run: spec.id,
        earlier: chain.to_vec(),
    }
}

fn model(agent: &AgentSpec) -> Result<(Choice, Model), StartError> {
    let chosen = &agent.request.model;
    let choice = Choice::from_spec(chosen).ok_or_else(|| StartError::Provider {
        provider: chosen.provider.clone(),
    })?;
    let environment = |name: &str| std::env::var(name).ok();
    let key = key_of(&choice, &environment);
    Ok((choice.clone(), Model::new(&choice, key)?))
}

/// Tells that there will be no work.
async fn give_up(channel: &mut Channel, error: &StartError) -> Result<(), ChannelError> {
    let message = error.to_string();
    let end = Final {
        status: "error".to_owned(),
        summary: text::first_line_label(&message, limits::SUMMARY_CHARS),
        text: String::new(),
        answer: Value::Null,
        ungrounded_claims: Vec::new(),
        ended_by: "self".to_owned(),
        error: Some(error.code().to_owned()),
        message: Some(message),
        suggestions: vec![error.hint()],
    };
    channel.tell(Work::Final(Box::new(end))).await?;
    while channel.has_open() {
        channel.news().await?;
    }
    Ok(())
}

impl Advice for StartError {
    fn code(&self) -> &'static str {
        match self {
            Self::Model(error) => error.code(),
            Self::Provider { .. } => "unknown_provider",
            Self::Store(error) => error.code(),
            Self::Words
            | Self::Unreadable { .. }
            | Self::Spec(_)
            | Self::NoAgent
            | Self::Channel(_)
            | Self::NoChannel(_) => "no_worker",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Model(error) => error.hint(),
            Self::Provider { .. } => "name another model".to_owned(),
            Self::Store(error) => error.hint(),
            Self::Words
            | Self::Unreadable { .. }
            | Self::Spec(_)
            | Self::NoAgent
            | Self::Channel(_)
            | Self::NoChannel(_) => "workers are started by their supervisors alone".to_owned(),
        }
    }
}

/// Reads the journal of the run in `dir`. Bytes that are no line are passed over, as every
/// reader does.
fn read_journal(memory: &mut Memory, dir: &Path) -> Result<(), StartError> {
    memory.begin_run(dir);
    let path = dir.join(names::JOURNAL);
    let unreadable = |source| StartError::Unreadable {
        path: path.clone(),
        source,
    };
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(unreadable)?,
    };
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        reader.read_until(b'\n', &mut bytes).map_err(unreadable)?;
        // A line without an end is in the making, or the space that a journal reserves.
        let Some(line) = bytes.strip_suffix(b"\n") else {
            return Ok(());
        };
        if let Ok(line) = Line::from_bytes(line) {
            memory.read(&line);
        }
    }
}
