//! What was checked and bound for one run, written once as `spec.json`.

use crate::agent::AgentSpec;
use crate::{Containment, Posture, ProcessRef, RunId, Timestamp};
use serde::{Deserialize, Serialize};

/// What a run is at its root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The caller's program.
    #[default]
    Command,
    /// Our worker.
    Agent,
}

/// What becomes of processes that outlive the main process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leftovers {
    /// The run ends with its main process; what is left is named and stays owned.
    #[default]
    Report,
    /// The run ends when the tree is empty.
    Wait,
    /// What is left is stopped right after the main process.
    Stop,
}

/// Whether a run outlives the session that started it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// It does.
    #[default]
    Detached,
    /// It is cancelled when its holder is gone.
    Session,
}

/// What the run reads as its standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    Null,
    /// A pipe that `send` writes to.
    Pipe,
}

/// The shell that runs a command text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shell {
    /// Its path.
    pub program: String,
    /// Whether it reads the login files.
    pub login: bool,
    /// Whether a pipe fails with its first failing part.
    pub pipefail: bool,
}

/// Places of which a run takes one before it executes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Folder of the lock files, below the store's folder of places.
    pub name: String,
    /// How many places there are.
    pub places_max: u32,
}

/// How a run waits for its places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Folder of the tickets, below the store's folder of queues.
    pub name: String,
    /// The run's number in it; lower ones come first.
    pub ticket: u64,
    /// Longest wait in milliseconds, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// Who started a run, as far as the host said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Surface or host: `cli`, `mcp`, a host's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The host's own session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The host's own thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Names of the agents that led here, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestry: Vec<String>,
}

/// What the run outlasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survives {
    /// The end of the process that started it.
    pub host_exit: bool,
    /// The end of the terminal.
    pub terminal: bool,
    /// A restart of the systemd unit it was started from.
    pub unit_restart: bool,
}

/// What is kept of a secret: enough to find it, not to read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretMark {
    /// Name of the environment variable.
    pub name: String,
    /// Bytes in the value.
    pub length: u64,
    /// Keyed rolling hash of the value.
    pub rolling: u64,
    /// Keyed hash of the value.
    pub hash: String,
}

/// Everything that was decided before a run began. Written once, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Format version.
    pub v: u32,
    /// The run.
    pub id: RunId,
    /// What its root is.
    #[serde(default)]
    pub kind: Kind,
    /// When it was born.
    pub created: Timestamp,
    /// Words that are executed.
    pub argv: Vec<String>,
    /// What was asked for, as a person would type it, of an agent its task; long texts are cut.
    pub command: String,
    /// Whether the shell text stands in a file of the run, since no argument can hold it.
    #[serde(default)]
    pub command_in_file: bool,
    /// The shell, absent for a direct command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<Shell>,
    /// Label.
    pub label: String,
    /// Directory in which it runs.
    pub cwd: String,
    /// Directory that it belongs to.
    pub project: String,
    /// Session that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Run inside which it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// First run of that chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<RunId>,
    /// Runs between it and the root.
    #[serde(default)]
    pub depth: u32,
    /// Agents above it, a host that asked for a sub-agent among them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub agents_above: u32,
    /// Session that a sub-agent has in its own program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_session_id: Option<String>,
    /// Model that was asked for in place of the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Time limit in milliseconds of awake time, counted from exec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Wall-clock time at which it is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Longest time in milliseconds without a reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ttl_ms: Option<u64>,
    /// Time between the first signal and KILL, in milliseconds.
    pub grace_ms: u64,
    /// Signal that takes the place of TERM, its name without SIG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_signal: Option<String>,
    /// Shell text that runs first when the run is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_command: Option<String>,
    /// Output kept, in bytes.
    pub output_bytes_max: u64,
    /// What becomes of processes that outlive the main process.
    #[serde(default)]
    pub leftovers: Leftovers,
    /// Whether it outlives its session.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// Process whose end cancels a run with `lifetime: session`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<ProcessRef>,
    /// What it reads.
    #[serde(default)]
    pub stdin: Stdin,
    /// Places it needs.
    #[serde(default)]
    pub pools: Vec<Pool>,
    /// How it waits for them, absent when it took them at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Names of the variables in its environment.
    #[serde(default)]
    pub env_names: Vec<String>,
    /// Variables whose values are masked when output is shown.
    #[serde(default)]
    pub secrets: Vec<SecretMark>,
    /// Name of its idempotency key's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Keyed hash of the request, to tell another request with the same key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_hash: Option<String>,
    /// Who started it.
    #[serde(default)]
    pub origin: Origin,
    /// What it may touch, as asked; what was bound stands in the journal.
    #[serde(default)]
    pub posture: Posture,
    /// What contains it, absent when nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<Containment>,
    /// What an agent run was asked for; absent for every other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentSpec>>,
    /// What it outlasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survives: Option<Survives>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Spec {
    /// Returns the spec as the text of `spec.json`.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a spec has only string keys")
    }

    /// Reads `spec.json`; fields of later versions are ignored.
    ///
    /// # Errors
    ///
    /// Fails when the text is no spec.
    pub fn from_json(bytes: &[u8]) -> Result<Self, SpecError> {
        serde_json::from_slice(bytes).map_err(SpecError)
    }
}

/// A `spec.json` that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the spec cannot be read")]
pub struct SpecError(#[source] serde_json::Error);

#[cfg(test)]
mod tests;
