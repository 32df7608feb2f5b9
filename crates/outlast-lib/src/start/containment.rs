//! What a start checks of a containment: the workspace, the tier of its parent, and what cannot
//! be contained at all. That it holds is for the supervisor to bind and to see.

use super::StartError;
use super::ancestry::Parent;
use crate::{Advice, Store};
use outlast_journal::{
    CommandLine, Containment, Network, Posture, Request, RunId, Surroundings, Tier, limits,
};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The code by which a supervisor says that it could not contain a run.
pub(super) const FAILED: &str = "containment_failed";

/// Directories of the root in which programs, devices and settings lie.
const SYSTEM: [&str; 16] = [
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "nix", "opt", "proc", "run", "sbin",
    "sys", "tmp", "usr", "var",
];
/// Those of them in which nothing is a workspace.
const NEVER: [&str; 3] = ["dev", "proc", "sys"];

/// Returns the containment of a request with its workspace, `None` for the host as it is.
pub(super) fn workspace(
    store: &Store,
    request: &Request,
    notices: &mut Vec<String>,
) -> Result<Option<Containment>, ContainError> {
    let asked = request.containment.as_ref();
    // A local agent run has nothing that could be contained.
    let asked = asked.filter(|asked| asked.tier != Tier::FullAccess && !is_local(request));
    let Some(asked) = asked else {
        return Ok(None);
    };
    if request.stop_command.is_some() {
        return Err(ContainError::StopCommand);
    }
    if matches!(asked.network, Network::Allow(_)) && asked.proxy.is_none() {
        return Err(ContainError::NoProxy);
    }
    let path = fs::canonicalize(&request.cwd).map_err(|source| ContainError::Gone {
        path: request.cwd.clone(),
        source,
    })?;
    let surroundings = surroundings(&request.environment);
    let home = surroundings.home.as_deref().map(Path::new);
    let store = fs::canonicalize(store.root()).unwrap_or_else(|_| store.root().to_owned());
    if let Some(why) = refusal(&path, home, &store) {
        return Err(ContainError::Workspace { path, why });
    }
    let Some(workspace) = path.to_str().map(str::to_owned) else {
        let why = "its path is not UTF-8";
        return Err(ContainError::Workspace { path, why });
    };
    let is_login = matches!(request.command, CommandLine::Shell { login: true, .. });
    if is_login && !request.is_for_tool {
        notices
            .push("the shell is no login shell: a contained run sees no files of the home".into());
    }
    let memory_bytes_max = asked.memory_bytes_max.map(|asked| {
        let least = limits::CONTAINED_MEMORY_BYTES_MIN;
        if asked < least {
            notices.push(format!("memory of {asked} bytes was set to {least} bytes"));
        }
        asked.max(least)
    });
    Ok(Some(Containment {
        workspace,
        memory_bytes_max,
        surroundings,
        ..asked.clone()
    }))
}

/// Returns why a directory cannot be a workspace, if so. All paths are canonical.
fn refusal(path: &Path, home: Option<&Path>, store: &Path) -> Option<&'static str> {
    let mut parts = path.components().skip(1);
    let first = parts.next().and_then(|first| first.as_os_str().to_str());
    let is_first_alone = parts.next().is_none();
    if path.parent().is_none() {
        return Some("it is the root of all files");
    }
    if !path.is_dir() {
        return Some("it is no directory");
    }
    if store.starts_with(path) || path.starts_with(store) {
        return Some("the store of the runs lies in it, or it in the store");
    }
    if home.is_some_and(|home| home.starts_with(path)) {
        return Some("the home directory is it, or lies in it");
    }
    let is_system = first.is_some_and(|first| SYSTEM.contains(&first) && is_first_alone);
    let is_never = first.is_some_and(|first| NEVER.contains(&first));
    (is_system || is_never).then_some("it is a directory of the system")
}

/// Variables that name a toolchain of their own.
const TOOLCHAINS: [&str; 9] = [
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOROOT",
    "GOPATH",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "VIRTUAL_ENV",
];

/// Returns where the caller's home and toolchains are.
pub fn surroundings(environment: &[(OsString, OsString)]) -> Surroundings {
    let variable = |name: &str| {
        let found = environment.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    };
    let text = |path: PathBuf| path.to_str().map(str::to_owned);
    let home = variable("HOME").and_then(|home| fs::canonicalize(home).ok());
    let path = variable("PATH").unwrap_or_default();
    let toolchains = TOOLCHAINS.into_iter().filter_map(variable);
    Surroundings {
        home: home.filter(|home| home.parent().is_some()).and_then(text),
        path: std::env::split_paths(&path).filter_map(text).collect(),
        toolchains: toolchains.filter_map(|path| text(path.into())).collect(),
        engines: engines(variable("DOCKER_HOST"), variable("XDG_RUNTIME_DIR")),
    }
}

/// Returns where a container engine may listen, best first.
///
/// Who names one means that one and no other.
fn engines(named: Option<OsString>, runtime_dir: Option<OsString>) -> Vec<String> {
    let text = |word: OsString| word.into_string().ok().filter(|word| !word.is_empty());
    if let Some(named) = named.and_then(text) {
        return vec![named];
    }
    let of_user = runtime_dir.and_then(text);
    let of_user = of_user.map(|dir| format!("{dir}/podman/podman.sock"));
    let first = std::iter::once("/var/run/docker.sock".to_owned());
    let last = std::iter::once("/run/podman/podman.sock".to_owned());
    first.chain(of_user).chain(last).collect()
}

/// Refuses what may do more than the run that it is started inside of.
pub(super) fn check_parent(request: &Request, parent: Option<&Parent>) -> Result<(), ContainError> {
    let Some(parent) = parent else { return Ok(()) };
    let asked = request.containment.as_ref();
    let tier = match asked {
        Some(asked) => asked.tier,
        None if is_local(request) => Tier::ReadOnly,
        None => Tier::FullAccess,
    };
    if tier > parent.tier {
        return Err(ContainError::AboveParent {
            tier,
            parent: parent.id,
            parent_tier: parent.tier,
        });
    }
    match &parent.containment {
        Some(bound) if bound.tier != Tier::FullAccess => check_bound(request, parent.id, bound),
        Some(_) | None => Ok(()),
    }
}

/// Refuses another workspace, and hosts that the run around it cannot reach.
fn check_bound(request: &Request, parent: RunId, bound: &Containment) -> Result<(), ContainError> {
    let beyond = |what, asked: &dyn fmt::Display, bound: &dyn fmt::Display| {
        Err(ContainError::BeyondParent {
            what,
            asked: asked.to_string(),
            parent,
            bound: bound.to_string(),
        })
    };
    let cwd = fs::canonicalize(&request.cwd).unwrap_or_else(|_| request.cwd.clone());
    if !cwd.starts_with(&bound.workspace) {
        return beyond("workspace", &cwd.display(), &bound.workspace);
    }
    let asked = request.containment.as_ref();
    let network = asked.map_or(&Network::None, |asked| &asked.network);
    if !reaches_no_further(network, &bound.network) {
        return beyond("network", network, &bound.network);
    }
    Ok(())
}

/// Whether everything that `asked` leads to can be reached within `bound`.
fn reaches_no_further(asked: &Network, bound: &Network) -> bool {
    match (asked, bound) {
        (Network::None, _) | (_, Network::Full) => true,
        (Network::Allow(asked), Network::Allow(bound)) => {
            asked.iter().all(|host| bound.contains(host))
        }
        (Network::Full, _) | (Network::Allow(_), Network::None) => false,
    }
}

/// Whether a login shell has something to read.
///
/// The files of the home are hidden from a contained run, and those of the system alone would
/// only take away the PATH that it was given.
pub(super) fn may_log_in(request: &Request) -> bool {
    request.containment.is_none()
}

/// Whether programs are looked for in an image, not on this machine.
pub(super) fn is_of_image(request: &Request) -> bool {
    let asked = request.containment.as_ref();
    asked.is_some_and(|asked| asked.image.is_some())
}

/// Returns the posture that a request asks for; what is bound is told when it is.
pub(super) fn posture(request: &Request) -> Posture {
    let asked = request.containment.as_ref();
    match asked {
        Some(asked) => Posture::asked(asked),
        None if is_local(request) => Posture {
            tier: Tier::ReadOnly.to_string(),
            network: Network::None.to_string(),
            root: Some(request.cwd.to_string_lossy().into_owned()),
            mount: Some("ro".to_owned()),
            ..Posture::host()
        },
        None => Posture::host(),
    }
}

/// Whether it is an agent run that only reads, on the host, by its worker alone.
fn is_local(request: &Request) -> bool {
    matches!(&request.command, CommandLine::Agent(agent) if agent.is_local)
}

/// Returns the directory of a run as its spec has it: inside, only the true path is sure to exist.
pub(super) fn cwd(request: &Request) -> String {
    let asked = request.containment.as_ref();
    asked.map_or_else(
        || request.cwd.to_string_lossy().into_owned(),
        |asked| asked.workspace.clone(),
    )
}

/// Why a run was not contained, and therefore not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContainError {
    /// The directory may not be handed to a run.
    #[error("`{}` cannot be a workspace: {why}", path.display())]
    Workspace {
        /// The directory.
        path: PathBuf,
        /// Why not.
        why: &'static str,
    },
    /// The directory is not there, or cannot be reached.
    #[error("the workspace `{}` cannot be found", path.display())]
    Gone {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The run would have more rights than the one it is started inside of.
    #[error("tier {tier} is above {parent_tier}, which run `{parent}` is bound to")]
    AboveParent {
        /// What was asked for.
        tier: Tier,
        /// The run around it.
        parent: RunId,
        /// What that is bound to.
        parent_tier: Tier,
    },
    /// The run would reach what the one that it is started inside of cannot.
    #[error("{what} {asked} is beyond {bound}, which run `{parent}` is bound to")]
    BeyondParent {
        /// `workspace` or `network`.
        what: &'static str,
        /// What was asked for.
        asked: String,
        /// The run around it.
        parent: RunId,
        /// What that is bound to.
        bound: String,
    },
    /// Its stop command would run outside.
    #[error("a stop command would run outside of the containment")]
    StopCommand,
    /// Some hosts are allowed and nothing says how they are reached.
    #[error("hosts are allowed and no proxy is named that leads to them")]
    NoProxy,
    /// A step could not be done.
    #[error("{message}")]
    Failed {
        /// Which.
        message: String,
        /// What the system said.
        source: Option<io::Error>,
        /// What to do about it.
        hint: String,
    },
}

impl ContainError {
    /// Returns what a supervisor said.
    pub(super) fn failed(
        message: Option<String>,
        source: Option<io::Error>,
        hint: Option<String>,
    ) -> Self {
        Self::Failed {
            message: message.unwrap_or_else(|| "the run cannot be contained as asked".to_owned()),
            source,
            hint: hint.unwrap_or_else(|| "see `outlast doctor`".to_owned()),
        }
    }
}

impl Advice for ContainError {
    fn code(&self) -> &'static str {
        match self {
            Self::Workspace { .. } => "workspace_refused",
            Self::Gone { .. } => "workspace_gone",
            Self::AboveParent { .. } => "tier_above_parent",
            Self::BeyondParent { .. } => "beyond_parent",
            Self::StopCommand => "stop_command_outside",
            Self::NoProxy => "proxy_missing",
            Self::Failed { .. } => "containment_failed",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Workspace { .. } => {
                "name the directory of one project with --cwd, or stand in it".to_owned()
            }
            Self::Gone { .. } => "pass the path of a directory that exists".to_owned(),
            Self::AboveParent { parent_tier, .. } => {
                format!("ask for --sandbox {} or less", parent_tier.word())
            }
            Self::BeyondParent { what, bound, .. } => {
                format!("stay within the {what} {bound}")
            }
            Self::StopCommand => {
                "leave the stop command away; the grace and TERM remain".to_owned()
            }
            Self::NoProxy => {
                "name its socket as `sandbox.proxy` in the configuration; the guide has a recipe"
                    .to_owned()
            }
            Self::Failed { hint, .. } => hint.clone(),
        }
    }
}

impl From<ContainError> for StartError {
    fn from(error: ContainError) -> Self {
        Self::Containment(error)
    }
}

#[cfg(test)]
mod tests;
