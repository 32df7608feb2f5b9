//! Why a contained run does not execute, and what to do about it.

use outlast_journal::{Failure, policy};
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

impl Refused {
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

    /// Says why less was bound.
    pub(super) fn as_notice(&self, by: &str) -> String {
        let step = self.step.as_deref().unwrap_or_default();
        let errno = self.failure.errno.map(io::Error::from_raw_os_error);
        let errno = errno.map(|error| format!(": {error}")).unwrap_or_default();
        let hint = self.hint.as_deref().unwrap_or_default();
        format!("{by}, since step `{step}` failed{errno}; to have it contained by native: {hint}")
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
