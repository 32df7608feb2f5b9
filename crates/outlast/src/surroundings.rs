//! What the program takes from its environment: where things lie and how to speak.
//!
//! The only reader of environment variables. Everything else is given values.

use crate::agents;
use outlast_journal::error::Advice;
use std::{env, ffi::OsString, io, path::PathBuf};

/// Environment of the program, as far as it decides something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Surroundings {
    /// `$OUTLAST_HOME`.
    pub(crate) outlast_home: Option<PathBuf>,
    /// `$XDG_STATE_HOME`, if absolute.
    pub(crate) state_home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, if absolute.
    pub(crate) config_home: Option<PathBuf>,
    /// `$HOME`.
    pub(crate) home: Option<PathBuf>,
    /// `$OUTLAST_RUN`: the run that this process belongs to.
    pub(crate) run: Option<String>,
    /// `$CLAUDE_CODE_SESSION_ID`: the session of the host that started this process.
    pub(crate) host_session: Option<String>,
    /// `$CLAUDE_PROJECT_DIR`, if absolute: the project of that host.
    pub(crate) host_project: Option<PathBuf>,
    /// `$OUTLAST_INVOKED_BY`: the agents that led to this process, oldest first.
    pub(crate) invoked_by: Vec<String>,
    /// Whether `$NO_COLOR` or a dumb terminal forbids colours.
    pub(crate) is_plain: bool,
}

impl Surroundings {
    /// Reads the environment of this process.
    pub(crate) fn read() -> Self {
        Self::from_lookup(|name| env::var_os(name))
    }

    /// Reads an environment. A variable that is set to nothing counts as not set.
    pub(crate) fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let path = |name: &str| text(name).map(PathBuf::from);
        // The XDG rules tell programs to ignore relative paths.
        let absolute = |name: &str| path(name).filter(|path| path.is_absolute());
        Self {
            outlast_home: path("OUTLAST_HOME"),
            state_home: absolute("XDG_STATE_HOME"),
            config_home: absolute("XDG_CONFIG_HOME"),
            home: path("HOME"),
            run: text("OUTLAST_RUN").and_then(|id| id.into_string().ok()),
            host_session: text("CLAUDE_CODE_SESSION_ID").and_then(|id| id.into_string().ok()),
            host_project: absolute("CLAUDE_PROJECT_DIR"),
            invoked_by: text(agents::INVOKED_BY)
                .map(|said| agents::chain(&said.to_string_lossy()))
                .unwrap_or_default(),
            is_plain: text("NO_COLOR").is_some() || text("TERM").is_some_and(|term| term == "dumb"),
        }
    }

    /// Returns the directory of the store, an absolute path.
    ///
    /// # Errors
    ///
    /// Fails when no variable says where that would be.
    pub(crate) fn store(&self) -> Result<PathBuf, SurroundingsError> {
        let path = match (&self.outlast_home, &self.state_home, &self.home) {
            (Some(store), _, _) => store.clone(),
            (None, Some(state), _) => state.join("outlast"),
            (None, None, Some(home)) => home.join(".local/state/outlast"),
            (None, None, None) => return Err(SurroundingsError::NoHome),
        };
        // Supervisors stand in other directories, so a relative path would mean others to them.
        std::path::absolute(path).map_err(SurroundingsError::WorkDir)
    }

    /// Returns where the configuration is, whether there is one or not.
    pub(crate) fn config(&self) -> Option<PathBuf> {
        let folder = match (&self.config_home, &self.home) {
            (Some(config), _) => config.clone(),
            (None, Some(home)) => home.join(".config"),
            (None, None) => return None,
        };
        Some(folder.join("outlast/config.toml"))
    }
}

/// Returns the directory that this process stands in, without symbolic links.
///
/// # Errors
///
/// Fails when it was removed or cannot be reached.
pub(crate) fn work_dir() -> Result<PathBuf, SurroundingsError> {
    env::current_dir()
        .and_then(|path| path.canonicalize())
        .map_err(SurroundingsError::WorkDir)
}

/// What is missing around the program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SurroundingsError {
    /// Nothing says where the store is.
    #[error("no variable says where the store is")]
    NoHome,
    /// The current directory is not to be had.
    #[error("the current directory cannot be used")]
    WorkDir(#[source] io::Error),
}

impl Advice for SurroundingsError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoHome => "no_home",
            Self::WorkDir(_) => "cwd_unusable",
        }
    }

    fn hint(&self) -> String {
        let hint = match self {
            Self::NoHome => "set HOME, or OUTLAST_HOME to the directory of the store",
            Self::WorkDir(_) => "go to a directory that exists and try again",
        };
        hint.to_owned()
    }
}

#[cfg(test)]
mod tests;
