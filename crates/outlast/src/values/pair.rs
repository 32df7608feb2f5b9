//! Environment variables with a value: `NAME=VALUE`.

use super::ValueError;
use std::fmt;

/// A variable and its value. Its value is not shown by `Debug`: it may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    /// Name.
    pub(crate) name: String,
    /// Value, which may be empty.
    pub(crate) value: String,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=…", self.name)
    }
}

/// Reads a variable and its value.
///
/// # Errors
///
/// Fails without `=`. Whether the name can be one is for the library to say.
pub(crate) fn pair(text: &str) -> Result<Pair, ValueError> {
    match text.split_once('=') {
        Some((name, value)) => Ok(Pair {
            name: name.to_owned(),
            value: value.to_owned(),
        }),
        None => Err(ValueError::Pair {
            name: name_of(text),
        }),
    }
}

/// Returns the beginning that can be a name: what follows may be a secret that was split off.
fn name_of(text: &str) -> String {
    let is_name = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
    text.chars().take_while(is_name).collect()
}

#[cfg(test)]
mod tests;
