//! The run loop of an agent run: it hears the worker, has its calls run, and replaces it when it
//! dies.

use super::RunLoop;
use crate::calls::{self, Known};
use crate::lifecycle::Input;
use crate::platform::poll::Watch;
use crate::platform::process::{Reaped, verdict};
use crate::timers::take_due;
use crate::worker::{Heard as Came, Verdict};
use crate::{clock, fault};
use outlast_journal::agent::{Told, Work};
use outlast_journal::worker::{
    Answered, CallAsk, CallClaimed, CallEnd, CallEnded, Heard, Said, WorkerStarted,
};
use outlast_journal::{FORMAT_VERSION, Fact, Failure, MainExit, Stop, limits, signal_name};
use std::io;
use std::os::fd::AsFd;

impl RunLoop {
    /// Adds what a worker and its calls have to say.
    pub(super) fn watch_worker(&self, watches: &mut Vec<Watch>) {
        if let Some(head) = &self.head {
            if let Some(channel) = &head.channel {
                channel.watch(watches);
            }
            head.calls.watch(watches);
        }
    }

    /// Hears the keepers of calls, then the worker.
    pub(super) fn hear_worker(&mut self) -> io::Result<()> {
        self.hear_calls();
        let Some(head) = &mut self.head else {
            return Ok(());
        };
        if let Some(channel) = &mut head.channel {
            channel.receive();
        }
        while let Some(came) = self.next_of_worker() {
            match came {
                Came::Said(said, bytes) => {
                    self.take_said(said, bytes)?;
                    if let Some(channel) = self.head.as_mut().and_then(|one| one.channel.as_mut()) {
                        channel.forget(bytes);
                    }
                }
                Came::Broken(fault) => {
                    if let Some(head) = &mut self.head {
                        head.replace(fault);
                    }
                }
            }
        }
        Ok(())
    }

    fn has_more_of_worker(&self) -> bool {
        let channel = self.head.as_ref().and_then(|head| head.channel.as_ref());
        channel.is_some_and(|channel| !channel.is_over())
    }

    fn next_of_worker(&mut self) -> Option<Came> {
        self.head.as_mut()?.channel.as_mut()?.next()
    }

    fn take_said(&mut self, said: Said, bytes: usize) -> io::Result<()> {
        match said {
            Said::Hello { .. } => self.welcome(),
            Said::Fact {
                n,
                kind,
                message,
                data,
            } => {
                let told = Told {
                    kind,
                    message,
                    data,
                };
                return self.take_fact(n, told, bytes);
            }
            Said::Call(ask) => self.take_call(&ask),
            Said::EndCall { call } => {
                if let Some(head) = &mut self.head {
                    head.calls.stop(&call, None);
                }
            }
            Said::AskExpired { ask } => {
                let answered = Answered {
                    ask,
                    is_approved: false,
                    text: None,
                    by: "timeout".to_owned(),
                };
                self.answer_ask(answered).ok();
            }
            // What a later worker may say means nothing here.
            _ => {}
        }
        Ok(())
    }

    fn welcome(&mut self) {
        if let Some(head) = &mut self.head {
            let running = head.calls.open.iter().map(|open| open.call.clone());
            let welcome = Heard::Welcome {
                v: FORMAT_VERSION,
                is_cancelling: head.cancelling.is_some(),
                running: running.collect(),
            };
            head.tell(&welcome);
        }
    }

    fn take_fact(&mut self, n: u64, told: Told, bytes: usize) -> io::Result<()> {
        let Some(head) = &mut self.head else {
            return Ok(());
        };
        let length = bytes as u64;
        let is_full = head.fact_bytes.saturating_add(length) > limits::WORKER_FACTS_BYTES_MAX;
        let meaning = meaning(&told);
        let refused = if !told.is_of_worker() {
            Some("a worker tells no such fact")
        } else if head.verdict.is_some() {
            Some("the work has ended")
        } else if is_full && told.kind != "final" {
            Some("the journal is full")
        } else {
            None
        };
        let meaning = match (refused, meaning) {
            (None, Some(meaning)) => meaning,
            (refused, _) => {
                let why = refused
                    .unwrap_or("the fact is not what its kind says")
                    .to_owned();
                head.tell(&Heard::NotWritten { n, why });
                return Ok(());
            }
        };
        let fact = Fact::Told(told);
        let written = self.owned.journal.append(&fact);
        fault::point("fact_written");
        if let (Fact::Told(told), true) = (&fact, written.is_ok())
            && told.kind == "model.turn"
        {
            head.count_turn(&told.data);
        }
        if let Err(error) = written {
            let why = error.to_string();
            head.tell(&Heard::NotWritten { n, why });
            return Ok(());
        }
        head.fact_bytes += length;
        head.tell(&Heard::Wrote { n });
        match meaning {
            Meaning::Nothing => Ok(()),
            Meaning::Ask(ask) => {
                let has_room = head.asks.len() < limits::ASKS_OPEN_MAX;
                if has_room && !head.asks.contains(&ask) {
                    head.asks.push(ask);
                }
                Ok(())
            }
            Meaning::Final(verdict) => {
                head.verdict = Some(*verdict);
                head.calls.stop_all(None);
                self.timers.leave = Some(clock::monotonic_ms() + limits::WORKER_LEAVE_MS);
                self.step(Input::Concluded)
            }
        }
    }

    /// Runs a call that was never claimed; tells again of one that was.
    fn take_call(&mut self, ask: &CallAsk) {
        let Some(head) = &self.head else { return };
        let refused = |code: &str, message: &str| {
            Heard::CallEnded(CallEnded::not_started(&ask.call, code, message.to_owned()))
        };
        let told = if CallAsk::is_id(&ask.call) {
            match head.calls.look(&ask.call, &self.owned.run_dir) {
                Known::Runs => return,
                Known::Ended(ended) => Some(Heard::CallEnded(ended)),
                Known::Unknown => Some(Heard::CallUnknown {
                    call: ask.call.clone(),
                }),
                Known::Never => self.refusal(ask).map(|(code, why)| refused(code, why)),
            }
        } else {
            Some(refused("bad_call_id", "the id of the call is none"))
        };
        match told {
            Some(told) => self.tell_worker(&told),
            None => self.run_call(ask),
        }
    }

    /// Why a call that was never claimed is not to be run, if it is not.
    fn refusal(&self, ask: &CallAsk) -> Option<(&'static str, &'static str)> {
        let head = self.head.as_ref()?;
        let spec = &self.owned.spec;
        let is_local = spec.agent.as_ref().is_some_and(|one| one.request.is_local);
        let is_ending = head.cancelling.is_some() || head.verdict.is_some();
        if is_ending || self.life.is_stopping() {
            return Some(("run_stopping", "the run is being stopped"));
        }
        if is_local {
            return Some((
                "no_backend",
                "the run reads only: nothing is bound to run calls",
            ));
        }
        let is_beside = ask.is_on_host && spec.containment.is_some();
        if is_beside && !head.approved.contains(&ask.call) {
            return Some(("not_approved", "nobody has approved the call on the host"));
        }
        if head.calls.open.len() >= limits::CALLS_OPEN_MAX {
            return Some(("too_many_calls", "as many calls run as may at once"));
        }
        None
    }

    fn run_call(&mut self, ask: &CallAsk) {
        let claimed = self.owned.journal.append(&Fact::CallClaimed(CallClaimed {
            call: ask.call.clone(),
        }));
        fault::point("call_claimed");
        let Some(head) = &mut self.head else { return };
        let begun = claimed.and_then(|()| {
            head.calls.note_claim(&ask.call);
            let environment = head.call_environment(&self.owned.spec, &ask.call);
            head.calls
                .start(ask, &environment, &self.owned.spec, &self.owned.run_dir)
        });
        if let Err(error) = begun {
            let failure = Failure {
                code: "could_not_start".to_owned(),
                message: "the keeper of the call could not be started".to_owned(),
                errno: error.raw_os_error(),
            };
            self.end_call(CallEnded {
                failure: Some(failure),
                ..CallEnded::new(&ask.call, CallEnd::NotStarted)
            });
        }
    }

    fn hear_calls(&mut self) {
        let ended = self.head.as_mut().map(|head| head.calls.hear());
        for ended in ended.into_iter().flatten() {
            self.end_call(ended);
        }
    }

    fn end_call(&mut self, mut ended: CallEnded) {
        // A call that its run's stop ended did not end by itself, whoever was faster.
        if self.life.is_stopping() && ended.end == CallEnd::Exited && ended.signal.is_some() {
            ended.end = CallEnd::Cancelled;
        }
        fault::point("call_ended");
        self.owned
            .journal
            .append(&Fact::CallEnded(Box::new(ended.clone())))
            .ok();
        fault::point("call_end_written");
        self.tell_worker(&Heard::CallEnded(ended));
    }

    pub(super) fn tell_worker(&mut self, message: &Heard) {
        if let Some(head) = &mut self.head {
            head.tell(message);
        }
    }

    /// Takes the end of a process of an agent run; true if it was the worker or a keeper.
    pub(super) fn take_end_of_hands(&mut self, reaped: Reaped) -> bool {
        let Some(head) = &mut self.head else {
            return false;
        };
        if head.process.is_some_and(|worker| worker.pid == reaped.pid) {
            self.take_end_of_worker(reaped.status);
            return true;
        }
        self.hear_calls();
        let lost = self
            .head
            .as_mut()
            .and_then(|head| head.calls.take_lost(reaped.pid));
        if let Some(lost) = lost {
            let worker = self.head.as_ref().and_then(|head| head.process);
            let mut spared = self.keepers();
            spared.extend(worker.map(|worker| worker.pid));
            calls::end_orphans(&self.runs_dir, &spared);
            if lost.is_stopped || self.life.is_stopping() {
                self.end_call(CallEnded {
                    signal: Some("KILL".to_owned()),
                    ..CallEnded::new(&lost.call, CallEnd::Cancelled)
                });
            } else {
                self.tell_worker(&Heard::CallUnknown { call: lost.call });
            }
        }
        true
    }

    fn take_end_of_worker(&mut self, status: i32) {
        // Its last words are still in the socket.
        if let Some(head) = &mut self.head {
            head.process = None;
        }
        while self.has_more_of_worker() {
            self.hear_worker().ok();
        }
        let exit = match verdict(status) {
            Ok(code) => MainExit {
                exit_code: Some(code),
                signal: None,
            },
            Err(signal) => MainExit {
                exit_code: None,
                signal: Some(signal_name(signal)),
            },
        };
        let is_stopping = self.life.is_stopping();
        self.timers.leave = None;
        if let Some(head) = &mut self.head {
            let due = head.note_end(exit, clock::monotonic_ms());
            self.timers.restart = due.filter(|_| !is_stopping);
        }
    }

    /// Starts the next worker.
    fn restart_worker(&mut self) {
        let Some(head) = &mut self.head else { return };
        let Some(output) = &self.output_end else {
            return;
        };
        if self.life.is_stopping() {
            return;
        }
        let (before, fault) = (head.before.take(), head.fault.take());
        let started = head.start(&self.owned.spec, &self.owned.run_dir, output.as_fd());
        fault::point("worker_restarted");
        if let Ok(process) = started {
            self.main_pid = process.pid;
            let fact = Fact::WorkerStarted(WorkerStarted {
                process,
                number: head.number,
                before,
                fault,
            });
            self.owned.journal.append(&fact).ok();
        } else {
            // It counts as one that died at once.
            let exit = before.unwrap_or_default();
            self.timers.restart = head.note_end(exit, clock::monotonic_ms());
        }
    }

    /// Ends the run once its worker is gone for good and no call of it runs any more.
    pub(super) fn settle_worker(&mut self) -> io::Result<()> {
        let Some(head) = &mut self.head else {
            return Ok(());
        };
        let is_for_good = head.verdict.is_some() || self.life.is_stopping();
        if head.process.is_some() || self.is_main_reaped || !is_for_good {
            return Ok(());
        }
        self.timers.restart = None;
        if !head.calls.open.is_empty() {
            // The stop of a whole tree reaches them too.
            head.calls.stop_all(None);
            return Ok(());
        }
        let exit = head.before.take().unwrap_or_default();
        if head.verdict.is_some() {
            self.step(Input::Concluded)?;
        }
        self.is_main_reaped = true;
        self.owned.connections.close_stdin();
        fault::point("main_ended");
        self.reap()?;
        self.step(Input::MainEnded(exit))
    }

    /// Whether the tree may be empty although the run goes on: between two workers.
    pub(super) fn is_between_workers(&self) -> bool {
        self.head.is_some() && !self.is_main_reaped
    }

    /// Does what is due of a worker.
    pub(super) fn hear_timers_of_worker(&mut self, now: u64) -> io::Result<()> {
        if take_due(&mut self.timers.restart, now) {
            self.restart_worker();
        }
        if take_due(&mut self.timers.leave, now)
            && let Some(head) = &mut self.head
        {
            head.replace("it did not leave");
        }
        if take_due(&mut self.timers.patience, now) {
            self.step(Input::PatienceOver)?;
        }
        Ok(())
    }

    /// Asks the worker to end its work, and stops the calls and runs that it has started.
    pub(super) fn ask_worker(&mut self, stop: &Stop) {
        let tree = self.look();
        tree.ask_nested(stop.grace_ms, &self.owned.spec.id);
        self.timers.patience = Some(clock::monotonic_ms() + limits::AGENT_CANCEL_MS);
        if let Some(head) = &mut self.head {
            head.cancelling = Some((stop.cause, stop.by.clone()));
            head.calls.stop_all(Some(stop.grace_ms));
            head.tell(&Heard::Cancel {
                cause: stop.cause,
                by: stop.by.clone(),
            });
        }
    }

    /// Keepers of calls, which are told to stop in their own way.
    pub(super) fn keepers(&self) -> Vec<i32> {
        let head = self.head.as_ref();
        head.map_or_else(Vec::new, |head| head.calls.keepers())
    }

    /// Has the calls of a run stopped whose whole tree is.
    pub(super) fn stop_calls(&mut self, grace_ms: u64) {
        if let Some(head) = &mut self.head {
            head.calls.stop_all(Some(grace_ms));
        }
    }

    /// How the run ends by its worker's word, if it does.
    pub(super) fn conclusion(&self) -> Option<&Verdict> {
        self.head.as_ref()?.verdict.as_ref()
    }
}

/// What a fact means for the supervisor.
enum Meaning {
    Nothing,
    Ask(String),
    Final(Box<Verdict>),
}

/// Returns what a fact means; `None` when it is not what its kind says.
fn meaning(told: &Told) -> Option<Meaning> {
    if !matches!(told.kind.as_str(), "ask" | "final") {
        return Some(Meaning::Nothing);
    }
    let read = Work::read(&told.kind, told.message.as_deref(), &told.data)?;
    if let Work::Ask(asked) = read {
        return Some(Meaning::Ask(asked.ask));
    }
    if let Work::Final(told) = read {
        return Some(Meaning::Final(Box::new(Verdict::of(&told))));
    }
    None
}
