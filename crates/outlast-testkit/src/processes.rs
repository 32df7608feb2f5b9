//! Finds live processes by what `/proc` says of them, and ends those of a home.
//!
//! A process belongs to a home by its environment, by its command line (a
//! supervisor's environment is empty), by the directory it stands in, or as a
//! descendant of one that does. The process that asks is never one of them.

use std::{
    collections::BTreeMap, ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path, time::Duration,
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::eventually::poll;

/// How long killed processes may take to be gone: the kernel frees big ones
/// slowly, and a busy machine runs late.
const KILL_LIMIT: Duration = Duration::from_secs(20);

/// Fields of `/proc/PID/stat` after the name in brackets.
const STAT_STATE: usize = 0;
const STAT_PARENT: usize = 1;
const STAT_START: usize = 19;

/// A live process. With its start time a pid names one process for ever.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Process {
    parent: i32,
    start_ticks: u64,
}

/// Returns the live processes whose environment holds the text `mark`, by pid.
///
/// Zombies are not live. A process that was started with another environment
/// than its parent's is not found, nor is one whose environment we may not
/// read. The caller itself is left out.
pub fn processes_with(mark: &str) -> Vec<i32> {
    let mut found: Vec<i32> = live()
        .into_keys()
        .filter(|pid| has_environment(*pid, mark))
        .collect();
    found.sort_unstable();
    found
}

/// Kills every process that belongs to `home` until none is alive.
///
/// Returns the pids that are still alive after `KILL_LIMIT`; none, if all is
/// well.
pub(crate) fn end_all_of(home: &Path, mark: &str) -> Vec<i32> {
    let mut left = BTreeMap::new();
    poll(KILL_LIMIT, || {
        left = belonging(home, mark);
        for (pid, process) in &left {
            kill(*pid, *process);
        }
        left.is_empty().then_some(())
    });
    left.into_keys().collect()
}

fn belonging(home: &Path, mark: &str) -> BTreeMap<i32, Process> {
    let mut others = live();
    let mut found = BTreeMap::new();
    let mut next = take(&mut others, |pid, _| belongs(pid, home, mark));
    while !next.is_empty() {
        found.append(&mut next);
        next = take(&mut others, |_, process| {
            found.contains_key(&process.parent)
        });
    }
    found
}

fn take(
    from: &mut BTreeMap<i32, Process>,
    is_taken: impl Fn(i32, Process) -> bool,
) -> BTreeMap<i32, Process> {
    let taken = from
        .iter()
        .map(|(pid, process)| (*pid, *process))
        .filter(|(pid, process)| is_taken(*pid, *process))
        .collect();
    from.retain(|pid, _| !BTreeMap::contains_key(&taken, pid));
    taken
}

fn belongs(pid: i32, home: &Path, mark: &str) -> bool {
    has_environment(pid, mark) || is_supervisor_in(pid, home) || stands_in(pid, home)
}

fn has_environment(pid: i32, mark: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
        return false;
    };
    let mark = mark.as_bytes();
    !mark.is_empty() && environment.windows(mark.len()).any(|part| part == mark)
}

fn is_supervisor_in(pid: i32, home: &Path) -> bool {
    let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else {
        return false;
    };
    let arguments: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    arguments.windows(2).any(|pair| {
        pair[0] == b"__supervise" && Path::new(OsStr::from_bytes(pair[1])).starts_with(home)
    })
}

fn stands_in(pid: i32, home: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|directory| directory.starts_with(home))
}

/// Every live process but our own.
fn live() -> BTreeMap<i32, Process> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let entries = fs::read_dir("/proc").expect("the tests need /proc");
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own)
        .filter_map(|pid| Some((pid, look_at(pid)?)))
        .collect()
}

fn look_at(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold spaces and brackets; the last bracket ends it.
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    if matches!(*fields.get(STAT_STATE)?, "Z" | "X") {
        return None;
    }
    Some(Process {
        parent: fields.get(STAT_PARENT)?.parse().ok()?,
        start_ticks: fields.get(STAT_START)?.parse().ok()?,
    })
}

/// Signals the process that was looked at, never one that has its pid since.
fn kill(pid: i32, process: Process) {
    let Some(handle) = Pid::from_raw(pid) else {
        return;
    };
    let Ok(pidfd) = pidfd_open(handle, PidfdFlags::empty()) else {
        return;
    };
    if look_at(pid).is_some_and(|now| now.start_ticks == process.start_ticks) {
        // It may have ended by itself by now, which is as good.
        pidfd_send_signal(&pidfd, Signal::KILL).ok();
    }
}

#[cfg(test)]
mod tests;
