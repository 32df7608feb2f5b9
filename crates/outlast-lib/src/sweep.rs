//! What is left of the tree of a run whose supervisor is gone: found, and stopped when asked.
//!
//! A process is the run's when it carries the run's cookie in its environment,
//! or when it is in the session of the run's main process. Runs inside the run
//! have supervisors of their own and are left to them.

use crate::{Store, containers};
use outlast_journal::mask::Masker;
use outlast_journal::{Claimed, Leftover, ProcessRef, RunId, Spec, State, limits, names};
use outlast_supervisor::{clock, process};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What a look for the processes of a run found.
pub(crate) enum Look {
    /// The machine was restarted, so none can be left.
    OtherBoot,
    /// The run lives in another PID namespace, where numbers mean other processes.
    OtherNamespace,
    /// These are alive.
    Processes(Vec<Leftover>),
}

impl Store {
    /// Stops what is left of a run whose supervisor is gone, and returns how many processes that were.
    ///
    /// With a grace, TERM comes first. It spares this process and those above it. It gives up
    /// after `UNKILLABLE_MS` beyond the grace, and does nothing while a supervisor lives or
    /// where the processes cannot be seen.
    pub(crate) fn sweep(&self, id: &RunId, grace_ms: u64) -> usize {
        let Some(dir) = self.run_dir(id) else {
            return 0;
        };
        let is_orphaned = matches!(crate::read::is_supervised(&dir), Ok(false));
        match crate::read::read_journal(&dir) {
            Ok(journal) if is_orphaned => stop(id, &State::fold(&journal), grace_ms),
            Ok(_) | Err(_) => 0,
        }
    }

    /// Takes the container away of a run whose supervisor is gone; returns 1 for one whose
    /// command was still executed.
    pub(crate) fn clear_container(&self, id: &RunId) -> usize {
        containers::clear_run(&self.engines_of_orphan(id), id).running
    }

    /// Returns whether a run whose supervisor is gone has a container left.
    pub(crate) fn has_container(&self, id: &RunId) -> bool {
        containers::has_run(&self.engines_of_orphan(id), id)
    }

    fn engines_of_orphan(&self, id: &RunId) -> Vec<String> {
        let dir = self.run_dir(id);
        let is_orphaned = |dir: &PathBuf| matches!(crate::read::is_supervised(dir), Ok(false));
        let spec = dir
            .filter(is_orphaned)
            .and_then(|dir| crate::read::read_spec(&dir, id).ok());
        spec.map(engines).unwrap_or_default()
    }
}

/// Returns where the engine of a run in a container may listen.
pub(crate) fn engines(spec: Spec) -> Vec<String> {
    let containment = spec.containment;
    let in_image = containment.filter(|asked| asked.image.is_some());
    in_image.map_or_else(Vec::new, |asked| asked.surroundings.engines)
}

/// Returns whether the process ids of `claimed` belong to this boot of the machine.
pub(crate) fn is_this_boot(claimed: &Claimed) -> bool {
    static BOOT: OnceLock<String> = OnceLock::new();
    *BOOT.get_or_init(process::boot_id) == claimed.boot_id
}

/// Returns whether the process ids of `claimed` mean the same processes here.
pub(crate) fn is_this_namespace(claimed: &Claimed) -> bool {
    process::pid_namespace() == claimed.pid_namespace
}

/// Looks for the processes of the run that has `state`. Kills nothing.
///
/// Without a masker they are named, and their command lines not shown.
pub(crate) fn look(id: &RunId, state: &State, masker: Option<&Masker>) -> Look {
    let Some(claimed) = &state.claimed else {
        // A supervisor says that it has the run before it executes anything.
        return Look::Processes(Vec::new());
    };
    if !is_this_boot(claimed) {
        return Look::OtherBoot;
    }
    if !is_this_namespace(claimed) {
        return Look::OtherNamespace;
    }
    let mut found: Vec<Leftover> = tree(id, state)
        .map(|process| Leftover {
            process,
            command: process::command(process.pid, masker),
        })
        .collect();
    found.reverse();
    Look::Processes(found)
}

/// Returns the live processes of a run of this boot and PID namespace but this one, newest first.
///
/// Each is looked at when it is asked for. In a tree that forks all the time, the newest
/// processes are the ones that have not forked yet.
fn tree(id: &RunId, state: &State) -> impl Iterator<Item = ProcessRef> {
    let own = process::own().pid;
    let main = state.started.as_ref().map(|started| started.main);
    let named = state.end.iter().flat_map(|end| &end.leftovers);
    let named: HashSet<ProcessRef> = named.map(|left| left.process).collect();
    let mut all = process::all();
    all.sort_unstable_by_key(|pid| Reverse(*pid));
    let alive = all.into_iter().filter_map(process::current);
    alive
        .filter(move |one| one.pid != own && process::is_alive(*one))
        .filter(move |one| named.contains(one) || is_of_tree(*one, id, main))
}

/// Returns the runs started inside `id` whose supervisors live in the store at `root`.
pub(crate) fn runs_inside(root: &Path, id: &RunId) -> Vec<RunId> {
    let runs = root.join(names::RUNS);
    let inside = process::all().into_iter().filter_map(|pid| {
        let dir = process::supervised_dir(pid)?;
        let inner = RunId::parse(dir.file_name()?.to_str()?).ok()?;
        let spec = crate::read::read_spec(&dir, &inner).ok()?;
        (dir.starts_with(&runs) && spec.parent == Some(*id)).then_some(inner)
    });
    inside.collect()
}

fn is_of_tree(one: ProcessRef, id: &RunId, main: Option<ProcessRef>) -> bool {
    match cookie_of(one.pid) {
        Some(cookie) if cookie == id.as_str().as_bytes() => {}
        // It belongs to a run inside this one, or to another run altogether.
        Some(_) => return false,
        None => {
            let in_session = main.is_some_and(|main| is_in_session(one, main));
            if !in_session {
                return false;
            }
        }
    }
    process::supervised_dir(one.pid).is_none()
}

/// Returns whether a process is in the session that `main` made.
fn is_in_session(one: ProcessRef, main: ProcessRef) -> bool {
    // The number of a session is not given away while it has members. Once it has none, a
    // stranger may get it, who is then seen to have begun at another time.
    let leader = process::start_ticks(main.pid);
    process::session(one.pid) == Some(main.pid)
        && leader.is_none_or(|ticks| ticks == main.start_ticks)
        && one.start_ticks >= main.start_ticks
}

/// Returns the run that a process says it belongs to.
fn cookie_of(pid: i32) -> Option<Vec<u8>> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut entries = environment.split(|byte| *byte == 0);
    entries.find_map(|entry| {
        let value = entry.strip_prefix(names::RUN_VARIABLE.as_bytes())?;
        value.strip_prefix(b"=").map(<[u8]>::to_vec)
    })
}

const TERM: i32 = rustix::process::Signal::TERM.as_raw();
const CONT: i32 = rustix::process::Signal::CONT.as_raw();
const STOP: i32 = rustix::process::Signal::STOP.as_raw();
const KILL: i32 = rustix::process::Signal::KILL.as_raw();

fn stop(id: &RunId, state: &State, grace_ms: u64) -> usize {
    let is_here = |claimed| is_this_boot(claimed) && is_this_namespace(claimed);
    if !state.claimed.as_ref().is_some_and(is_here) {
        return 0;
    }
    let spared = own_line();
    let find = || tree(id, state).filter(|one| !spared.contains(&one.pid));
    let mut stopped = HashSet::new();
    let begun = clock::monotonic_ms();
    if grace_ms > 0 {
        let mut found: Vec<ProcessRef> = find().collect();
        // Parents first: a shell whose child ends before it would go on with its next command.
        found.reverse();
        for one in &found {
            signal(*one, TERM);
            signal(*one, CONT);
        }
        wait_all(&found, begun.saturating_add(grace_ms));
        let gone = found.into_iter().filter(|one| !process::is_alive(*one));
        stopped.extend(gone);
    }
    let give_up = clock::monotonic_ms().saturating_add(limits::UNKILLABLE_MS);
    let mut empty_looks = 0;
    // A process may fork while it is being looked for, so one empty look proves nothing.
    while empty_looks < 2 && clock::monotonic_ms() < give_up {
        // Each is frozen as soon as it is found, then all are killed: no parent goes on, and
        // little is forked meanwhile.
        let found: Vec<ProcessRef> = find().inspect(|one| signal(*one, STOP)).collect();
        for one in &found {
            signal(*one, KILL);
        }
        empty_looks = if found.is_empty() { empty_looks + 1 } else { 0 };
        let pause = clock::monotonic_ms().saturating_add(limits::KILL_BACKOFF_MS_MAX);
        wait_all(&found, pause.min(give_up));
        let gone = found.into_iter().filter(|one| !process::is_alive(*one));
        stopped.extend(gone);
    }
    stopped.len()
}

fn signal(one: ProcessRef, signal: i32) {
    // What may not be signalled shows as still alive afterwards.
    process::signal(one, signal).ok();
}

/// Returns this process and those above it.
fn own_line() -> HashSet<i32> {
    let own = process::own().pid;
    let mut line = HashSet::from([own]);
    let mut above = process::parent(own);
    while let Some(pid) = above {
        if pid <= 1 || line.len() >= limits::ANCESTORS_MAX || !line.insert(pid) {
            break;
        }
        above = process::parent(pid);
    }
    line
}

/// Waits until none of `processes` is alive or the monotonic clock shows `until_ms`.
fn wait_all(processes: &[ProcessRef], until_ms: u64) {
    let mut open: Vec<OwnedFd> = processes.iter().filter_map(|one| open(*one)).collect();
    while !open.is_empty() {
        let left_ms = until_ms.saturating_sub(clock::monotonic_ms());
        let timeout = Timespec {
            tv_sec: i64::try_from(left_ms / 1_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(left_ms % 1_000 * 1_000_000).unwrap_or(0),
        };
        let mut watches: Vec<PollFd<'_>> = open
            .iter()
            .map(|one| PollFd::new(one, PollFlags::IN))
            .collect();
        let polled = poll(&mut watches, Some(&timeout));
        let are_gone: Vec<bool> = watches
            .iter()
            .map(|watch| !watch.revents().is_empty())
            .collect();
        match polled {
            Ok(0) => return,
            Err(error) if error.kind() != ErrorKind::Interrupted => return,
            Ok(_) => {
                let mut are_gone = are_gone.into_iter();
                open.retain(|_| !are_gone.next().unwrap_or(true));
            }
            Err(_) => {}
        }
    }
}

/// Opens a descriptor that becomes readable when the process ends.
fn open(one: ProcessRef) -> Option<OwnedFd> {
    let pid = rustix::process::Pid::from_raw(one.pid)?;
    let opened = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()?;
    // Only now can its number not be given away.
    process::is_alive(one).then_some(opened)
}

#[cfg(test)]
mod tests;
