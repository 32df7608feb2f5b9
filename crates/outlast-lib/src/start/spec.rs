//! What is written down of a run before it begins: its words, its environment's names, its bounds.

use super::ancestry::Parent;
use super::birth::Birth;
use super::keys::Key;
use super::{StartError, agent, containment, environment, pools, project, shell};
use crate::Store;
use outlast_journal::{
    Checked, CommandLine, Kind, Lifetime, Request, SecretMark, Spec, Survives, limits, mask,
    mask::Masker, names, text,
};
use outlast_supervisor::fault;
use std::ffi::OsString;

impl Store {
    /// Takes the places of a run that is being born and writes down what is bound.
    pub(super) fn make(
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
        agent::check_until(request, environment)?;
        let argv = Self::words(request, environment, birth)?;
        let secrets = self.secrets(request, environment)?;
        let shown = self.shown(request, checked, &argv, &secrets)?;
        if shown.argv != argv {
            birth.words = argv;
        }
        let agent = agent::spec(request, checked, environment, *agents_above, &|text| {
            self.masked(text, &secrets).unwrap_or_default()
        });
        // An agent run below another is a session of its own.
        let is_below = agent.is_some() && *agents_above > 0;
        let own_session = is_below.then(|| birth.id.to_string());
        let plain = plain_spec(request, checked, birth);
        let spec = Spec {
            agent,
            child_session_id: own_session.or(plain.child_session_id),
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
            ..plain
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
        let mask = |text: &str| self.masked(text, secrets);
        let command = mask(&checked.command)?;
        let given = request.label.as_deref().map(mask).transpose()?;
        let argv = argv.iter().map(|word| mask(word));
        Ok(Shown {
            argv: argv.collect::<Result<_, _>>()?,
            label: outlast_journal::label(given.as_deref(), &command),
            command: cut_command(&command),
        })
    }

    /// Returns a text without the secrets.
    fn masked(&self, text: &str, secrets: &[SecretMark]) -> Result<String, StartError> {
        if secrets.is_empty() {
            return Ok(text.to_owned());
        }
        let key = self
            .key()
            .map_err(|error| StartError::store("the store's key", Some(error)))?;
        let masked = Masker::new(&key, secrets)
            .mask(text.as_bytes())
            .into_owned();
        Ok(String::from_utf8_lossy(&masked).into_owned())
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
pub(super) struct Bound<'a> {
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) parent: Option<&'a Parent>,
    pub(super) agents_above: u32,
}

/// Returns what of a spec follows from the request alone.
fn plain_spec(request: &Request, checked: &Checked, birth: &Birth) -> Spec {
    let cwd = containment::cwd(request);
    let delegated = request.delegated.as_ref();
    Spec {
        v: outlast_journal::FORMAT_VERSION,
        id: birth.id,
        kind: if delegated.is_some() || matches!(request.command, CommandLine::Agent(_)) {
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
