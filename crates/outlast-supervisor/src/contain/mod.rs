//! Native containment: a launcher of our own binds what was asked for, then executes the command.
//!
//! Here is the supervisor's side: it makes the policy, starts the launcher and
//! hears from it what holds and, later, how the command ended.

mod alone;
mod bwrap;
mod calls;
mod cgroup;
mod check;
mod engine;
mod for_calls;
mod forward;
mod git;
mod harden;
mod launcher;
mod limits;
mod mounts;
mod probe;
mod protected;
mod refused;
mod reports;
mod shown;
mod trees;

pub(crate) use engine::{Engine, refuse_engine};
pub use engine::{HandedEngine, receive_engine};
pub(crate) use for_calls::{BoundForCalls, bind_for_calls};
pub(crate) use launcher::contain;
pub(crate) use limits::Bound;
pub use probe::{ProbeError, probe, probe_limits};

use crate::platform::spawn::{self, Exec};
use crate::platform::{self, confine};
use crate::{clock, fault, launch, process};
use outlast_journal::limits::{CONTAIN_SETUP_MS, CONTAINED_TEMPORARY_BYTES};
use outlast_journal::policy::{self, Policy, Report};
use outlast_journal::{Containment, Network, Posture, ProcessRef, RunId, names};
pub(crate) use refused::Refused;
use refused::broken;
use reports::Reports;
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Names of what contains.
const NATIVE: &str = "native";
const BWRAP: &str = "bwrap";
const LANDLOCK: &str = "landlock";

/// By what a launcher is to contain its command.
#[derive(Clone, Copy)]
enum By<'a> {
    /// Namespaces of its own making.
    Native,
    /// Namespaces that bubblewrap makes.
    Bwrap,
    /// Landlock alone, with this directory for temporary files.
    Landlock(&'a Path),
    /// A container engine.
    Engine,
}

/// What is to be contained.
pub(crate) struct Contain<'a> {
    pub(crate) run: &'a RunId,
    /// The run's directory.
    pub(crate) run_dir: &'a Path,
    pub(crate) containment: &'a Containment,
    pub(crate) argv: &'a [String],
    pub(crate) cwd: &'a str,
    /// `NAME=VALUE` entries, each ended by a NUL.
    pub(crate) environment: &'a [u8],
}

/// What is bound and seen before the command executes.
struct Before {
    limits: Bound,
    /// Names that would be protected and are not there.
    absent: Vec<PathBuf>,
}

/// A command that executes in namespaces of its own.
pub(crate) struct Contained {
    /// Process 1 in there, by its number here, if it has a namespace for processes.
    pub(crate) init: Option<i32>,
    /// What leads to allowed hosts, by its number here: ours too.
    pub(crate) helper: Option<ProcessRef>,
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
    /// What is known of a container, if it is in one: process 1 is then what talks to its engine.
    pub(crate) engine: Option<Engine>,
}

impl Contain<'_> {
    /// Starts what contains the command and returns once that executes.
    pub(crate) fn start(
        &self,
        stdin: BorrowedFd<'_>,
        output: BorrowedFd<'_>,
    ) -> Result<Contained, Refused> {
        match &self.containment.image {
            Some(image) => self.start_in_image(image, [stdin, output]),
            None => self.start_here(stdin, output),
        }
    }

    /// Starts the launcher and returns once the command executes.
    ///
    /// Where namespaces cannot be had, Landlock contains it alone, if what that does not hold may
    /// be missed; else it is refused.
    fn start_here(
        &self,
        stdin: BorrowedFd<'_>,
        output: BorrowedFd<'_>,
    ) -> Result<Contained, Refused> {
        let limits = Bound::bind(self.containment, self.run).map_err(|(name, error)| {
            broken(&format!("limit: {name}"), error.raw_os_error().unwrap_or(0))
        })?;
        let absent = protected::absent(Path::new(&self.containment.workspace));
        let before = Before { limits, absent };
        let (mut reports, launcher) = self.spawn(stdin, output, &before.limits, By::Native)?;
        let mut refused = match hear_start(&mut reports) {
            Ok((init, running)) => {
                platform::process::wait_for(launcher);
                return Ok(self.with_init(init, running, before, reports));
            }
            Err(heard) => {
                end_all();
                self.explained(heard)
            }
        };
        let is_for_want = refused
            .step
            .as_deref()
            .is_some_and(policy::is_of_namespaces);
        let is_forwarded = matches!(self.containment.network, Network::Allow(_));
        if !is_for_want || is_forwarded {
            return Err(refused);
        }
        // Of root's files it would show more than ours.
        let has_bwrap = Path::new(bwrap::PROGRAM).exists()
            && confine::own_ids().0 != 0
            && !fault::is_armed("contain:bwrap");
        if has_bwrap {
            match self.start_bwrap([stdin, output], &refused) {
                Ok(contained) => {
                    return Ok(Contained {
                        absent: before.absent,
                        ..contained
                    });
                }
                // All was bound, and the command is not to be executed.
                Err(other) if other.step.is_none() => return Err(other),
                Err(other) => refused = refused.nor_bubblewrap(&other),
            }
        }
        let may_miss = &self.containment.may_miss;
        let is_enough = policy::NOT_BY_LANDLOCK
            .iter()
            .all(|one| may_miss.contains(one));
        if !is_enough {
            return Err(refused.or_alone());
        }
        self.start_alone([stdin, output], before, &refused)
    }

    /// Starts the command in namespaces that bubblewrap makes, since `why` keeps us from it.
    fn start_bwrap(
        &self,
        [stdin, output]: [BorrowedFd<'_>; 2],
        why: &Refused,
    ) -> Result<Contained, Refused> {
        // It starts our launcher before it could be taken into a cgroup.
        let limits = Bound::without_groups(self.containment, self.run)
            .map_err(|(name, _)| broken(&format!("limit: {name}"), 0))?;
        let (mut reports, outer) = self.spawn(stdin, output, &limits, By::Bwrap)?;
        let give_up_at = clock::monotonic_ms() + CONTAIN_SETUP_MS;
        let running = match reports.next(give_up_at) {
            Some(running @ Report::Running { .. }) => running,
            other => {
                end_all();
                return Err(self.explained(other));
            }
        };
        let only = |pid: i32| process::children(pid).first().copied();
        let init = only(outer);
        let main = init.and_then(only).and_then(process::current);
        platform::file::write(&reports.socket, b"g").ok();
        let mut posture = self.posture(BWRAP, running, &limits);
        let notice = why.as_notice("bubblewrap");
        posture.fallback_notice = Some(match posture.fallback_notice {
            Some(other) => format!("{notice}; {other}"),
            None => notice,
        });
        Ok(Contained {
            init: Some(outer),
            helper: init.and_then(process::current),
            main: main.unwrap_or_else(|| reference(outer)),
            posture,
            absent: Vec::new(),
            limits,
            reports,
            engine: None,
        })
    }

    /// Starts the command with Landlock alone, since `why` keeps it from more.
    fn start_alone(
        &self,
        [stdin, output]: [BorrowedFd<'_>; 2],
        before: Before,
        why: &Refused,
    ) -> Result<Contained, Refused> {
        let private = self.run_dir.join(names::PRIVATE);
        match crate::fsio::make_private_dir(&private) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(broken("private", error.raw_os_error().unwrap_or(0)));
            }
            Ok(()) | Err(_) => {}
        }
        let (mut reports, launcher) =
            self.spawn(stdin, output, &before.limits, By::Landlock(&private))?;
        let give_up_at = clock::monotonic_ms() + CONTAIN_SETUP_MS;
        let heard = match reports.next(give_up_at) {
            // The socket closes with the exec, and only then.
            Some(running @ Report::Running { .. }) => match reports.next(give_up_at) {
                None if reports.is_over => Ok(running),
                other => Err(other),
            },
            other => Err(other),
        };
        let running = heard.map_err(|heard| {
            end_all();
            self.explained(heard)
        })?;
        let mut posture = self.posture(LANDLOCK, running, &before.limits);
        posture.fallback_notice = Some(why.as_notice("Landlock alone"));
        Ok(Contained {
            init: None,
            helper: None,
            main: reference(launcher),
            posture,
            absent: before.absent,
            limits: before.limits,
            reports,
            engine: None,
        })
    }

    /// Returns the contained run whose process 1 is `init`.
    fn with_init(&self, init: i32, running: Report, before: Before, reports: Reports) -> Contained {
        let children = process::children(init);
        // Ours was made before the command.
        let is_forwarded = matches!(self.containment.network, Network::Allow(_));
        let (helper, main) = match children.as_slice() {
            [helper, main, ..] if is_forwarded => (process::current(*helper), Some(*main)),
            [main, ..] => (None, Some(*main)),
            [] => (None, None),
        };
        let main = main.and_then(process::current);
        // Now the command may be reaped: its number outside is known.
        platform::file::write(&reports.socket, b"g").ok();
        Contained {
            init: Some(init),
            helper,
            main: main.unwrap_or_else(|| reference(init)),
            posture: self.posture(NATIVE, running, &before.limits),
            absent: before.absent,
            limits: before.limits,
            reports,
            engine: None,
        }
    }

    /// Returns what was bound, by what the launcher saw of it.
    fn posture(&self, backend: &str, running: Report, limits: &Bound) -> Posture {
        let asked = self.containment;
        let mut posture = Posture {
            backend: Some(backend.to_owned()),
            limits: limits.told.clone(),
            ..Posture::asked(asked)
        };
        if let Report::Running {
            mut holds,
            protected,
            notice,
        } = running
        {
            holds.extend(limits.guarantees());
            let missing = asked
                .wanted()
                .into_iter()
                .filter(|one| !holds.contains(one));
            posture.missing = missing.map(|one| one.to_string()).collect();
            posture.guarantees = holds.iter().map(ToString::to_string).collect();
            posture.protected = protected;
            posture.fallback_notice = notice;
        }
        posture
    }

    fn spawn(
        &self,
        stdin: BorrowedFd<'_>,
        output: BorrowedFd<'_>,
        limits: &Bound,
        by: By<'_>,
    ) -> Result<(Reports, i32), Refused> {
        let spawned = self.try_spawn([stdin, output], limits, by);
        let (socket, launcher) =
            spawned.map_err(|error| broken("launcher", error.raw_os_error().unwrap_or(0)))?;
        Ok((Reports::new(socket), launcher))
    }

    fn try_spawn(
        &self,
        [stdin, output]: [BorrowedFd<'_>; 2],
        limits: &Bound,
        by: By<'_>,
    ) -> io::Result<(UnixStream, i32)> {
        let policy = self.policy(limits, by);
        let (path, words) = match by {
            By::Native | By::Landlock(_) => {
                let words = vec![CString::new(names::PROCESS)?, CString::new(names::CONTAIN)?];
                (c"/proc/self/exe".to_owned(), words)
            }
            By::Bwrap => (CString::new(bwrap::PROGRAM)?, bwrap::words(&policy)?),
            By::Engine => {
                let words = vec![CString::new(names::PROCESS)?, CString::new(names::ENGINE)?];
                (c"/proc/self/exe".to_owned(), words)
            }
        };
        let policy = self.write(&policy)?;
        let argv: Vec<&CStr> = words.iter().map(CString::as_c_str).collect();
        let (ours, theirs) = UnixStream::pair()?;
        let exec = Exec {
            paths: &[path],
            argv: &argv,
            environment: &[],
            cwd: c"/",
            stdin,
            output,
            extra: [Some(policy.as_fd()), Some(theirs.as_fd())],
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
        Ok((ours, pid))
    }

    fn policy(&self, limits: &Bound, by: By<'_>) -> Policy {
        let workspace = Path::new(&self.containment.workspace);
        let surroundings = &self.containment.surroundings;
        let home = surroundings.home.as_deref().map(Path::new);
        let mut shown = shown::of(surroundings, workspace);
        let command_text = self.command_text();
        shown.extend(command_text.map(Path::to_owned));
        let text = |path: &Path| path.to_str().map(str::to_owned);
        let (alone_in, run_dir) = match by {
            By::Landlock(private) => (Some(private), None),
            By::Engine => (None, Some(self.run_dir)),
            By::Native | By::Bwrap => (None, None),
        };
        Policy {
            containment: self.containment.clone(),
            argv: self.argv.to_vec(),
            cwd: self.cwd.to_owned(),
            home: surroundings.home.clone(),
            command_text: command_text.and_then(text),
            covered: shown::keys(&shown)
                .iter()
                .filter_map(|path| text(path))
                .collect(),
            repository: git::repository(workspace).as_deref().and_then(text),
            git_identity: home.and_then(git::identity),
            shown: shown.iter().filter_map(|path| text(path)).collect(),
            is_mounted: matches!(by, By::Bwrap),
            run_dir: run_dir.and_then(text),
            alone_in: alone_in.and_then(text),
            waits: limits.has_groups(),
            pids_max: limits.pids_max,
            supervisor: platform::process::own_pid(),
            temporary_bytes_max: CONTAINED_TEMPORARY_BYTES,
        }
    }

    /// Returns the file of the run with its shell text, if that was too long for a word.
    fn command_text(&self) -> Option<&Path> {
        let path = Path::new(self.argv.last()?);
        let of_run = path.parent()?.file_name()?;
        (path.ends_with(names::COMMAND_TEXT) && of_run == self.run.as_str()).then_some(path)
    }

    /// Returns a file in memory with the policy and the environment.
    fn write(&self, policy: &Policy) -> io::Result<OwnedFd> {
        let mut bytes = serde_json::to_vec(policy).map_err(io::Error::other)?;
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
        appeared(&self.posture, &self.absent)
    }
}

fn appeared(posture: &Posture, absent: &[PathBuf]) -> Vec<String> {
    let workspace = posture.root.as_deref().unwrap_or_default();
    let there = absent
        .iter()
        .filter(|path| fs::symlink_metadata(path).is_ok());
    there
        .filter_map(|path| path.strip_prefix(workspace).ok())
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
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

fn reference(pid: i32) -> ProcessRef {
    ProcessRef {
        pid,
        start_ticks: process::start_ticks(pid).unwrap_or(0),
    }
}
