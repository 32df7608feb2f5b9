//! The tree of a run: who is in it, and how it is ended.
//!
//! The supervisor is the parent of every orphan below it, so that killing its
//! direct children again and again reaches any depth. A supervisor met in the
//! tree is a run of its own: it is asked, not killed.

use crate::{client, lock, platform, process};
use outlast_journal::control::Ask;
use outlast_journal::mask::Masker;
use outlast_journal::{Fact, Leftover, Line, ProcessRef, RunId, StopCause, limits, names};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A run that was started inside this one.
pub(crate) struct Nested {
    /// Its directory.
    pub(crate) run_dir: PathBuf,
    /// The run.
    pub(crate) id: RunId,
}

/// What stands below the supervisor at one moment.
#[derive(Default)]
pub(crate) struct Tree {
    /// Processes of this run, parents before children; zombies are left out.
    pub(crate) processes: Vec<ProcessRef>,
    /// Runs inside it; what is below them is theirs.
    pub(crate) nested: Vec<Nested>,
}

impl Tree {
    /// Looks at the processes below this one; those in `ours` are left out.
    pub(crate) fn look(runs_dir: &Path, ours: &[i32]) -> Self {
        Self::look_beside(runs_dir, ours, &[])
    }

    /// Looks as `look` does, and passes over those in `apart` with all that is below them.
    pub(crate) fn look_beside(runs_dir: &Path, ours: &[i32], apart: &[i32]) -> Self {
        let mut tree = Self::default();
        let mut to_visit = process::children(platform::process::own_pid());
        let mut at = 0;
        while let Some(pid) = to_visit.get(at).copied() {
            at += 1;
            if apart.contains(&pid) {
                continue;
            }
            if let Some(nested) = nested(pid, runs_dir) {
                tree.nested.push(nested);
                continue;
            }
            let current = process::current(pid).filter(|_| !ours.contains(&pid));
            if let Some(process) = current.filter(|one| process::is_alive(*one)) {
                tree.processes.push(process);
            }
            to_visit.extend(process::children(pid));
        }
        tree
    }

    /// Returns the processes as an end record names them, and how many more there are.
    pub(crate) fn leftovers(&self, masker: Option<&Masker>) -> (Vec<Leftover>, u64) {
        let named = self.processes.iter().take(limits::LEFTOVERS_NAMED_MAX);
        let named: Vec<Leftover> = named
            .map(|process| Leftover {
                process: *process,
                command: process::command(process.pid, masker),
            })
            .collect();
        let more = self.processes.len() - named.len();
        (named, more as u64)
    }

    /// Returns the runs inside, as many as an end record names.
    pub(crate) fn runs(&self) -> Vec<RunId> {
        let runs = self.nested.iter().map(|nested| nested.id);
        runs.take(limits::LEFTOVERS_NAMED_MAX).collect()
    }

    /// Signals every process, then lets those go on that were stopped and could not hear it.
    pub(crate) fn signal(&self, signal: i32) {
        for process in &self.processes {
            process::signal(*process, signal).ok();
        }
        for process in &self.processes {
            process::signal(*process, libc::SIGCONT).ok();
        }
    }

    /// Asks the runs inside to stop, each with its own grace, which ends before ours.
    pub(crate) fn ask_nested(&self, grace_ms: u64, outer: &RunId) {
        let ask = Ask::Cancel {
            cause: StopCause::Cancel,
            grace_ms: Some(grace_ms.saturating_sub(limits::NESTED_GRACE_LESS_MS)),
            by: Some(format!("run {outer}")),
        };
        for nested in &self.nested {
            if let Ok(mut socket) = client::connect(&nested.run_dir) {
                socket.write_all(&ask.to_bytes()).ok();
            }
        }
    }
}

/// Kills every direct child but `spared` and the runs inside that still have time, and returns
/// whether there was one to kill.
pub(crate) fn kill_children(runs_dir: &Path, spares_nested: bool, spared: Option<i32>) -> bool {
    let mut was_any = false;
    for pid in process::children(platform::process::own_pid()) {
        if spared == Some(pid) {
            continue;
        }
        if spares_nested && nested(pid, runs_dir).is_some() {
            continue;
        }
        was_any |= platform::process::signal_child(pid, libc::SIGKILL).is_ok();
    }
    was_any
}

/// Kills every direct child that is alive, not in `spared` and no run of its own; returns whether
/// there was one.
pub(crate) fn kill_orphans(runs_dir: &Path, spared: &[i32]) -> bool {
    let mut was_any = false;
    for pid in process::children(platform::process::own_pid()) {
        let current = process::current(pid).filter(|_| !spared.contains(&pid));
        let alive = current.filter(|one| process::is_alive(*one));
        if alive.is_some() && nested(pid, runs_dir).is_none() {
            was_any |= platform::process::signal_child(pid, libc::SIGKILL).is_ok();
        }
    }
    was_any
}

/// Returns whether `pid` is below this process.
pub(crate) fn is_below(pid: i32) -> bool {
    let own = platform::process::own_pid();
    let mut at = pid;
    for _ in 0..limits::ANCESTORS_MAX {
        match process::parent(at) {
            Some(parent) if parent == own => return true,
            Some(parent) if parent > 1 => at = parent,
            Some(_) | None => return false,
        }
    }
    false
}

/// Returns the run that `pid` supervises, if it says so and its run's lock is held.
///
/// The words alone would let any process name itself out of a cancel.
fn nested(pid: i32, runs_dir: &Path) -> Option<Nested> {
    let run_dir = process::supervised_dir(pid)?;
    let id = RunId::parse(run_dir.file_name()?.to_str()?).ok()?;
    if !run_dir.starts_with(runs_dir) {
        return None;
    }
    let file = File::open(run_dir.join(names::LOCK)).ok()?;
    let is_true = lock::is_locked(&file).ok()? && claims(&run_dir, pid);
    is_true.then_some(Nested { run_dir, id })
}

/// Returns whether `pid` is the supervisor that took the run, or nobody has taken it yet.
fn claims(run_dir: &Path, pid: i32) -> bool {
    let mut start = [0; 1_024];
    let read = File::open(run_dir.join(names::JOURNAL)).and_then(|mut file| file.read(&mut start));
    let written = start.get(..read.unwrap_or(0)).unwrap_or_default();
    let Some(line) = written.split_inclusive(|byte| *byte == b'\n').next() else {
        return true;
    };
    match Line::from_bytes(line).and_then(|line| line.fact()) {
        Ok(Fact::Claimed(claimed)) => claimed.supervisor.pid == pid,
        Ok(_) | Err(_) => false,
    }
}
