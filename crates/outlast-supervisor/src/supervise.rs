//! The first and last acts of a supervisor: take what it was handed, execute, answer.

use crate::command::Command;
use crate::connections::Connections;
use crate::contain::{self, Contain, Refused};
use crate::journal_file::JournalFile;
use crate::launch::{self, Handed};
use crate::output_log::OutputLog;
use crate::queue::{self, Waited};
use crate::run_loop::{Main, RunLoop};
use crate::worker::Head;
use crate::{clock, fault, platform, process};
use outlast_journal::control::Answer;
use outlast_journal::worker::WorkerStarted;
use outlast_journal::{
    Claimed, End, Fact, Failure, Posture, ProcessRef, Queued, Spec, Started, Status, Stdin,
    StopCause, names,
};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a supervisor owns from its first moment on.
pub(crate) struct Owned {
    pub(crate) run_dir: PathBuf,
    pub(crate) spec: Spec,
    pub(crate) journal: JournalFile,
    pub(crate) connections: Connections,
    pub(crate) signals: OwnedFd,
    pub(crate) places: Vec<OwnedFd>,
    /// Milliseconds of awake time since boot when the run was handed over.
    pub(crate) claimed_ms: u64,
    /// Held, never looked at: that it is locked says that this process lives.
    _lock: OwnedFd,
}

/// Supervises the run in `run_dir`, from launch to the last process of its tree.
pub(crate) fn supervise(run_dir: &Path) -> ExitCode {
    match begin(run_dir) {
        Ok(()) => ExitCode::SUCCESS,
        // The launcher sees the end of the socket; readers see the lock.
        Err(_) => ExitCode::from(125),
    }
}

fn begin(run_dir: &Path) -> io::Result<()> {
    platform::process::close_inherited();
    let socket = UnixStream::from(platform::process::take_stdin()?);
    platform::process::null_streams()?;
    platform::process::adopt_orphans(c"outlast")?;
    let signals = platform::signal::block_and_open()?;
    let Handed {
        lock,
        ticket,
        places,
        environment,
        words,
    } = launch::receive(&socket)?;
    fault::point("received");
    let claimed = claim(run_dir, signals, lock, places);
    // Made before the answer too: what has no room for its log is refused.
    let claimed = claimed.and_then(|mut owned| {
        if !words.is_empty() {
            owned.spec.argv = words;
        }
        let output = OutputLog::create(&owned.run_dir, owned.spec.output_bytes_max)?;
        Ok((owned, output))
    });
    match claimed {
        Ok((owned, output)) => live(owned, output, ticket, environment, socket),
        Err(error) => {
            let is_full = error.kind() == io::ErrorKind::StorageFull;
            let code = if is_full { "store_full" } else { "store" };
            let mut answer = Answer::error(code, "the run's files cannot be made".to_owned());
            answer.errno = error.raw_os_error();
            launch::answer(&socket, &answer);
            Err(error)
        }
    }
}

/// Makes the run's files and says in its journal whose it is.
fn claim(
    run_dir: &Path,
    signals: OwnedFd,
    lock: OwnedFd,
    places: Vec<OwnedFd>,
) -> io::Result<Owned> {
    std::env::set_current_dir(run_dir)?;
    let bytes = fs::read(run_dir.join(names::SPEC))?;
    let spec = Spec::from_json(&bytes).map_err(io::Error::other)?;
    let mut journal = JournalFile::create(run_dir)?;
    let connections = Connections::bind(run_dir)?;
    journal.append(&Fact::Claimed(Claimed {
        supervisor: process::own(),
        boot_id: process::boot_id(),
        pid_namespace: process::pid_namespace(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }))?;
    fault::point("claimed");
    Ok(Owned {
        run_dir: run_dir.to_owned(),
        spec,
        journal,
        connections,
        signals,
        places,
        claimed_ms: clock::monotonic_ms(),
        _lock: lock,
    })
}

fn live(
    mut owned: Owned,
    output: OutputLog,
    ticket: Option<OwnedFd>,
    environment: Vec<u8>,
    socket: UnixStream,
) -> io::Result<()> {
    let mut socket = Some(socket);
    if let (Some(ticket), Some(queue)) = (ticket, owned.spec.queue.clone()) {
        owned.journal.append(&Fact::Queued(Queued {
            ticket: queue.ticket,
        }))?;
        // The caller of a queued run has its handle now; what follows it reads.
        if let Some(socket) = socket.take() {
            launch::answer(
                &socket,
                &Answer {
                    queued: Some(true),
                    ..Answer::ok()
                },
            );
        }
        match queue::wait(&mut owned, &queue, ticket)? {
            Waited::HasPlaces => {}
            Waited::Stopped(cause) => return end_unstarted(&mut owned, cause),
        }
    }
    let executed = if owned.spec.agent.is_some() {
        begin_work(&mut owned, environment)
    } else {
        let executed = execute(&mut owned, &environment);
        drop(environment);
        executed
    };
    match executed {
        Ok(main) => {
            if let Some(socket) = socket.take() {
                launch::answer(&socket, &Answer::ok());
            }
            fault::point("answered");
            platform::process::give_memory_back();
            RunLoop::new(owned, output, main)?.run()
        }
        Err(Refused { failure, hint, .. }) => {
            let end = End {
                failure: Some(failure.clone()),
                ..End::new(Status::Failed, "self", failure.message.clone())
            };
            finish_unstarted(&mut owned, end)?;
            if let Some(socket) = socket.take() {
                let mut answer = Answer::error(&failure.code, failure.message);
                answer.errno = failure.errno;
                answer.hint = hint;
                launch::answer(&socket, &answer);
            }
            owned.journal.finish();
            Ok(())
        }
    }
}

fn no_pipe(error: &io::Error) -> Refused {
    Refused::from(Failure {
        code: "could_not_start".to_owned(),
        message: "no pipe could be made".to_owned(),
        errno: error.raw_os_error(),
    })
}

/// Binds what calls are to be contained by, starts the first worker and says so in the journal.
fn begin_work(owned: &mut Owned, environment: Vec<u8>) -> Result<Main, Refused> {
    let bound = match &owned.spec.containment {
        Some(containment) => Some(contain::bind_for_calls(
            &owned.spec,
            &owned.run_dir,
            containment,
        )?),
        None => None,
    };
    let (output, output_end) = platform::file::pipe().map_err(|error| no_pipe(&error))?;
    platform::file::set_nonblocking(&output).map_err(|error| no_pipe(&error))?;
    let mut head = Box::new(Head::new(environment));
    let main = head.start(&owned.spec, &owned.run_dir, output_end.as_fd())?;
    fault::point("spawned");
    let started_ms = say_started(owned, main, bound.as_ref().map(|bound| &bound.posture));
    let first = Fact::WorkerStarted(WorkerStarted {
        process: main,
        number: head.number,
        before: None,
        fault: None,
    });
    owned.journal.append(&first).ok();
    head.bound = bound;
    Ok(Main {
        pid: main.pid,
        contained: None,
        output,
        output_end: Some(output_end),
        started_ms,
        head: Some(head),
    })
}

/// Says in the journal that the main process executes; returns when that was.
fn say_started(owned: &mut Owned, main: ProcessRef, posture: Option<&Posture>) -> u64 {
    let started_ms = clock::monotonic_ms();
    let queued = owned.spec.queue.is_some();
    let started = Fact::Started(Started {
        main,
        queued_ms: queued.then(|| started_ms.saturating_sub(owned.claimed_ms)),
        monotonic_ms: Some(started_ms),
        posture: posture.cloned().map(Box::new),
    });
    // The room for it was reserved; if it cannot be written all the same, the end says more.
    owned.journal.append(&started).ok();
    fault::point("started");
    started_ms
}

/// Executes the command and says so in the journal.
fn execute(owned: &mut Owned, environment: &[u8]) -> Result<Main, Refused> {
    let (output, output_end) = platform::file::pipe().map_err(|error| no_pipe(&error))?;
    platform::file::let_others_write(&output_end).ok();
    let stdin = match owned.spec.stdin {
        Stdin::Null => OwnedFd::from(fs::File::open("/dev/null").map_err(|error| no_pipe(&error))?),
        Stdin::Pipe => {
            let (read, write) = platform::file::pipe().map_err(|error| no_pipe(&error))?;
            platform::file::set_nonblocking(&write).map_err(|error| no_pipe(&error))?;
            owned.connections.set_stdin(write);
            read
        }
    };
    let (argv, cwd) = (&owned.spec.argv, &owned.spec.cwd);
    let (main, contained) = match &owned.spec.containment {
        None => {
            let command = Command {
                argv,
                environment,
                cwd,
            };
            let spawned = command.spawn(stdin.as_fd(), output_end.as_fd());
            let pid = spawned?;
            let start_ticks = process::start_ticks(pid).unwrap_or(0);
            (ProcessRef { pid, start_ticks }, None)
        }
        Some(containment) => {
            let contain = Contain {
                run: &owned.spec.id,
                run_dir: &owned.run_dir,
                containment,
                argv,
                cwd,
                environment,
            };
            let contained = contain.start(stdin.as_fd(), output_end.as_fd())?;
            (contained.main, Some(contained))
        }
    };
    fault::point("spawned");
    let posture = contained.as_ref().map(|contained| &contained.posture);
    let started_ms = say_started(owned, main, posture);
    platform::file::set_nonblocking(&output).map_err(|error| no_pipe(&error))?;
    Ok(Main {
        pid: main.pid,
        contained: contained.map(Box::new),
        output,
        output_end: (owned.spec.stop_command.is_some()).then_some(output_end),
        started_ms,
        head: None,
    })
}

/// Writes the end of a run that was stopped while it waited for its places.
fn end_unstarted(owned: &mut Owned, cause: StopCause) -> io::Result<()> {
    let summary = match cause {
        StopCause::QueueLimit => "no place was free in time",
        StopCause::Cancel
        | StopCause::Timeout
        | StopCause::Deadline
        | StopCause::Idle
        | StopCause::Session
        | StopCause::Host
        | StopCause::MemoryLimit => "stopped while it waited for a place",
    };
    let end = End::new(cause.status(), cause.ended_by(), summary.to_owned());
    finish_unstarted(owned, end)?;
    owned.journal.finish();
    Ok(())
}

fn finish_unstarted(owned: &mut Owned, end: End) -> io::Result<()> {
    owned.journal.append(&Fact::Ended(Box::new(end)))?;
    owned.places.clear();
    owned
        .connections
        .hint(outlast_journal::control::HINT_ENDED, false);
    owned.connections.tell_cancelled(0);
    fs::remove_file(owned.run_dir.join(names::CONTROL)).ok();
    Ok(())
}
