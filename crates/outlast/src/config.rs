//! The configuration file: limits that a user sets, each with where it comes from, and the rules
//! for what hosts may start, which `policy` reads.
//!
//! A key that is not known is an error, never ignored: a limit that was meant
//! to hold and does not is worse than a program that will not start.

pub(crate) mod agent;

use crate::{
    policy::{self, Rules},
    sandbox::{self, Sandbox},
    values::{duration_ms, size_bytes},
};
use agent::AgentConfig;
use outlast_journal::{Limits, error::Advice};
use serde_json::{Value as Json, json};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};
use toml::{Table, Value};

/// Name of the table with the limits.
const TABLE: &str = "limits";

/// Name of the table for `outlast serve`, and of its only key.
const SERVE: (&str, &str) = ("serve", "port");

/// What is configured.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Limits that hold.
    pub(crate) limits: Limits,
    /// What contains runs.
    pub(crate) sandbox: Sandbox,
    /// What agent runs use.
    pub(crate) agent: AgentConfig,
    /// The file, whether there is one or not.
    pub(crate) path: Option<PathBuf>,
    /// Whether there is one.
    pub(crate) is_there: bool,
    /// Port of `outlast serve`, if it says one.
    pub(crate) serve_port: Option<u16>,
    /// Rules for what hosts may start, if it has any.
    pub(crate) rules: Option<Rules>,
    /// Keys that it sets.
    set: Vec<&'static str>,
}

/// One limit that can be set.
struct Key {
    name: &'static str,
    /// What a value looks like.
    form: &'static str,
    write: fn(&mut Limits, &Value) -> Option<()>,
    read: fn(&Limits) -> Json,
}

/// Every limit that can be set, in the order in which they are shown.
const KEYS: [Key; 10] = [
    Key {
        name: "runs_per_session",
        form: COUNT,
        write: |limits, value| count(value).map(|read| limits.session_runs_max = read),
        read: |limits| json!(limits.session_runs_max),
    },
    Key {
        name: "runs_per_store",
        form: COUNT,
        write: |limits, value| count(value).map(|read| limits.store_runs_max = read),
        read: |limits| json!(limits.store_runs_max),
    },
    Key {
        name: "agent_runs",
        form: COUNT,
        write: |limits, value| count(value).map(|read| limits.agent_runs_max = read),
        read: |limits| json!(limits.agent_runs_max),
    },
    Key {
        name: "depth",
        form: COUNT,
        write: |limits, value| count(value).map(|read| limits.command_depth_max = read),
        read: |limits| json!(limits.command_depth_max),
    },
    Key {
        name: "agent_depth",
        form: COUNT,
        write: |limits, value| count(value).map(|read| limits.agent_depth_max = read),
        read: |limits| json!(limits.agent_depth_max),
    },
    Key {
        name: "descendants",
        form: COUNT,
        write: |limits, value| count(value).map(|read| limits.descendants_max = read),
        read: |limits| json!(limits.descendants_max),
    },
    Key {
        name: "max_output",
        form: "a number of bytes, or a size such as \"64MiB\"",
        write: |limits, value| size(value).map(|read| limits.output_bytes_max = read),
        read: |limits| json!(limits.output_bytes_max),
    },
    Key {
        name: "grace",
        form: TIME,
        write: |limits, value| time(value).map(|read| limits.grace_ms = read),
        read: |limits| json!(seconds(limits.grace_ms)),
    },
    Key {
        name: "tool_timeout",
        form: TIME,
        write: |limits, value| time(value).map(|read| limits.tool_timeout_ms = read),
        read: |limits| json!(seconds(limits.tool_timeout_ms)),
    },
    Key {
        name: "retention_days",
        form: COUNT,
        write: |limits, value| count(value).map(|read| limits.retention_days = read),
        read: |limits| json!(limits.retention_days),
    },
];

const COUNT: &str = "a whole number from 0";
const TIME: &str = "a number of seconds, or a time such as \"5s\" or \"30m\"";

/// One limit as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Its key.
    pub(crate) name: &'static str,
    /// Its value; times in seconds, sizes in bytes.
    pub(crate) value: Json,
    /// Whether the file says so; else it is the default.
    pub(crate) is_set: bool,
}

impl Setting {
    /// Returns where the value comes from.
    pub(crate) fn source(&self) -> &'static str {
        if self.is_set { "file" } else { "default" }
    }
}

impl Config {
    /// Reads the file at `path`; one that is not there says nothing.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be read, is no TOML, or says something that means nothing.
    pub(crate) fn load(path: Option<PathBuf>) -> Result<Self, ConfigError> {
        let text = match &path {
            Some(path) => read(path)?,
            None => None,
        };
        let mut config = Self {
            limits: Limits::default(),
            sandbox: Sandbox::default(),
            agent: AgentConfig::default(),
            is_there: text.is_some(),
            rules: None,
            path,
            serve_port: None,
            set: Vec::new(),
        };
        if let (Some(text), Some(path)) = (text, config.path.clone()) {
            config.take(&text, &path)?;
        }
        Ok(config)
    }

    fn take(&mut self, text: &str, path: &Path) -> Result<(), ConfigError> {
        let file = || path.to_owned();
        let table: Table = text.parse().map_err(|source| ConfigError::Form {
            file: file(),
            source: Box::new(source),
        })?;
        for (name, value) in &table {
            let Value::Table(limits) = value else {
                return Err(unknown(file(), name));
            };
            if name == SERVE.0 {
                self.serve_port = serve_port(limits, path)?;
                continue;
            }
            if name == policy::TABLE {
                self.rules = Some(Rules::read(path, limits)?);
                continue;
            }
            if name == sandbox::TABLE {
                self.sandbox = Sandbox::read(path, limits)?;
                continue;
            }
            if name == agent::TABLE {
                self.agent = AgentConfig::read(path, limits)?;
                continue;
            }
            if name != TABLE {
                return Err(unknown(file(), name));
            }
            for (name, value) in limits {
                let key = KEYS
                    .iter()
                    .find(|key| key.name == name)
                    .ok_or_else(|| unknown(file(), &format!("{TABLE}.{name}")))?;
                (key.write)(&mut self.limits, value).ok_or_else(|| ConfigError::Value {
                    file: file(),
                    key: format!("{TABLE}.{name}"),
                    value: shown(value),
                    form: key.form,
                })?;
                self.set.push(key.name);
            }
        }
        Ok(())
    }

    /// Returns every limit with where it comes from.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        let settings = KEYS.iter().map(|key| Setting {
            name: key.name,
            value: (key.read)(&self.limits),
            is_set: self.set.contains(&key.name),
        });
        settings.collect()
    }
}

/// Returns the port that the table for `outlast serve` says.
fn serve_port(table: &Table, path: &Path) -> Result<Option<u16>, ConfigError> {
    let (name, key) = SERVE;
    if let Some(other) = table.keys().find(|other| *other != key) {
        return Err(unknown(path.to_owned(), &format!("{name}.{other}")));
    }
    let Some(value) = table.get(key) else {
        return Ok(None);
    };
    let port = value.as_integer().and_then(|port| port.try_into().ok());
    port.map(Some).ok_or_else(|| ConfigError::Value {
        file: path.to_owned(),
        key: format!("{name}.{key}"),
        value: shown(value),
        form: "a number from 0 to 65535",
    })
}

fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Read {
            file: path.to_owned(),
            source,
        }),
    }
}

fn unknown(file: PathBuf, key: &str) -> ConfigError {
    ConfigError::Key {
        file,
        key: key.to_owned(),
    }
}

/// Returns a value as it would be typed, near enough for a message.
pub(crate) fn shown(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| value.type_str().to_owned())
}

fn count(value: &Value) -> Option<u32> {
    value.as_integer()?.try_into().ok()
}

fn size(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(bytes) => u64::try_from(*bytes).ok(),
        Value::String(text) => size_bytes(text).ok(),
        Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_)
        | Value::Array(_)
        | Value::Table(_) => None,
    }
}

/// Returns the milliseconds that a value means.
pub(crate) fn time(value: &Value) -> Option<u64> {
    let text = match value {
        Value::Integer(seconds) => seconds.to_string(),
        Value::Float(seconds) => seconds.to_string(),
        Value::String(text) => text.clone(),
        Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => return None,
    };
    duration_ms(&text).ok()
}

#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53 ms")]
pub(crate) fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ConfigError {
    /// It cannot be read.
    #[error("cannot read the configuration `{}`", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no TOML.
    #[error("the configuration `{}` is no TOML", file.display())]
    Form {
        /// The file.
        file: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// It sets something that is not there.
    #[error("the configuration `{}` has the unknown key `{key}`", file.display())]
    Key {
        /// The file.
        file: PathBuf,
        /// The key.
        key: String,
    },
    /// A value has another form.
    #[error("the configuration `{}` sets `{key}` to `{value}`", file.display())]
    Value {
        /// The file.
        file: PathBuf,
        /// The key.
        key: String,
        /// What it says.
        value: String,
        /// What it may say.
        form: &'static str,
    },
}

impl Advice for ConfigError {
    fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "config_unreadable",
            Self::Form { .. } => "config_form",
            Self::Key { .. } => "config_key",
            Self::Value { .. } => "config_value",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Read { .. } => "make it readable for you, or remove it".to_owned(),
            Self::Form { .. } => "mend the line, or remove the file".to_owned(),
            Self::Key { key, .. } if key.starts_with("serve.") => {
                format!("the table [{}] may have {}", SERVE.0, SERVE.1)
            }
            Self::Key { key, .. } if key.starts_with("policy.") => {
                format!(
                    "the table [{}] may have {}",
                    policy::TABLE,
                    policy::KEYS.join(", ")
                )
            }
            Self::Key { key, .. } if key.starts_with("agent.") => {
                let keys = agent::KEYS.join(", ");
                format!("the table [{}] may have {keys}", agent::TABLE)
            }
            Self::Key { key, .. } if key.starts_with("sandbox.") => {
                let keys = sandbox::KEYS.join(", ");
                format!("the table [{}] may have {keys}", sandbox::TABLE)
            }
            Self::Key { .. } => {
                let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
                format!("the table [{TABLE}] may have {}", names.join(", "))
            }
            Self::Value { form, .. } => format!("write {form}"),
        }
    }
}

#[cfg(test)]
mod tests;
