//! The worker of an agent run, as its supervisor has it: what it is started with, what it told
//! of its end, and what it waits for.
//!
//! Everything that a worker must know stands in the journal, so one that dies
//! is replaced by another. The run loop carries out what is decided here.

mod channel;
mod restarts;
mod verdict;

pub(crate) use channel::{Channel, Heard};
pub(crate) use verdict::Verdict;

use crate::calls::Calls;
use crate::command::Command;
use crate::contain::BoundForCalls;
use crate::platform::spawn::{self, Exec};
use crate::process;
use outlast_journal::worker::Heard as Message;
use outlast_journal::{
    Failure, MainExit, Network, ProcessRef, Spec, StopCause, limits, names, policy,
};
use restarts::Restarts;
use serde_json::Value;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// What the supervisor of an agent run has beside those of other runs.
pub(crate) struct Head {
    /// The run's environment, `NAME=VALUE` entries, each ended by a NUL. Never written.
    environment: Vec<u8>,
    /// The worker, while there is one.
    pub(crate) process: Option<ProcessRef>,
    /// The way to it.
    pub(crate) channel: Option<Channel>,
    /// Whether it was welcomed. What it is told before that stands in its journal.
    is_welcome: bool,
    /// How many there were, this one included.
    pub(crate) number: u32,
    /// How the last one ended.
    pub(crate) before: Option<MainExit>,
    /// What the last one was killed for.
    pub(crate) fault: Option<String>,
    restarts: Restarts,
    /// How the work ended, once that was told or given up.
    pub(crate) verdict: Option<Verdict>,
    /// Why and for whom the run is being cancelled.
    pub(crate) cancelling: Option<(StopCause, Option<String>)>,
    /// Its calls.
    pub(crate) calls: Calls,
    /// Asks that nobody has answered yet.
    pub(crate) asks: Vec<String>,
    /// Asks that were approved, which have the ids of their calls.
    pub(crate) approved: Vec<String>,
    /// Texts that came for the model.
    pub(crate) inputs: u64,
    /// Tokens that the model used, and what they cost in millionths of a US dollar, as far as
    /// that was told.
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_micros: Option<u64>,
    /// Bytes that workers told for the journal.
    pub(crate) fact_bytes: u64,
    /// What its calls were bound to at the start, if they are contained.
    pub(crate) bound: Option<BoundForCalls>,
}

impl Head {
    /// Returns the head of a run with this environment, before its first worker.
    pub(crate) fn new(environment: Vec<u8>) -> Self {
        Self {
            environment,
            process: None,
            channel: None,
            is_welcome: false,
            number: 0,
            before: None,
            fault: None,
            restarts: Restarts::default(),
            verdict: None,
            cancelling: None,
            calls: Calls::default(),
            asks: Vec::new(),
            approved: Vec::new(),
            inputs: 0,
            tokens: None,
            cost_micros: None,
            fact_bytes: 0,
            bound: None,
        }
    }

    /// Executes a worker that writes to `output`; returns it once it executes.
    pub(crate) fn start(
        &mut self,
        spec: &Spec,
        run_dir: &Path,
        output: BorrowedFd<'_>,
    ) -> Result<ProcessRef, Failure> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| failed(&error))?;
        let channel = Channel::new(ours).map_err(|error| failed(&error))?;
        let pid = self.execute(spec, run_dir, output, theirs.as_fd())?;
        let process = ProcessRef {
            pid,
            start_ticks: process::start_ticks(pid).unwrap_or(0),
        };
        self.number += 1;
        self.process = Some(process);
        self.channel = Some(channel);
        self.is_welcome = false;
        Ok(process)
    }

    fn execute(
        &self,
        spec: &Spec,
        run_dir: &Path,
        output: BorrowedFd<'_>,
        channel: BorrowedFd<'_>,
    ) -> Result<i32, Failure> {
        let null = File::open("/dev/null").map_err(|error| failed(&error))?;
        let words = words(spec, run_dir).map_err(|error| failed(&error))?;
        let argv: Vec<&CStr> = words.iter().map(CString::as_c_str).collect();
        let environment: Vec<&CStr> = self
            .environment
            .split_inclusive(|byte| *byte == 0)
            .filter_map(|entry| CStr::from_bytes_with_nul(entry).ok())
            .collect();
        let cwd = CString::new(spec.cwd.as_str());
        let cwd = cwd.map_err(|error| failed(&io::Error::other(error)))?;
        let exec = Exec {
            paths: &[c"/proc/self/exe".to_owned()],
            argv: &argv,
            environment: &environment,
            cwd: &cwd,
            stdin: null.as_fd(),
            output,
            extra: [Some(channel), None],
        };
        spawn::spawn(&exec).map_err(|(step, error)| match step {
            spawn::Step::Chdir => Command {
                argv: &[],
                environment: &[],
                cwd: &spec.cwd,
            }
            .chdir_failure(&error),
            spawn::Step::Fork | spawn::Step::Exec(_) => failed(&error),
        })
    }

    /// Returns the environment of a call: the run's, as far as calls get it, and its own name.
    pub(crate) fn call_environment(&self, spec: &Spec, call: &str) -> Vec<u8> {
        let named = spec.agent.iter().flat_map(|agent| &agent.call_env_names);
        let named: Vec<&[u8]> = named.map(String::as_bytes).collect();
        let entries = self.environment.split_inclusive(|byte| *byte == 0);
        let mut kept: Vec<u8> = entries
            .filter(|entry| {
                let name = entry.split(|byte| *byte == b'=').next().unwrap_or_default();
                named.contains(&name)
            })
            .flatten()
            .copied()
            .collect();
        let contained = spec.containment.as_ref();
        if contained.is_some_and(|asked| matches!(asked.network, Network::Allow(_))) {
            for (name, value) in policy::TO_PROXY {
                kept.extend(format!("{name}={value}\0").bytes());
            }
        }
        kept.extend(format!("{}\0", process::cookie(&spec.id)).bytes());
        kept.extend(format!("{}={call}\0", names::CALL_VARIABLE).bytes());
        kept
    }

    /// Tells the worker something, if there is one that listens. One that does not read is done
    /// for.
    pub(crate) fn tell(&mut self, message: &Message) {
        self.is_welcome |= matches!(message, Message::Welcome { .. });
        if !self.is_welcome {
            return;
        }
        let is_behind = match &mut self.channel {
            Some(channel) => !channel.send(&message.to_bytes()),
            None => false,
        };
        if is_behind {
            self.replace("it does not read what it is told");
        }
    }

    /// Kills a worker that cannot be worked with; the next one finds everything in the journal.
    pub(crate) fn replace(&mut self, fault: &str) {
        self.channel = None;
        self.fault.get_or_insert_with(|| fault.to_owned());
        if let Some(process) = self.process {
            crate::platform::process::signal_child(process.pid, libc::SIGKILL).ok();
        }
    }

    /// Counts what a turn of the model used.
    pub(crate) fn count_turn(&mut self, data: &Value) {
        let add = |sum: &mut Option<u64>, name: &str| {
            if let Some(more) = data.get(name).and_then(Value::as_u64) {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        };
        add(&mut self.tokens, "tokens");
        add(&mut self.cost_micros, "cost_micros");
    }

    /// Notes that the worker was reaped; returns when the next one is due, if there may be one.
    pub(crate) fn note_end(&mut self, exit: MainExit, now: u64) -> Option<u64> {
        self.process = None;
        self.channel = None;
        self.before = Some(exit);
        if self.verdict.is_some() {
            return None;
        }
        let due = self.restarts.next(now);
        if due.is_none() {
            self.verdict = Some(Verdict::died(limits::WORKER_RESTARTS_MAX));
        }
        due
    }
}

fn failed(error: &io::Error) -> Failure {
    Failure {
        code: "could_not_start".to_owned(),
        message: "the worker could not be executed".to_owned(),
        errno: error.raw_os_error(),
    }
}

fn words(spec: &Spec, run_dir: &Path) -> io::Result<Vec<CString>> {
    let run_dir = run_dir.to_string_lossy();
    let words = [names::PROCESS, names::WORK, spec.id.as_str(), &run_dir];
    let words = words.into_iter().map(CString::new);
    words.collect::<Result<_, _>>().map_err(io::Error::other)
}
