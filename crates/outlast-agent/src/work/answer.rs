//! A final answer that has to keep a schema.

use crate::schema::faults;
use serde_json::Value;

/// Returns the answer in `text`, alone or in one block of code.
///
/// # Errors
///
/// Fails with what is wrong with it, in words for the model.
pub(super) fn read(schema: &Value, text: &str) -> Result<Value, Vec<String>> {
    let value: Value = match serde_json::from_str(bare(text)) {
        Ok(value) => value,
        Err(error) => return Err(vec![format!("it is no JSON value: {error}")]),
    };
    let faults = faults(schema, &value);
    if faults.is_empty() {
        Ok(value)
    } else {
        Err(faults)
    }
}

/// Returns `text` without the marks of a block of code around it.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inside = text
        .strip_prefix("```json")
        .or_else(|| text.strip_prefix("```"));
    let inside = inside.and_then(|rest| rest.strip_suffix("```"));
    inside.map_or(text, str::trim)
}

#[cfg(test)]
mod tests;
