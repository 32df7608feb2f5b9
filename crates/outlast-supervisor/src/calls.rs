//! The calls of an agent run, as its supervisor has them: each is run once, by a keeper of its own.
//!
//! The keeper is a child that syncs the claim, contains and runs the call,
//! keeps its output, and says how it ended. So a slow disk or a slow start of
//! one call holds nobody up, and what a call leaves behind ends with its keeper.

mod begin;
mod keeper;
mod order;

pub(crate) use keeper::keep;

use crate::platform::poll::{self, Watch};
use crate::platform::spawn::{self, Exec};
use crate::platform::{self, confine};
use crate::{fsio, launch, process, tree};
use outlast_journal::policy::CallOrder;
use outlast_journal::worker::{CallAsk, CallEnded, CallProgram};
use outlast_journal::{Fact, Line, Spec, limits, names};
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Longest word of a keeper, in bytes: the end of a call and why it did not start.
const WORD_BYTES_MAX: usize = 64 << 10;

/// A call that runs.
pub(crate) struct OpenCall {
    /// The call.
    pub(crate) call: String,
    /// Its keeper, our child.
    pub(crate) keeper: i32,
    /// Whether it was told to stop.
    pub(crate) is_stopped: bool,
    socket: UnixStream,
    read: Vec<u8>,
}

/// What is known of a call that is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing: it was never claimed.
    Never,
    /// It runs.
    Runs,
    /// It ended so.
    Ended(CallEnded),
    /// It was claimed, and nobody knows how it ended.
    Unknown,
}

/// The calls of one run.
#[derive(Default)]
pub(crate) struct Calls {
    pub(crate) open: Vec<OpenCall>,
    /// Hashes of all that were ever claimed: what became of them stands in the journal.
    claimed: HashSet<u64>,
}

impl Calls {
    /// Returns what is known of a call.
    pub(crate) fn look(&self, call: &str, run_dir: &Path) -> Known {
        if self.open.iter().any(|open| open.call == call) {
            return Known::Runs;
        }
        if !self.claimed.contains(&hash(call)) {
            return Known::Never;
        }
        in_journal(run_dir, call).unwrap_or(Known::Unknown)
    }

    /// Notes that a call was claimed in the journal.
    pub(crate) fn note_claim(&mut self, call: &str) {
        self.claimed.insert(hash(call));
    }

    /// Starts the keeper of a call that was claimed.
    pub(crate) fn start(
        &mut self,
        ask: &CallAsk,
        environment: &[u8],
        spec: &Spec,
        run_dir: &Path,
    ) -> io::Result<()> {
        let contained = spec.containment.as_ref().filter(|_| !ask.is_on_host);
        let order = CallOrder {
            run: spec.id,
            call: ask.call.clone(),
            run_dir: run_dir.to_string_lossy().into_owned(),
            shell: match &ask.program {
                CallProgram::Shell(text) => Some(text.clone()),
                CallProgram::Hand => None,
            },
            cwd: spec.cwd.clone(),
            containment: contained.cloned(),
            timeout_ms: ask.timeout_ms.min(limits::TIMEOUT_MS_MAX),
            grace_ms: ask.grace_ms.min(limits::GRACE_MS_MAX),
            environment_bytes: environment.len(),
            has_stdin: ask.stdin.is_some(),
        };
        let stdin = ask.stdin.as_deref().unwrap_or_default();
        let handed = order::hand_down(&order, environment, stdin.as_bytes())?;
        fsio::make_private_dirs(&run_dir.join(names::CALLS))?;
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let keeper = spawn_keeper(spec, &handed, &theirs)?;
        self.open.push(OpenCall {
            call: ask.call.clone(),
            keeper,
            is_stopped: false,
            socket: ours,
            read: Vec::new(),
        });
        Ok(())
    }

    /// Adds what is to be watched.
    pub(crate) fn watch(&self, watches: &mut Vec<Watch>) {
        watches.extend(self.open.iter().map(|one| Watch::read(one.socket.as_fd())));
    }

    /// Returns the calls that their keepers say have ended, which are open no more.
    pub(crate) fn hear(&mut self) -> Vec<CallEnded> {
        let mut ended = Vec::new();
        self.open.retain_mut(|open| {
            let end = open.hear();
            let goes_on = end.is_none();
            ended.extend(end);
            goes_on
        });
        ended
    }

    /// Takes the call whose keeper was reaped without a word.
    pub(crate) fn take_lost(&mut self, keeper: i32) -> Option<OpenCall> {
        let at = self.open.iter().position(|one| one.keeper == keeper)?;
        Some(self.open.swap_remove(at))
    }

    /// Has a call stopped, within the grace that it was asked with or this one.
    pub(crate) fn stop(&mut self, call: &str, grace_ms: Option<u64>) {
        let open = self.open.iter_mut().find(|open| open.call == call);
        if let Some(open) = open {
            open.stop(grace_ms);
        }
    }

    /// Has every call stopped that was not told before.
    pub(crate) fn stop_all(&mut self, grace_ms: Option<u64>) {
        for open in self.open.iter_mut().filter(|open| !open.is_stopped) {
            open.stop(grace_ms);
        }
    }

    /// Returns the keepers.
    pub(crate) fn keepers(&self) -> Vec<i32> {
        self.open.iter().map(|open| open.keeper).collect()
    }
}

impl OpenCall {
    fn stop(&mut self, grace_ms: Option<u64>) {
        self.is_stopped = true;
        let words = grace_ms.map_or_else(|| "own\n".to_owned(), |ms| format!("{ms}\n"));
        platform::socket::send(&self.socket, words.as_bytes(), &[]).ok();
    }

    fn hear(&mut self) -> Option<CallEnded> {
        let mut buffer = [0; 4 << 10];
        loop {
            match platform::file::read(&self.socket, &mut buffer) {
                Ok(read) if read > 0 && self.read.len() < WORD_BYTES_MAX => {
                    self.read.extend(buffer.get(..read).unwrap_or_default());
                }
                Ok(_) | Err(_) => break,
            }
        }
        let line = self.read.strip_suffix(b"\n")?;
        let ended: CallEnded = serde_json::from_slice(line).ok()?;
        Some(ended).filter(|ended| ended.call == self.call)
    }
}

fn hash(call: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.hash(&mut hasher);
    hasher.finish()
}

/// Looks a call up in the journal; `None` when that does not know it.
fn in_journal(run_dir: &Path, call: &str) -> Option<Known> {
    let file = File::open(run_dir.join(names::JOURNAL)).ok()?;
    let mut reader = BufReader::new(file);
    let mut known = None;
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        let is_short = line.len() < WORD_BYTES_MAX;
        let fact = is_short.then(|| Line::from_bytes(line.trim_ascii_end()).ok()?.fact().ok());
        match fact.flatten() {
            Some(Fact::CallClaimed(claimed)) if claimed.call == call => {
                known.get_or_insert(Known::Unknown);
            }
            Some(Fact::CallEnded(ended)) if ended.call == call => {
                known = Some(Known::Ended(*ended));
            }
            Some(_) | None => {}
        }
        line.clear();
    }
    known
}

fn spawn_keeper(spec: &Spec, handed: &OwnedFd, socket: &UnixStream) -> io::Result<i32> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let cookie = CString::new(process::cookie(&spec.id))?;
    let armed = launch::armed_entry();
    let mut environment: Vec<&CStr> = vec![&cookie];
    environment.extend(armed.as_deref());
    let exec = Exec {
        paths: &[c"/proc/self/exe".to_owned()],
        argv: &[
            &CString::new(names::PROCESS)?,
            &CString::new(names::CALL)?,
            &CString::new(spec.id.as_str())?,
        ],
        environment: &environment,
        cwd: c"/",
        stdin: null.as_fd(),
        output: null.as_fd(),
        extra: [Some(handed.as_fd()), Some(socket.as_fd())],
    };
    spawn::spawn(&exec).map_err(|(_, error)| error)
}

/// Kills what a keeper that is gone has left: it hangs on us now, as a child that is neither in
/// `spared` nor a run of its own.
///
/// Whoever forks while it is killed leaves a child behind, so it is looked at until nothing was
/// there twice.
pub(crate) fn end_orphans(runs_dir: &Path, spared: &[i32]) {
    const ROUNDS_MAX: usize = 100;
    let mut empty_looks = 0;
    for _ in 0..ROUNDS_MAX {
        let was_any = tree::kill_orphans(runs_dir, spared);
        empty_looks = if was_any { 0 } else { empty_looks + 1 };
        if empty_looks == 2 {
            return;
        }
        poll::poll(&mut [], Some(1)).ok();
    }
}

/// Returns a file in memory that holds `bytes`, to be read from its beginning.
fn in_memory(parts: &[&[u8]]) -> io::Result<OwnedFd> {
    let file = confine::memory_file(c"call")?;
    for part in parts {
        let mut left = *part;
        while !left.is_empty() {
            let written = platform::file::write(&file, left)?;
            left = left.get(written..).unwrap_or_default();
        }
    }
    platform::file::rewind(&file)?;
    Ok(file)
}

#[cfg(test)]
mod tests;
