//! The worker of an agent run: it loops model and tools, and its supervisor keeps the truth.
//!
//! The worker is the head: it has the model's key and the network. What the model asks to
//! have done is a call, which the supervisor runs, contained and once.

mod channel;
mod chosen;
mod claims;
mod compact;
mod decide;
mod goal;
pub mod hand;
mod log;
mod memory;
pub mod message;
pub mod models;
mod prompt;
mod schema;
mod stall;
pub mod tools;
mod work;

pub use schema::{SchemaError, check_schema};

use log::Log;
use outlast_journal::error::Advice;
use outlast_journal::{Limits, names};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use work::StartError;

/// Returns the exit code of this process if it was started as a worker, or as the hand of one.
///
/// Call it early in `main`, beside `outlast_lib::init_supervisor`, and leave with the code that
/// it gives. What a worker has to say it tells its supervisor; on standard output it
/// writes the run's log. `limits` is asked by a worker alone: they hold for the runs that it
/// starts.
pub fn answer(limits: impl FnOnce() -> Limits) -> Option<ExitCode> {
    if let Some(code) = hand::answer() {
        return Some(code);
    }
    let mut words = std::env::args_os().skip(1);
    let is_worker = words.next().is_some_and(|first| first == names::WORK);
    // Also a worker starts agent runs, with this program as their worker.
    outlast_lib::note_worker();
    is_worker.then(|| work(&words.collect::<Vec<_>>(), limits()))
}

fn work(words: &[OsString], limits: Limits) -> ExitCode {
    let mut out = io::stdout().lock();
    match try_to_work(words, limits, &mut out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let told = writeln!(out, "error: {}\nhint: {}", chain(&error), error.hint());
            // A log that nobody keeps any more cannot be told either.
            told.ok();
            ExitCode::FAILURE
        }
    }
}

/// Returns an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut parts = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        parts.push(error.to_string());
        cause = error.source();
    }
    parts.join(": ")
}

fn try_to_work(words: &[OsString], limits: Limits, out: &mut dyn Write) -> Result<(), StartError> {
    let [_, dir] = words else {
        return Err(StartError::Words);
    };
    let dir: &Path = &PathBuf::from(dir);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(StartError::NoChannel)?;
    let spec = work::read_spec(dir)?;
    let socket = outlast_lib::worker_channel().map_err(StartError::NoChannel)?;
    let done = runtime.block_on(async {
        let mut worker = work::begin(&spec, dir, limits, socket, Log::new(out)).await?;
        worker.work().await?;
        Ok(())
    });
    // A search in a thread of its own must not keep a worker that is done.
    runtime.shutdown_background();
    done
}
