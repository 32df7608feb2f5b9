//! What the program says when it could not do what was asked.
//!
//! The one place where errors become words: fact with its causes, next step,
//! stable name, and an exit code. On stderr for people, one document on stdout
//! for programs that asked for JSON.

use crate::look::clean;
use outlast_journal::{RunId, error::Advice};
use serde::Serialize;
use std::{
    error::Error,
    fmt,
    io::{self, ErrorKind},
};

/// Exit codes of `CONTRACT.md` that are ours; the rest is the run's own.
pub(crate) mod exit {
    /// All is well.
    pub(crate) const FINE: u8 = 0;
    /// Something went wrong.
    pub(crate) const ERROR: u8 = 1;
    /// The command line means nothing.
    pub(crate) const USAGE: u8 = 2;
    /// There is no such run.
    pub(crate) const NO_RUN: u8 = 3;
    /// The wait ended and the run goes on.
    pub(crate) const STILL_RUNNING: u8 = 75;
    /// Outlast failed where a run's own code is expected.
    pub(crate) const OUTLAST_FAILED: u8 = 125;
    /// The command could not be started.
    pub(crate) const NOT_STARTED: u8 = 126;
    /// There is no such program.
    pub(crate) const NO_PROGRAM: u8 = 127;
}

/// Why a verb ended before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It could not do what was asked.
    Failure(Box<Failure>),
    /// Nobody reads its output any more. That is no error of anyone.
    PipeClosed,
}

/// A failure in its four parts, and the exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The fact.
    message: String,
    /// What led to it, nearest first.
    causes: Vec<String>,
    /// The next step.
    hint: String,
    /// Stable name.
    code: String,
    /// Exit code of the program.
    exit: u8,
    /// The run that records it, if one does.
    run: Option<RunId>,
}

impl Failure {
    /// Returns the failure that `error` tells of.
    pub(crate) fn new(error: &dyn Advice, exit: u8) -> Self {
        Self {
            message: error.to_string(),
            causes: causes(error),
            hint: error.hint(),
            code: error.code().to_owned(),
            exit,
            run: None,
        }
    }

    /// Returns a failure that no library error tells of.
    pub(crate) fn plain(code: &str, message: String, hint: &str, exit: u8) -> Self {
        Self {
            message,
            causes: Vec::new(),
            hint: hint.to_owned(),
            code: code.to_owned(),
            exit,
            run: None,
        }
    }

    /// Returns the same failure, naming the run that records it.
    pub(crate) fn of_run(mut self, id: RunId) -> Self {
        self.run = Some(id);
        self
    }

    /// Returns the stable name.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// Returns the run that records it, if one does.
    pub(crate) fn run(&self) -> Option<RunId> {
        self.run
    }

    /// Returns the next step.
    pub(crate) fn hint(&self) -> &str {
        &self.hint
    }

    /// Returns the same failure with another next step.
    pub(crate) fn with_hint(mut self, hint: String) -> Self {
        self.hint = hint;
        self
    }

    /// Returns the exit code.
    pub(crate) fn exit(&self) -> u8 {
        self.exit
    }

    /// Returns the document for programs.
    pub(crate) fn document(&self) -> ErrorDocument<'_> {
        ErrorDocument {
            error: ErrorFields {
                code: &self.code,
                message: self.sentence(),
                hint: &self.hint,
                id: self.run,
            },
        }
    }

    /// Returns the fact and what led to it, on one line.
    pub(crate) fn sentence(&self) -> String {
        let mut sentence = clean(&self.message);
        for cause in &self.causes {
            sentence.push_str(": ");
            sentence.push_str(cause);
        }
        sentence
    }
}

/// A failure for programs.
#[derive(Serialize)]
pub(crate) struct ErrorDocument<'a> {
    error: ErrorFields<'a>,
}

#[derive(Serialize)]
struct ErrorFields<'a> {
    code: &'a str,
    message: String,
    hint: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<RunId>,
}

/// The three lines for people.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.sentence())?;
        if !self.hint.is_empty() {
            writeln!(f, "hint: {}", self.hint)?;
        }
        writeln!(f, "code: {}", self.code)
    }
}

impl Stop {
    /// Returns the same where a run's own code is expected, which may be 1: plain errors are 125.
    pub(crate) fn beside_a_run(mut self) -> Self {
        if let Self::Failure(failure) = &mut self
            && failure.exit == exit::ERROR
        {
            failure.exit = exit::OUTLAST_FAILED;
        }
        self
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(Box::new(failure))
    }
}

/// What went wrong with the program's own output.
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe {
            return Self::PipeClosed;
        }
        let failure = Failure {
            message: "cannot write the output".to_owned(),
            causes: vec![error.to_string()],
            hint: "see whether the disk of the output is full".to_owned(),
            code: "output_failed".to_owned(),
            exit: exit::ERROR,
            run: None,
        };
        failure.into()
    }
}

fn causes(error: &dyn Advice) -> Vec<String> {
    let mut causes = Vec::new();
    let mut next: Option<&dyn Error> = error.source();
    while let Some(cause) = next {
        causes.push(one_line(&cause.to_string()));
        next = cause.source();
    }
    causes
}

/// Returns the first line of a text and its last, which says what is wrong.
///
/// Parsers draw the place between the two.
fn one_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let Some(last) = lines.next_back() else {
        return clean(first);
    };
    let first = first.trim_end_matches(':');
    let last = last.strip_prefix("error: ").unwrap_or(last);
    clean(&format!("{first}: {last}"))
}

#[cfg(test)]
mod tests;
