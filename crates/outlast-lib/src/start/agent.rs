//! What a start checks of an agent run, and binds for it.

use super::{StartError, containment, environment, shell};
use outlast_journal::agent::{AgentRequest, AgentSpec};
use outlast_journal::{Checked, CommandLine, Request};
use outlast_supervisor::launch;
use std::ffi::OsString;
use std::fs;

/// Returns what an agent run is asked for.
pub(super) fn of(request: &Request) -> Option<&AgentRequest> {
    match &request.command {
        CommandLine::Agent(agent) => Some(agent),
        CommandLine::Direct(_) | CommandLine::Shell { .. } => None,
    }
}

/// Refuses an agent run of a program that would run its own `main` in place of a worker.
pub(super) fn check_worker(request: &Request) -> Result<(), StartError> {
    if of(request).is_some() && !launch::has_worker() {
        return Err(StartError::NoWorker);
    }
    Ok(())
}

/// Refuses a directory that is none: an agent run has no record of what it could not begin.
pub(super) fn check_directory(request: &Request) -> Result<(), StartError> {
    if of(request).is_none() {
        return Ok(());
    }
    let source = match fs::metadata(&request.cwd) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => None,
        Err(error) => Some(error),
    };
    Err(StartError::NoDirectory {
        path: request.cwd.clone(),
        source,
    })
}

/// Refuses a check that no shell could run.
pub(super) fn check_until(
    request: &Request,
    environment: &[(OsString, OsString)],
) -> Result<(), StartError> {
    let Some(agent) = of(request).filter(|agent| agent.until.is_some()) else {
        return Ok(());
    };
    if agent.is_local {
        let why = "a local run only reads, and runs no shell";
        return Err(StartError::NoCheck { why });
    }
    let is_of_image = containment::is_of_image(request);
    if shell::find(environment, false, false, is_of_image).is_err() {
        let why = "there is no shell";
        return Err(StartError::NoCheck { why });
    }
    Ok(())
}

/// Returns what is bound for an agent run; `mask` hides secrets in what it was asked for.
pub(super) fn spec(
    request: &Request,
    checked: &Checked,
    environment: &[(OsString, OsString)],
    agents_above: u32,
    mask: &dyn Fn(&str) -> String,
) -> Option<Box<AgentSpec>> {
    let asked = of(request)?;
    let mut asked = asked.clone();
    asked.task = mask(&asked.task);
    asked.until = asked.until.as_deref().map(mask);
    Some(Box::new(AgentSpec {
        request: asked,
        turns_max: checked.turns_max,
        call_env_names: environment::names_for_calls(request, environment),
        has_sub_agents: agents_above == 0,
    }))
}
