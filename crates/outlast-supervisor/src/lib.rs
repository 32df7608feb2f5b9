//! The process that owns one run, and how it is launched.
//!
//! It has two halves. The lifecycle decides: plain data in, plain data out, no
//! I/O. The run loop acts: it turns signals, pipes and timers into inputs for
//! the first half and carries out what it answers. Nothing here is
//! asynchronous. A command that is to be contained has a launcher of its own
//! between it and the supervisor; a call of an agent run has a keeper.

mod calls;
pub mod client;
pub mod clock;
mod command;
mod connections;
mod contain;
pub mod fault;
pub mod files;
pub mod fsio;
mod idle;
mod journal_file;
pub mod launch;
mod lifecycle;
pub mod lock;
mod output_log;
pub mod owner;
pub mod places;
mod platform;
pub mod process;
mod queue;
mod run_loop;
#[cfg(test)]
mod small_disk;
mod summary;
mod supervise;
mod timers;
mod tree;
mod worker;

pub use contain::{HandedEngine, ProbeError, probe, probe_limits, receive_engine};
pub use platform::worker::worker_channel;

use outlast_journal::names;
use std::path::Path;
use std::process::ExitCode;

/// Becomes the supervisor of a run if this process was started as one.
///
/// Call it first in `main`, before anything that starts threads or allocates
/// much, and leave with the code that it gives. Without this call `start` is
/// refused, since a start executes this very program again.
///
/// ```
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) = outlast_supervisor::init_supervisor() {
///         return code;
///     }
///     // … the program's own work …
///     ExitCode::SUCCESS
/// }
/// ```
pub fn init_supervisor() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let first = words.next().unwrap_or_default();
    if first == names::SUPERVISE {
        let run_dir = words.next().unwrap_or_default();
        return Some(supervise::supervise(Path::new(&run_dir)));
    }
    if first == names::CONTAIN {
        return Some(contain::contain());
    }
    if first == names::CALL {
        return Some(calls::keep());
    }
    if first == names::ENGINE {
        // A program that talks to engines has looked for this word before.
        return Some(contain::refuse_engine());
    }
    launch::set_initialised();
    None
}

/// Returns whether this process has called [`init_supervisor`].
pub fn is_initialised() -> bool {
    launch::is_initialised()
}
