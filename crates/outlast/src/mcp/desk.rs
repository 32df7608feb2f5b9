//! Where calls are answered: which store, which project, for whom.
//!
//! It holds only what the process was started with. The store is opened for
//! each call, so that a server that runs for days sees it as it is.

use super::{roots, wire::Caller};
use crate::{
    config::Config,
    failure::{Failure, exit},
    look::clean,
    policy::{Policy, PolicyError},
    sandbox::Asked,
    surroundings::{Surroundings, SurroundingsError, work_dir},
};
use outlast_lib::{
    Advice, CommandLine, ListQuery, NoticeScope, Request, RunId, ShortRecord, Status, Store,
    limits, project,
};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// First line of the instructions.
const PURPOSE: &str = "Outlast runs shell commands and agents that outlive your turn, this \
                       host and this server. Lost an id? `background_list`.";

/// Characters of a label in an instruction or a notice: enough to know it again.
const LABEL_CHARS: usize = 60;

/// What a server was started with.
#[derive(Debug)]
pub(super) struct Desk {
    surroundings: Surroundings,
    /// The directory in which the host works, as far as the server's start tells.
    base: PathBuf,
    /// The root of the project there, to which runs belong.
    project: String,
    /// Session that all calls count for, where one was named at the start.
    session: Option<String>,
    /// Whether hosts come and go while it stays.
    is_shared: bool,
    /// Runs started so far.
    starts: AtomicU64,
}

impl Desk {
    /// Makes the desk of a server with this `--session`.
    ///
    /// # Errors
    ///
    /// Fails when there is no directory to stand in and the host names no project.
    pub(super) fn new(
        surroundings: &Surroundings,
        session: Option<String>,
    ) -> Result<Self, SurroundingsError> {
        let base = match &surroundings.host_project {
            Some(path) => path.clone(),
            None => work_dir()?,
        };
        let session = session.or_else(|| surroundings.host_session.clone());
        Ok(Self {
            surroundings: surroundings.clone(),
            project: project(&base),
            base,
            session,
            is_shared: false,
            starts: AtomicU64::new(0),
        })
    }

    /// Returns whether it matters in which directories a host works: not if it told at the start,
    /// and not where hosts come and go.
    pub(super) fn wants_roots(&self) -> bool {
        !self.is_shared && self.surroundings.host_project.is_none()
    }

    /// Returns the root of the project that a call is about.
    pub(super) fn project(&self, caller: &Caller) -> String {
        let base = if self.wants_roots() {
            roots::base(&caller.roots, &self.base)
        } else {
            None
        };
        base.map_or_else(|| self.project.clone(), |base| project(&base))
    }

    /// Makes the desk of a server that many hosts share, with this `--session`.
    ///
    /// What started it is no host of theirs, so what that says of itself does not count.
    ///
    /// # Errors
    ///
    /// Fails when there is no directory to stand in.
    pub(super) fn shared(
        surroundings: &Surroundings,
        session: Option<String>,
    ) -> Result<Self, SurroundingsError> {
        let surroundings = Surroundings {
            host_session: None,
            host_project: None,
            invoked_by: Vec::new(),
            ..surroundings.clone()
        };
        let mut desk = Self::new(&surroundings, session)?;
        desk.is_shared = true;
        Ok(desk)
    }

    /// Counts a run that was started.
    pub(super) fn note_start(&self) {
        self.starts.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many runs were started.
    pub(super) fn starts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed)
    }

    /// Returns whether hosts come and go while the server stays.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns the directory to run in.
    pub(super) fn cwd(&self, caller: &Caller, asked: Option<&str>) -> PathBuf {
        let root = PathBuf::from(self.project(caller));
        match asked {
            Some(asked) => root.join(asked),
            None => root,
        }
    }

    /// Returns the agents that led to this process, oldest first.
    pub(super) fn invoked_by(&self) -> &[String] {
        &self.surroundings.invoked_by
    }

    /// Returns the host's own session, if it told one to this process.
    pub(super) fn host_session(&self) -> Option<&str> {
        self.surroundings.host_session.as_deref()
    }

    /// Returns the session that a call counts for: the named one, the host's, else the project.
    pub(super) fn session(&self, caller: &Caller) -> String {
        let named = self.session.as_ref();
        let named = named.or(caller.session.as_ref());
        let named = named.or(caller.thread.as_ref());
        named.cloned().unwrap_or_else(|| self.project(caller))
    }

    /// Opens the store as it is now.
    ///
    /// # Errors
    ///
    /// Fails as the configuration and `Store::open` do.
    pub(super) fn open(&self) -> Result<Store, Failure> {
        self.open_with_config().map(|(store, _)| store)
    }

    /// Opens the store as it is now, and brings the configuration by which it was opened.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::open`] does.
    pub(super) fn open_with_config(&self) -> Result<(Store, Config), Failure> {
        open(&self.surroundings)
    }

    /// Has a request keep the rules of the user and of the projects, and binds what is to
    /// contain it. Returns a notice where a rule made its time limit shorter.
    ///
    /// The rules of the caller's project hold also where it goes to another directory.
    ///
    /// # Errors
    ///
    /// Fails when a rule forbids the request, when it asks for more than it may have, and when
    /// the file of a project cannot be used.
    pub(super) fn bind(
        &self,
        config: &Config,
        caller: &Caller,
        request: &mut Request,
        asked: Asked,
    ) -> Result<Option<String>, Failure> {
        let refused = |error: PolicyError| Failure::new(&error, exit::ERROR);
        let (here, there) = (self.project(caller), project(&request.cwd));
        let projects = [Path::new(&here), Path::new(&there)];
        let policy = Policy::of(config.rules.as_ref(), &projects).map_err(refused)?;
        let notice = policy.keep(request).map_err(refused)?;
        let sandbox = policy.lower(config.sandbox.clone());
        let contained = match &request.command {
            CommandLine::Agent(agent) if agent.is_local => Ok(None),
            CommandLine::Agent(_) => sandbox.of_agent(asked),
            CommandLine::Direct(_) | CommandLine::Shell { .. } => sandbox.of_host(asked),
        };
        request.containment = contained.map_err(|error| Failure::new(&error, exit::NOT_STARTED))?;
        Ok(notice)
    }

    /// Returns what a model is told at first: what goes on here, and what ended unseen.
    ///
    /// At most `TOOL_INSTRUCTION_LINES_MAX` lines. They hold no output, which could be meant
    /// to mislead.
    pub(super) fn instructions(&self) -> String {
        let mut lines = vec![PURPOSE.to_owned()];
        if let Ok(store) = self.open() {
            lines.extend(self.going_on(&store));
            lines.extend(self.ended(&store));
        }
        lines.truncate(limits::TOOL_INSTRUCTION_LINES_MAX);
        lines.join("\n")
    }

    fn going_on(&self, store: &Store) -> Vec<String> {
        let listing = store.list(&ListQuery {
            project: Some(self.project.clone()),
            statuses: vec![Status::Running, Status::Queued],
            limit: limits::TOOL_INSTRUCTION_LINES_MAX,
            ..ListQuery::default()
        });
        let records = listing.map(|listing| listing.records).unwrap_or_default();
        let lines = records.iter().map(|record| {
            let (status, id) = (record.status, record.id);
            format!("{status}: {id} {}", label(&record.label))
        });
        lines.collect()
    }

    fn ended(&self, store: &Store) -> Vec<String> {
        let scope = NoticeScope::Project(self.project.clone());
        let unseen = store.notices(&scope, limits::TOOL_INSTRUCTION_LINES_MAX);
        let lines = unseen.unwrap_or_default();
        let lines = lines.iter().map(|run| {
            let code = run.exit_code.map(|code| format!(" (exit {code})"));
            let code = code.unwrap_or_default();
            let (status, id) = (run.status, run.id);
            format!("{status}{code}, not seen yet: {id} {}", label(&run.label))
        });
        lines.collect()
    }

    /// Returns ended runs of the session that it was not told of, without those in `named`.
    pub(super) fn unseen(
        &self,
        store: &Store,
        caller: &Caller,
        named: &[RunId],
    ) -> Vec<ShortRecord> {
        let scope = NoticeScope::Session(self.session(caller));
        let limit = limits::TOOL_ENDED_UNSEEN_MAX + named.len();
        let unseen = store.notices(&scope, limit).unwrap_or_default();
        let unseen = unseen.into_iter().filter(|run| !named.contains(&run.id));
        unseen.take(limits::TOOL_ENDED_UNSEEN_MAX).collect()
    }

    /// Notes that the session was told of the ends of these runs.
    ///
    /// A note that cannot be made is no error: the end is told once more.
    pub(super) fn note_told(&self, caller: &Caller, told: &[RunId]) {
        if !told.is_empty() {
            self.teller(caller, told.to_vec())();
        }
    }

    /// Returns what notes that the session was told of the ends of these runs, for later.
    pub(super) fn teller(&self, caller: &Caller, told: Vec<RunId>) -> impl FnOnce() + Send + use<> {
        let (surroundings, session) = (self.surroundings.clone(), self.session(caller));
        move || {
            if let Ok((store, _)) = open(&surroundings)
                && store.is_writable()
            {
                store.acknowledge(&told, &session).ok();
            }
        }
    }
}

/// Opens the store as it is now, with the configuration by which it was opened.
fn open(surroundings: &Surroundings) -> Result<(Store, Config), Failure> {
    let failed = |error: &dyn Advice| Failure::new(error, exit::ERROR);
    let config = Config::load(surroundings.config()).map_err(|error| failed(&error))?;
    let root = surroundings.store().map_err(|error| failed(&error))?;
    let store = Store::open(&root, config.limits.clone()).map_err(|error| failed(&error))?;
    Ok((store, config))
}

/// Returns an ended run as a notice.
pub(super) fn notice(run: &ShortRecord) -> Value {
    let mut notice = json!({
        "id": run.id,
        "status": run.status,
        "label": label(&run.label),
    });
    if let (Some(code), Some(fields)) = (run.exit_code, notice.as_object_mut()) {
        fields.insert("exit_code".to_owned(), json!(code));
    }
    notice
}

/// Returns a label on one line, without what a terminal would obey, and not too long.
pub(super) fn label(label: &str) -> String {
    outlast_journal::text::cut_chars(&clean(label), LABEL_CHARS)
}
