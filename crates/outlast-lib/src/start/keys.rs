//! Idempotency keys: a symbolic link from the key's hash to the id of its run.
//!
//! A link is made whole or not at all, and only one process can make it. A link
//! to a run that is neither there nor being born is free again.

use super::{StartError, private_dirs};
use crate::Store;
use outlast_journal::agent::{AgentRequest, ModelChoice};
use outlast_journal::{
    Checked, CommandLine, Containment, Request, RunId, Surroundings, limits, mask, names,
};
use outlast_supervisor::{clock, fsio, lock};
use rustix::event::{Timespec, poll};
use serde_json::json;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// How long between two looks at a run that is being born: births take a millisecond.
const LOOK_NS: i64 = 2_000_000;

/// What a key stands for.
pub(super) enum Look {
    /// Nothing, or something that died before it was a run.
    Free,
    /// A run.
    Run(RunId),
}

/// The names that an idempotency key goes by on disk.
pub(super) struct Key {
    pub(super) name: String,
    pub(super) request_hash: String,
}

impl Store {
    /// Returns the names of a key and of the request that has it.
    pub(super) fn key_of(
        &self,
        key: &str,
        request: &Request,
        checked: &Checked,
    ) -> Result<Key, StartError> {
        let store_key = self
            .key()
            .map_err(|error| StartError::store("the store's key", Some(error)))?;
        let (kind, words, login, pipefail) = match &request.command {
            CommandLine::Direct(words) => ("direct", words.clone(), false, false),
            CommandLine::Shell {
                text,
                login,
                pipefail,
            } => ("shell", vec![text.clone()], *login, *pipefail),
            CommandLine::Agent(agent) => {
                // Chosen anew for a repeated request, the model may be another.
                let asked = AgentRequest {
                    model: ModelChoice::default(),
                    ..(**agent).clone()
                };
                ("agent", vec![json!(asked).to_string()], false, false)
            }
        };
        let mut canonical = json!([
            [kind, words, login, pipefail],
            request.cwd.to_string_lossy(),
            request.env_set,
            request.session,
            request.label,
            checked.timeout_ms,
            request.deadline,
            checked.grace_ms,
            checked.stop_signal,
            request.stop_command,
            checked.output_bytes_max,
            request.leftovers,
            request.lifetime,
            request.stdin,
            checked.idle_ttl_ms,
        ]);
        if let (Some(contained), Some(parts)) = (&request.containment, canonical.as_array_mut()) {
            parts.push(json!(Containment {
                surroundings: Surroundings::default(),
                ..contained.clone()
            }));
        }
        if let (Some(delegated), Some(parts)) = (&request.delegated, canonical.as_array_mut()) {
            parts.push(json!([
                delegated.task,
                delegated.model,
                delegated.child_session_id
            ]));
        }
        Ok(Key {
            name: mask::keyed_hash(&store_key, key.as_bytes()),
            request_hash: mask::keyed_hash(&store_key, canonical.to_string().as_bytes()),
        })
    }
}

/// Looks a key up; waits for a run that is being born.
pub(super) fn look(store: &Store, key: &str) -> Result<Look, StartError> {
    let link = link(store, key);
    let give_up_at = clock::monotonic_ms() + limits::KEY_BIRTH_MS;
    loop {
        let Some(id) = read(&link)? else {
            return Ok(Look::Free);
        };
        if store.run_dir(&id).is_some() {
            return Ok(Look::Run(id));
        }
        if !is_being_born(store, &id) {
            // It may have been shown between the two looks.
            if store.run_dir(&id).is_none() {
                replace(store, &link, &id)?;
            }
            continue;
        }
        if clock::monotonic_ms() >= give_up_at {
            return Err(StartError::KeyBusy { id });
        }
        pause();
    }
}

/// Makes the key stand for `id`; false when it stands for another run.
pub(super) fn claim(store: &Store, key: &str, id: &RunId) -> Result<bool, StartError> {
    let link = link(store, key);
    let made = match symlink(id.as_str(), &link) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            private_dirs(&store.root().join(names::KEYS))?;
            symlink(id.as_str(), &link)
        }
        other => other,
    };
    match made {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

/// Takes back a key that stands for `id`.
pub(super) fn forget(store: &Store, key: &str, id: &RunId) {
    replace(store, &link(store, key), id).ok();
}

/// Removes a link that stands for `id`, and no other: one process at a time does so.
fn replace(store: &Store, link: &Path, id: &RunId) -> Result<(), StartError> {
    let guard =
        fsio::open_private(&store.root().join(names::KEYS).join(".lock")).map_err(failed)?;
    while !lock::try_lock(&guard).map_err(|source| StartError::NoLocks { source })? {
        pause();
    }
    if read(link)? == Some(*id) {
        fs::remove_file(link).map_err(failed)?;
    }
    Ok(())
}

fn read(link: &Path) -> Result<Option<RunId>, StartError> {
    match fs::read_link(link) {
        Ok(target) => Ok(target.to_str().and_then(|id| RunId::parse(id).ok())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

fn is_being_born(store: &Store, id: &RunId) -> bool {
    let months = store.months().unwrap_or_default();
    months.iter().rev().any(|month| {
        let hidden = store
            .root()
            .join(names::RUNS)
            .join(month)
            .join(names::hidden(id));
        let file = File::open(hidden.join(names::LOCK));
        file.is_ok_and(|file| lock::is_locked(&file).unwrap_or(false))
    })
}

fn link(store: &Store, key: &str) -> PathBuf {
    store.root().join(names::KEYS).join(key)
}

fn pause() {
    let time = Timespec {
        tv_sec: 0,
        tv_nsec: LOOK_NS,
    };
    poll(&mut [], Some(&time)).ok();
}

fn failed(error: io::Error) -> StartError {
    StartError::store("the idempotency key", Some(error))
}
