//! Which places a run needs, who holds them, and who waits.

use super::{StartError, ancestry::Parent};
use crate::Store;
use outlast_journal::{CommandLine, Pool, Request, RunId, mask, names};
use outlast_supervisor::{lock, places};
use std::fs::{self, File};
use std::path::Path;

/// Folder of the places of agent runs.
const AGENTS: &str = "agents";

/// Returns the pools that a run takes a place of when it executes.
pub(super) fn of(store: &Store, request: &Request) -> Vec<Pool> {
    let session = request.session.as_deref().map(|session| Pool {
        name: session_pool(session),
        places_max: store.limits().session_runs_max,
    });
    let is_agent = matches!(request.command, CommandLine::Agent(_));
    let agents = (is_agent || request.delegated.is_some()).then(|| Pool {
        name: AGENTS.to_owned(),
        places_max: store.limits().agent_runs_max,
    });
    let whole = Pool {
        name: "store".to_owned(),
        places_max: store.limits().store_runs_max,
    };
    agents.into_iter().chain(session).chain([whole]).collect()
}

/// Returns the pool of all live descendants of a root.
pub(super) fn of_root(store: &Store, parent: &Parent) -> Pool {
    Pool {
        name: format!("root-{}", parent.root),
        places_max: store.limits().descendants_max,
    }
}

/// Returns the queue in which a request waits: that of its session, else the store's.
pub(super) fn queue_name(request: &Request) -> String {
    request
        .session
        .as_deref()
        .map_or_else(|| "store".to_owned(), session_pool)
}

/// How the folders of sessions' places begin.
const SESSION: &str = "session-";

fn session_pool(session: &str) -> String {
    // Any text may name a session; a hash of it may name a folder.
    format!(
        "{SESSION}{}",
        mask::keyed_hash(&[0; 32], session.as_bytes())
    )
}

/// Returns whether somebody waits in a queue.
pub(super) fn has_waiters(store: &Store, queue: &str) -> bool {
    let dir = store.root().join(names::QUEUE).join(queue);
    tickets(&dir).any(|ticket| {
        let file = File::open(dir.join(ticket.to_string()));
        file.is_ok_and(|file| lock::is_locked(&file).unwrap_or(true))
    })
}

/// Returns the highest number of a queue's tickets; 0 when there is none.
pub(super) fn last_ticket(dir: &Path) -> u64 {
    tickets(dir).max().unwrap_or(0)
}

fn tickets(dir: &Path) -> impl Iterator<Item = u64> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the refusal that names who holds the places of a full pool.
pub(super) fn at_capacity(store: &Store, request: &Request, pool: &Pool) -> StartError {
    let dir = store.root().join(names::PLACES).join(&pool.name);
    let held = places::holders(&dir, pool.places_max).unwrap_or_default();
    let holders = held.iter().filter_map(|run| {
        let id = RunId::parse(run.trim().rsplit('/').next()?).ok()?;
        let label = store.spec(&id).map(|spec| spec.label).unwrap_or_default();
        Some((id, label))
    });
    let is_of_session = pool.name.starts_with(SESSION);
    StartError::AtCapacity {
        session: request.session.clone().filter(|_| is_of_session),
        of_agents: pool.name == AGENTS,
        places_max: pool.places_max,
        holders: holders.collect(),
    }
}
