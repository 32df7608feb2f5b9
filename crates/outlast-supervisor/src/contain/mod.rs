//! Native containment: a launcher of our own binds what was asked for, then executes the command.
//!
//! Here is the supervisor's side: it makes the policy, starts the launcher and
//! hears from it what holds and, later, how the command ended.

mod cgroup;
mod check;
mod git;
mod harden;
mod launcher;
mod limits;
mod mounts;
mod protected;
mod shown;
mod trees;

pub(crate) use launcher::contain;

use crate::platform::poll::{self, Watch};
use crate::platform::spawn::{self, Exec};
use crate::platform::{self, confine};
use crate::{clock, launch, process};
use limits::Bound;
use outlast_journal::limits::{
    CONTAIN_SETUP_MS, CONTAINED_TEMPORARY_BYTES, CONTROL_LINE_BYTES_MAX,
};
use outlast_journal::policy::{self, Policy, Report};
use outlast_journal::{Containment, Failure, Guarantee, Posture, ProcessRef, RunId, names};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The code of a run that cannot be contained as asked.
pub(crate) const FAILED: &str = "containment_failed";
/// Name of this backend.
const NATIVE: &str = "native";

/// What is to be contained.
pub(crate) struct Contain<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) containment: &'a Containment,
    pub(crate) argv: &'a [String],
    pub(crate) cwd: &'a str,
    /// `NAME=VALUE` entries, each ended by a NUL.
    pub(crate) environment: &'a [u8],
}

/// A command that executes in namespaces of its own.
pub(crate) struct Contained {
    /// Process 1 in there, by its number here.
    pub(crate) init: i32,
    /// The command, by its number here.
    pub(crate) main: ProcessRef,
    /// What was bound.
    pub(crate) posture: Posture,
    /// Names that would be protected and were absent.
    absent: Vec<PathBuf>,
    /// What bounds it.
    pub(crate) limits: Bound,
    /// Where process 1 says more.
    pub(crate) reports: Reports,
}

/// Why nothing executes.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) failure: Failure,
    /// What to do about a step that could not be done.
    pub(crate) hint: Option<String>,
}

impl Contain<'_> {
    /// Starts the launcher and returns once the command executes.
    pub(crate) fn start(
        &self,
        stdin: BorrowedFd<'_>,
        output: BorrowedFd<'_>,
    ) -> Result<Contained, Refused> {
        let absent = protected::absent(Path::new(&self.containment.workspace));
        let limits = Bound::bind(self.containment, self.run).map_err(|(name, error)| {
            broken(&format!("limit: {name}"), error.raw_os_error().unwrap_or(0))
        })?;
        let begun = self.spawn(stdin, output, &limits);
        let (launcher, socket) =
            begun.map_err(|error| broken("launcher", error.raw_os_error().unwrap_or(0)))?;
        let mut reports = Reports::new(socket);
        let heard = hear_start(&mut reports);
        if heard.is_err() {
            end_all();
            return Err(self.explained(heard));
        }
        platform::process::wait_for(launcher);
        match heard {
            Ok((
                init,
                Report::Running {
                    holds,
                    protected,
                    notice,
                },
            )) => {
                let children = process::children(init);
                let main = children.first().copied().and_then(process::current);
                // Now the command may be reaped: its number outside is known.
                platform::file::write(&reports.socket, b"g").ok();
                Ok(Contained {
                    init,
                    main: main.unwrap_or(ProcessRef {
                        pid: init,
                        start_ticks: process::start_ticks(init).unwrap_or(0),
                    }),
                    posture: posture(
                        self.containment,
                        [holds, limits.guarantees()].concat(),
                        (protected, notice),
                        &limits,
                    ),
                    absent,
                    limits,
                    reports,
                })
            }
            Ok(_) | Err(_) => Err(broken("launcher", 0)),
        }
    }

    /// Returns the refusal that follows from what was heard.
    fn explained(&self, heard: Result<(i32, Report), Option<Report>>) -> Refused {
        match heard {
            Err(Some(Report::SetupFailed { step, errno })) => broken(&step, errno),
            Err(Some(Report::ExecFailed { failure })) => Refused {
                failure: self.of_hidden(failure),
                hint: None,
            },
            Ok(_) | Err(_) => broken("launcher", 0),
        }
    }

    /// Says of a program that is not found inside and is there outside that it is hidden.
    fn of_hidden(&self, mut failure: Failure) -> Failure {
        let command = crate::command::Command {
            argv: self.argv,
            environment: self.environment,
            cwd: self.cwd,
        };
        if failure.code == "no_such_program" && command.is_there() {
            failure.message = format!(
                "{} inside of the containment, which hides it",
                failure.message
            );
        }
        failure
    }

    fn spawn(
        &self,
        stdin: BorrowedFd<'_>,
        output: BorrowedFd<'_>,
        limits: &Bound,
    ) -> io::Result<(i32, UnixStream)> {
        let policy = self.policy(limits)?;
        let (ours, theirs) = UnixStream::pair()?;
        let exec = Exec {
            paths: &[c"/proc/self/exe".to_owned()],
            argv: &[
                &CString::new(names::PROCESS)?,
                &CString::new(names::CONTAIN)?,
            ],
            environment: &[],
            cwd: c"/",
            stdin,
            output,
            extra: Some([policy.as_fd(), theirs.as_fd()]),
        };
        let armed = launch::armed_entry();
        let armed: Vec<_> = armed.iter().map(CString::as_c_str).collect();
        let exec = Exec {
            environment: &armed,
            ..exec
        };
        let pid = spawn::spawn(&exec).map_err(|(_, error)| error)?;
        if limits.has_groups() {
            let taken = limits.take(pid);
            if taken.is_err() {
                end_all();
            }
            taken?;
            platform::file::write(&ours, b"g")?;
        }
        Ok((pid, ours))
    }

    /// Returns a file in memory with the policy and the environment.
    fn policy(&self, limits: &Bound) -> io::Result<OwnedFd> {
        let workspace = Path::new(&self.containment.workspace);
        let home = launch::variable(self.environment, "HOME")
            .and_then(|home| fs::canonicalize(home).ok())
            .filter(|home| home.parent().is_some());
        let shown = shown::of(self.environment, home.as_deref(), workspace);
        let text = |path: &Path| path.to_str().map(str::to_owned);
        let policy = Policy {
            containment: self.containment.clone(),
            argv: self.argv.to_vec(),
            cwd: self.cwd.to_owned(),
            home: home.as_deref().and_then(text),
            covered: shown::keys(&shown)
                .iter()
                .filter_map(|path| text(path))
                .collect(),
            repository: git::repository(workspace).as_deref().and_then(text),
            git_identity: home.as_deref().and_then(git::identity),
            shown: shown.iter().filter_map(|path| text(path)).collect(),
            waits: limits.has_groups(),
            pids_max: limits.pids_max,
            supervisor: platform::process::own_pid(),
            temporary_bytes_max: CONTAINED_TEMPORARY_BYTES,
        };
        let mut bytes = serde_json::to_vec(&policy).map_err(io::Error::other)?;
        bytes.push(b'\n');
        let file = confine::memory_file(c"policy")?;
        for part in [&bytes, self.environment] {
            let mut left = part;
            while !left.is_empty() {
                let written = platform::file::write(&file, left)?;
                left = left.get(written..).unwrap_or_default();
            }
        }
        platform::file::rewind(&file)?;
        Ok(file)
    }
}

impl Contained {
    /// Returns the names that were absent at the start and are there now, as paths of the
    /// workspace.
    pub(crate) fn appeared(&self) -> Vec<String> {
        let workspace = self.posture.root.as_deref().unwrap_or_default();
        let there = self
            .absent
            .iter()
            .filter(|path| fs::symlink_metadata(path).is_ok());
        there
            .filter_map(|path| path.strip_prefix(workspace).ok())
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }
}

/// Hears the launcher until the command executes, and returns process 1 with that report; else
/// what was said, if anything was.
fn hear_start(reports: &mut Reports) -> Result<(i32, Report), Option<Report>> {
    let give_up_at = clock::monotonic_ms() + CONTAIN_SETUP_MS;
    let (mut init, mut running) = (None, None);
    loop {
        match reports.next(give_up_at) {
            Some(Report::Init { pid }) => init = Some(pid),
            Some(report @ Report::Running { .. }) => running = Some(report),
            Some(report) => return Err(Some(report)),
            None => return Err(None),
        }
        if let (Some(init), Some(running)) = (init, running.take_if(|_| init.is_some())) {
            return Ok((init, running));
        }
    }
}

/// Ends every child of this process, which are those of a start that failed.
fn end_all() {
    for child in process::children(platform::process::own_pid()) {
        platform::process::signal_child(child, libc::SIGKILL).ok();
    }
    while confine::wait_any().is_some() {}
}

fn broken(step: &str, errno: i32) -> Refused {
    Refused {
        failure: Failure {
            code: FAILED.to_owned(),
            message: format!("the run cannot be contained as asked: step `{step}` failed"),
            errno: Some(errno).filter(|errno| *errno != 0),
        },
        hint: Some(policy::fix(step, errno).to_owned()),
    }
}

fn posture(
    asked: &Containment,
    holds: Vec<Guarantee>,
    (protected, notice): (Vec<String>, Option<String>),
    limits: &Bound,
) -> Posture {
    let missing = asked
        .wanted()
        .into_iter()
        .filter(|one| !holds.contains(one));
    Posture {
        backend: Some(NATIVE.to_owned()),
        protected,
        limits: limits.told.clone(),
        missing: missing.map(|one| one.to_string()).collect(),
        guarantees: holds.iter().map(ToString::to_string).collect(),
        fallback_notice: notice,
        ..Posture::asked(asked)
    }
}

/// What process 1 says, read line by line.
pub(crate) struct Reports {
    socket: UnixStream,
    read: Vec<u8>,
    is_over: bool,
}

impl Reports {
    fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            read: Vec::new(),
            is_over: false,
        }
    }

    /// Returns the next report, waiting for it until this time at most; `None` when there is none.
    fn next(&mut self, give_up_at: u64) -> Option<Report> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Report::from_bytes(&line);
            }
            let left = give_up_at.saturating_sub(clock::monotonic_ms());
            let mut watches = [Watch::read(self.socket.as_fd())];
            poll::poll(&mut watches, Some(left)).ok()?;
            if !watches[0].is_ready() {
                if left == 0 {
                    return None;
                }
                continue;
            }
            let mut buffer = [0; 1_024];
            let read = platform::file::read(&self.socket, &mut buffer).ok()?;
            if read == 0 || self.read.len() > CONTROL_LINE_BYTES_MAX * 4 {
                self.is_over = true;
                return None;
            }
            self.read.extend(buffer.get(..read).unwrap_or_default());
        }
    }

    /// Returns a report that is there already.
    pub(crate) fn now(&mut self) -> Option<Report> {
        self.next(0)
    }

    /// Whether there will be no more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// What is ready when there is something to hear.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
