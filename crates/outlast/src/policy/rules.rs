//! The rules of one file, read from its table.

use super::pattern::Pattern;
use crate::config::{self, ConfigError, seconds};
use outlast_lib::limits;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Name of the table with the rules.
pub(crate) const TABLE: &str = "policy";

/// Its keys.
pub(crate) const KEYS: [&str; 4] = ["allow", "deny", "env", "timeout_max"];

const PATTERNS: &str =
    "a list of at most 256 patterns of at most 256 characters, such as [\"make *\"]";
const TIME: &str = "a number of seconds above 0, or a time such as \"30m\"";

/// The rules of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Where they stand.
    pub(super) file: PathBuf,
    /// A command must match one of these, if there is a list.
    pub(super) allow: Option<Vec<Pattern>>,
    /// A command may match none of these.
    pub(super) deny: Vec<Pattern>,
    /// A variable that is set must match one of these, if there is a list.
    pub(super) env: Option<Vec<Pattern>>,
    /// Longest time limit, in milliseconds.
    pub(super) timeout_ms_max: Option<u64>,
}

impl Rules {
    /// Reads the rules of `file` from its table.
    ///
    /// # Errors
    ///
    /// Fails on a key that is not there and on a value of another form.
    pub(crate) fn read(file: &Path, table: &Table) -> Result<Self, ConfigError> {
        let mut rules = Self {
            file: file.to_owned(),
            allow: None,
            deny: Vec::new(),
            env: None,
            timeout_ms_max: None,
        };
        for (name, value) in table {
            let wrong = |form| ConfigError::Value {
                file: file.to_owned(),
                key: format!("{TABLE}.{name}"),
                value: config::shown(value),
                form,
            };
            let list = || patterns(value).ok_or_else(|| wrong(PATTERNS));
            match name.as_str() {
                "allow" => rules.allow = Some(list()?),
                "deny" => rules.deny = list()?,
                "env" => rules.env = Some(list()?),
                "timeout_max" => {
                    let most = config::time(value).filter(|ms| *ms > 0);
                    rules.timeout_ms_max = Some(most.ok_or_else(|| wrong(TIME))?);
                }
                _ => {
                    return Err(ConfigError::Key {
                        file: file.to_owned(),
                        key: format!("{TABLE}.{name}"),
                    });
                }
            }
        }
        Ok(rules)
    }
}

impl Rules {
    /// Returns what is set, by its key, in the order of the keys; times in seconds.
    pub(crate) fn settings(&self) -> Vec<(&'static str, Json)> {
        let list = |patterns: &[Pattern]| {
            let texts = patterns.iter().map(Pattern::text);
            texts.collect::<Json>()
        };
        let settings = [
            ("allow", self.allow.as_deref().map(list)),
            (
                "deny",
                Some(list(&self.deny)).filter(|_| !self.deny.is_empty()),
            ),
            ("env", self.env.as_deref().map(list)),
            (
                "timeout_max",
                self.timeout_ms_max.map(|ms| json!(seconds(ms))),
            ),
        ];
        let set = settings.into_iter();
        set.filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

fn patterns(value: &Value) -> Option<Vec<Pattern>> {
    let list = value.as_array()?;
    if list.len() > limits::PATTERNS_MAX {
        return None;
    }
    let patterns = list.iter().map(|one| {
        let text = one.as_str()?;
        let fits = !text.is_empty() && text.chars().count() <= limits::PATTERN_CHARS_MAX;
        fits.then(|| Pattern::new(text))
    });
    patterns.collect()
}
