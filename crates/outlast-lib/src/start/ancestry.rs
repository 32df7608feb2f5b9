//! Which run a start happens inside of, told by the tree of processes.
//!
//! The environment says it too, but a command may clear that; a process cannot
//! leave the tree of its supervisor, which adopts every orphan below it.

use super::StartError;
use crate::Store;
use outlast_journal::agent::AgentSpec;
use outlast_journal::{CommandLine, Containment, Kind, Request, RunId, Spec, Tier, names};
use outlast_supervisor::process;

/// The run inside which another is started.
pub(super) struct Parent {
    /// The run.
    pub(super) id: RunId,
    /// The first run of its chain.
    pub(super) root: RunId,
    /// Runs between it and the root.
    pub(super) depth: u32,
    /// Agents above what is started in it, itself among them.
    pub(super) agents: u32,
    /// How far it is contained.
    pub(super) tier: Tier,
    /// What contains it: of an agent run, its calls.
    pub(super) containment: Option<Containment>,
}

/// Returns how many agents stand above the run that is asked for.
///
/// A host that asks for a sub-agent is an agent, also where it is no run.
pub(super) fn agents_above(
    store: &Store,
    request: &Request,
    parent: Option<&Parent>,
) -> Result<u32, StartError> {
    let above = parent.map_or(0, |parent| parent.agents);
    let is_agent = matches!(request.command, CommandLine::Agent(_));
    let above = match (request.delegated.is_some(), is_agent) {
        (true, _) => above.max(1),
        (false, true) => above,
        (false, false) => return Ok(above),
    };
    let depth_max = store.limits().agent_depth_max;
    if above > depth_max {
        return Err(StartError::DepthExceeded {
            depth: above,
            depth_max,
        });
    }
    Ok(above)
}

/// Finds the run that this process is part of.
pub(super) fn find(store: &Store, request: &Request) -> Result<Option<Parent>, StartError> {
    let Some(id) = by_process(store).or_else(|| by_environment(store, request)) else {
        return Ok(None);
    };
    // A parent whose spec is damaged still counts as one: as a root, the most that is known.
    let spec = store.spec(&id).ok();
    let depth = spec.as_ref().map_or(0, |spec| spec.depth);
    let depth_max = store.limits().command_depth_max;
    if depth >= depth_max {
        return Err(StartError::DepthExceeded {
            depth: depth + 1,
            depth_max,
        });
    }
    let agents = spec.as_ref().map_or(0, |spec| {
        spec.agents_above + u32::from(spec.kind == Kind::Agent)
    });
    let tier = spec.as_ref().map_or(Tier::FullAccess, tier);
    let root = spec.as_ref().and_then(|spec| spec.root).unwrap_or(id);
    Ok(Some(Parent {
        id,
        root,
        depth,
        agents,
        tier,
        containment: spec.and_then(|spec| spec.containment),
    }))
}

/// Returns what a run may do at most: of an agent run, its worker starts others, as is meant.
fn tier(spec: &Spec) -> Tier {
    let is_local = |agent: &AgentSpec| agent.request.is_local;
    match &spec.containment {
        Some(contained) => contained.tier,
        None if spec.agent.as_deref().is_some_and(is_local) => Tier::ReadOnly,
        None => Tier::FullAccess,
    }
}

fn by_process(store: &Store) -> Option<RunId> {
    let own = process::own().pid;
    let dir = process::supervisors_above(own).find(|dir| dir.starts_with(store.root()))?;
    RunId::parse(dir.file_name()?.to_str()?).ok()
}

/// The word of the environment counts where it names a run that lives: in a PID namespace of
/// its own a process cannot see the supervisor above it.
fn by_environment(store: &Store, request: &Request) -> Option<RunId> {
    let inherited = request.environment.iter();
    let (_, value) = inherited
        .rev()
        .find(|(name, _)| name == names::RUN_VARIABLE)?;
    let id = RunId::parse(value.to_str()?).ok()?;
    let dir = store.run_dir(&id)?;
    crate::read::is_supervised(&dir).ok()?.then_some(id)
}
