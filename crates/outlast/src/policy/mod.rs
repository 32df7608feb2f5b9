//! What a host may start: rules of the user, which a project may only tighten.
//!
//! Every surface on which others start runs asks here before it does. Each file
//! is a layer of rules, and a start must pass every layer. The rules are about
//! the words of a request; what a command does once it runs is the business of
//! its containment, of which a project may lower what a host can ask for.

mod pattern;
mod project;
mod rules;

pub(crate) use rules::{KEYS, Rules, TABLE};

use crate::{
    config::ConfigError,
    sandbox::{self, Bound, Sandbox},
    words,
};
use outlast_journal::text;
use outlast_lib::{Advice, CommandLine, Request, limits};
use pattern::Reach;
use std::path::{Path, PathBuf};

/// The rules that hold for one start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    layers: Vec<Rules>,
    bounds: Vec<Bound>,
}

impl Policy {
    /// Returns the rules of the user with those of these project folders.
    ///
    /// A project without a file tightens nothing.
    ///
    /// # Errors
    ///
    /// Fails when a project's file cannot be used: rules that were meant to hold must.
    pub(crate) fn of(user: Option<&Rules>, projects: &[&Path]) -> Result<Self, PolicyError> {
        let mut layers: Vec<Rules> = user.cloned().into_iter().collect();
        let mut bounds = Vec::new();
        for (at, project) in projects.iter().enumerate() {
            let is_new = projects.iter().take(at).all(|before| before != project);
            if is_new {
                let said = project::read(project)?;
                layers.extend(said.rules);
                bounds.extend(said.bound);
            }
        }
        Ok(Self { layers, bounds })
    }

    /// Returns what the projects leave of the user's words on containment.
    pub(crate) fn lower(&self, user: Sandbox) -> Sandbox {
        user.lowered(&self.bounds)
    }

    /// Has a request keep the rules; returns a notice where one made its time limit shorter.
    ///
    /// # Errors
    ///
    /// Fails when a rule forbids its command, its stop command, or a variable that it sets.
    pub(crate) fn keep(&self, request: &mut Request) -> Result<Option<String>, PolicyError> {
        let typed = match &request.command {
            CommandLine::Shell { text, .. } => Some(text.clone()),
            CommandLine::Direct(words) => Some(text::quote_words(words)),
            // A task is no command; what checks it is.
            CommandLine::Agent(agent) => agent.until.clone(),
        };
        for text in typed.iter().chain(&request.stop_command) {
            self.check_command(text)?;
        }
        for (name, _) in &request.env_set {
            self.check_env(name)?;
        }
        let (timeout_ms, notice) = self.timeout_ms(request.timeout_ms.unwrap_or(0));
        request.timeout_ms = Some(timeout_ms);
        Ok(notice)
    }

    /// Refuses a shell text that a rule forbids.
    ///
    /// # Errors
    ///
    /// Fails when it matches a `deny` pattern, or none of an `allow` list.
    fn check_command(&self, text: &str) -> Result<(), PolicyError> {
        let text = text.trim();
        for layer in &self.layers {
            let denied = layer.deny.iter().position(|one| one.fits(text, Reach::All));
            if let Some(at) = denied {
                return Err(PolicyError::Denied {
                    pattern: layer.deny[at].text().to_owned(),
                    number: at + 1,
                    file: layer.file.clone(),
                });
            }
            if let Some(allow) = &layer.allow
                && !allow.iter().any(|one| one.fits(text, Reach::OneCommand))
            {
                return Err(PolicyError::NotAllowed {
                    patterns: allow.iter().map(|one| one.text().to_owned()).collect(),
                    file: layer.file.clone(),
                });
            }
        }
        Ok(())
    }

    /// Refuses a variable that a host may not set.
    ///
    /// A layer that has an `allow` list and says nothing of `env` allows none: a variable can
    /// make a shell or a program run something else.
    ///
    /// # Errors
    ///
    /// Fails when a layer does not allow the name.
    fn check_env(&self, name: &str) -> Result<(), PolicyError> {
        for layer in &self.layers {
            let allowed = match (&layer.env, &layer.allow) {
                (Some(names), _) => names.as_slice(),
                (None, Some(_)) => &[],
                (None, None) => continue,
            };
            if !allowed.iter().any(|one| one.fits(name, Reach::All)) {
                return Err(PolicyError::Env {
                    name: name.to_owned(),
                    names: allowed.iter().map(|one| one.text().to_owned()).collect(),
                    is_said: layer.env.is_some(),
                    file: layer.file.clone(),
                });
            }
        }
        Ok(())
    }

    /// Returns the time limit to use in milliseconds, 0 for none, and a notice where a rule made
    /// it shorter.
    fn timeout_ms(&self, asked_ms: u64) -> (u64, Option<String>) {
        let bounds = self.layers.iter();
        let bounds = bounds.filter_map(|layer| Some((layer.timeout_ms_max?, layer)));
        let Some((most, layer)) = bounds.min_by_key(|(most, _)| *most) else {
            return (asked_ms, None);
        };
        if asked_ms != 0 && asked_ms <= most {
            return (asked_ms, None);
        }
        let (limit, file) = (words::limit(most), layer.file.display());
        let notice =
            format!("the time limit was set to {limit} by `{TABLE}.timeout_max` of `{file}`");
        (most, Some(notice))
    }
}

/// Why a start is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PolicyError {
    /// A pattern forbids it.
    #[error(
        "the command matches the pattern `{pattern}` (number {number} of `{TABLE}.deny` in `{}`)",
        file.display()
    )]
    Denied {
        /// The pattern.
        pattern: String,
        /// Which of its list, from 1.
        number: usize,
        /// Where it stands.
        file: PathBuf,
    },
    /// No pattern allows it.
    #[error("the command matches no pattern of `{TABLE}.allow` in `{}`", file.display())]
    NotAllowed {
        /// Those that there are.
        patterns: Vec<String>,
        /// Where they stand.
        file: PathBuf,
    },
    /// The variable may not be set.
    #[error("`env` may not set `{name}` by `{TABLE}.{}` in `{}`", env_rule(*is_said), file.display())]
    Env {
        /// The variable.
        name: String,
        /// Those that may be.
        names: Vec<String>,
        /// Whether the file says which may.
        is_said: bool,
        /// Where it stands.
        file: PathBuf,
    },
    /// The file of a project is a link or no file.
    #[error("`{}` is no regular file", file.display())]
    NoFile {
        /// The file.
        file: PathBuf,
    },
    /// The file of a project is too long.
    #[error("`{}` is longer than {} bytes", file.display(), limits::PROJECT_FILE_BYTES_MAX)]
    TooLong {
        /// The file.
        file: PathBuf,
    },
    /// The file of a project cannot be understood.
    #[error("the rules of the project cannot be used")]
    Unusable(#[from] ConfigError),
}

impl Advice for PolicyError {
    fn code(&self) -> &'static str {
        match self {
            Self::Denied { .. } | Self::NotAllowed { .. } | Self::Env { .. } => "policy_denied",
            Self::NoFile { .. } | Self::TooLong { .. } | Self::Unusable(_) => "policy_unusable",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Denied { .. } => {
                "do it in another way, or ask the user, who alone may change that file".to_owned()
            }
            Self::NotAllowed { patterns, .. } => format!(
                "{}; a `*` stands for no sign that begins another command; the user alone may \
                 change that file",
                listed("allowed is", patterns)
            ),
            Self::Env { names, .. } => {
                format!("{}, or leave it out", listed("`env` may set", names))
            }
            Self::NoFile { .. } | Self::TooLong { .. } => {
                "the user must mend it: rules of a project that cannot be read are not passed over"
                    .to_owned()
            }
            Self::Unusable(ConfigError::Key { key, .. })
                if !key.starts_with(&format!("{TABLE}.")) =>
            {
                format!(
                    "the file of a project may have [{TABLE}] and [{}], this with {}",
                    sandbox::TABLE,
                    sandbox::PROJECT_KEYS.join(", ")
                )
            }
            Self::Unusable(error) => error.hint(),
        }
    }
}

fn env_rule(is_said: bool) -> &'static str {
    if is_said {
        "env"
    } else {
        "allow` without `env"
    }
}

fn listed(what: &str, patterns: &[String]) -> String {
    if patterns.is_empty() {
        return format!("{what} nothing");
    }
    let named = patterns.iter().take(limits::PATTERNS_NAMED_MAX);
    let named: Vec<String> = named.map(|text| format!("`{text}`")).collect();
    let more = patterns.len().saturating_sub(named.len());
    let named = named.join(", ");
    match more {
        0 => format!("{what} {named}"),
        more => format!("{what} {named} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
