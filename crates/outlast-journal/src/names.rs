//! Names of the files of a store and of a run, in one place.

use crate::{RunId, Timestamp};

/// Folder of all runs, one folder a month beneath it.
pub const RUNS: &str = "runs";
/// Folder of idempotency keys, one symbolic link each.
pub const KEYS: &str = "keys";
/// Folder of places, one folder a pool beneath it.
pub const PLACES: &str = "places";
/// Folder of queue tickets, one folder a queue beneath it.
pub const QUEUE: &str = "queue";
/// List of the ids that were born, one a line, appended before the run can be seen.
pub const BIRTHS: &str = "births";
/// The index, which can be deleted.
pub const INDEX: &str = "index.sqlite";
/// Notes about projects, which runs leave for later ones.
pub const NOTES: &str = "notes.sqlite";
/// Random bytes that key the hashes of secrets and requests.
pub const STORE_KEY: &str = "key";
/// What clients of the HTTP server must know.
pub const SERVE_TOKEN: &str = "serve.token";
/// What the store's format is.
pub const STORE_FORMAT: &str = "format.json";

/// What was checked and bound.
pub const SPEC: &str = "spec.json";
/// Held by the supervisor while it lives.
pub const LOCK: &str = "lock";
/// The supervisor's socket.
pub const CONTROL: &str = "control";
/// The facts of the run.
pub const JOURNAL: &str = "journal.jsonl";
/// Output as it came.
pub const OUTPUT: &str = "output.log";
/// Which bytes of the output are not kept.
pub const GAP: &str = "output.gap";
/// When the run was last read, for its idle budget.
pub const POLLED: &str = "polled";
/// Folder of the sessions that were told of the end.
pub const TOLD: &str = "told";
/// The shell text of a command too long for an argument.
pub const COMMAND_TEXT: &str = "command";

/// Folder of the calls of an agent run: `<call>.log` each.
pub const CALLS: &str = "calls";

/// Temporary directory and home of a run that Landlock alone contains.
pub const PRIVATE: &str = "private";

/// Filter of system calls of a run in a container of podman, until that is made.
pub const FILTER: &str = "filter.json";

/// First argument that makes our program a supervisor.
pub const SUPERVISE: &str = "__supervise";
/// First argument that makes our program the launcher of a contained command.
pub const CONTAIN: &str = "__contain";
/// First argument that makes our program what talks to a container engine for a run.
pub const ENGINE: &str = "__engine";
/// First argument that makes our program the worker of an agent run; the run's id follows.
pub const WORK: &str = "__work";
/// First argument that makes our program the hand of an agent run: one call, told on stdin.
pub const HAND: &str = "__hand";
/// First argument that makes our program the keeper of one call of an agent run.
pub const CALL: &str = "__call";
/// Descriptor of a worker that leads to its supervisor.
pub const WORKER_CHANNEL: i32 = 3;
/// Name under which a supervisor shows in process lists.
pub const PROCESS: &str = "outlast";
/// Environment variable that tells a process which run it belongs to.
pub const RUN_VARIABLE: &str = "OUTLAST_RUN";
/// Environment variable that tells a process which call of an agent run it belongs to.
pub const CALL_VARIABLE: &str = "OUTLAST_CALL";

/// Returns the folder of a run below the store.
pub fn run_dir(id: &RunId, created: Timestamp) -> String {
    format!("{RUNS}/{}/{id}", created.month())
}

/// Returns the hidden folder name of a run that is being born.
pub fn hidden(id: &RunId) -> String {
    format!(".{id}")
}

/// Returns the name of a call's log in the folder of calls.
pub fn call_log(call: &str) -> String {
    format!("{call}.log")
}

/// Returns the name of the file that says which bytes of a call's log are not kept.
pub fn call_gap(call: &str) -> String {
    format!("{call}.gap")
}

/// Returns the folder name of a run that is being removed.
pub fn removed(id: &RunId) -> String {
    format!(".gone-{id}")
}
