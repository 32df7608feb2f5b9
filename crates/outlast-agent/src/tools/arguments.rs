//! Reads the arguments of a call by the schema of its tool.
//!
//! What a model is told in the schema is what is checked here, so the two
//! cannot differ. Only the words that our schemas use are known. A `null` is
//! absent.

use serde_json::{Map, Value};

/// Arguments that keep their tool's schema.
#[derive(Clone, Debug)]
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    /// Reads `value` by `schema`, an object's.
    ///
    /// # Errors
    ///
    /// Fails with what is wrong, in words for the model.
    pub(super) fn read(value: &Value, schema: &Value) -> Result<Self, String> {
        let Value::Object(members) = value else {
            return Err(format!("the arguments are {}, not an object", kind(value)));
        };
        let mut members = members.clone();
        members.retain(|_, member| !member.is_null());
        check_members(&members, schema, "")?;
        Ok(Self(members))
    }

    /// Returns a text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Returns a text that the schema requires.
    pub(super) fn required(&self, name: &str) -> &str {
        self.text(name).expect("the schema requires it")
    }

    /// Returns a whole number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    /// Returns whether a flag is set.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns all members as an object, without those that were `null`.
    pub(super) fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// Returns a member as it is.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
}

fn check(value: &Value, schema: &Value, place: &str) -> Result<(), String> {
    let wanted = schema["type"].as_str().unwrap_or_default();
    let fits = match wanted {
        "string" => value.is_string(),
        "integer" => value.as_u64().is_some(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if !fits {
        let wanted = words(wanted);
        return Err(format!("`{place}` is {}, not {wanted}", kind(value)));
    }
    match value {
        Value::String(text) => check_text(text, schema, place),
        Value::Number(_) => check_range(value, schema, place),
        Value::Array(items) => check_items(items, schema, place),
        Value::Object(members) => check_members(members, schema, place),
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

fn check_text(text: &str, schema: &Value, place: &str) -> Result<(), String> {
    if let Some(fitting) = schema["enum"].as_array()
        && !fitting.iter().any(|word| word == text)
    {
        let fitting = list(fitting.iter().filter_map(Value::as_str));
        return Err(format!("`{place}` is none of {fitting}"));
    }
    let length_min = schema["minLength"].as_u64().unwrap_or(0);
    if (text.trim().len() as u64) < length_min {
        return Err(format!("`{place}` is blank"));
    }
    Ok(())
}

fn check_range(value: &Value, schema: &Value, place: &str) -> Result<(), String> {
    let Some(number) = value.as_u64() else {
        return Ok(());
    };
    if let Some(least) = schema["minimum"].as_u64().filter(|least| number < *least) {
        return Err(format!("`{place}` is {number}, and the least is {least}"));
    }
    if let Some(most) = schema["maximum"].as_u64().filter(|most| number > *most) {
        return Err(format!("`{place}` is {number}, and the most is {most}"));
    }
    Ok(())
}

fn check_items(items: &[Value], schema: &Value, place: &str) -> Result<(), String> {
    if let Some(most) = schema["maxItems"].as_u64()
        && items.len() as u64 > most
    {
        let count = items.len();
        return Err(format!(
            "`{place}` has {count} items, and the most is {most}"
        ));
    }
    for (index, item) in items.iter().enumerate() {
        check(item, &schema["items"], &format!("{place}[{index}]"))?;
    }
    Ok(())
}

fn check_members(members: &Map<String, Value>, schema: &Value, place: &str) -> Result<(), String> {
    let known = schema["properties"].as_object();
    let inside = |name: &str| match place {
        "" => name.to_owned(),
        place => format!("{place}.{name}"),
    };
    for name in members.keys() {
        if known.is_none_or(|known| !known.contains_key(name)) {
            let known = list(known.into_iter().flat_map(|known| known.keys()));
            return Err(format!(
                "there is no argument `{}`; there are {known}",
                inside(name)
            ));
        }
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        if !members.contains_key(name) {
            return Err(format!("`{}` is missing", inside(name)));
        }
    }
    for (name, value) in members {
        check(value, &schema["properties"][name], &inside(name))?;
    }
    Ok(())
}

fn list(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    let mut names: Vec<String> = names.map(|name| format!("`{}`", name.as_ref())).collect();
    // The order of members depends on how the reader of JSON was built.
    names.sort_unstable();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.as_u64().is_some() => "a number",
        Value::Number(_) => "a number that is negative or no whole one",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn words(wanted: &str) -> &'static str {
    match wanted {
        "string" => "a text",
        "integer" => "a whole number from 0",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "an object",
    }
}

#[cfg(test)]
mod tests;
