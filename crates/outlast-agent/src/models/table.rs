//! What is known of models by their names: prices, windows, and which one to take where
//! only the provider is known.
//!
//! The table is a file with the date on which it was looked over. A model that
//! it does not know has tokens and no cost.

use super::{Choice, Provider};
use crate::message::TokenUsage;
use serde::Deserialize;
use std::collections::BTreeMap;
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
    /// What a long conversation costs more.
    pub long: Option<LongPrice>,
}

/// The factors for a request whose input is long. They count for all of its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct LongPrice {
    /// From how much input on, exclusive.
    pub above_tokens: u64,
    /// For all kinds of input.
    pub input_factor: f64,
    /// For output.
    pub output_factor: f64,
}

#[derive(Deserialize)]
struct Table {
    unknown_context_tokens: u64,
    /// Best first.
    preferred: BTreeMap<Provider, Vec<String>>,
    /// Beginnings of the names of OpenAI's models that reason.
    reasoning_families: Vec<String>,
    models: Vec<Known>,
}

#[derive(Deserialize)]
struct Known {
    provider: Provider,
    name: String,
    context_tokens: u64,
    price: Option<Price>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("table.json")).expect("the table of models can be read")
});

fn known(choice: &Choice) -> Option<&'static Known> {
    let mut of_provider = TABLE.models.iter();
    of_provider
        .find(|known| known.provider == choice.provider && is_version_of(&choice.name, &known.name))
}

/// Returns whether a name is `family`, or that with a date or `latest` after it.
///
/// A further word makes another model: `gpt-5-mini` is no `gpt-5`.
pub(super) fn is_version_of(name: &str, family: &str) -> bool {
    let Some(rest) = name.strip_prefix(family) else {
        return false;
    };
    // `20250929`, `2025-08-07` or `0613`.
    let is_date = |rest: &str| {
        let parts: Vec<usize> = rest.split('-').map(str::len).collect();
        let is_number = rest
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-');
        is_number && matches!(parts.as_slice(), [8 | 4] | [4, 2, 2])
    };
    rest.is_empty()
        || rest
            .strip_prefix('-')
            .is_some_and(|rest| rest == "latest" || is_date(rest))
}

/// Returns the models to take where only the provider is known, best first.
pub(super) fn preferred(provider: Provider) -> &'static [String] {
    TABLE.preferred.get(&provider).map_or(&[], Vec::as_slice)
}

impl Choice {
    /// Returns whether the model's reasoning can be asked for and given back. Where it is
    /// asked for in vain, OpenAI refuses; where it is not asked for, it is only lost.
    pub(super) fn carries_reasoning(&self) -> bool {
        let mut families = TABLE.reasoning_families.iter();
        families.any(|family| self.name.starts_with(family)) && !self.name.contains("-chat")
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
    let long = price.long.filter(|long| input > long.above_tokens);
    let factors = long.map_or((1.0, 1.0), |long| (long.input_factor, long.output_factor));
    let read = fresh as f64 * price.input
        + cached as f64 * price.cached_input
        + written as f64 * price.cache_write;
    let millionths = read * factors.0 + output as f64 * price.output * factors.1;
    millionths / 1_000_000.0
}

#[cfg(test)]
mod tests;
