//! The supervisor's side of a container: it starts what talks to the engine, and hears from it.
//!
//! That is a process of its own, so that HTTP stays out of this one. It reports
//! as a launcher does, and is told signals, since nothing in a container is
//! below this process. Where no container can be had, native stands in for it
//! if that holds all that was asked for, and says so.

use super::launcher::{STATUS, read_policy, say};
use super::refused::{Refused, broken, of_engine};
use super::{Before, Bound, By, Contain, Contained, calls, end_all, protected, reference};
use crate::clock;
use crate::platform::{self, confine};
use outlast_journal::limits::ENGINE_SETUP_MS;
use outlast_journal::policy::{Policy, Report};
use outlast_journal::{Git, Network, Posture, Tier};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

/// Name of this backend.
const CONTAINER: &str = "container";

impl Contain<'_> {
    /// Starts the command in a container of `image`, or by native in its place.
    pub(super) fn start_in_image(
        &self,
        image: &str,
        [stdin, output]: [BorrowedFd<'_>; 2],
    ) -> Result<Contained, Refused> {
        let refused = match self.start_container(image, [stdin, output]) {
            Err(refused) if refused.step.as_deref() == Some("engine") => refused,
            other => return other,
        };
        if matches!(self.containment.network, Network::Allow(_)) {
            return Err(refused);
        }
        let missing = match self.missing_of_native() {
            Ok(missing) => missing,
            Err(native) => return Err(refused.nor_by(&native)),
        };
        if !missing.is_empty() {
            return Err(refused.nor_native(&missing));
        }
        let mut contained = self.start_here(stdin, output)?;
        let posture = &mut contained.posture;
        let by = posture.backend.clone().unwrap_or_default();
        let notice = refused.in_place_of_container(&by);
        posture.fallback_notice = Some(match posture.fallback_notice.take() {
            Some(other) => format!("{notice}; {other}"),
            None => notice,
        });
        Ok(contained)
    }

    /// Returns what native would not hold of what this run asks for, by a look without a command.
    fn missing_of_native(&self) -> Result<Vec<String>, Refused> {
        let null = File::options().read(true).write(true).open("/dev/null");
        let null = null.map_err(|error| broken("launcher", error.raw_os_error().unwrap_or(0)))?;
        let look = Contain { argv: &[], ..*self };
        let seen = look.start_here(null.as_fd(), null.as_fd());
        while confine::wait_any().is_some() {}
        let missing = seen?.posture.missing;
        let may_miss = &self.containment.may_miss;
        let is_needed = |name: &String| may_miss.iter().all(|one| one.as_str() != name);
        Ok(missing.into_iter().filter(is_needed).collect())
    }

    fn start_container(
        &self,
        image: &str,
        [stdin, output]: [BorrowedFd<'_>; 2],
    ) -> Result<Contained, Refused> {
        let workspace = Path::new(&self.containment.workspace);
        let before = Before {
            limits: Bound::by_engine(self.containment),
            absent: protected::absent(workspace),
        };
        let (mut reports, helper) = self.spawn(stdin, output, &before.limits, By::Engine)?;
        let give_up_at = clock::monotonic_ms() + ENGINE_SETUP_MS;
        match reports.next(give_up_at) {
            Some(running @ Report::Running { .. }) => {
                let mut posture: Posture = self.posture(CONTAINER, running, &before.limits);
                posture.image = Some(image.to_owned());
                Ok(Contained {
                    init: Some(helper),
                    helper: None,
                    main: reference(helper),
                    posture,
                    absent: before.absent,
                    limits: before.limits,
                    reports,
                    engine: Some(Engine::default()),
                })
            }
            Some(Report::EngineRefused { step, told, hint }) => {
                platform::process::wait_for(helper);
                Err(of_engine(&step, &told, hint))
            }
            Some(Report::ExecFailed { failure }) => {
                platform::process::wait_for(helper);
                Err(Refused::from(failure))
            }
            None if !reports.is_over => {
                // It sees the end of the socket, and takes away what it has made by then.
                drop(reports);
                platform::process::wait_for(helper);
                Err(of_engine(
                    "engine",
                    "it took too long to start a container",
                    "see whether the engine is busy, and try again".to_owned(),
                ))
            }
            other => {
                end_all();
                Err(self.explained(other))
            }
        }
    }
}

/// What is known of a run in a container.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    /// Whether the engine says that it killed something for want of memory.
    pub(crate) was_out_of_memory: bool,
    /// Why it is not known how the command ended, if it is not.
    pub(crate) lost: Option<String>,
}

impl Contained {
    /// Has a signal sent to the command, if that is in a container.
    pub(crate) fn signal_container(&self, signal: i32) {
        if self.engine.is_some() {
            let line = format!("{signal}\n");
            platform::file::write(&self.reports.socket, line.as_bytes()).ok();
        }
    }
}

/// What the process that talks to an engine is handed.
#[derive(Debug)]
pub struct HandedEngine {
    /// What to bind.
    pub policy: Policy,
    /// `NAME=VALUE` entries, each ended by a NUL.
    pub environment: Vec<u8>,
    /// Whole numbers come in over it, one a line: signals for the command. Reports go out. Its
    /// end is the supervisor's.
    pub status: OwnedFd,
    /// Names below the workspace that become mounts of their own, outer ones first, and whether
    /// each is read-only.
    pub pinned: Vec<(String, bool)>,
    /// User and group of this process.
    pub ids: (u32, u32),
    /// The system calls that the command does without, in the OCI's form.
    pub filter: String,
}

/// Takes what the supervisor handed down. Signals are blocked from then on: what is asked of the
/// run reaches the supervisor.
///
/// # Errors
///
/// Fails when this process was not started by a supervisor.
pub fn receive_engine() -> std::io::Result<HandedEngine> {
    let status = confine::take_descriptor(STATUS)?;
    let (policy, environment) = read_policy()?;
    drop(platform::signal::block_and_open()?);
    let pinned = pinned(&policy);
    Ok(HandedEngine {
        policy,
        environment,
        status,
        pinned,
        ids: confine::own_ids(),
        filter: calls::for_engines(),
    })
}

/// The whole life of what should talk to an engine, in a program that cannot.
pub(crate) fn refuse_engine() -> ExitCode {
    if let Ok(status) = confine::take_descriptor(STATUS) {
        let report = Report::EngineRefused {
            step: "engine".to_owned(),
            told: "this program is not built to talk to one".to_owned(),
            hint: "start the run with the program `outlast`".to_owned(),
        };
        say(&status, &report);
    }
    ExitCode::from(125)
}

fn pinned(policy: &Policy) -> Vec<(String, bool)> {
    let asked = &policy.containment;
    let is_writable = asked.tier != Tier::ReadOnly;
    let own = protected::of(Path::new(&asked.workspace), asked.git);
    let own = own.into_iter().filter(|_| is_writable);
    let git = if is_writable { asked.git } else { Git::Read };
    let repository = policy.repository.as_deref().map(Path::new);
    let repository = repository
        .into_iter()
        .flat_map(|path| protected::of_repository(path, git));
    own.chain(repository)
        .filter_map(|one| Some((one.path.to_str()?.to_owned(), one.is_read_only)))
        .collect()
}
