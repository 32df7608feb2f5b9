//! How a call begins: its claim is brought to the disk, then it is contained and executed.

use crate::command::Command;
use crate::contain::{Contain, Contained, Refused};
use crate::fault;
use crate::output_log::OutputLog;
use crate::platform;
use outlast_journal::policy::CallOrder;
use outlast_journal::{Failure, limits, names};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Brings the claim to the disk: whatever happens to the machine from here on, it is known that
/// the call may have run.
pub(super) fn sync(order: &CallOrder) -> Result<(), Failure> {
    let journal = Path::new(&order.run_dir).join(names::JOURNAL);
    let synced = File::open(journal).and_then(|journal| journal.sync_data());
    fault::point("call_synced");
    synced.map_err(|error| Failure {
        code: "store_unwritable".to_owned(),
        message: "the call's claim cannot be brought to the disk".to_owned(),
        errno: error.raw_os_error(),
    })
}

/// A call that executes.
pub(super) struct Started {
    pub(super) main: i32,
    pub(super) contained: Option<Contained>,
    pub(super) pipe: OwnedFd,
}

/// Executes the call; returns it with where its output goes.
pub(super) fn begin(
    order: &CallOrder,
    environment: &[u8],
    stdin: Option<OwnedFd>,
) -> Result<(Started, OutputLog), Failure> {
    let failed = |error: io::Error| Failure {
        code: "could_not_start".to_owned(),
        message: "the call's files cannot be made".to_owned(),
        errno: error.raw_os_error(),
    };
    let calls = Path::new(&order.run_dir).join(names::CALLS);
    let log = calls.join(names::call_log(&order.call));
    let gap = calls.join(names::call_gap(&order.call));
    let output = OutputLog::create_at(&log, gap, limits::CALL_OUTPUT_BYTES_MAX).map_err(failed)?;
    let stdin = match stdin {
        Some(stdin) => stdin,
        None => File::open("/dev/null").map_err(failed)?.into(),
    };
    let words: &[&[&str]] = match &order.shell {
        Some(text) => &[&["bash", "-c", text], &["sh", "-c", text]],
        // By its link in the process table our own program is there in every view.
        None => &[&["/proc/self/exe", names::HAND]],
    };
    let mut refused = None;
    for words in words {
        let argv: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match execute(order, environment, &argv, &stdin) {
            Ok(started) => return Ok((started, output)),
            Err(failure) if failure.code == "no_such_program" => refused = Some(failure),
            Err(failure) => return Err(failure),
        }
    }
    Err(refused.expect("there are words to execute"))
}

fn execute(
    order: &CallOrder,
    environment: &[u8],
    argv: &[String],
    stdin: &OwnedFd,
) -> Result<Started, Failure> {
    let no_pipe = |error: io::Error| Failure {
        code: "could_not_start".to_owned(),
        message: "no pipe could be made".to_owned(),
        errno: error.raw_os_error(),
    };
    let (pipe, end) = platform::file::pipe().map_err(no_pipe)?;
    platform::file::let_others_write(&end).ok();
    let (main, contained) = match &order.containment {
        None => {
            let command = Command {
                argv,
                environment,
                cwd: &order.cwd,
            };
            (command.spawn(stdin.as_fd(), end.as_fd())?, None)
        }
        Some(containment) => {
            // Our own program is not in an image; what it may touch is the same by native.
            let is_hand = order.shell.is_none();
            let mut containment = containment.clone();
            containment.image = containment.image.filter(|_| !is_hand);
            let contain = Contain {
                run: &order.run,
                run_dir: Path::new(&order.run_dir),
                containment: &containment,
                argv,
                cwd: &order.cwd,
                environment,
            };
            let started = contain.start(stdin.as_fd(), end.as_fd());
            let mut contained = started.map_err(|Refused { failure, .. }| failure)?;
            contained.limits.leave();
            (contained.main.pid, Some(contained))
        }
    };
    platform::file::set_nonblocking(&pipe).map_err(no_pipe)?;
    Ok(Started {
        main,
        contained,
        pipe,
    })
}
