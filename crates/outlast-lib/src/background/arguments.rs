//! The arguments of a call, one after the other, each with its type and its name.
//!
//! Whoever wrote them is a model: an error names the field and says what fits.
//! `null` and blank texts mean absent, since some models fill in every field.

use crate::Advice;
use serde_json::{Map, Value};

/// Characters of a wrong word that an error repeats.
const SHOWN_CHARS: usize = 60;

/// Arguments that were not looked at yet.
pub(super) struct Arguments {
    given: Map<String, Value>,
}

impl Arguments {
    /// Takes the arguments of a tool that knows these names; `null` is none.
    pub(super) fn new(given: &Value, known: &[&str]) -> Result<Self, ArgumentError> {
        let given = match given {
            Value::Null => Map::new(),
            Value::Object(given) => given.clone(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(ArgumentError::NoObject { given: kind(given) });
            }
        };
        match given.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Self { given }),
            Some(name) => Err(ArgumentError::Unknown {
                name: shown(name),
                known: match known {
                    [] => String::new(),
                    known => format!("`{}`", known.join("`, `")),
                },
            }),
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let value = self.given.remove(name)?;
        let is_blank = value.as_str().is_some_and(|text| text.trim().is_empty());
        (!value.is_null() && !is_blank).then_some(value)
    }

    /// Returns a text.
    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>, ArgumentError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(name, "a string", &other)),
        }
    }

    /// Returns a text without which there is nothing to do.
    pub(super) fn needed_text(&mut self, name: &'static str) -> Result<String, ArgumentError> {
        self.text(name)?.ok_or(ArgumentError::Missing { name })
    }

    /// Returns a switch; one that is absent is off.
    pub(super) fn flag(&mut self, name: &'static str) -> Result<bool, ArgumentError> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(wrong(name, "true or false", &other)),
        }
    }

    /// Returns a whole number from 0. One that is written `5.0` is whole.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast from a float saturates, and the callers clamp"
    )]
    pub(super) fn number(&mut self, name: &'static str) -> Result<Option<u64>, ArgumentError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let Some(float) = value.as_f64() else {
            return Err(wrong(name, "a whole number", &value));
        };
        if float < 0.0 {
            let given = value.to_string();
            return Err(ArgumentError::Negative { name, given });
        }
        match value.as_u64() {
            Some(whole) => Ok(Some(whole)),
            None if float.fract() == 0.0 => Ok(Some(float as u64)),
            None => Err(wrong(name, "a whole number", &value)),
        }
    }

    /// Returns what one of these words stands for.
    pub(super) fn word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, ArgumentError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let meant = words.iter().find(|(word, _)| *word == text);
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        match meant {
            Some((_, meant)) => Ok(Some(*meant)),
            None => Err(ArgumentError::Word {
                name,
                given: shown(&text),
                words: format!("`{}`", known.join("`, `")),
            }),
        }
    }
}

/// Keeps a number between two bounds and says so where that changed it.
pub(super) fn clamp(
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

/// Returns as much of what a model wrote as an error repeats.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}

fn wrong(name: &'static str, wanted: &'static str, given: &Value) -> ArgumentError {
    ArgumentError::Type {
        name,
        wanted,
        given: kind(given),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "another number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// What is wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// There is no such tool in this session.
    #[error("there is no tool `{tool}`")]
    NoSuchTool {
        /// What was called.
        tool: String,
        /// Those that there are.
        known: String,
    },
    /// The arguments are no object.
    #[error("the arguments must be an object, not {given}")]
    NoObject {
        /// What was given.
        given: &'static str,
    },
    /// The tool has no such argument.
    #[error("there is no argument `{name}`")]
    Unknown {
        /// What was given.
        name: String,
        /// Those that there are; empty when there are none.
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
            Self::NoSuchTool { .. } => "unknown_tool",
            Self::NoObject { .. } | Self::Type { .. } => "wrong_type",
            Self::Unknown { .. } => "unknown_argument",
            Self::Missing { .. } => "missing_argument",
            Self::Negative { .. } => "negative_number",
            Self::Word { .. } => "unknown_word",
            Self::NoDirectory { .. } => "work_dir",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::NoSuchTool { known, .. } => format!("use one of {known}"),
            Self::NoObject { .. } => "give an object of arguments by their names".to_owned(),
            Self::Unknown { known, .. } if known.is_empty() => "give no arguments".to_owned(),
            Self::Unknown { known, .. } => format!("use {known}"),
            Self::Missing { name } => format!("give `{name}`"),
            Self::Type { name, wanted, .. } => {
                format!("give `{name}` as {wanted}, or leave it out")
            }
            Self::Negative { name, .. } => format!("give `{name}` from 0, or leave it out"),
            Self::Word { words, .. } => format!("use one of {words}, or leave it out"),
            Self::NoDirectory { .. } => {
                "give a directory that exists, or leave it out for the project's".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests;
