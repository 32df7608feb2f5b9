//! What is known of models by their names: prices and windows.
//!
//! The table is a file with the date on which it was looked over. A model that
//! it does not know has tokens and no cost.

use super::{Choice, Provider};
use crate::message::TokenUsage;
use serde::Deserialize;
use std::sync::LazyLock;

/// What tokens of a model cost, in US dollars per million of them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Price {
    /// Input that is read for the first time.
    pub input: f64,
    /// Input that comes from the cache.
    pub cached_input: f64,
    /// Input that is written to the cache.
    pub cache_write: f64,
    /// Output, reasoning included.
    pub output: f64,
}

#[derive(Deserialize)]
struct Table {
    /// For people who keep it up.
    #[expect(dead_code, reason = "a comment in a form that has none")]
    about: String,
    #[expect(dead_code, reason = "shown to those who read the file")]
    checked: String,
    unknown_context_tokens: u64,
    models: Vec<Known>,
}

#[derive(Deserialize)]
struct Known {
    provider: Provider,
    /// The beginning of the name.
    name: String,
    context_tokens: u64,
    /// Whether it reasons, and takes its reasoning back encrypted.
    #[serde(default)]
    reasons: bool,
    price: Option<Price>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("table.json")).expect("the table of models can be read")
});

fn known(choice: &Choice) -> Option<&'static Known> {
    let of_provider = TABLE
        .models
        .iter()
        .filter(|known| known.provider == choice.provider && choice.name.starts_with(&known.name));
    of_provider.max_by_key(|known| known.name.len())
}

impl Choice {
    /// Returns whether the model's reasoning can be asked for and given back.
    pub(super) fn carries_reasoning(&self) -> bool {
        known(self).is_some_and(|known| known.reasons)
    }
}

/// Returns what a model costs at its vendor, `None` where that is not known.
///
/// A model at an address of one's own has no price: nobody but its owner knows it.
pub fn price(choice: &Choice) -> Option<Price> {
    if choice.base_url.is_some() {
        return None;
    }
    known(choice)?.price
}

/// Returns how many tokens the window of a model holds, a careful guess where that is
/// not known.
pub fn context_tokens(choice: &Choice) -> u64 {
    let of_table = || known(choice).map(|known| known.context_tokens);
    choice
        .context_tokens
        .or_else(of_table)
        .unwrap_or(TABLE.unknown_context_tokens)
}

/// Returns what a turn cost, in US dollars. Tokens that are not known count nothing.
#[expect(
    clippy::cast_precision_loss,
    reason = "no turn has so many tokens that a float could not count them"
)]
pub fn cost(usage: &TokenUsage, price: &Price) -> f64 {
    let cached = usage.cached_input.unwrap_or_default();
    let written = usage.cache_write.unwrap_or_default();
    let input = usage.input.unwrap_or_default();
    let fresh = input.saturating_sub(cached).saturating_sub(written);
    let output = usage.output.unwrap_or_default();
    let parts = [
        (fresh, price.input),
        (cached, price.cached_input),
        (written, price.cache_write),
        (output, price.output),
    ];
    let millionths: f64 = parts
        .iter()
        .map(|(tokens, each)| *tokens as f64 * each)
        .sum();
    millionths / 1_000_000.0
}
