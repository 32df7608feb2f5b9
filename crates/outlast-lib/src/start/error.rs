//! Why a run did not start, what to do about it, and the stable names of both.

use super::ContainError;
use crate::{Advice, ReadError};
use outlast_journal::{Failure, RequestError, RunId};
use outlast_supervisor::launch::LaunchError;
use std::fmt::Write;
use std::io;
use std::path::PathBuf;

/// Why a run did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The request itself cannot be a run.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// This program would run its own `main` again instead of supervising.
    #[error("`init_supervisor` was not called in this process")]
    NotInitialised,
    /// This program would run its own `main` again instead of working.
    #[error("this program cannot be the worker of an agent run")]
    NoWorker,
    /// The store can be read only.
    #[error("the store `{path}` cannot be written")]
    ReadOnly {
        /// The store.
        path: PathBuf,
    },
    /// A newer program made the store.
    #[error("the store was made by a newer version (format {version})")]
    StoreNewer {
        /// The store's format.
        version: u32,
    },
    /// The store has no room left.
    #[error("no space left in the store for {what}")]
    StoreFull {
        /// What was to be written.
        what: &'static str,
        /// What the system said.
        source: Option<io::Error>,
    },
    /// The store could not be written.
    #[error("cannot write {what} in the store")]
    Store {
        /// What was to be written.
        what: &'static str,
        /// What the system said.
        source: Option<io::Error>,
    },
    /// The file system has no locks that can be handed on.
    #[error("the store's file system has no OFD locks")]
    NoLocks {
        /// What the system said.
        source: io::Error,
    },
    /// The kernel gave no random bytes.
    #[error("the system gave no random bytes")]
    NoRandom,
    /// Every place is held.
    #[error("{}", at_capacity(session.as_deref(), *of_agents, *places_max))]
    AtCapacity {
        /// The session whose places are held; the whole store's when absent.
        session: Option<String>,
        /// Whether they are the places of agent runs.
        of_agents: bool,
        /// How many places there are.
        places_max: u32,
        /// The runs that hold them, with their labels.
        holders: Vec<(RunId, String)>,
    },
    /// An agent run is to work in a directory that is none.
    #[error("`{}` is no directory to work in", path.display())]
    NoDirectory {
        /// The path.
        path: PathBuf,
        /// What the system said; absent when something else is there.
        source: Option<io::Error>,
    },
    /// A check could not be run.
    #[error("the check cannot be run: {why}")]
    NoCheck {
        /// Why not.
        why: &'static str,
    },
    /// Runs inside runs are too deep.
    #[error("the run would be {depth} deep and the limit is {depth_max}")]
    DepthExceeded {
        /// How deep it would be.
        depth: u32,
        /// The limit.
        depth_max: u32,
    },
    /// One root has too many live descendants.
    #[error("{descendants_max} runs started below run `{root}` are alive, which is the limit")]
    DescendantsExceeded {
        /// The root.
        root: RunId,
        /// The limit.
        descendants_max: u32,
    },
    /// The key belongs to another request.
    #[error("the idempotency key belongs to run `{id}`, which another request started")]
    KeyConflict {
        /// The run that has it.
        id: RunId,
    },
    /// The run that has the key was not born in time.
    #[error("another start with this idempotency key takes too long, as run `{id}`")]
    KeyBusy {
        /// The run that is being born.
        id: RunId,
    },
    /// The run that has the key cannot be read.
    #[error("the run `{id}` of this idempotency key cannot be read")]
    Replay {
        /// The run.
        id: RunId,
        /// Why.
        source: ReadError,
    },
    /// The run cannot be contained as asked.
    #[error(transparent)]
    Containment(ContainError),
    /// A run that ends with its session needs to know whose end that is.
    #[error("a run with lifetime `session` needs a process that holds it")]
    NoHolder,
    /// There is no shell for the text.
    #[error("{}", no_shell(*pipefail))]
    NoShell {
        /// Whether only bash would do.
        pipefail: bool,
    },
    /// The supervisor could not be started, or died before it answered.
    #[error("the supervisor of run `{id}` did not come up")]
    Supervisor {
        /// The run; readers settle it.
        id: RunId,
        /// Why.
        source: LaunchError,
    },
    /// The command could not be executed. The run has a `failed` record.
    #[error("cannot start run `{id}`: {}", failure.message)]
    CouldNotStart {
        /// The run.
        id: RunId,
        /// Why.
        failure: Failure,
    },
}

impl StartError {
    pub(super) fn store(what: &'static str, source: Option<io::Error>) -> Self {
        let is_full = source.as_ref().is_some_and(|error| {
            matches!(
                error.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            )
        });
        if is_full {
            Self::StoreFull { what, source }
        } else {
            Self::Store { what, source }
        }
    }
}

impl Advice for StartError {
    fn code(&self) -> &'static str {
        match self {
            Self::Request(error) => error.code(),
            Self::NotInitialised => "supervisor_not_initialised",
            Self::NoWorker => "worker_not_initialised",
            Self::ReadOnly { .. } => "store_read_only",
            Self::StoreNewer { .. } => "store_newer",
            Self::StoreFull { .. } => "store_full",
            Self::Store { .. } => "store_unwritable",
            Self::NoLocks { .. } => "store_no_locks",
            Self::NoRandom => "no_random",
            Self::AtCapacity { .. } => "at_capacity",
            Self::NoDirectory { .. } => "work_dir",
            Self::NoCheck { .. } => "until_refused",
            Self::DepthExceeded { .. } => "depth_exceeded",
            Self::DescendantsExceeded { .. } => "descendants_exceeded",
            Self::KeyConflict { .. } => "idempotency_conflict",
            Self::KeyBusy { .. } => "idempotency_busy",
            Self::Replay { .. } => "idempotency_unreadable",
            Self::Containment(error) => error.code(),
            Self::NoHolder => "no_holder",
            Self::NoShell { .. } => "no_shell",
            Self::Supervisor { .. } => "supervisor_died",
            Self::CouldNotStart { failure, .. } => start_code(&failure.code),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Request(error) => error.hint(),
            Self::NotInitialised => {
                "call `init_supervisor()` first in `main` and leave with the code it gives".into()
            }
            Self::NoWorker => {
                "call `outlast_agent::answer()` early in `main`, or start it with `outlast do`"
                    .into()
            }
            Self::ReadOnly { .. } => "make the store writable, or set OUTLAST_HOME".into(),
            Self::StoreNewer { .. } => "update outlast; this version only reads the store".into(),
            Self::StoreFull { .. } => "free space, for example with `outlast gc`".into(),
            Self::Store { .. } => "see `outlast doctor`".into(),
            Self::NoLocks { .. } => "put the store on a local file system".into(),
            Self::NoRandom => "try again".into(),
            Self::AtCapacity { holders, .. } => capacity_hint(holders),
            Self::NoDirectory { .. } => start_hint("work_dir").into(),
            Self::NoCheck { .. } => {
                "leave the check away, or let the run use a shell: --sandbox edit, without --local"
                    .into()
            }
            Self::DepthExceeded { .. } | Self::DescendantsExceeded { .. } => {
                "start it from outside, or wait for runs of this chain to end".into()
            }
            Self::KeyConflict { id } => format!("use another key, or look at run {id}"),
            Self::KeyBusy { .. } => "try again with the same key".into(),
            Self::Replay { id, .. } => format!("look at run {id}, or use another key"),
            Self::Containment(error) => error.hint(),
            Self::NoHolder => "name the process with --session-pid, or stay with --wait".into(),
            Self::NoShell { pipefail: true } => "install bash, or leave pipefail away".into(),
            Self::NoShell { pipefail: false } => {
                "install a shell, or run a program directly".into()
            }
            Self::Supervisor { id, .. } => format!("look at run {id}, then start it again"),
            Self::CouldNotStart { failure, .. } => start_hint(&failure.code).into(),
        }
    }
}

fn at_capacity(session: Option<&str>, of_agents: bool, places_max: u32) -> String {
    let what = if of_agents { "agent run" } else { "run" };
    let runs = if places_max == 1 {
        format!("1 {what} is")
    } else {
        format!("{places_max} {what}s are")
    };
    match session {
        Some(session) => format!("{runs} active in session `{session}`, which is the limit"),
        None => format!("{runs} active in the store, which is the limit"),
    }
}

fn no_shell(pipefail: bool) -> &'static str {
    if pipefail {
        "there is no bash, and no other shell is sure to know pipefail"
    } else {
        "there is no shell to run the text"
    }
}

/// Names the first holders and the ways out, by the names of the tools and of the verbs.
fn capacity_hint(holders: &[(RunId, String)]) -> String {
    const NAMED_MAX: usize = 8;
    let mut hint = "wait for one (`outlast wait`, background_wait), cancel one (`outlast cancel`, \
                    background_cancel, assistant_cancel), or ask to be queued"
        .to_owned();
    for (at, (id, label)) in holders.iter().take(NAMED_MAX).enumerate() {
        let before = if at == 0 { "; active: " } else { ", " };
        write!(hint, "{before}{id} ({label})").ok();
    }
    if holders.len() > NAMED_MAX {
        write!(hint, " and {} more", holders.len() - NAMED_MAX).ok();
    }
    hint
}

/// The codes that a supervisor gives, as stable names of this error.
fn start_code(code: &str) -> &'static str {
    const CODES: [&str; 7] = [
        "no_such_program",
        "no_interpreter",
        "not_executable",
        "exec_format",
        "argument_list_too_long",
        "work_dir",
        "nul_byte",
    ];
    CODES
        .into_iter()
        .find(|known| *known == code)
        .unwrap_or("could_not_start")
}

fn start_hint(code: &str) -> &'static str {
    match code {
        "no_such_program" => "check the name, or give the program's path",
        "no_interpreter" => "install the interpreter, or correct the first line of the script",
        "not_executable" => {
            "name a program, mark the file as executable, or run it by its interpreter"
        }
        "exec_format" => "add a first line such as `#!/bin/sh`, or run it as `sh FILE`",
        "argument_list_too_long" => "pass long data in a file, or unset large variables",
        "work_dir" => "pass the path of a directory that exists",
        _ => "see the message, and `outlast doctor`",
    }
}
