//! Starting a run: everything is checked and bound before anybody can see it.
//!
//! The order is the promise (`docs/decisions`): a look at the key, folder under a
//! hidden name, lock, key's link, places, spec, rename, launch. A crash between any
//! two of these leaves nothing that a reader could take for a run that lives.

mod agent;
mod ancestry;
mod birth;
mod containment;
mod environment;
mod error;
mod keys;
mod pools;
mod shell;
mod spec;

pub use containment::{ContainError, surroundings};
pub use error::StartError;

use crate::{Access, Store};
use birth::Birth;
use keys::{Key, Look};
use outlast_journal::control::Answer;
use outlast_journal::{Checked, Failure, Lifetime, Request, RunId, Spec, Status};
use outlast_supervisor::launch::{LaunchError, Supervisor};
use outlast_supervisor::{clock, fault, fsio};
use spec::Bound;
use std::path::Path;

/// What a start gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Begun {
    /// The run.
    pub id: RunId,
    /// Its label.
    pub label: String,
    /// Where it is: `running`, `queued`, or, of a replay, wherever that run is.
    pub status: Status,
    /// Whether an earlier request with the same key had started it already.
    pub is_replayed: bool,
    /// Runs before it, when it is queued.
    pub queue_position: Option<u64>,
    /// What was clamped.
    pub notices: Vec<String>,
}

impl Store {
    /// Starts a run and returns once its command is executing, or waits in its queue.
    ///
    /// What could not be executed is an error of this call, and a `failed` record.
    /// Every other refusal leaves nothing behind.
    ///
    /// ```no_run
    /// use outlast_lib::{CommandLine, Limits, Request, Store};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Store::open("/home/me/.local/state/outlast".as_ref(), Limits::default())?;
    /// let words = ["cargo", "test"].map(str::to_owned).to_vec();
    /// let begun = store.start(&Request {
    ///     environment: std::env::vars_os().collect(),
    ///     ..Request::new(CommandLine::Direct(words), "/home/me/project")
    /// })?;
    /// println!("{}", begun.id);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// See [`StartError`]; [`Advice::code`](crate::Advice::code) is stable.
    pub fn start(&self, request: &Request) -> Result<Begun, StartError> {
        if !outlast_supervisor::is_initialised() {
            return Err(StartError::NotInitialised);
        }
        match self.access() {
            Access::Full => {}
            Access::Newer { version } => return Err(StartError::StoreNewer { version }),
            Access::ReadOnly => {
                return Err(StartError::ReadOnly {
                    path: self.root().to_owned(),
                });
            }
        }
        agent::check_worker(request)?;
        let mut checked = request.check(self.limits(), clock::now())?;
        if request.lifetime == Lifetime::Session && request.holder.is_none() {
            return Err(StartError::NoHolder);
        }
        agent::check_directory(request)?;
        let contained = containment::workspace(self, request, &mut checked.notices)?;
        let bound = (contained != request.containment).then(|| Request {
            containment: contained,
            ..request.clone()
        });
        let request = bound.as_ref().unwrap_or(request);
        let key = match &request.idempotency_key {
            Some(key) => Some(self.key_of(key, request, &checked)?),
            None => None,
        };
        loop {
            if let Some(key) = &key
                && let Look::Run(id) = keys::look(self, &key.name)?
            {
                return self.replay(id, &key.request_hash);
            }
            let Some(begun) = self.bear(request, &checked, key.as_ref())? else {
                // Another start with this key was a moment faster.
                continue;
            };
            return Ok(begun);
        }
    }

    fn replay(&self, id: RunId, request_hash: &str) -> Result<Begun, StartError> {
        let record = self
            .record(&id)
            .map_err(|source| StartError::Replay { id, source })?;
        let spec = self
            .spec(&id)
            .map_err(|source| StartError::Replay { id, source })?;
        if spec.request_hash.as_deref() != Some(request_hash) {
            return Err(StartError::KeyConflict { id });
        }
        Ok(Begun {
            id,
            label: record.label,
            status: record.status,
            is_replayed: true,
            queue_position: record.queue_position,
            notices: Vec::new(),
        })
    }

    /// Bears and launches one run; `None` when its key was taken meanwhile.
    fn bear(
        &self,
        request: &Request,
        checked: &Checked,
        key: Option<&Key>,
    ) -> Result<Option<Begun>, StartError> {
        let environment = environment::build(request);
        let parent = ancestry::find(self, request)?;
        let agents_above = ancestry::agents_above(self, request, parent.as_ref())?;
        containment::check_parent(request, parent.as_ref())?;
        let mut birth = Birth::begin(self)?;
        // Before the places: a start that loses the key is to find the run that has it, not
        // to be refused since that run holds the last place.
        if let Some(key) = key
            && !keys::claim(self, &key.name, &birth.id)?
        {
            return Ok(None);
        }
        fault::point("key_made");
        // It comes up while the rest is bound; if nothing comes of the run, it leaves again.
        let supervisor = Supervisor::start(&birth.id, &birth.visible, &environment);
        let bound = Bound {
            environment: &environment,
            parent: parent.as_ref(),
            agents_above,
        };
        let made = self.make(request, checked, key, &bound, &mut birth);
        let shown = made.and_then(|spec| birth.show(self).map(|()| spec));
        let spec = shown.inspect_err(|_| {
            birth.forget_key(self, key.map(|key| key.name.as_str()));
        })?;
        let environment = environment::with_run(environment, &birth.id);
        let answer = supervisor.and_then(|supervisor| birth.launch(supervisor, &environment));
        self.settle_start(birth, &spec, answer, checked).map(Some)
    }

    fn settle_start(
        &self,
        birth: Birth,
        spec: &Spec,
        answer: Result<Answer, LaunchError>,
        checked: &Checked,
    ) -> Result<Begun, StartError> {
        let id = birth.id;
        let answer = answer.map_err(|source| match source {
            LaunchError::NotInitialised => StartError::NotInitialised,
            LaunchError::Spawn(_) | LaunchError::Silent(_) | LaunchError::Died | _ => {
                StartError::Supervisor { id, source }
            }
        })?;
        if answer.ok {
            let is_queued = answer.queued == Some(true);
            return Ok(Begun {
                id,
                label: spec.label.clone(),
                status: if is_queued {
                    Status::Queued
                } else {
                    Status::Running
                },
                is_replayed: false,
                queue_position: is_queued
                    .then(|| {
                        self.record(&id)
                            .ok()
                            .and_then(|record| record.queue_position)
                    })
                    .flatten(),
                notices: checked.notices.clone(),
            });
        }
        let code = answer.code.unwrap_or_default();
        let system = answer.errno.map(std::io::Error::from_raw_os_error);
        if code == "store_full" || code == "store" {
            // Nothing was executed and nothing could be recorded: as if it had not been asked.
            birth.unbear(self, spec.key.as_deref());
            return Err(StartError::store("the run's files", system));
        }
        if code == containment::FAILED {
            birth.unbear(self, spec.key.as_deref());
            return Err(ContainError::failed(answer.message, system, answer.hint).into());
        }
        Err(StartError::CouldNotStart {
            id,
            failure: Failure {
                code,
                message: answer.message.unwrap_or_default(),
                errno: answer.errno,
            },
        })
    }
}

/// Returns the project of a directory: the nearest folder above it that holds `.git`, else itself.
///
/// The path is canonical where the directory exists, and as given where it does not.
pub fn project(cwd: &Path) -> String {
    let canonical = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let root = canonical.ancestors().find(|dir| dir.join(".git").exists());
    root.unwrap_or(&canonical).to_string_lossy().into_owned()
}

/// Removes a folder that nobody has seen. What cannot be removed is debris for `gc`.
fn discard(dir: &Path) {
    std::fs::remove_dir_all(dir).ok();
}

fn private_dirs(path: &Path) -> Result<(), StartError> {
    fsio::make_private_dirs(path)
        .map_err(|error| StartError::store("a folder of the store", Some(error)))
}
