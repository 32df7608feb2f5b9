//! Why a contained run does not execute, and what to do about it.

use super::Contain;
use outlast_journal::Failure;
use outlast_journal::policy::{self, Report};
use std::io;

/// The code of a run that cannot be contained as asked.
pub(crate) const FAILED: &str = "containment_failed";
/// Why nothing executes.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) failure: Failure,
    /// The step that could not be done, if it was one.
    pub(super) step: Option<String>,
    /// What to do about a step that could not be done.
    pub(crate) hint: Option<String>,
}

/// Returns the refusal of a step that failed with `errno`, 0 where that is not known.
pub(super) fn broken(step: &str, errno: i32) -> Refused {
    Refused {
        failure: Failure {
            code: FAILED.to_owned(),
            message: format!("the run cannot be contained as asked: step `{step}` failed"),
            errno: Some(errno).filter(|errno| *errno != 0),
        },
        step: Some(step.to_owned()),
        hint: Some(policy::fix(step, errno).to_owned()),
    }
}

/// Returns the refusal of a container: an engine's words, and what to do.
pub(super) fn of_engine(step: &str, told: &str, hint: String) -> Refused {
    Refused {
        failure: Failure {
            code: FAILED.to_owned(),
            message: format!("no container can be had: step `{step}` failed: {told}"),
            errno: None,
        },
        step: Some(step.to_owned()),
        hint: Some(hint),
    }
}

impl Refused {
    /// Says that a container was asked for and `by` contains the run.
    pub(super) fn in_place_of_container(&self, by: &str) -> String {
        let (why, hint) = (&self.failure.message, self.hint.as_deref());
        let hint = hint.unwrap_or_default();
        format!(
            "{by} in place of a container, on this machine's own files: {why}; for a container: {hint}"
        )
    }

    /// Adds what native would not hold in its place.
    pub(super) fn nor_native(mut self, missing: &[String]) -> Self {
        let missing = missing.join(", ");
        self.failure.message = format!(
            "{}; in its place native does not hold {missing}",
            self.failure.message
        );
        self
    }

    /// Adds why native cannot take its place either.
    pub(super) fn nor_by(mut self, native: &Self) -> Self {
        let step = native.step.as_deref().unwrap_or_default();
        let errno = native.failure.errno.map(io::Error::from_raw_os_error);
        let errno = errno.map(|error| format!(": {error}")).unwrap_or_default();
        self.failure.message = format!(
            "{}; for native in its place step `{step}` failed{errno}",
            self.failure.message
        );
        if let Some(hint) = &native.hint {
            let own = self.hint.unwrap_or_default();
            self.hint = Some(format!("{own}; for native: {hint}"));
        }
        self
    }

    /// Adds what could be missed instead.
    pub(super) fn or_alone(mut self) -> Self {
        let names = policy::NOT_BY_LANDLOCK
            .map(|one| format!("\"{one}\""))
            .join(", ");
        let hint = self.hint.unwrap_or_default();
        self.hint = Some(format!(
            "{hint}; or accept Landlock alone: `may_miss = [{names}]` in [sandbox]"
        ));
        self
    }

    /// Adds that bubblewrap could not take its place, and at which step.
    pub(super) fn nor_bubblewrap(mut self, other: &Self) -> Self {
        let step = other.step.as_deref().unwrap_or_default();
        let errno = other.failure.errno.map(io::Error::from_raw_os_error);
        let errno = errno.map(|error| format!(": {error}")).unwrap_or_default();
        let hint = self.hint.unwrap_or_default();
        self.hint = Some(format!(
            "{hint}; bubblewrap failed too, at step `{step}`{errno}"
        ));
        self
    }

    /// Says why less was bound.
    pub(super) fn as_notice(&self, by: &str) -> String {
        let step = self.step.as_deref().unwrap_or_default();
        let errno = self.failure.errno.map(io::Error::from_raw_os_error);
        let errno = errno.map(|error| format!(": {error}")).unwrap_or_default();
        let hint = self.hint.as_deref().unwrap_or_default();
        format!("{by}, since step `{step}` failed{errno}; to have it contained by native: {hint}")
    }
}

impl Contain<'_> {
    /// Returns the refusal that follows from what was heard.
    pub(super) fn explained(&self, heard: Option<Report>) -> Refused {
        match heard {
            Some(Report::SetupFailed { step, errno }) => broken(&step, errno),
            Some(Report::ExecFailed { failure }) => Refused {
                failure: self.of_hidden(failure),
                step: None,
                hint: None,
            },
            Some(
                Report::Init { .. }
                | Report::Running { .. }
                | Report::Exited { .. }
                | Report::EngineRefused { .. }
                | Report::OutOfMemory
                | Report::Lost { .. },
            )
            | None => broken("launcher", 0),
        }
    }

    /// Says of a program that is not found inside and is there outside that it is hidden.
    fn of_hidden(&self, mut failure: Failure) -> Failure {
        let command = crate::command::Command {
            argv: self.argv,
            environment: self.environment,
            cwd: self.cwd,
        };
        if failure.code == "no_such_program" && command.is_there() {
            failure.message = format!(
                "{} inside of the containment, which hides it",
                failure.message
            );
        }
        failure
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            step: None,
            hint: None,
        }
    }
}
