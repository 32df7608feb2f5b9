//! The run loop of a contained run: process 1 of its namespace reaps, and says what it saw.

use super::RunLoop;
use crate::contain::{Contained, Engine};
use crate::lifecycle::Outcome;
use crate::platform::process::Reaped;
use crate::summary;
use outlast_journal::policy::Report;
use outlast_journal::{Failure, MainExit, StopCause, Usage, limits};
use std::io;
use std::os::fd::BorrowedFd;

/// The failure of a run in a container of which nobody knows how it ended.
fn lost(message: String) -> Failure {
    Failure {
        code: "engine_lost".to_owned(),
        message,
        errno: None,
    }
}

impl RunLoop {
    /// What is ready when process 1 of a contained run has something to say.
    pub(super) fn reports(&self) -> Option<BorrowedFd<'_>> {
        let contained = self.contained.as_ref()?;
        (!contained.reports.is_over()).then(|| contained.reports.descriptor())
    }

    /// Hears from process 1 of a contained run how its main process ended.
    pub(super) fn hear_reports(&mut self) -> Option<MainExit> {
        let contained = self.contained.as_mut()?;
        while let Some(report) = contained.reports.now() {
            match report {
                Report::Exited {
                    status,
                    cpu_ms,
                    rss_bytes,
                } => {
                    self.usage = Usage {
                        cpu_ms,
                        peak_rss_bytes: rss_bytes,
                        ..Usage::default()
                    };
                    let exit = self.take_main_exit(status);
                    self.note_memory(exit.as_ref());
                    return exit;
                }
                Report::OutOfMemory => {
                    if let Some(engine) = &mut contained.engine {
                        engine.was_out_of_memory = true;
                    }
                }
                Report::Lost { told } => return self.take_loss(told),
                Report::Init { .. }
                | Report::SetupFailed { .. }
                | Report::EngineRefused { .. }
                | Report::ExecFailed { .. }
                | Report::Running { .. } => {}
            }
        }
        None
    }

    /// Takes that nobody can say how the command in a container ended.
    fn take_loss(&mut self, told: String) -> Option<MainExit> {
        if self.is_main_reaped {
            return None;
        }
        self.is_main_reaped = true;
        self.owned.connections.close_stdin();
        if let Some(engine) = self.engine_mut() {
            engine.lost = Some(told);
        }
        Some(MainExit {
            exit_code: None,
            signal: None,
        })
    }

    fn engine_mut(&mut self) -> Option<&mut Engine> {
        self.contained.as_mut()?.engine.as_mut()
    }

    /// Has a signal sent to the command of a container.
    pub(super) fn signal_container(&self, signal: i32) {
        if let Some(contained) = &self.contained {
            contained.signal_container(signal);
        }
    }

    /// What talks to an engine: it ends when its container is gone, and must not be killed before.
    pub(super) fn spared(&self) -> Option<i32> {
        let contained = self.contained.as_ref()?;
        contained.engine.as_ref().and(contained.init)
    }

    /// What was used; of a container nobody says so.
    pub(super) fn usage_told(&self) -> Option<Usage> {
        let head = self.head.as_ref();
        let told = Usage {
            tokens: head.and_then(|head| head.tokens),
            cost: head.and_then(|head| head.cost_micros).map(dollars),
            ..self.usage
        };
        self.spared().is_none().then_some(told)
    }

    /// Returns the summary of the end: where nobody knows it, what is known.
    pub(super) fn summary(&self, outcome: &Outcome, elapsed_ms: u64) -> String {
        if let Some(verdict) = self.conclusion() {
            let masker = summary::masker(&self.owned);
            let masked = masker.map(|one| one.mask(verdict.summary.as_bytes()).into_owned());
            let masked = masked.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            return masked.unwrap_or_else(|| outcome.status.to_string());
        }
        match self.loss() {
            Some(loss) if outcome.ended_by == "unknown" => loss.message,
            Some(_) | None => summary::of(outcome, &self.output, &self.owned, elapsed_ms),
        }
    }

    /// Why it is not known at the end how the command ended, if it is not: an engine that was
    /// asked to stop a container and says nothing leaves open whether that runs on, too.
    pub(super) fn loss_of(&self, outcome: &Outcome) -> Option<Failure> {
        let in_vain = outcome.is_given_up && self.spared().is_some();
        let told = "the container engine does not answer; the container may run on";
        self.loss()
            .or_else(|| in_vain.then(|| lost(told.to_owned())))
    }

    /// Why it is not known how the command ended, if it is not.
    pub(super) fn loss(&self) -> Option<Failure> {
        let engine = self.contained.as_ref()?.engine.as_ref()?;
        engine.lost.clone().map(lost)
    }

    /// Takes the end of process 1, with which everything in its namespace has ended.
    ///
    /// What it did not live to report was killed with it, by the kernel.
    pub(super) fn take_end_of_init(&mut self, reaped: Reaped) -> Option<MainExit> {
        let heard = self.hear_reports();
        self.usage.cpu_ms = self.usage.cpu_ms.max(reaped.cpu_ms);
        self.usage.peak_rss_bytes = self.usage.peak_rss_bytes.max(reaped.rss_bytes);
        heard.or_else(|| {
            if self.spared().is_some() {
                let told = "what talks to the container engine was killed; the command may run on";
                return self.take_loss(told.to_owned());
            }
            let exit = self.take_main_exit(libc::SIGKILL);
            self.note_memory(exit.as_ref());
            exit
        })
    }

    /// Says that a run ended for want of memory, where the kernel killed something of it for
    /// that and its main process ended by the same signal, or told of it as a shell does.
    pub(super) fn note_memory(&mut self, exit: Option<&MainExit>) {
        const KILLED: i32 = 128 + libc::SIGKILL;
        let is_killed = exit.is_some_and(|exit| {
            exit.signal.as_deref() == Some("KILL") || exit.exit_code == Some(KILLED)
        });
        let contained = self.contained.as_ref();
        let is_out_of_memory = |contained: &Contained| {
            let engine = contained.engine.as_ref();
            engine.is_some_and(|engine| engine.was_out_of_memory)
                || contained.limits.memory_kills() > 0
        };
        if is_killed && contained.is_some_and(|contained| is_out_of_memory(contained)) {
            self.stop(StopCause::MemoryLimit, 0, None).ok();
        }
    }

    /// Looks at the memory of a run that no cgroup bounds, and ends one that has too much.
    pub(super) fn watch_memory(&mut self, now: u64) -> io::Result<()> {
        let contained = self.contained.as_ref();
        let Some(most) = contained.and_then(|contained| contained.limits.watched_memory_bytes)
        else {
            return Ok(());
        };
        let tree = self.look();
        let used: u64 = tree
            .processes
            .iter()
            .map(|process| crate::process::memory_bytes(process.pid))
            .sum();
        if used > most {
            return self.stop(StopCause::MemoryLimit, 0, None);
        }
        self.timers.memory = Some(now + limits::MEMORY_LOOK_MS);
        Ok(())
    }

    /// Processes in a contained run that are none of its own.
    pub(super) fn ours(&self) -> Vec<i32> {
        let Some(contained) = &self.contained else {
            return Vec::new();
        };
        let helper = contained
            .helper
            .filter(|helper| crate::process::is_alive(*helper));
        let helper = helper.map(|helper| helper.pid);
        contained.init.into_iter().chain(helper).collect()
    }

    /// Names that would be protected, were absent at the start, and are there.
    pub(super) fn appeared(&self) -> Vec<String> {
        let bound = self.head.as_ref().and_then(|head| head.bound.as_ref());
        let of_calls = bound.map(crate::contain::BoundForCalls::appeared);
        let contained = self.contained.as_ref();
        let of_main = contained.map(|contained| contained.appeared());
        of_main.or(of_calls).unwrap_or_default()
    }

    /// Process 1 of a contained run: ours, and none of the run's own.
    pub(super) fn init(&self) -> Option<i32> {
        self.contained.as_ref().and_then(|contained| contained.init)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nobody pays 2^53 millionths of a dollar"
)]
fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}
