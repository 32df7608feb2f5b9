//! The arguments of a call, one after the other, each with its type and its name.
//!
//! Whoever wrote them is a model: an error names the field and says what fits.
//! `null` and blank strings mean absent, since some hosts fill in every field.

use outlast_lib::Advice;
use serde_json::{Map, Value};

/// Arguments that were not looked at yet.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    given: Map<String, Value>,
}

impl Arguments {
    /// Takes arguments of a tool that knows these names.
    ///
    /// # Errors
    ///
    /// Fails on a name that it does not know.
    pub(crate) fn new(given: Map<String, Value>, known: &[&str]) -> Result<Self, ArgumentError> {
        match given.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Self { given }),
            Some(name) => Err(ArgumentError::Unknown {
                name: name.chars().take(SHOWN_CHARS).collect(),
                known: known.join("`, `"),
            }),
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let value = self.given.remove(name)?;
        let is_absent =
            value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
        (!is_absent).then_some(value)
    }

    /// Returns a text.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, ArgumentError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(name, "a string", &other)),
        }
    }

    /// Returns a text without which there is nothing to do.
    pub(crate) fn needed_text(&mut self, name: &'static str) -> Result<String, ArgumentError> {
        self.text(name)?.ok_or(ArgumentError::Missing { name })
    }

    /// Returns a text as it is, blanks too; absent only where it is `null` or empty.
    pub(crate) fn exact_text(
        &mut self,
        name: &'static str,
    ) -> Result<Option<String>, ArgumentError> {
        match self.given.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
            Some(other) => Err(wrong(name, "a string", &other)),
        }
    }

    /// Returns a switch; one that is absent is off.
    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, ArgumentError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(wrong(name, "true or false", &other)),
        }
    }

    /// Returns a whole number from 0. One that is written `5.0` is whole.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast from a float saturates, and the callers clamp"
    )]
    pub(crate) fn number(&mut self, name: &'static str) -> Result<Option<u64>, ArgumentError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let number = match &value {
            Value::Number(number) => number,
            Value::Null
            | Value::Bool(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => return Err(wrong(name, "a whole number", &value)),
        };
        let float = number.as_f64().unwrap_or(-1.0);
        if float < 0.0 {
            return Err(ArgumentError::Negative {
                name,
                given: number.to_string(),
            });
        }
        match number.as_u64() {
            Some(whole) => Ok(Some(whole)),
            None if float.fract() == 0.0 => Ok(Some(float as u64)),
            None => Err(wrong(name, "a whole number", &value)),
        }
    }

    /// Returns a number from 0, whole or not.
    pub(crate) fn fraction(&mut self, name: &'static str) -> Result<Option<f64>, ArgumentError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        match value.as_f64() {
            Some(number) if number < 0.0 => Err(ArgumentError::Negative {
                name,
                given: value.to_string(),
            }),
            Some(number) => Ok(Some(number)),
            None => Err(wrong(name, "a number", &value)),
        }
    }

    /// Returns what one of these words stands for.
    pub(crate) fn word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, ArgumentError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meant)) => Ok(Some(*meant)),
            None => Err(ArgumentError::Word {
                name,
                given: text.chars().take(SHOWN_CHARS).collect(),
                words: words
                    .iter()
                    .map(|(word, _)| format!("`{word}`"))
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
        }
    }

    /// Returns texts; one alone may stand without its brackets.
    pub(crate) fn texts(
        &mut self,
        name: &'static str,
    ) -> Result<Option<Vec<String>>, ArgumentError> {
        let wanted = "a list of strings";
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(one)) => Ok(Some(vec![one])),
            Some(Value::Array(list)) => {
                let texts = list.iter().map(|one| match one.as_str() {
                    Some(text) => Ok(text.to_owned()),
                    None => Err(wrong(name, wanted, one)),
                });
                let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
                Ok(Some(texts).filter(|texts| !texts.is_empty()))
            }
            Some(other) => Err(wrong(name, wanted, &other)),
        }
    }

    /// Returns an object as it is.
    pub(crate) fn object(&mut self, name: &'static str) -> Result<Option<Value>, ArgumentError> {
        match self.take(name) {
            None => Ok(None),
            Some(object @ Value::Object(_)) => Ok(Some(object)),
            Some(other) => Err(wrong(name, "an object", &other)),
        }
    }

    /// Returns the names and values of an object of strings, in its order.
    pub(crate) fn pairs(
        &mut self,
        name: &'static str,
    ) -> Result<Vec<(String, String)>, ArgumentError> {
        let wanted = "an object of strings";
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::Object(pairs)) => {
                let pairs = pairs.into_iter().map(|(key, value)| match value.as_str() {
                    Some(text) => Ok((key, text.to_owned())),
                    None => Err(wrong(name, wanted, &value)),
                });
                pairs.collect()
            }
            Some(other) => Err(wrong(name, wanted, &other)),
        }
    }
}

/// Characters of a wrong word that an error repeats.
const SHOWN_CHARS: usize = 60;

fn wrong(name: &'static str, wanted: &'static str, given: &Value) -> ArgumentError {
    let given = match given {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "another number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    ArgumentError::Type {
        name,
        wanted,
        given,
    }
}

/// Keeps a number between two bounds and says so where that changed it.
pub(crate) fn clamp(
    notices: &mut Vec<String>,
    name: &str,
    asked: u64,
    least: u64,
    most: u64,
) -> u64 {
    let used = asked.clamp(least, most);
    if used != asked {
        notices.push(format!("`{name}` of {asked} was set to {used}"));
    }
    used
}

/// What is wrong with the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ArgumentError {
    /// The tool has no such argument.
    #[error("there is no argument `{name}`")]
    Unknown {
        /// What was given.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// Nothing can be done without it.
    #[error("`{name}` is missing or blank")]
    Missing {
        /// The argument.
        name: &'static str,
    },
    /// It is of another type.
    #[error("`{name}` must be {wanted}, not {given}")]
    Type {
        /// The argument.
        name: &'static str,
        /// What fits.
        wanted: &'static str,
        /// What was given.
        given: &'static str,
    },
    /// It is below zero.
    #[error("`{name}` must not be negative, as {given} is")]
    Negative {
        /// The argument.
        name: &'static str,
        /// What was given.
        given: String,
    },
    /// It is none of its words.
    #[error("`{name}` cannot be `{given}`")]
    Word {
        /// The argument.
        name: &'static str,
        /// What was given.
        given: String,
        /// Those that there are.
        words: String,
    },
    /// The variable may not be set by a host.
    #[error("`env` may not set `{name}`")]
    EnvNotAllowed {
        /// The variable.
        name: String,
    },
    /// Its caller cannot hold it.
    #[error("`lifetime` cannot be `session` over HTTP")]
    LifetimeOverHttp,
    /// It is too long.
    #[error("`{name}` has {bytes} bytes and the limit is {bytes_max}")]
    TooLong {
        /// The argument.
        name: &'static str,
        /// Its length.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The directory to run in is not there.
    #[error("`cwd` names no directory: `{path}`")]
    NoDirectory {
        /// What was given.
        path: String,
    },
}

impl Advice for ArgumentError {
    fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown_argument",
            Self::Missing { .. } => "missing_argument",
            Self::Type { .. } => "wrong_type",
            Self::Negative { .. } => "negative_number",
            Self::Word { .. } => "unknown_word",
            Self::EnvNotAllowed { .. } => "env_not_allowed",
            Self::LifetimeOverHttp => "lifetime_over_http",
            Self::TooLong { .. } => "too_long",
            Self::NoDirectory { .. } => "work_dir",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Unknown { known, .. } => format!("use `{known}`"),
            Self::Missing { name } => format!("give `{name}`"),
            Self::Type { name, wanted, .. } => {
                format!("give `{name}` as {wanted}, or leave it out")
            }
            Self::Negative { name, .. } => format!("give `{name}` from 0, or leave it out"),
            Self::Word { words, .. } => format!("use one of {words}, or leave it out"),
            Self::EnvNotAllowed { .. } => {
                "names that begin with `LD_` are refused; set it inside of the command".to_owned()
            }
            Self::LifetimeOverHttp => {
                "leave `lifetime` out and cancel the run, or give it `timeout_secs`".to_owned()
            }
            Self::TooLong { name, .. } => format!(
                "put the long part of `{name}` into a file of the workspace and name the file"
            ),
            Self::NoDirectory { .. } => {
                "give a directory that exists, or leave it out for the project root".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests;
