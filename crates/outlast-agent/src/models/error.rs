//! Why a model could not be asked, or did not answer.

use super::Provider;
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
    /// No request can be made of the address, the key or the name.
    #[error("no request to model `{model}` at `{place}` can be made: {what}")]
    Unsent {
        /// The model.
        model: String,
        /// The address.
        place: String,
        /// What is wrong.
        what: String,
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
    #[error("model `{model}` gave no turn (attempts: {attempts}), at last: {fault}: `{said}`")]
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
            Self::Unsent { .. } => "model_request_unsent",
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
            Self::Unsent { .. } => "correct the address and the key".into(),
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

/// Why there is no model for a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// None was named, and none is there.
    #[error("there is no model: none is named, no key is set, no local server answers")]
    NoModel,
    /// The name says nothing of a provider, and no local server has it.
    #[error("`{asked}` is no model that is known here")]
    UnknownName {
        /// What was asked for.
        asked: String,
    },
    /// The key of the provider is not set.
    #[error("there is no key for {provider}")]
    NoKey {
        /// The provider.
        provider: Provider,
    },
    /// A server with the chat form was asked for, and its address is not set.
    #[error("`{asked}` has no address")]
    NoAddress {
        /// What was asked for.
        asked: String,
    },
    /// An address cannot be used. It is not shown: there may be a password in it.
    #[error("`{variable}` {what}")]
    Address {
        /// The variable.
        variable: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The provider's list does not have the model.
    #[error("`{place}` has no model `{name}`")]
    NotListed {
        /// The model.
        name: String,
        /// Who was asked.
        place: String,
        /// Models that it has.
        nearest: Vec<String>,
        /// How many it has.
        count: usize,
    },
    /// No model was named, and which to take is not known.
    #[error("`{place}` has no model that is known here")]
    NoName {
        /// Who was asked.
        place: String,
    },
    /// Nobody answers at an address of this machine.
    #[error("no server of models answers at `{place}`")]
    NoServer {
        /// The address.
        place: String,
        /// Why.
        source: reqwest::Error,
    },
    /// An agent below another asked for a model of another provider.
    #[error("`{asked}` is no model of {provider}, which the run above uses")]
    OtherProvider {
        /// What was asked for.
        asked: String,
        /// The provider of the run above.
        provider: Provider,
    },
    /// No client could be made.
    #[error("no HTTP client can be made for models")]
    Client {
        /// Why.
        source: reqwest::Error,
    },
}

impl Advice for ChooseError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoModel => "no_model",
            Self::UnknownName { .. } => "unknown_model",
            Self::NoKey { .. } => "no_model_key",
            Self::NoAddress { .. } => "no_model_address",
            Self::Address { .. } => "bad_model_address",
            Self::NotListed { .. } | Self::NoName { .. } => "model_not_found",
            Self::NoServer { .. } => "model_unreachable",
            Self::OtherProvider { .. } => "other_provider",
            Self::Client { .. } => "model_client",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::NoModel => "name one with `--model` or `OUTLAST_MODEL`, set \
                `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY`, set \
                `OPENAI_BASE_URL` to a server with OpenAI's chat form, or start an Ollama or a \
                llama.cpp server"
                .into(),
            Self::UnknownName { .. } => "write `claude-…`, `gpt-…`, `gemini-…`, `ollama/NAME`, \
                `llama.cpp/NAME`, `openai/NAME`, `anthropic/NAME` or `gemini/NAME`; for another \
                server set `OPENAI_BASE_URL`"
                .into(),
            Self::NoKey { provider } => format!("set `{}`", provider.key_variable()),
            Self::NoAddress { .. } => "set `OPENAI_BASE_URL`; most end with `/v1`".into(),
            Self::Address { variable, .. } => {
                format!("set `{variable}` to an address such as `http://127.0.0.1:8000/v1`")
            }
            Self::NotListed { nearest, count, .. } => {
                let names: Vec<_> = nearest.iter().map(|name| format!("`{name}`")).collect();
                let more = count.saturating_sub(nearest.len());
                match (names.is_empty(), more) {
                    (true, _) => "give the server a model first".into(),
                    (false, 0) => format!("it has {}", names.join(", ")),
                    (false, more) => format!("it has {} and {more} more", names.join(", ")),
                }
            }
            Self::NoName { .. } => "name one with `--model`".into(),
            Self::NoServer { .. } => "start the server, or correct its address".into(),
            Self::OtherProvider { provider, .. } => {
                format!("leave the model out, or name one of {provider}")
            }
            Self::Client { .. } => "install the system's root certificates".into(),
        }
    }
}
