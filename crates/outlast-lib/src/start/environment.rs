//! The environment of a run, made from its caller's.

use outlast_journal::{CommandLine, Network, Request, RunId, mask, names, policy};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Set for every run unless the caller has it: Python then shows output as it comes.
const ALWAYS: [(&str, &str); 1] = [("PYTHONUNBUFFERED", "1")];

/// Set for runs started by tools unless the caller has it: nobody could answer a prompt.
const FOR_TOOLS: [(&str, &str); 4] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// Returns the environment of a run, without its own id.
pub(super) fn build(request: &Request) -> Vec<(OsString, OsString)> {
    let is_of_agent = matches!(request.command, CommandLine::Agent(_));
    let mut built: Vec<(OsString, OsString)> = Vec::with_capacity(request.environment.len() + 8);
    for (name, value) in &request.environment {
        let is_ours = name == names::RUN_VARIABLE;
        let cannot_be = name.is_empty() || name.as_bytes().contains(&b'=');
        // A worker is outside of what its calls are contained by.
        let is_whole = request.containment.is_none() || is_of_agent;
        let is_kept = is_whole || is_handed_in(request, name);
        if !is_ours && !cannot_be && is_kept {
            built.push((name.clone(), value.clone()));
        }
    }
    for (name, value) in &request.env_set {
        set(&mut built, name, value);
    }
    let contained = request.containment.as_ref();
    let is_forwarded = contained.is_some_and(|asked| matches!(asked.network, Network::Allow(_)));
    if is_forwarded && !is_of_agent {
        for (name, value) in policy::TO_PROXY {
            set(&mut built, name, value);
        }
    }
    let for_tools = FOR_TOOLS
        .iter()
        .filter(|_| request.is_for_tool || is_of_agent);
    for (name, value) in ALWAYS.iter().chain(for_tools) {
        if !built.iter().any(|(known, _)| known == name) {
            built.push((name.into(), value.into()));
        }
    }
    built
}

/// Variables that a contained run gets from its caller, beside what is set for it and what is
/// named as a secret of its: none that leads to a socket, a key or a path outside.
const HANDED_IN: [&str; 24] = [
    "CC",
    "CFLAGS",
    "CI",
    "COLORTERM",
    "COLUMNS",
    "CXX",
    "CXXFLAGS",
    "FORCE_COLOR",
    "GOFLAGS",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LDFLAGS",
    "LINES",
    "LOGNAME",
    "MAKEFLAGS",
    "NO_COLOR",
    "PATH",
    "SHELL",
    "TERM",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
];
/// How further ones begin.
const HANDED_IN_BEGINNINGS: [&str; 12] = [
    "CARGO_",
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GO",
    "LC_",
    "NODE_",
    "NPM_CONFIG_",
    "NVM_",
    "PIP_",
    "PYTHON",
    "PYENV_",
    "RUST",
];

/// Whether a variable of the caller goes into a contained run.
fn is_handed_in(request: &Request, name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    // The supervisor finds the point to die at in the environment of its run.
    #[cfg(debug_assertions)]
    if name == outlast_supervisor::fault::VARIABLE {
        return true;
    }
    if request.secret_env.iter().any(|secret| secret == name) {
        return true;
    }
    let begins = HANDED_IN_BEGINNINGS.iter().any(|one| name.starts_with(one));
    let is_listed = HANDED_IN.contains(&name) || begins;
    is_listed && !mask::looks_secret(name)
}

/// Returns the names of the variables that the calls of an agent run get: what a contained run
/// would, or on the host all but keys.
pub(super) fn names_for_calls(
    request: &Request,
    environment: &[(OsString, OsString)],
) -> Vec<String> {
    let is_set = |name: &str| request.env_set.iter().any(|(set, _)| set == name);
    let is_secret = |name: &str| {
        let is_named = request.secret_env.iter().any(|secret| secret == name);
        is_named || mask::looks_secret(name)
    };
    let is_ours = |name: &str| name == names::RUN_VARIABLE || is_fault(name);
    let is_free = |name: &str| {
        let is_standard = FOR_TOOLS
            .iter()
            .chain(&ALWAYS)
            .any(|(known, _)| *known == name);
        request.containment.is_none()
            || is_standard
            || is_set(name)
            || is_handed_in(request, OsStr::new(name))
    };
    let mut names = names(environment);
    names.retain(|name| is_free(name) && !is_secret(name) && !is_ours(name));
    names
}

/// Whether a variable names a point to die at, which is meant for a supervisor.
#[cfg(debug_assertions)]
fn is_fault(name: &str) -> bool {
    name == outlast_supervisor::fault::VARIABLE
}

/// Release builds have no such points.
#[cfg(not(debug_assertions))]
fn is_fault(_name: &str) -> bool {
    false
}

/// Returns the environment with the name of the run in it.
pub(super) fn with_run(
    mut environment: Vec<(OsString, OsString)>,
    id: &RunId,
) -> Vec<(OsString, OsString)> {
    environment.push((names::RUN_VARIABLE.into(), id.as_str().into()));
    environment
}

/// Returns the names in an environment, sorted, for the record.
pub(super) fn names(environment: &[(OsString, OsString)]) -> Vec<String> {
    let names = environment
        .iter()
        .map(|(name, _)| name.to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the entries whose values are secrets, by their names or because the caller said so.
pub(super) fn secrets<'a>(
    request: &Request,
    environment: &'a [(OsString, OsString)],
) -> Vec<(&'a str, &'a [u8])> {
    let named = |name: &str| request.secret_env.iter().any(|secret| secret == name);
    environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value.as_bytes())))
        .filter(|(name, _)| named(name) || mask::looks_secret(name))
        .collect()
}

fn set(environment: &mut Vec<(OsString, OsString)>, name: &str, value: &str) {
    environment.retain(|(known, _)| known != OsStr::new(name));
    environment.push((name.into(), value.into()));
}
