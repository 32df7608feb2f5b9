//! What a supervisor hands to the launcher that contains a command, and what that reports; and
//! what it hands to the keeper of a call.
//!
//! Both ends are the same program, so the form has no version: it never
//! reaches a disk.

use crate::{Containment, Failure, Guarantee, RunId};
use serde::{Deserialize, Serialize};

/// What the launcher is to do. The environment of the command follows it as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// What to bind.
    pub containment: Containment,
    /// Words to execute; none for a look at what would hold.
    pub argv: Vec<String>,
    /// Directory to execute them in: absolute.
    pub cwd: String,
    /// The home that is hidden, if the run has one: canonical.
    pub home: Option<String>,
    /// Folders and files outside of the workspace to show, read-only: canonical.
    pub shown: Vec<String>,
    /// File that one of the words names and that holds a shell text too long for a word: shown.
    pub command_text: Option<String>,
    /// Files in there that hold keys: covered, so that they cannot be read.
    pub covered: Vec<String>,
    /// Repository of the workspace, where that is a linked worktree: canonical.
    pub repository: Option<String>,
    /// Configuration of git for the private home.
    pub git_identity: Option<String>,
    /// Process id of the supervisor, without which the launcher must not go on.
    pub supervisor: i32,
    /// Whether another program has made the namespaces and mounts.
    pub is_mounted: bool,
    /// The run's directory, for what talks to a container engine.
    pub run_dir: Option<String>,
    /// Where temporary files and the home are, when Landlock is to contain it alone.
    pub alone_in: Option<String>,
    /// Whether the launcher waits for a byte before it starts anything.
    pub waits: bool,
    /// Most processes, its own included, where the launcher is to bound them.
    pub pids_max: Option<u64>,
    /// Bytes that each private directory for temporary files may hold.
    pub temporary_bytes_max: u64,
}

/// A call to keep. Its environment and its stdin follow as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallOrder {
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: String,
    /// The run's directory.
    pub run_dir: String,
    /// Shell text; without one it is our own program as a hand.
    pub shell: Option<String>,
    /// Directory to execute it in.
    pub cwd: String,
    /// What contains it, if anything is to.
    pub containment: Option<Containment>,
    /// Time limit in milliseconds.
    pub timeout_ms: u64,
    /// Time between TERM and KILL in milliseconds.
    pub grace_ms: u64,
    /// Bytes of the environment.
    pub environment_bytes: usize,
    /// Whether it has a stdin.
    pub has_stdin: bool,
}

/// What the launcher says, one line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The first process of the namespace was made.
    Init {
        /// Its number on the host.
        pid: i32,
    },
    /// A step could not be done; nothing was executed.
    SetupFailed {
        /// Which.
        step: String,
        /// What the system said.
        errno: i32,
    },
    /// A container engine could not be reached, or would not do a step; nothing was executed.
    EngineRefused {
        /// Which step: `engine` or `image`.
        step: String,
        /// What went wrong, in the engine's words where it had any.
        told: String,
        /// What to do about it.
        hint: String,
    },
    /// The engine says that something of the run was killed for want of memory.
    OutOfMemory,
    /// The engine is gone, or says no more: how the command ends is not known.
    Lost {
        /// What is known.
        told: String,
    },
    /// All is bound and the command could not be executed.
    ExecFailed {
        /// Why.
        failure: Failure,
    },
    /// The command executes.
    Running {
        /// What was seen to hold, from inside.
        holds: Vec<Guarantee>,
        /// Names that were bound read-only.
        protected: Vec<String>,
        /// What of the kernel was not there, and what that means.
        notice: Option<String>,
    },
    /// The command ended.
    Exited {
        /// Its wait status.
        status: i32,
        /// CPU time of it and of those it reaped, in milliseconds.
        cpu_ms: u64,
        /// Its largest memory, in bytes.
        rss_bytes: u64,
    },
}

impl Report {
    /// Returns the line that says this, newline included.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("a report has only string keys");
        bytes.push(b'\n');
        bytes
    }

    /// Reads one line, with or without its newline; `None` when it is no report.
    pub fn from_bytes(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

/// Set for runs that may talk to some hosts: by these, programs find the way there.
pub const TO_PROXY: [(&str, &str); 8] = [
    ("http_proxy", "http://127.0.0.1:3128"),
    ("https_proxy", "http://127.0.0.1:3128"),
    ("all_proxy", "http://127.0.0.1:3128"),
    ("HTTP_PROXY", "http://127.0.0.1:3128"),
    ("HTTPS_PROXY", "http://127.0.0.1:3128"),
    ("ALL_PROXY", "http://127.0.0.1:3128"),
    ("no_proxy", "localhost,127.0.0.1,::1"),
    ("NO_PROXY", "localhost,127.0.0.1,::1"),
];

/// What Landlock alone does not hold.
pub const NOT_BY_LANDLOCK: [Guarantee; 4] = [
    Guarantee::WriteBoundary,
    Guarantee::MetadataRo,
    Guarantee::PidIsolated,
    Guarantee::KilledWithSupervisor,
];

/// Returns whether a step fails for want of something that Landlock alone does without.
pub fn is_of_namespaces(step: &str) -> bool {
    const STEPS: [&str; 15] = [
        "namespaces",
        "users",
        "idmap",
        "init",
        "private root",
        "read-only root",
        "proc",
        "device",
        "memory",
        "terminals",
        "root",
        "home",
        "restrict",
        "place",
        "loopback",
    ];
    let name = step.split(':').next().unwrap_or_default();
    STEPS.contains(&name)
}

/// Returns what to do about a step that failed with `errno`.
pub fn fix(step: &str, errno: i32) -> &'static str {
    const EPERM: i32 = 1;
    const EACCES: i32 = 13;
    const EINVAL: i32 = 22;
    const ENOSPC: i32 = 28;
    const ENOSYS: i32 = 38;
    const ELOOP: i32 = 40;
    const ENOENT: i32 = 2;
    const ENOTSOCK: i32 = 88;
    const ECONNREFUSED: i32 = 111;
    match (step.split(':').next().unwrap_or_default(), errno) {
        ("namespaces", EPERM | EACCES) => {
            "let users make namespaces: `sysctl kernel.apparmor_restrict_unprivileged_userns=0` or \
             `sysctl kernel.unprivileged_userns_clone=1`; in a container, ask for less of its own \
             confinement (`--security-opt seccomp=unconfined`)"
        }
        ("namespaces", ENOSPC) => "raise `sysctl user.max_user_namespaces`, which is used up or 0",
        ("namespaces", ENOSYS | EINVAL) => {
            "use a kernel with namespaces (CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS)"
        }
        ("proc", EPERM) => {
            "mount a whole /proc where this runs: a container that masks parts of its own forbids \
             a new one (`--security-opt systempaths=unconfined`)"
        }
        ("idmap", EINVAL | EPERM) => {
            "run it as an ordinary user, or put the directory on a file system that can be \
             mapped (ext4, btrfs, xfs)"
        }
        ("proxy", ENOENT | ENOTSOCK | ECONNREFUSED) => {
            "start the proxy, and name its socket as `sandbox.proxy` in the configuration"
        }
        ("proxy", EACCES) => "let the run connect: `chmod 666` the proxy's socket",
        ("open", ELOOP) => "a link stands where a directory was: look at who changes the path",
        (_, ENOSYS) => "use Linux 5.12 or newer",
        _ => "see `outlast doctor`, or run it with `--sandbox host`, where nothing contains it",
    }
}

#[cfg(test)]
mod tests;
