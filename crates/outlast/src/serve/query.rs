//! The query of a URL and the body of a request, as arguments by name.

use crate::{
    failure::{Failure, exit},
    mcp::{ArgumentError, Arguments},
};
use serde_json::{Map, Number, Value};

/// The names of a request's arguments, by what they hold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Names {
    pub(super) texts: &'static [&'static str],
    pub(super) numbers: &'static [&'static str],
    pub(super) flags: &'static [&'static str],
    /// May stand there several times.
    pub(super) lists: &'static [&'static str],
}

impl Names {
    /// Returns all names.
    pub(super) fn all(self) -> Vec<&'static str> {
        [self.texts, self.numbers, self.flags, self.lists].concat()
    }
}

/// Returns the arguments in a query.
///
/// # Errors
///
/// Fails on what is no query, on a name that is not known and on a value that stands twice.
pub(super) fn from_query(query: &str, names: Names) -> Result<Arguments, Failure> {
    let mut given = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(name), Some(value)) = (decode(name), decode(value)) else {
            return Err(bad_query("holds a wrong `%`, or bytes that are not UTF-8"));
        };
        if names.lists.contains(&name.as_str()) {
            let list = given
                .entry(name)
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = list {
                list.push(value.into());
            }
            continue;
        }
        let value = typed(&name, value, names);
        if given.insert(name, value).is_some() {
            return Err(bad_query("holds a name twice"));
        }
    }
    Arguments::new(given, &names.all()).map_err(|error| bad(&error))
}

/// Returns the arguments in a body, which is one JSON object; none is the empty one.
///
/// # Errors
///
/// Fails on what is no JSON object, and on a name that is not known.
pub(super) fn from_body(body: &[u8], known: &[&str]) -> Result<Arguments, Failure> {
    if body.is_empty() {
        return Arguments::new(Map::new(), known).map_err(|error| bad(&error));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(given)) => Arguments::new(given, known).map_err(|error| bad(&error)),
        Ok(
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_),
        ) => Err(bad_body("the body is JSON, but no object".to_owned())),
        Err(error) => Err(bad_body(format!("the body is no JSON: {error}"))),
    }
}

/// Returns the failure of arguments that cannot be understood.
pub(super) fn bad(error: &ArgumentError) -> Failure {
    Failure::new(error, exit::USAGE)
}

fn bad_body(message: String) -> Failure {
    let hint = "send one JSON object in UTF-8";
    Failure::plain("bad_body", message, hint, exit::USAGE)
}

fn bad_query(what: &str) -> Failure {
    Failure::plain(
        "bad_query",
        format!("the query of the URL {what}"),
        "write `name=value` pairs with `&` between them, percent-encoded",
        exit::USAGE,
    )
}

/// Returns a value as what its name holds; what does not fit stays a text and is refused later.
fn typed(name: &str, value: String, names: Names) -> Value {
    if names.numbers.contains(&name) {
        if let Ok(number) = value.parse::<Number>() {
            return Value::Number(number);
        }
    } else if names.flags.contains(&name)
        && let Ok(flag) = value.parse::<bool>()
    {
        return Value::Bool(flag);
    }
    Value::String(value)
}

/// Returns a part of a URL without its percent-encoding; `+` is a blank.
///
/// `None` where it is not UTF-8 or a `%` is followed by something else than two digits.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let value = digit()? * 16 + digit()?;
                u8::try_from(value).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
