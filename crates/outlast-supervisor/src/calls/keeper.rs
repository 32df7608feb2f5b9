//! The keeper of one call: it runs it, keeps its output, ends what it leaves, and says how it was.
//!
//! It is the parent of every orphan below it, so that nothing of a call
//! outlives it but runs that were started in there, which are their own. When
//! its supervisor dies, the call is ended too: nobody could say any more how it
//! went.

use super::begin::{Started, begin, sync};
use super::order;
use crate::contain::{Bound, Contained};
use crate::output_log::OutputLog;
use crate::platform::poll::{self, Watch};
use crate::platform::process::Reap;
use crate::platform::{self, confine};
use crate::timers::{Due, take_due};
use crate::tree::{self, Tree};
use crate::{clock, fault};
use outlast_journal::policy::{CallOrder, Report};
use outlast_journal::worker::{CallEnd, CallEnded};
use outlast_journal::{Failure, limits, signal_name};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where the order is.
const ORDER: i32 = 3;
/// Where the supervisor listens.
const STATUS: i32 = 4;

/// Keeps one call; the whole life of a keeper.
pub(crate) fn keep() -> ExitCode {
    match try_keep() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(125),
    }
}

fn try_keep() -> io::Result<()> {
    let socket = UnixStream::from(confine::take_descriptor(STATUS)?);
    let (order, environment, stdin) = order::take(confine::take_descriptor(ORDER)?)?;
    socket.set_nonblocking(true)?;
    platform::process::adopt_orphans(c"outlast")?;
    let signals = platform::signal::block_and_open()?;
    let begun = sync(&order).and_then(|()| begin(&order, &environment, stdin));
    let ended = match begun {
        Ok((started, output)) => {
            fault::point("call_spawned");
            Keeper::new(&order, socket.try_clone()?, signals, output, started).run()?
        }
        Err(failure) => CallEnded {
            failure: Some(failure),
            ..CallEnded::new(&order.call, CallEnd::NotStarted)
        },
    };
    fault::point("call_over");
    let mut line = serde_json::to_vec(&ended).map_err(io::Error::other)?;
    line.push(b'\n');
    platform::socket::send(&socket, &line, &[])?;
    Ok(())
}

struct Keeper<'a> {
    order: &'a CallOrder,
    runs_dir: PathBuf,
    socket: UnixStream,
    signals: OwnedFd,
    output: OutputLog,
    pipe: Option<OwnedFd>,
    main: i32,
    contained: Option<Contained>,
    started_ms: u64,
    /// Why it is being stopped, the first reason.
    cause: Option<CallEnd>,
    /// Code or signal of the main process.
    exit: Option<Result<i32, i32>>,
    /// When that was seen.
    exited_ms: Option<u64>,
    lost: Option<String>,
    /// Whether something of it was killed for want of memory, by us or by who contains it.
    is_out_of_memory: bool,
    /// Kills for want of memory before it: the calls of a run share what counts them.
    memory_kills_before: u64,
    is_empty: bool,
    /// Whether the supervisor is gone.
    is_orphan: bool,
    heard: Vec<u8>,
    timeout: Due,
    grace: Due,
    kill: Due,
    give_up: Due,
    memory: Due,
    pause_ms: u64,
}

impl<'a> Keeper<'a> {
    fn new(
        order: &'a CallOrder,
        socket: UnixStream,
        signals: OwnedFd,
        output: OutputLog,
        started: Started,
    ) -> Self {
        let now = clock::monotonic_ms();
        let run_dir = Path::new(&order.run_dir);
        let contained = started.contained;
        let limits = contained.as_ref().map(|contained| &contained.limits);
        let watched = limits.and_then(|limits| limits.watched_memory_bytes);
        let memory_kills_before = limits.map_or(0, Bound::memory_kills);
        Self {
            order,
            runs_dir: run_dir.ancestors().nth(2).unwrap_or(run_dir).to_owned(),
            socket,
            signals,
            output,
            pipe: Some(started.pipe),
            main: started.main,
            contained,
            started_ms: now,
            cause: None,
            exit: None,
            exited_ms: None,
            lost: None,
            is_out_of_memory: false,
            memory_kills_before,
            is_empty: false,
            is_orphan: false,
            heard: Vec::new(),
            timeout: Some(now.saturating_add(order.timeout_ms)),
            grace: None,
            kill: None,
            give_up: None,
            memory: watched.map(|_| now),
            pause_ms: 1,
        }
    }

    /// Runs until nothing of the call is left, or what is left withstands KILL.
    fn run(mut self) -> io::Result<CallEnded> {
        let mut watches = Vec::with_capacity(4);
        while !self.is_over() {
            watches.clear();
            watches.push(Watch::read(self.signals.as_fd()));
            if !self.is_orphan {
                watches.push(Watch::read(self.socket.as_fd()));
            }
            watches.extend(self.pipe.iter().map(|pipe| Watch::read(pipe.as_fd())));
            if let Some(contained) = self.contained.as_ref()
                && !contained.reports.is_over()
            {
                watches.push(Watch::read(contained.reports.descriptor()));
            }
            let now = clock::monotonic_ms();
            let dues = [
                self.timeout,
                self.grace,
                self.kill,
                self.give_up,
                self.memory,
            ];
            let due = dues.into_iter().flatten().min();
            poll::poll(&mut watches, due.map(|due| due.saturating_sub(now)))?;
            self.turn();
        }
        self.drain();
        self.output.trim_all();
        Ok(self.ended())
    }

    fn is_over(&self) -> bool {
        let has_given_up = self.kill.is_none() && self.give_up.is_none() && self.pause_ms == 0;
        self.is_empty || has_given_up
    }

    fn turn(&mut self) {
        let now = clock::monotonic_ms();
        // What stops the whole run reaches the supervisor, which tells us.
        while platform::signal::next(&self.signals).is_some() {}
        self.read_output(8);
        self.reap(now);
        self.hear_supervisor(now);
        if take_due(&mut self.timeout, now) {
            self.stop(CallEnd::TimedOut, self.order.grace_ms, now);
        }
        if take_due(&mut self.grace, now) {
            self.begin_killing(now);
        }
        if take_due(&mut self.memory, now) {
            self.watch_memory(now);
        }
        if take_due(&mut self.give_up, now) {
            (self.kill, self.pause_ms) = (None, 0);
        }
        if take_due(&mut self.kill, now) {
            self.kill_round(now);
        }
    }

    fn read_output(&mut self, rounds: u32) {
        for _ in 0..rounds {
            let Some(pipe) = &self.pipe else { return };
            match self.output.take(pipe, limits::PIPE_BULK_BYTES) {
                Ok(0) => self.pipe = None,
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    fn drain(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let mut left = platform::file::bytes_readable(pipe).unwrap_or(0);
        while left > 0 {
            match self.output.take(pipe, left) {
                Ok(taken) if taken > 0 => left -= taken,
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Reaps what ended; once the main process has, the rest is ended at once.
    fn reap(&mut self, now: u64) {
        self.hear_reports();
        loop {
            match platform::process::reap() {
                Reap::Ended(reaped) => {
                    let init = self.contained.as_ref().and_then(|one| one.init);
                    if init == Some(reaped.pid) {
                        self.hear_reports();
                        // What it did not live to report was killed with it.
                        let verdict = platform::process::verdict(libc::SIGKILL);
                        self.exit.get_or_insert(verdict);
                    } else if init.is_none() && reaped.pid == self.main {
                        let verdict = platform::process::verdict(reaped.status);
                        self.exit.get_or_insert(verdict);
                    }
                }
                Reap::NoneEnded => break,
                Reap::NoChild => {
                    self.is_empty = true;
                    break;
                }
            }
        }
        if self.exit.is_some() && self.exited_ms.is_none() {
            self.exited_ms = Some(now);
            self.timeout = None;
            fault::point("call_main_ended");
            // What is being stopped has the rest of its grace.
            if self.grace.is_none() {
                self.begin_killing(now);
            }
        }
    }

    fn hear_reports(&mut self) {
        let Some(contained) = self.contained.as_mut() else {
            return;
        };
        while let Some(report) = contained.reports.now() {
            match report {
                Report::Exited { status, .. } => {
                    let verdict = platform::process::verdict(status);
                    self.exit.get_or_insert(verdict);
                }
                Report::Lost { told } => {
                    self.lost.get_or_insert(told);
                }
                Report::OutOfMemory => self.is_out_of_memory = true,
                Report::Init { .. }
                | Report::SetupFailed { .. }
                | Report::EngineRefused { .. }
                | Report::ExecFailed { .. }
                | Report::Running { .. } => {}
            }
        }
    }

    /// Hears whether the call is to be stopped. That nobody is there any more means at once.
    fn hear_supervisor(&mut self, now: u64) {
        if self.is_orphan {
            return;
        }
        let mut buffer = [0; 256];
        loop {
            match platform::file::read(&self.socket, &mut buffer) {
                Ok(0) => {
                    self.is_orphan = true;
                    self.stop(CallEnd::Cancelled, 0, now);
                    return;
                }
                Ok(read) if self.heard.len() < limits::CONTROL_LINE_BYTES_MAX => {
                    self.heard.extend(buffer.get(..read).unwrap_or_default());
                }
                Ok(_) | Err(_) => break,
            }
        }
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line);
            let grace_ms = text.trim().parse().unwrap_or(self.order.grace_ms);
            self.stop(CallEnd::Cancelled, grace_ms, now);
        }
    }

    /// Stops the call: TERM, and KILL after the grace.
    fn stop(&mut self, cause: CallEnd, grace_ms: u64, now: u64) {
        let is_first = self.cause.is_none() && self.exit.is_none();
        if self.exit.is_none() {
            self.cause.get_or_insert(cause);
        }
        let due = now.saturating_add(grace_ms.min(limits::GRACE_MS_MAX));
        if grace_ms == 0 {
            self.begin_killing(now);
        } else if is_first {
            self.grace = Some(due);
            let tree = Tree::look(&self.runs_dir, &self.ours());
            tree.signal(libc::SIGTERM);
            self.signal_container(libc::SIGTERM);
        } else {
            self.grace = self.grace.map(|grace| grace.min(due));
        }
    }

    fn begin_killing(&mut self, now: u64) {
        self.grace = None;
        if self.give_up.is_none() {
            self.give_up = Some(now + limits::UNKILLABLE_MS);
            self.kill = Some(now);
            self.pause_ms = 1;
            self.signal_container(libc::SIGKILL);
        }
    }

    /// Kills every child, and with it whatever hangs on it; runs started in there are their own.
    fn kill_round(&mut self, now: u64) {
        let spared = self.contained.as_ref();
        let spared = spared.and_then(|one| one.engine.as_ref().and(one.init));
        let was_any = tree::kill_children(&self.runs_dir, true, spared);
        self.reap(now);
        // Nobody is left but runs of their own, which our supervisor takes over.
        self.is_empty |= !was_any && spared.is_none() && self.exit.is_some();
        if !self.is_empty && self.give_up.is_some() {
            self.kill = Some(now + self.pause_ms);
            self.pause_ms = (self.pause_ms * 2).min(limits::KILL_BACKOFF_MS_MAX);
        }
    }

    fn signal_container(&self, signal: i32) {
        if let Some(contained) = &self.contained {
            contained.signal_container(signal);
        }
    }

    fn watch_memory(&mut self, now: u64) {
        let contained = self.contained.as_ref();
        let Some(most) = contained.and_then(|one| one.limits.watched_memory_bytes) else {
            return;
        };
        let tree = Tree::look(&self.runs_dir, &self.ours());
        let used = tree.processes.iter();
        let used: u64 = used.map(|one| crate::process::memory_bytes(one.pid)).sum();
        if used > most {
            self.is_out_of_memory |= self.exit.is_none();
            self.begin_killing(now);
        }
        self.memory = Some(now + limits::MEMORY_LOOK_MS);
    }

    /// Processes in a contained call that are none of its own.
    fn ours(&self) -> Vec<i32> {
        let Some(contained) = &self.contained else {
            return Vec::new();
        };
        let helper = contained.helper.map(|helper| helper.pid);
        contained.init.into_iter().chain(helper).collect()
    }

    /// Whether it ended for want of memory: something was killed for that, and its main process
    /// by the same signal, or it told of it as a shell does.
    fn was_out_of_memory(&self, verdict: Option<Result<i32, i32>>) -> bool {
        let kill: Result<i32, i32> = Err(libc::SIGKILL);
        let is_killed = verdict.is_some_and(|end| end == kill || end == Ok(128 + libc::SIGKILL));
        let contained = self.contained.as_ref();
        let kills = contained.map_or(0, |contained| contained.limits.memory_kills());
        is_killed && (self.is_out_of_memory || kills > self.memory_kills_before)
    }

    fn ended(&self) -> CallEnded {
        let verdict = self.exit.filter(|_| self.lost.is_none());
        let exited_ms = self.exited_ms.unwrap_or_else(clock::monotonic_ms);
        CallEnded {
            exit_code: verdict.and_then(Result::ok),
            signal: verdict.and_then(Result::err).map(signal_name),
            is_out_of_memory: self.was_out_of_memory(verdict),
            output_bytes: self.output.bytes(),
            elapsed_ms: exited_ms.saturating_sub(self.started_ms),
            failure: self.lost.clone().map(|message| Failure {
                code: "engine_lost".to_owned(),
                message,
                errno: None,
            }),
            ..CallEnded::new(&self.order.call, self.cause.unwrap_or(CallEnd::Exited))
        }
    }
}
