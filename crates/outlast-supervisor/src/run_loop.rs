//! Turns the world into inputs for the lifecycle, and carries out what it answers.
//!
//! One thread, one poll. The order within a turn matters: signals before what
//! was reaped (a host that stops everything is the cause, not its effect), what
//! was reaped before what was asked (a cancel that loses to the exit loses).

mod contained;
mod end;
mod words;
mod worker;

use crate::command::{self, Command};
use crate::connections::Asked;
use crate::contain::Contained;
use crate::lifecycle::{Action, Input, Lifecycle};
use crate::output_log::OutputLog;
use crate::platform::poll::{self, Watch, is_ready};
use crate::platform::process::{Reap, Reaped};
use crate::supervise::Owned;
use crate::timers::{Timers, take_due};
use crate::tree::{self, Tree};
use crate::worker::Head;
use crate::{clock, fault, idle, platform};
use outlast_journal::control::{HINT_OUTPUT, HINT_STARTED};
use outlast_journal::{
    Fact, MainExit, Note, Stop, StopCause, Usage, limits, names, signal_name, signal_number,
};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

/// The main process and what binds us to it.
pub(crate) struct Main {
    pub(crate) pid: i32,
    /// What contains it, if anything does.
    pub(crate) contained: Option<Box<Contained>>,
    /// Our end of the output pipe.
    pub(crate) output: OwnedFd,
    /// The run's end, kept for a stop command's output.
    pub(crate) output_end: Option<OwnedFd>,
    /// When it was executed, on the monotonic clock.
    pub(crate) started_ms: u64,
    /// What an agent run has beside.
    pub(crate) head: Option<Box<Head>>,
}

/// The supervisor of one run while its tree lives.
pub(crate) struct RunLoop {
    owned: Owned,
    output: OutputLog,
    main_pid: i32,
    contained: Option<Box<Contained>>,
    /// What an agent run has beside.
    head: Option<Box<Head>>,
    output_end: Option<OwnedFd>,
    started_ms: u64,
    pipe: Option<OwnedFd>,
    life: Lifecycle,
    timers: Timers,
    deadline: Option<OwnedFd>,
    holder: Option<OwnedFd>,
    runs_dir: PathBuf,
    usage: Usage,
    is_main_reaped: bool,
    /// The stop command, until the first signal was sent.
    stop_command: Option<i32>,
    kill_pause_ms: u64,
    leftovers_seen: u64,
    signals_noted: u32,
    hinted_ms: u64,
    has_left: bool,
}

impl RunLoop {
    /// Returns the loop of a run whose command has just been executed.
    pub(crate) fn new(mut owned: Owned, output: OutputLog, main: Main) -> io::Result<Self> {
        owned.connections.hint(HINT_STARTED, false);
        let spec = &owned.spec;
        let timers = Timers {
            timeout: spec.timeout_ms.map(|ms| main.started_ms.saturating_add(ms)),
            idle: spec
                .idle_ttl_ms
                .map(|ms| main.started_ms.saturating_add(ms)),
            sync: Some(main.started_ms + limits::SYNC_AFTER_MS),
            memory: main
                .contained
                .as_ref()
                .and_then(|contained| contained.limits.watched_memory_bytes)
                .map(|_| main.started_ms),
            ..Timers::default()
        };
        let deadline = match spec.deadline {
            Some(deadline) => Some(platform::clock::wall_timer(deadline.unix_ms())?),
            None => None,
        };
        let life = match &main.head {
            Some(_) => Lifecycle::of_worker(spec.leftovers, spec.grace_ms),
            None => Lifecycle::started(spec.leftovers, spec.grace_ms),
        };
        // The run lies in the folder of its month, which lies in the folder of all runs.
        let runs_dir = owned
            .run_dir
            .ancestors()
            .nth(2)
            .unwrap_or(&owned.run_dir)
            .to_owned();
        let mut this = Self {
            holder: None,
            owned,
            output,
            pipe: Some(main.output),
            main_pid: main.pid,
            contained: main.contained,
            head: main.head,
            output_end: main.output_end,
            started_ms: main.started_ms,
            life,
            timers,
            deadline,
            runs_dir,
            usage: Usage::default(),
            is_main_reaped: false,
            stop_command: None,
            kill_pause_ms: 1,
            leftovers_seen: 0,
            signals_noted: 0,
            hinted_ms: 0,
            has_left: false,
        };
        this.watch_holder();
        Ok(this)
    }

    /// Runs until the tree is empty and everything is written.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut watches = Vec::with_capacity(8);
        while !self.has_left {
            watches.clear();
            watches.push(Watch::read(self.owned.signals.as_fd()));
            let fixed = [&self.pipe, &self.deadline, &self.holder];
            watches.extend(
                fixed
                    .into_iter()
                    .flatten()
                    .map(|one| Watch::read(one.as_fd())),
            );
            watches.extend(self.reports().map(Watch::read));
            self.watch_worker(&mut watches);
            self.owned.connections.watch(&mut watches);
            let now = clock::monotonic_ms();
            let wait = self.timers.wait_ms(now, self.owned.connections.next_due());
            poll::poll(&mut watches, wait)?;
            self.turn()?;
        }
        // What the last of them wrote is still in the pipe.
        self.drain();
        self.output.trim_all();
        fs::remove_file(self.owned.run_dir.join(names::CONTROL)).ok();
        self.owned.journal.finish();
        Ok(())
    }

    fn turn(&mut self) -> io::Result<()> {
        let now = clock::monotonic_ms();
        self.hear_signals()?;
        self.read_output(8);
        self.reap()?;
        self.hear_descriptors()?;
        for asked in self.owned.connections.serve(now) {
            match asked {
                Asked::Cancel(asked) => {
                    let grace_ms = asked.grace_ms.unwrap_or(self.owned.spec.grace_ms);
                    self.stop(asked.cause, grace_ms.min(limits::GRACE_MS_MAX), asked.by)?;
                }
                Asked::Words { from, ask } => {
                    let answer = self.take_words(ask);
                    self.owned.connections.reply(from, &answer);
                }
            }
        }
        self.hear_worker()?;
        self.hear_timers(now)?;
        self.settle_worker()
    }

    /// Reads the signals sent to this process. From the run's own tree they mean nothing.
    fn hear_signals(&mut self) -> io::Result<()> {
        while let Some(came) = platform::signal::next(&self.owned.signals) {
            if came.signal == libc::SIGCHLD {
                continue;
            }
            let from = came.from_pid;
            let is_outside =
                from <= 1 || (crate::process::start_ticks(from).is_some() && !tree::is_below(from));
            if is_outside {
                let by = format!("SIG{} from process {from}", signal_name(came.signal));
                self.stop(StopCause::Host, self.owned.spec.grace_ms, Some(by))?;
            } else if self.signals_noted < limits::IGNORED_SIGNALS_NOTED_MAX
                && !self.life.has_ended()
            {
                self.signals_noted += 1;
                let note = Note {
                    ignored_signal: Some(signal_name(came.signal)),
                    from_pid: Some(from),
                    ..Note::default()
                };
                self.owned.journal.append(&Fact::Note(note)).ok();
            }
        }
        Ok(())
    }

    /// Moves what the run wrote into the log, at most `rounds` buffers of it.
    fn read_output(&mut self, rounds: u32) {
        for _ in 0..rounds {
            let Some(pipe) = &self.pipe else { return };
            match self.output.take(pipe, limits::PIPE_BULK_BYTES) {
                Ok(0) => self.pipe = None,
                Ok(_) => {
                    if self.timers.hint.is_none() && self.owned.connections.wants_output() {
                        self.timers.hint = Some(self.hinted_ms + limits::OUTPUT_HINT_MS);
                    }
                }
                Err(_) => return,
            }
        }
    }

    fn reap(&mut self) -> io::Result<()> {
        let mut main_exit = self.hear_reports();
        loop {
            match platform::process::reap() {
                Reap::Ended(reaped) => main_exit = main_exit.or(self.take_reaped(reaped)),
                Reap::NoneEnded => break,
                Reap::NoChild => {
                    if !self.is_between_workers() {
                        self.step(Input::TreeEmpty)?;
                    }
                    break;
                }
            }
        }
        match main_exit {
            Some(exit) => self.step(Input::MainEnded(exit)),
            None => Ok(()),
        }
    }

    /// Counts what a reaped process used; returns how it ended if it is the main process.
    fn take_reaped(&mut self, reaped: Reaped) -> Option<MainExit> {
        if self.init() == Some(reaped.pid) {
            return self.take_end_of_init(reaped);
        }
        self.usage.cpu_ms += reaped.cpu_ms;
        self.usage.peak_rss_bytes = self.usage.peak_rss_bytes.max(reaped.rss_bytes);
        if self.stop_command == Some(reaped.pid) {
            self.signal_tree();
            return None;
        }
        if self.take_end_of_hands(reaped) || reaped.pid != self.main_pid || self.init().is_some() {
            return None;
        }
        let exit = self.take_main_exit(reaped.status);
        self.note_memory(exit.as_ref());
        exit
    }

    /// Returns how the main process ended, by its wait status, the first time that it is told.
    fn take_main_exit(&mut self, status: i32) -> Option<MainExit> {
        if self.is_main_reaped {
            return None;
        }
        self.is_main_reaped = true;
        self.owned.connections.close_stdin();
        fault::point("main_ended");
        Some(match platform::process::verdict(status) {
            Ok(code) => MainExit {
                exit_code: Some(code),
                signal: None,
            },
            Err(signal) => MainExit {
                exit_code: None,
                signal: Some(signal_name(signal)),
            },
        })
    }

    fn hear_descriptors(&mut self) -> io::Result<()> {
        if is_ready(self.deadline.as_ref())? {
            self.deadline = None;
            self.stop(StopCause::Deadline, self.owned.spec.grace_ms, None)?;
        }
        if is_ready(self.holder.as_ref())? {
            self.holder = None;
            self.stop(StopCause::Session, self.owned.spec.grace_ms, None)?;
        }
        Ok(())
    }

    fn hear_timers(&mut self, now: u64) -> io::Result<()> {
        let grace_ms = self.owned.spec.grace_ms;
        if take_due(&mut self.timers.timeout, now) {
            self.stop(StopCause::Timeout, grace_ms, None)?;
        }
        if take_due(&mut self.timers.idle, now) {
            self.timers.idle = idle::next(&self.owned.run_dir, &self.owned.spec, now);
            if self.timers.idle.is_none() {
                self.stop(StopCause::Idle, grace_ms, None)?;
            }
        }
        if take_due(&mut self.timers.signal, now) {
            self.signal_tree();
        }
        if take_due(&mut self.timers.grace, now) {
            self.step(Input::GraceOver)?;
        }
        if take_due(&mut self.timers.give_up, now) {
            self.timers.kill = None;
            self.step(Input::KillTimeUp)?;
        }
        if take_due(&mut self.timers.kill, now) {
            self.kill_round(now)?;
        }
        self.hear_timers_of_worker(now)?;
        if take_due(&mut self.timers.hint, now) {
            self.owned.connections.hint(HINT_OUTPUT, true);
            self.hinted_ms = now;
        }
        if take_due(&mut self.timers.memory, now) {
            self.watch_memory(now)?;
        }
        if take_due(&mut self.timers.sync, now) && !self.owned.journal.is_synced() {
            self.owned.journal.sync();
        }
        Ok(())
    }

    fn stop(&mut self, cause: StopCause, grace_ms: u64, by: Option<String>) -> io::Result<()> {
        self.step(Input::Stop(Stop {
            cause,
            grace_ms,
            by,
        }))
    }

    fn step(&mut self, input: Input) -> io::Result<()> {
        for action in self.life.step(input) {
            self.act(action)?;
        }
        Ok(())
    }

    fn act(&mut self, action: Action) -> io::Result<()> {
        let now = clock::monotonic_ms();
        match action {
            Action::Append(fact) => {
                self.owned.journal.append(&fact).ok();
            }
            Action::Terminate { grace_ms } => {
                self.timers.grace = Some(now.saturating_add(grace_ms));
                self.stop_command = self.run_stop_command();
                if self.stop_command.is_some() {
                    self.timers.signal = Some(now.saturating_add(grace_ms / 2));
                } else {
                    self.signal_tree();
                }
            }
            Action::Hurry { grace_ms } => {
                let sooner = now.saturating_add(grace_ms);
                self.timers.grace = self.timers.grace.map(|due| due.min(sooner));
                let sooner = now.saturating_add(grace_ms / 2);
                self.timers.signal = self.timers.signal.map(|due| due.min(sooner));
            }
            Action::Kill => {
                let tree = self.look();
                tree.ask_nested(0, &self.owned.spec.id);
                for process in &tree.processes {
                    crate::process::signal(*process, libc::SIGKILL).ok();
                }
                self.signal_container(libc::SIGKILL);
                self.timers.grace = None;
                self.timers.signal = None;
                self.stop_command = None;
                self.timers.give_up = Some(now + limits::UNKILLABLE_MS);
                self.timers.nested = Some(now + limits::NESTED_EXTRA_MS);
                self.kill_pause_ms = 1;
                self.timers.kill = Some(now);
            }
            Action::AskWorker(stop) => self.ask_worker(&stop),
            Action::End(outcome) => self.end(&outcome)?,
            Action::TellCancelled => {
                self.owned.connections.tell_cancelled(self.leftovers_seen);
            }
            Action::Leave => self.has_left = true,
        }
        Ok(())
    }

    /// Sends the first signal: at once, or after the stop command, for which half of the grace
    /// is left at most, so that what it does not reach still has time to end in order.
    fn signal_tree(&mut self) {
        self.stop_command = None;
        self.timers.signal = None;
        let due = self.timers.grace.unwrap_or(0);
        let left_ms = due.saturating_sub(clock::monotonic_ms());
        self.stop_calls(left_ms);
        let tree = self.look_beside(&self.keepers());
        tree.ask_nested(left_ms, &self.owned.spec.id);
        let name = self.owned.spec.stop_signal.as_deref().unwrap_or("TERM");
        let signal = signal_number(name).map_or(libc::SIGTERM, i32::from);
        tree.signal(signal);
        self.signal_container(signal);
    }

    fn look(&mut self) -> Tree {
        self.look_beside(&[])
    }

    fn look_beside(&mut self, apart: &[i32]) -> Tree {
        let tree = Tree::look_beside(&self.runs_dir, &self.ours(), apart);
        if self.life.has_ended() {
            self.leftovers_seen = self.leftovers_seen.max(tree.processes.len() as u64);
        }
        tree
    }

    /// Kills and reaps without a pause while that gets somewhere, then ever more slowly.
    fn kill_round(&mut self, now: u64) -> io::Result<()> {
        let spares_nested = self.timers.nested.is_some_and(|due| now < due);
        tree::kill_children(&self.runs_dir, spares_nested, self.spared());
        self.reap()?;
        if !self.has_left {
            self.timers.kill = Some(now + self.kill_pause_ms);
            self.kill_pause_ms = (self.kill_pause_ms * 2).min(limits::KILL_BACKOFF_MS_MAX);
        }
        Ok(())
    }

    /// Starts the stop command, if there is one and it starts.
    fn run_stop_command(&self) -> Option<i32> {
        let text = self.owned.spec.stop_command.as_ref();
        let text = text.filter(|_| !self.life.has_ended())?;
        let output = self.output_end.as_ref()?;
        let argv = command::shell_words(&self.owned.spec, text);
        let command = Command {
            argv: &argv,
            environment: &command::stop_environment(&self.owned.spec, Some(self.main_pid)),
            cwd: &self.owned.spec.cwd,
        };
        let null = fs::File::open("/dev/null").ok()?;
        command.spawn(null.as_fd(), output.as_fd()).ok()
    }

    /// Watches the process whose end ends the run, if its lifetime is its session's.
    fn watch_holder(&mut self) {
        let Some(holder) = self.owned.spec.holder else {
            return;
        };
        // Opened first, compared then: the descriptor names one process for good.
        let opened = platform::pidfd::open(holder.pid).ok();
        if crate::process::is_alive(holder) && opened.is_some() {
            self.holder = opened;
            return;
        }
        let grace_ms = self.owned.spec.grace_ms;
        self.stop(StopCause::Session, grace_ms, None).ok();
    }
}
