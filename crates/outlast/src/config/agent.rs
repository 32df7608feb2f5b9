//! What of agent runs a user configures: the model, and budgets over the whole run.

use crate::{
    config::{ConfigError, shown},
    values::duration_ms,
};
use outlast_journal::limits;
use serde_json::{Value as Json, json};
use std::path::Path;
use toml::{Table, Value};

/// Name of the table.
pub(crate) const TABLE: &str = "agent";

/// Its keys, in the order in which they are shown.
pub(crate) const KEYS: [&str; 6] = [
    "model",
    "max_turns",
    "max_tokens",
    "max_cost",
    "ask_timeout",
    "check_timeout",
];

/// What is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentConfig {
    /// Name of the model.
    pub(crate) model: Option<String>,
    /// Most turns of a run.
    pub(crate) turns_max: Option<u64>,
    /// Most tokens of a run.
    pub(crate) tokens_max: Option<u64>,
    /// Most cost of a run, in millionths of a US dollar.
    pub(crate) cost_micros_max: Option<u64>,
    /// How long an ask stays open, in milliseconds.
    pub(crate) ask_ms: Option<u64>,
    /// How long one check of `until` may take, in milliseconds.
    pub(crate) check_ms: Option<u64>,
}

impl AgentConfig {
    /// Reads the table of the configuration at `file`.
    ///
    /// # Errors
    ///
    /// Fails on a key that is not known and on a value of another form.
    pub(crate) fn read(file: &Path, table: &Table) -> Result<Self, ConfigError> {
        let mut read = Self::default();
        for (name, value) in table {
            let key = || format!("{TABLE}.{name}");
            let form = match name.as_str() {
                "model" => "the name of a model, such as \"ollama/qwen3\"",
                "max_turns" | "max_tokens" => "a whole number from 1",
                "max_cost" => "US dollars above 0, such as 2.50",
                "ask_timeout" => "a time up to an hour, such as \"10m\"",
                "check_timeout" => "a time up to 10 minutes, such as \"2m\"",
                _ => {
                    return Err(ConfigError::Key {
                        file: file.to_owned(),
                        key: key(),
                    });
                }
            };
            read.take(name, value).ok_or_else(|| ConfigError::Value {
                file: file.to_owned(),
                key: key(),
                value: shown(value),
                form,
            })?;
        }
        Ok(read)
    }

    fn take(&mut self, name: &str, value: &Value) -> Option<()> {
        match name {
            "model" => {
                let model = value.as_str().filter(|name| !name.trim().is_empty())?;
                self.model = Some(model.to_owned());
            }
            "max_turns" => self.turns_max = Some(count(value)?),
            "max_tokens" => self.tokens_max = Some(count(value)?),
            "ask_timeout" => self.ask_ms = Some(ms(value, limits::ASK_MS)?),
            "check_timeout" => self.check_ms = Some(ms(value, limits::GOAL_CHECK_MS)?),
            _ => self.cost_micros_max = Some(micros(value)?),
        }
        Some(())
    }

    /// Returns the value of a key as it is shown; `null` where nothing is set.
    pub(crate) fn value(&self, key: &str) -> Json {
        match key {
            "model" => json!(self.model),
            "max_turns" => json!(self.turns_max),
            "max_tokens" => json!(self.tokens_max),
            "ask_timeout" => json!(self.ask_ms.map(|ms| format!("{ms}ms"))),
            "check_timeout" => json!(self.check_ms.map(|ms| format!("{ms}ms"))),
            _ => json!(self.cost_micros_max.map(dollars)),
        }
    }
}

/// Reads a time of at most so many milliseconds.
fn ms(value: &Value, most: u64) -> Option<u64> {
    let ms = duration_ms(value.as_str()?).ok()?;
    (1..=most).contains(&ms).then_some(ms)
}

fn count(value: &Value) -> Option<u64> {
    let count = u64::try_from(value.as_integer()?).ok()?;
    (count > 0).then_some(count)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a cast from a float saturates, and costs are far below 2^53 millionths"
)]
fn micros(value: &Value) -> Option<u64> {
    let dollars = value
        .as_float()
        .or_else(|| value.as_integer().map(|whole| whole as f64))?;
    let micros = (dollars * 1_000_000.0).round();
    (micros >= 1.0).then_some(micros as u64)
}

#[expect(clippy::cast_precision_loss, reason = "below 2^53 millionths")]
fn dollars(micros: u64) -> f64 {
    micros as f64 / 1_000_000.0
}

#[cfg(test)]
mod tests;
