//! How a host says what program a sub-agent is.

use crate::{Advice, Containment};
use outlast_journal::agent::AgentRequest;
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Makes the program of a sub-agent, or refuses it. Called on the thread of the tool call.
///
/// It decides whether the model that was asked for is one of the same provider.
pub type Spawner = Arc<dyn Fn(&SubAgent) -> Result<Spawned, SpawnError> + Send + Sync>;

/// A sub-agent that a model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubAgent {
    /// What it is to do.
    pub task: String,
    /// What it is called.
    pub label: Option<String>,
    /// Model that it is to have; absent for the usual one.
    pub model: Option<String>,
    /// Session that asks.
    pub session: String,
    /// Directory in which it will run.
    pub cwd: PathBuf,
}

/// What carries a sub-agent out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spawned {
    /// A program that works on the task to its end and prints its final message. It is started
    /// as a run, so it outlives the host. It must be given no spawner: one level is the most.
    Command {
        /// The program and its arguments, executed as they are. An argument has 131,071 bytes
        /// at most: a longer task has to go by another way.
        words: Vec<String>,
        /// Variables set on top of those of all runs.
        env: Vec<(String, String)>,
        /// Session that the sub-agent has in its own program, by which a reader finds it.
        child_session_id: Option<String>,
    },
    /// An agent run of our own, which the store starts like any other.
    Agent {
        /// What is asked of it: the task, the model.
        request: Box<AgentRequest>,
        /// The whole environment of its worker, with the key of its model.
        environment: Vec<(OsString, OsString)>,
        /// What contains its calls: no more than the session's own may do.
        containment: Option<Box<Containment>>,
    },
}

impl Spawned {
    /// Returns the session that the sub-agent has in a program of its own.
    pub(super) fn child_session_id(&self) -> Option<&str> {
        match self {
            Self::Command {
                child_session_id, ..
            } => child_session_id.as_deref(),
            Self::Agent { .. } => None,
        }
    }
}

/// Why a host makes no sub-agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The model is not one of the provider that the session uses.
    #[error("model `{model}` is not one of this provider")]
    ModelRefused {
        /// The model that was asked for.
        model: String,
        /// Models that would do, the usual one first.
        known: Vec<String>,
    },
    /// The host cannot make one now.
    #[error("the host can start no sub-agent")]
    Failed {
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl Advice for SpawnError {
    fn code(&self) -> &'static str {
        match self {
            Self::ModelRefused { .. } => "model_refused",
            Self::Failed { .. } => "spawn_failed",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::ModelRefused { known, .. } if !known.is_empty() => {
                format!("leave `model` out, or use one of `{}`", known.join("`, `"))
            }
            Self::ModelRefused { .. } => "leave `model` out".to_owned(),
            Self::Failed { .. } => "do the task yourself, or try again later".to_owned(),
        }
    }
}
