//! Why a model could not be asked, or did not answer.

use outlast_journal::error::Advice;
use std::fmt;

/// Why there is no turn. What the provider said is cut and holds no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No client could be made.
    #[error("no HTTP client can be made for models")]
    Client {
        /// Why.
        source: reqwest::Error,
    },
    /// The key is missing, wrong, or not allowed to do this.
    #[error("`{place}` refused the key for model `{model}` (status {status}): `{said}`")]
    Auth {
        /// The model.
        model: String,
        /// Who refused.
        place: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        said: String,
    },
    /// The account has no means left.
    #[error("`{place}` has no credit left for model `{model}`: `{said}`")]
    Quota {
        /// The model.
        model: String,
        /// Who refused.
        place: String,
        /// What it said.
        said: String,
    },
    /// There is no such model there.
    #[error("`{place}` has no model `{model}`: `{said}`")]
    NotFound {
        /// The model.
        model: String,
        /// Who was asked.
        place: String,
        /// What it said.
        said: String,
    },
    /// The conversation does not fit into the model's window.
    #[error("the conversation is too long for model `{model}`: `{said}`")]
    TooLong {
        /// The model.
        model: String,
        /// What the provider said.
        said: String,
    },
    /// The request means nothing to the provider.
    #[error("model `{model}` does not take the request (status {status}): `{said}`")]
    Invalid {
        /// The model.
        model: String,
        /// The HTTP status.
        status: u16,
        /// What the provider said.
        said: String,
    },
    /// The provider does not let the model see the conversation.
    #[error("the provider of model `{model}` blocks the conversation: `{said}`")]
    Blocked {
        /// The model.
        model: String,
        /// The provider's reason.
        said: String,
    },
    /// What answers is no model.
    #[error("what answers at `{place}` is no model: {what}")]
    NotAModel {
        /// The address.
        place: String,
        /// What it is, in words.
        what: String,
    },
    /// Attempts or time are used up.
    #[error("model `{model}` gave no turn in {attempts} attempts, at last: {fault}: `{said}`")]
    Unavailable {
        /// The model.
        model: String,
        /// What went wrong the last time.
        fault: Fault,
        /// How often it was asked.
        attempts: u32,
        /// What was said the last time.
        said: String,
    },
}

/// What is worth another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The provider wants fewer requests.
    RateLimited,
    /// The provider has no room for now.
    Overloaded,
    /// The provider's server failed.
    ServerFailed,
    /// No connection.
    Unreachable,
    /// The answer broke off, or ended without an end.
    Cut,
    /// Nothing came in time.
    Stalled,
    /// What came is no answer.
    Unreadable,
}

impl Fault {
    /// Returns the name that programs may match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::RateLimited => "model_rate_limited",
            Self::Overloaded => "model_overloaded",
            Self::ServerFailed => "model_server_failed",
            Self::Unreachable => "model_unreachable",
            Self::Cut => "model_cut",
            Self::Stalled => "model_stalled",
            Self::Unreadable => "model_unreadable",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::RateLimited => "too many requests",
            Self::Overloaded => "the provider is overloaded",
            Self::ServerFailed => "the provider's server failed",
            Self::Unreachable => "its server cannot be reached",
            Self::Cut => "the answer broke off",
            Self::Stalled => "nothing came in time",
            Self::Unreadable => "what came is no answer",
        })
    }
}

impl Advice for ModelError {
    fn code(&self) -> &'static str {
        match self {
            Self::Client { .. } => "model_client",
            Self::Auth { .. } => "model_auth",
            Self::Quota { .. } => "model_quota",
            Self::NotFound { .. } => "model_not_found",
            Self::TooLong { .. } => "model_window_full",
            Self::Invalid { .. } => "model_request_invalid",
            Self::Blocked { .. } => "model_blocked",
            Self::NotAModel { .. } => "not_a_model",
            Self::Unavailable { fault, .. } => fault.code(),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Client { .. } => "install the system's root certificates".into(),
            Self::Auth { .. } => "set a key that is valid there, and may use this model".into(),
            Self::Quota { .. } => "add credit at the provider, or choose another model".into(),
            Self::NotFound { .. } => "choose a model that the provider has".into(),
            Self::TooLong { .. } => "give a shorter task, or choose a model that holds more".into(),
            Self::Invalid { .. } => "choose another model; this one may not know tools".into(),
            Self::Blocked { .. } => "word the task in another way, or choose another model".into(),
            Self::NotAModel { .. } => "correct the address; most end with `/v1`".into(),
            Self::Unavailable { fault, .. } => match fault {
                Fault::Unreachable => "start the server, or correct its address".into(),
                Fault::RateLimited
                | Fault::Overloaded
                | Fault::ServerFailed
                | Fault::Cut
                | Fault::Stalled
                | Fault::Unreadable => "resume the run later, or choose another model".into(),
            },
        }
    }
}
