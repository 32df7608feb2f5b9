//! Which supervisor a container belongs to, as a label of it says.
//!
//! The kernel does not end a container with its supervisor, so whoever meets
//! one has to know whether anybody looks after it.

use crate::process;
use outlast_journal::ProcessRef;

/// Name of the label with the run.
pub const RUN_LABEL: &str = "outlast.run";
/// Name of the label with the supervisor.
pub const LABEL: &str = "outlast.supervisor";

/// Returns the label of what belongs to a supervisor: boot, PID namespace, number and start.
pub fn label(supervisor: i32) -> String {
    let ticks = process::start_ticks(supervisor).unwrap_or(0);
    let (boot, namespace) = (process::boot_id(), process::pid_namespace());
    format!("{boot} {namespace} {supervisor} {ticks}")
}

/// Whether the supervisor of a label is known to live no more.
///
/// One of another PID namespace may be alive.
pub fn is_dead(label: &str) -> bool {
    let parts: Vec<&str> = label.split(' ').collect();
    let [boot, namespace, pid, ticks] = parts.as_slice() else {
        return false;
    };
    let is_same = *namespace == process::pid_namespace().to_string();
    let (Ok(pid), Ok(start_ticks)) = (pid.parse(), ticks.parse()) else {
        return false;
    };
    let is_this_boot = *boot == process::boot_id();
    let supervisor = ProcessRef { pid, start_ticks };
    is_same && !(is_this_boot && process::is_alive(supervisor))
}

#[cfg(test)]
mod tests;
