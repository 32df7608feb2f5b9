//! What a caller asks for, and the checks that need nothing but the request.

use crate::agent::AgentRequest;
use crate::{
    Containment, Leftovers, Lifetime, Limits, Origin, ProcessRef, Stdin, Timestamp, error::Advice,
    label, limits, signal_name, signal_number, text,
};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// The command of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A program and its arguments, executed as they are.
    Direct(Vec<String>),
    /// A text for a shell.
    Shell {
        /// The text.
        text: String,
        /// Whether the shell reads the login files.
        login: bool,
        /// Whether a pipe fails with its first failing part.
        pipefail: bool,
    },
    /// A task for a model.
    Agent(Box<AgentRequest>),
}

/// What makes a run a sub-agent rather than a command: whom its program works for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delegated {
    /// What the sub-agent is to do. The record shows it in place of the command.
    pub task: String,
    /// Model that was asked for in place of the usual one.
    pub model: Option<String>,
    /// Session that the sub-agent has in its own program.
    pub child_session_id: Option<String>,
}

/// What a caller asks for. Fill in what matters and take the rest from `Request::new`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The command.
    pub command: CommandLine,
    /// Directory to run in: absolute.
    pub cwd: std::path::PathBuf,
    /// The whole environment of the caller, on which the run's is built.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables set on top of it.
    pub env_set: Vec<(String, String)>,
    /// Names of variables whose values are secrets whatever they are called.
    pub secret_env: Vec<String>,
    /// Whether programs are told that nobody can answer a prompt (`PAGER=cat` and so on).
    pub is_for_tool: bool,
    /// Label; made from the command when absent.
    pub label: Option<String>,
    /// Session that the run belongs to.
    pub session: Option<String>,
    /// Time limit in milliseconds; `None` or 0 is none.
    pub timeout_ms: Option<u64>,
    /// Wall-clock time at which it is stopped.
    pub deadline: Option<Timestamp>,
    /// Time between the first signal and KILL in milliseconds; the store's when absent.
    pub grace_ms: Option<u64>,
    /// Signal in place of TERM.
    pub stop_signal: Option<String>,
    /// Shell text that runs first when the run is stopped.
    pub stop_command: Option<String>,
    /// Output kept in bytes; the store's when absent.
    pub output_bytes_max: Option<u64>,
    /// What becomes of processes that outlive the main process.
    pub leftovers: Leftovers,
    /// Whether it outlives its session.
    pub lifetime: Lifetime,
    /// Process whose end cancels a run with `lifetime: session`.
    pub holder: Option<ProcessRef>,
    /// What it reads.
    pub stdin: Stdin,
    /// Whether it waits for a place rather than being refused.
    pub is_queued: bool,
    /// Longest wait for a place in milliseconds.
    pub queue_ms: Option<u64>,
    /// Longest time in milliseconds without a reader; `None` or 0 is none.
    pub idle_ttl_ms: Option<u64>,
    /// Key under which a repeated request gives the same run.
    pub idempotency_key: Option<String>,
    /// Who asks.
    pub origin: Origin,
    /// What contains it; `None` is the host as it is. Its workspace is filled in by the start.
    pub containment: Option<Containment>,
    /// The task, if the command is the program of a sub-agent: then the run is of kind `agent`.
    pub delegated: Option<Delegated>,
}

impl Request {
    /// Returns a request for `command` in `cwd` with an empty environment and every default.
    pub fn new(command: CommandLine, cwd: impl Into<std::path::PathBuf>) -> Self {
        Self {
            command,
            cwd: cwd.into(),
            environment: Vec::new(),
            env_set: Vec::new(),
            secret_env: Vec::new(),
            is_for_tool: false,
            label: None,
            session: None,
            timeout_ms: None,
            deadline: None,
            grace_ms: None,
            stop_signal: None,
            stop_command: None,
            output_bytes_max: None,
            leftovers: Leftovers::Report,
            lifetime: Lifetime::Detached,
            holder: None,
            stdin: Stdin::Null,
            is_queued: false,
            queue_ms: None,
            idle_ttl_ms: None,
            idempotency_key: None,
            origin: Origin::default(),
            containment: None,
            delegated: None,
        }
    }

    /// Checks what can be checked without looking at the machine.
    ///
    /// Numbers out of range are clamped and each clamp is said in `notices`.
    ///
    /// # Errors
    ///
    /// Fails on the first thing that cannot be made right.
    pub fn check(&self, limits: &Limits, now: Timestamp) -> Result<Checked, RequestError> {
        let command = self.check_command()?;
        let command = match &self.delegated {
            Some(delegated) => delegated.check()?.to_owned(),
            None => command,
        };
        if self.cwd.to_str().is_none() {
            return Err(RequestError::NotUtf8 {
                what: "directory",
                lossy: self.cwd.to_string_lossy().into_owned(),
            });
        }
        self.check_environment()?;
        for (what, name) in [
            ("session", &self.session),
            ("idempotency key", &self.idempotency_key),
        ] {
            if let Some(name) = name {
                check_name(what, name)?;
            }
        }
        if let Some(deadline) = self.deadline.filter(|deadline| *deadline <= now) {
            return Err(RequestError::DeadlinePassed { deadline });
        }
        let mut notices = Vec::new();
        let stop_signal = match &self.stop_signal {
            Some(name) => {
                let number = signal_number(name)
                    .ok_or_else(|| RequestError::UnknownSignal { name: name.clone() })?;
                Some(signal_name(i32::from(number)))
            }
            None => None,
        };
        if let Some(text) = &self.stop_command {
            check_text("stop command", text, limits::ARGUMENT_BYTES_MAX)?;
        }
        let timeout = self.timeout_ms.filter(|ms| *ms > 0);
        let idle = self.idle_ttl_ms.filter(|ms| *ms > 0);
        let mut time = |what: &str, ms: Option<u64>, most: u64| {
            ms.map(|ms| clamp(&mut notices, what, ms, 0, most, "ms"))
        };
        let timeout_ms = time("timeout", timeout, limits::TIMEOUT_MS_MAX);
        let idle_ttl_ms = time("idle-ttl", idle, limits::TIMEOUT_MS_MAX);
        let queue_ms = time("queue", self.queue_ms, limits::TIMEOUT_MS_MAX);
        let grace_ms =
            time("grace", self.grace_ms, limits::GRACE_MS_MAX).unwrap_or(limits.grace_ms);
        let output_bytes_max = clamp(
            &mut notices,
            "max-output",
            self.output_bytes_max.unwrap_or(limits.output_bytes_max),
            limits::OUTPUT_BYTES_MIN,
            limits::OUTPUT_BYTES_MAX,
            "bytes",
        );
        let turns_max = self.turns_max(&mut notices);
        Ok(Checked {
            turns_max,
            label: label(self.label.as_deref(), &command),
            command,
            stop_signal,
            timeout_ms,
            idle_ttl_ms,
            queue_ms,
            grace_ms,
            output_bytes_max,
            notices,
        })
    }

    fn turns_max(&self, notices: &mut Vec<String>) -> u64 {
        let asked = match &self.command {
            CommandLine::Agent(agent) => agent.turns_max,
            CommandLine::Direct(_) | CommandLine::Shell { .. } => None,
        };
        let asked = asked.unwrap_or(limits::TURNS);
        clamp(notices, "max-turns", asked, 1, limits::TURNS_MAX, "turns")
    }

    fn check_command(&self) -> Result<String, RequestError> {
        match &self.command {
            CommandLine::Direct(words) => {
                if words.first().is_none_or(String::is_empty) {
                    return Err(RequestError::EmptyCommand);
                }
                for word in words {
                    check_text("argument", word, limits::ARGUMENT_BYTES_MAX)?;
                }
                Ok(text::quote_words(words))
            }
            CommandLine::Shell { text, .. } => {
                if text.trim().is_empty() {
                    return Err(RequestError::EmptyCommand);
                }
                check_text("command", text, limits::COMMAND_BYTES_MAX)?;
                Ok(text.clone())
            }
            CommandLine::Agent(agent) => {
                if agent.task.trim().is_empty() {
                    return Err(RequestError::Blank { what: "task" });
                }
                check_text("task", &agent.task, limits::TASK_BYTES_MAX)?;
                if let Some(until) = &agent.until {
                    check_text("check", until, limits::ARGUMENT_BYTES_MAX)?;
                }
                Ok(agent.task.clone())
            }
        }
    }

    fn check_environment(&self) -> Result<(), RequestError> {
        for (name, value) in &self.env_set {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(RequestError::EnvironmentName { name: name.clone() });
            }
            // The kernel takes `NAME=VALUE` as one string.
            let value_bytes_max = limits::ARGUMENT_BYTES_MAX.saturating_sub(name.len() + 1);
            check_text("environment value", value, value_bytes_max)?;
        }
        for (name, value) in &self.environment {
            if name.as_bytes().contains(&0) || value.as_bytes().contains(&0) {
                return Err(RequestError::NulByte {
                    what: "environment",
                });
            }
        }
        let inherited = self.environment.iter();
        let bytes: usize = inherited
            .map(|(name, value)| name.as_bytes().len() + value.as_bytes().len() + 2)
            .chain(
                self.env_set
                    .iter()
                    .map(|(name, value)| name.len() + value.len() + 2),
            )
            .sum();
        if bytes > limits::ENVIRONMENT_BYTES_MAX {
            return Err(RequestError::TooLong {
                what: "environment",
                bytes,
                bytes_max: limits::ENVIRONMENT_BYTES_MAX,
            });
        }
        Ok(())
    }
}

impl Delegated {
    /// Returns the task once it and what else is here can be kept.
    fn check(&self) -> Result<&str, RequestError> {
        if self.task.trim().is_empty() {
            return Err(RequestError::Blank { what: "task" });
        }
        check_text("task", &self.task, limits::COMMAND_BYTES_MAX)?;
        for (what, name) in [
            ("model", &self.model),
            ("child session", &self.child_session_id),
        ] {
            if let Some(name) = name {
                check_name(what, name)?;
            }
        }
        Ok(&self.task)
    }
}

fn check_name(what: &'static str, name: &str) -> Result<(), RequestError> {
    if name.trim().is_empty() {
        return Err(RequestError::Blank { what });
    }
    check_text(what, name, limits::NAME_BYTES_MAX)
}

fn check_text(what: &'static str, text: &str, bytes_max: usize) -> Result<(), RequestError> {
    if text.contains('\0') {
        return Err(RequestError::NulByte { what });
    }
    if text.len() > bytes_max {
        let bytes = text.len();
        return Err(RequestError::TooLong {
            what,
            bytes,
            bytes_max,
        });
    }
    Ok(())
}

fn clamp(
    notices: &mut Vec<String>,
    what: &str,
    asked: u64,
    least: u64,
    most: u64,
    unit: &str,
) -> u64 {
    let used = asked.clamp(least, most);
    if used != asked {
        let (asked, used) = (amount(asked, unit), amount(used, unit));
        // Amounts that differ by less than is written would read as the same.
        let asked = if asked == used {
            "a little more"
        } else {
            &asked
        };
        notices.push(format!("{what} of {asked} was set to {used}"));
    }
    used
}

/// Writes an amount as a person would: times in days or seconds.
fn amount(number: u64, unit: &str) -> String {
    const DAY_MS: u64 = 86_400_000;
    match unit {
        "ms" if number >= DAY_MS => format!("{} days", number / DAY_MS),
        "ms" => format!("{} s", number / 1_000),
        _ => format!("{number} {unit}"),
    }
}

/// A request whose own parts fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The command as a person would type it, of a sub-agent its task.
    pub command: String,
    /// Label.
    pub label: String,
    /// Signal in place of TERM.
    pub stop_signal: Option<String>,
    /// Time limit in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Longest time in milliseconds without a reader.
    pub idle_ttl_ms: Option<u64>,
    /// Longest wait for a place in milliseconds.
    pub queue_ms: Option<u64>,
    /// Time between the first signal and KILL, in milliseconds.
    pub grace_ms: u64,
    /// Output kept, in bytes.
    pub output_bytes_max: u64,
    /// Most turns of an agent run.
    pub turns_max: u64,
    /// What was clamped.
    pub notices: Vec<String>,
}

/// Why a request can be no run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// There is no command.
    #[error("the command is empty")]
    EmptyCommand,
    /// A name is blank.
    #[error("the {what} is blank")]
    Blank {
        /// Which.
        what: &'static str,
    },
    /// The kernel takes no NUL in a string.
    #[error("the {what} holds a NUL byte")]
    NulByte {
        /// Which part.
        what: &'static str,
    },
    /// A part is too long.
    #[error("the {what} has {bytes} bytes and the limit is {bytes_max}")]
    TooLong {
        /// Which part.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// A part is not UTF-8, and a record could not say it.
    #[error("the {what} is not UTF-8: `{lossy}`")]
    NotUtf8 {
        /// Which part.
        what: &'static str,
        /// What it looks like.
        lossy: String,
    },
    /// A variable cannot be called so.
    #[error("`{name}` cannot be the name of an environment variable")]
    EnvironmentName {
        /// The name.
        name: String,
    },
    /// No signal is called so.
    #[error("there is no signal `{name}`")]
    UnknownSignal {
        /// The name.
        name: String,
    },
    /// The deadline is over.
    #[error("the deadline {deadline} has passed")]
    DeadlinePassed {
        /// When it was.
        deadline: Timestamp,
    },
}

impl Advice for RequestError {
    fn code(&self) -> &'static str {
        match self {
            Self::EmptyCommand => "empty_command",
            Self::Blank { .. } => "blank",
            Self::NulByte { .. } => "nul_byte",
            Self::TooLong { .. } => "too_long",
            Self::NotUtf8 { .. } => "not_utf8",
            Self::EnvironmentName { .. } => "environment_name",
            Self::UnknownSignal { .. } => "unknown_signal",
            Self::DeadlinePassed { .. } => "deadline_passed",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::EmptyCommand => "give a program and its arguments, or a shell text".to_owned(),
            Self::Blank { what } => format!("leave the {what} away, or give it a name"),
            Self::NulByte { .. } => "remove the NUL byte".to_owned(),
            Self::TooLong {
                what: "argument", ..
            } => "pass the text in a file, or on stdin of a shell text".to_owned(),
            Self::TooLong {
                what: "command", ..
            } => "write the text into a script and run that".to_owned(),
            Self::TooLong { what: "task", .. } => {
                "put the long part into a file of the workspace and name it in the task".to_owned()
            }
            Self::TooLong { what, .. } => format!("shorten the {what}"),
            Self::NotUtf8 {
                what: "directory", ..
            } => {
                "start it in another directory and change into this one in a shell text".to_owned()
            }
            Self::NotUtf8 { .. } => {
                "run it through a shell text that spells the bytes, such as `$'\\xff'`".to_owned()
            }
            Self::EnvironmentName { .. } => "write NAME=VALUE, the name without `=`".to_owned(),
            Self::UnknownSignal { .. } => "use a name such as INT, TERM or USR1".to_owned(),
            Self::DeadlinePassed { .. } => "give a time that is still to come".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
