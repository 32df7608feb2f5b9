//! What talks to a container engine for one run: a process between it and the supervisor.
//!
//! It makes the container, moves what that reads and writes, passes signals on,
//! says how the command ended and takes the container away. It goes by the same
//! reports as a launcher. When the supervisor is gone it ends the container.

mod connect;
mod container;
mod filter;
mod live;
mod refusal;

pub(crate) use connect::{Found, look};

use outlast_journal::{limits, names, policy::Report};
use outlast_supervisor::{HandedEngine, receive_engine};
use refusal::Refusal;
use std::env;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

/// Exit code of a failure of our own.
const FAILED: u8 = 125;
/// How much earlier than its supervisor it gives up: then it takes away what was half made.
const EARLIER: Duration = Duration::from_secs(6);
/// How long that may take.
const REMOVAL: Duration = Duration::from_secs(4);

/// Returns the exit code of this process if it was started to talk to an engine.
pub(crate) fn answer() -> Option<ExitCode> {
    let is_asked = env::args_os()
        .nth(1)
        .is_some_and(|word| word == names::ENGINE);
    is_asked.then(|| match receive_engine() {
        Ok(handed) => talk(handed),
        Err(_) => ExitCode::from(FAILED),
    })
}

fn talk(handed: HandedEngine) -> ExitCode {
    let HandedEngine {
        policy,
        environment,
        status,
        pinned,
        ids,
        filter,
    } = handed;
    let mut status = UnixStream::from(status);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        let refusal = Refusal::engine("no runtime could be made", "try again");
        say(&mut status, &refusal.report());
        return ExitCode::from(FAILED);
    };
    let filter = filter::Filter::new(filter, policy.run_dir.as_deref());
    let asked = container::Asked {
        policy: &policy,
        environment: &environment,
        pinned: &pinned,
        ids,
        filter: &filter,
    };
    let outcome = runtime.block_on(async {
        let setup = Duration::from_millis(limits::ENGINE_SETUP_MS).saturating_sub(EARLIER);
        let begun = tokio::time::timeout(setup, live::begin(&asked, &status)).await;
        let begun = begun.unwrap_or_else(|_| {
            Err(Refusal::engine(
                "it took too long to start a container",
                "see whether the engine is busy, and try again",
            ))
        });
        match begun {
            Ok(running) => {
                running.live(&mut status).await;
                Ok(())
            }
            Err(refusal) => {
                let removal = live::remove_half_made(&asked);
                tokio::time::timeout(REMOVAL, removal).await.ok();
                Err(refusal)
            }
        }
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            say(&mut status, &refusal.report());
            ExitCode::from(FAILED)
        }
    }
}

/// Says something to the supervisor, which may be gone.
fn say(status: &mut UnixStream, report: &Report) {
    status.write_all(&report.to_bytes()).ok();
}
