//! Why no container runs: as it is reported, in the engine's words where it had any.

use bollard::errors::Error;
use outlast_journal::{Failure, limits, policy::Report, text};

/// Why nothing was executed.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A step could not be done.
    Step {
        /// `engine` or `image`.
        step: &'static str,
        /// What went wrong.
        told: String,
        /// What to do about it.
        hint: String,
    },
    /// All is bound and the command could not be executed.
    Exec(Failure),
}

impl Refusal {
    /// Returns the refusal of a run that another backend may take.
    pub(super) fn engine(told: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Step {
            step: "engine",
            told: told.into(),
            hint: hint.into(),
        }
    }

    /// Returns the refusal of a run whose image is not there.
    pub(super) fn image(image: &str, program: &str) -> Self {
        Self::Step {
            step: "image",
            told: format!("the engine has no image `{image}`"),
            hint: format!("get it first: `{program} pull {image}`"),
        }
    }

    /// Returns the refusal that follows from what an engine said to a request.
    pub(super) fn of(what: &str, error: &Error) -> Self {
        let said = words(error);
        let lacks_init = said.contains("docker-init") || said.contains("container-init");
        let hint = if lacks_init {
            "install the engine's init: tini for docker, catatonit for podman"
        } else {
            "see the engine's log; `outlast doctor` says whether it answers"
        };
        Self::engine(format!("the engine would not {what}: {said}"), hint)
    }

    pub(super) fn report(self) -> Report {
        match self {
            Self::Step { step, told, hint } => Report::EngineRefused {
                step: step.to_owned(),
                told,
                hint,
            },
            Self::Exec(failure) => Report::ExecFailed { failure },
        }
    }
}

/// Returns an engine's words, no more of them than can be shown.
pub(super) fn words(error: &Error) -> String {
    let said = if let Error::DockerResponseServerError { message, .. } = error {
        message.trim().to_owned()
    } else {
        error.to_string()
    };
    text::cut_chars(&said.replace('\n', " "), limits::ENGINE_WORDS_CHARS)
}

/// Returns the status of an engine's answer, if it answered.
pub(super) fn status(error: &Error) -> Option<u16> {
    if let Error::DockerResponseServerError { status_code, .. } = error {
        return Some(*status_code);
    }
    None
}
