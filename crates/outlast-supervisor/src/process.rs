//! Other processes, as `/proc` tells of them, and signals that cannot hit a stranger.

use crate::platform::pidfd;
use outlast_journal::mask::Masker;
use outlast_journal::{ProcessRef, RunId, limits, names, text};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Returns this process.
pub fn own() -> ProcessRef {
    let pid = crate::platform::process::own_pid();
    ProcessRef {
        pid,
        start_ticks: start_ticks(pid).unwrap_or(0),
    }
}

/// One process in `/proc/PID/stat`.
struct Stat {
    has_our_name: bool,
    state: u8,
    parent: i32,
    session: i32,
    start_ticks: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    // Read by one call into room for any such line: a heap string would grow with it.
    let mut buffer = [0; 1_024];
    let mut file = fs::File::open(format!("/proc/{pid}/stat")).ok()?;
    let read = file.read(&mut buffer).ok()?;
    let line = &buffer[..read];
    // The name in parentheses may hold spaces and parentheses itself.
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let has_our_name = line.get(..name_end)?.ends_with(b"(outlast");
    let text = std::str::from_utf8(line.get(name_end + 2..)?).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = fields.next()?.bytes().next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let start_ticks = fields.nth(15)?.parse().ok()?;
    Some(Stat {
        has_our_name,
        state,
        parent,
        session,
        start_ticks,
    })
}

/// Returns when the process began, in clock ticks since boot.
pub fn start_ticks(pid: i32) -> Option<u64> {
    stat(pid).map(|stat| stat.start_ticks)
}

/// Returns the process that now has the number `pid`.
pub fn current(pid: i32) -> Option<ProcessRef> {
    Some(ProcessRef {
        pid,
        start_ticks: start_ticks(pid)?,
    })
}

/// Returns the memory of a process that no file backs, and what it shares, in bytes.
pub(crate) fn memory_bytes(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
        kib.unwrap_or(0) * 1_024
    };
    field("RssAnon:") + field("RssShmem:") + field("VmSwap:")
}

/// Returns the parent of a process.
pub fn parent(pid: i32) -> Option<i32> {
    stat(pid).map(|stat| stat.parent)
}

/// Returns the session of a process.
pub fn session(pid: i32) -> Option<i32> {
    stat(pid).map(|stat| stat.session)
}

/// Returns whether this very process lives; a zombie does not.
pub fn is_alive(process: ProcessRef) -> bool {
    stat(process.pid).is_some_and(|stat| {
        stat.start_ticks == process.start_ticks && !matches!(stat.state, b'Z' | b'X')
    })
}

/// Returns every process id there is.
pub fn all() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Returns the children of a process, those of all its threads.
pub fn children(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    for thread in threads.into_iter().flatten().flatten() {
        let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        found.extend(
            list.split_ascii_whitespace()
                .filter_map(|pid| pid.parse::<i32>().ok()),
        );
    }
    found
}

/// Returns the words of a process's command line.
pub fn words(pid: i32) -> Vec<OsString> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes
        .split(|byte| *byte == 0)
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect()
}

/// Returns a process's command line for people, cut, what `masker` knows masked.
///
/// Its name in brackets when it has none, and without a masker: what cannot be masked is not
/// shown.
pub fn command(pid: i32, masker: Option<&Masker>) -> String {
    let words = words(pid).join(OsStr::new(" "));
    let Some(masker) = masker.filter(|_| !words.is_empty()) else {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        return format!("[{}]", name.trim());
    };
    // Masked before the cut, which could leave half of a secret.
    let shown = masker.mask(words.as_bytes());
    text::first_line_label(
        &String::from_utf8_lossy(&shown),
        limits::LEFTOVER_COMMAND_CHARS,
    )
}

/// Returns the run directory that a process supervises, if it says that it is a supervisor.
pub fn supervised_dir(pid: i32) -> Option<PathBuf> {
    let mut words = words(pid).into_iter().skip(1);
    if words.next()? != names::SUPERVISE {
        return None;
    }
    words.next().map(PathBuf::from)
}

/// Returns the run directories of the supervisors above a process, nearest first.
///
/// A supervisor is known by its name first, which costs less than its words.
pub fn supervisors_above(pid: i32) -> impl Iterator<Item = PathBuf> {
    let mut next = stat(pid).map(|stat| stat.parent);
    let above = std::iter::from_fn(move || {
        let pid = next.take().filter(|pid| *pid > 1)?;
        let stat = stat(pid)?;
        next = Some(stat.parent);
        Some((pid, stat.has_our_name))
    });
    above
        .take(limits::ANCESTORS_MAX)
        .filter(|(_, has_our_name)| *has_our_name)
        .filter_map(|(pid, _)| supervised_dir(pid))
}

/// Returns whether the environment that the process was executed with holds `entry`.
pub fn has_environment(pid: i32, entry: &str) -> bool {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    bytes
        .split(|byte| *byte == 0)
        .any(|one| one == entry.as_bytes())
}

/// Returns the entry by which the processes of a run can be known.
pub fn cookie(id: &RunId) -> String {
    format!("{}={id}", names::RUN_VARIABLE)
}

/// Returns the id of this boot.
pub fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// Returns the inode number of this process's PID namespace.
pub fn pid_namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self/ns/pid").map_or(0, |meta| meta.ino())
}

/// Sends `signal` to this very process; false when it is gone.
///
/// # Errors
///
/// Fails when the process may not be signalled.
pub fn signal(process: ProcessRef, signal: i32) -> io::Result<bool> {
    let gone = |error: &io::Error| error.raw_os_error() == Some(libc::ESRCH);
    let opened = match pidfd::open(process.pid) {
        Ok(opened) => opened,
        Err(error) if gone(&error) => return Ok(false),
        Err(error) => return Err(error),
    };
    // The descriptor names one process for good; only now can the start time be trusted.
    if !is_alive(process) {
        return Ok(false);
    }
    match pidfd::send_signal(&opened, signal) {
        Ok(()) => Ok(true),
        Err(error) if gone(&error) => Ok(false),
        Err(error) => Err(error),
    }
}
