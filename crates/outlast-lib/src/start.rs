//! Starting a run: everything is checked and bound before anybody can see it.
//!
//! The order is the promise (`docs/decisions`): a look at the key, folder under a
//! hidden name, lock, key's link, places, spec, rename, launch. A crash between any
//! two of these leaves nothing that a reader could take for a run that lives.

mod ancestry;
mod birth;
mod containment;
mod environment;
mod error;
mod keys;
mod pools;
mod shell;

pub use containment::{ContainError, surroundings};
pub use error::StartError;

use crate::{Access, Store};
use ancestry::Parent;
use birth::Birth;
use keys::{Key, Look};
use outlast_journal::control::Answer;
use outlast_journal::{
    Checked, CommandLine, Failure, Kind, Lifetime, Request, RunId, SecretMark, Spec, Status,
    Survives, limits, mask, mask::Masker, names, text,
};
use outlast_supervisor::launch::{LaunchError, Supervisor};
use outlast_supervisor::{clock, fault, fsio};
use std::ffi::OsString;
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
        let mut checked = request.check(self.limits(), clock::now())?;
        if request.lifetime == Lifetime::Session && request.holder.is_none() {
            return Err(StartError::NoHolder);
        }
        let contained = containment::workspace(self, request, &mut checked.notices)?;
        let bound = contained.map(|containment| Request {
            containment: Some(containment),
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
        containment::check_parent(request, parent.as_ref())?;
        let agents_above = ancestry::agents_above(request, parent.as_ref())?;
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

    /// Takes the places of a run that is being born and writes down what is bound.
    fn make(
        &self,
        request: &Request,
        checked: &Checked,
        key: Option<&Key>,
        bound: &Bound<'_>,
        birth: &mut Birth,
    ) -> Result<Spec, StartError> {
        let Bound {
            environment,
            parent,
            agents_above,
        } = bound;
        let pools = pools::of(self, request);
        birth.take_places(self, request, checked, &pools, *parent)?;
        fault::point("placed");
        let argv = Self::words(request, environment, birth)?;
        let secrets = self.secrets(request, environment)?;
        let shown = self.shown(request, checked, &argv, &secrets)?;
        if shown.argv != argv {
            birth.words = argv;
        }
        let spec = Spec {
            argv: shown.argv,
            command: shown.command,
            label: shown.label,
            parent: parent.map(|parent| parent.id),
            root: parent.map(|parent| parent.root),
            depth: parent.map_or(0, |parent| parent.depth + 1),
            agents_above: *agents_above,
            pools,
            queue: birth.queue.clone(),
            env_names: environment::names(environment),
            secrets,
            key: key.map(|key| key.name.clone()),
            request_hash: key.map(|key| key.request_hash.clone()),
            ..plain_spec(request, checked, birth)
        };
        birth.write_spec(&spec)?;
        Ok(spec)
    }

    /// Returns words, command and label as they are written and shown: without secrets.
    fn shown(
        &self,
        request: &Request,
        checked: &Checked,
        argv: &[String],
        secrets: &[SecretMark],
    ) -> Result<Shown, StartError> {
        if secrets.is_empty() {
            return Ok(Shown {
                argv: argv.to_vec(),
                command: cut_command(&checked.command),
                label: checked.label.clone(),
            });
        }
        let key = self
            .key()
            .map_err(|error| StartError::store("the store's key", Some(error)))?;
        let masker = Masker::new(&key, secrets);
        let mask = |text: &str| {
            let masked = masker.mask(text.as_bytes());
            String::from_utf8_lossy(&masked).into_owned()
        };
        let command = mask(&checked.command);
        let given = request.label.as_deref().map(mask);
        Ok(Shown {
            argv: argv.iter().map(|word| mask(word)).collect(),
            label: outlast_journal::label(given.as_deref(), &command),
            command: cut_command(&command),
        })
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

    fn secrets(
        &self,
        request: &Request,
        environment: &[(OsString, OsString)],
    ) -> Result<Vec<SecretMark>, StartError> {
        let secret = environment::secrets(request, environment);
        if secret.is_empty() {
            return Ok(Vec::new());
        }
        let key = self
            .key()
            .map_err(|error| StartError::store("the store's key", Some(error)))?;
        let marks = secret
            .into_iter()
            .filter_map(|(name, value)| mask::mark(&key, name, value));
        Ok(marks.collect())
    }

    /// Returns the words to execute; a text too long for an argument goes into a file.
    fn words(
        request: &Request,
        environment: &[(OsString, OsString)],
        birth: &mut Birth,
    ) -> Result<Vec<String>, StartError> {
        let (text, login, pipefail) = match &request.command {
            CommandLine::Direct(words) => return Ok(words.clone()),
            CommandLine::Agent(_) => {
                let words = [names::PROCESS, names::WORK, birth.id.as_str()];
                return Ok(words.map(str::to_owned).to_vec());
            }
            CommandLine::Shell {
                text,
                login,
                pipefail,
            } => (text, login, pipefail),
        };
        let login = *login && containment::may_log_in(request);
        let is_of_image = containment::is_of_image(request);
        let shell = shell::find(environment, login, *pipefail, is_of_image)?;
        let mut words = vec![shell.program.clone()];
        if *pipefail {
            words.extend(["-o".to_owned(), "pipefail".to_owned()]);
        }
        if login {
            words.push("-l".to_owned());
        }
        if text.len() <= limits::ARGUMENT_BYTES_MAX {
            words.extend(["-c".to_owned(), text.clone()]);
        } else {
            words.push(birth.write_command(text)?);
        }
        birth.shell = Some(shell);
        Ok(words)
    }
}

/// What is written of a command, its secrets masked.
struct Shown {
    argv: Vec<String>,
    command: String,
    label: String,
}

/// What a run gets from its caller's surroundings.
struct Bound<'a> {
    environment: &'a [(OsString, OsString)],
    parent: Option<&'a Parent>,
    agents_above: u32,
}

/// Returns what of a spec follows from the request alone.
fn plain_spec(request: &Request, checked: &Checked, birth: &Birth) -> Spec {
    let cwd = containment::cwd(request);
    let delegated = request.delegated.as_ref();
    Spec {
        v: outlast_journal::FORMAT_VERSION,
        id: birth.id,
        kind: if delegated.is_some() {
            Kind::Agent
        } else {
            Kind::Command
        },
        created: birth.created,
        argv: Vec::new(),
        command: String::new(),
        command_in_file: birth.has_command_file,
        shell: birth.shell.clone(),
        label: String::new(),
        project: project(&request.cwd),
        cwd,
        session: request.session.clone(),
        parent: None,
        root: None,
        depth: 0,
        agents_above: 0,
        child_session_id: delegated.and_then(|delegated| delegated.child_session_id.clone()),
        model: delegated.and_then(|delegated| delegated.model.clone()),
        timeout_ms: checked.timeout_ms,
        deadline: request.deadline,
        idle_ttl_ms: checked.idle_ttl_ms,
        grace_ms: checked.grace_ms,
        stop_signal: checked.stop_signal.clone(),
        stop_command: request.stop_command.clone(),
        output_bytes_max: checked.output_bytes_max,
        leftovers: request.leftovers,
        lifetime: request.lifetime,
        holder: request
            .holder
            .filter(|_| request.lifetime == Lifetime::Session),
        stdin: request.stdin,
        pools: Vec::new(),
        queue: None,
        env_names: Vec::new(),
        secrets: Vec::new(),
        key: None,
        request_hash: None,
        origin: request.origin.clone(),
        posture: containment::posture(request),
        containment: request.containment.clone(),
        agent: None,
        survives: Some(Survives {
            host_exit: true,
            terminal: true,
            unit_restart: false,
        }),
    }
}

fn cut_command(command: &str) -> String {
    let most = limits::COMMAND_SPEC_BYTES_MAX;
    if command.len() <= most {
        return command.to_owned();
    }
    let kept = text::char_floor(command.as_bytes(), most);
    let shown = command.get(..kept).unwrap_or_default();
    let (all, cut) = (command.len(), command.len() - kept);
    format!("{shown}…[truncated: {kept} of {all} bytes shown; {cut} elided]…")
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
