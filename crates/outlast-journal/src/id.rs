//! Run ids and the prefixes that people type instead.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Letters of an id, in the order of their value (Crockford base32).
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The name of one run: 80 random bits in 16 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId([u8; Self::LEN]);

impl RunId {
    /// Characters in an id.
    pub const LEN: usize = 16;

    /// Returns the id that spells `bits`.
    pub fn from_bits(bits: [u8; 10]) -> Self {
        let mut id = [0; Self::LEN];
        let (mut window, mut width, mut at) = (0_u32, 0_u32, 0);
        for byte in bits {
            window = window << 8 | u32::from(byte);
            width += 8;
            while width >= 5 {
                width -= 5;
                let value = window >> width & 31;
                id[at] = ALPHABET[value as usize];
                at += 1;
            }
        }
        Self(id)
    }

    /// Reads a whole id, in the form in which it is written.
    ///
    /// # Errors
    ///
    /// Fails when `text` is not 16 characters of the alphabet, lower case.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let bytes: [u8; Self::LEN] = text.as_bytes().try_into().map_err(|_| IdError)?;
        if bytes.iter().all(|byte| ALPHABET.contains(byte)) {
            Ok(Self(bytes))
        } else {
            Err(IdError)
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("an id holds letters of its alphabet only")
    }

    /// Returns what `typed` means as the start of an id, or `None` when no id starts so.
    ///
    /// Upper case is folded, `i` and `l` read as `1`, `o` as `0`.
    pub fn normalise_prefix(typed: &str) -> Option<String> {
        if typed.is_empty() || typed.len() > Self::LEN {
            return None;
        }
        typed
            .chars()
            .map(|letter| match letter.to_ascii_lowercase() {
                'i' | 'l' => Some('1'),
                'o' => Some('0'),
                other => {
                    let known = u8::try_from(other).is_ok_and(|byte| ALPHABET.contains(&byte));
                    known.then_some(other)
                }
            })
            .collect()
    }
}

/// Returns how many first characters tell `id` from every other of `others`, at least `least`.
pub fn shortest_unique(id: &RunId, others: impl IntoIterator<Item = RunId>, least: usize) -> usize {
    others
        .into_iter()
        .filter(|other| other != id)
        .map(|other| {
            let shared = id.0.iter().zip(other.0).take_while(|(a, b)| **a == *b);
            shared.count() + 1
        })
        .fold(least.min(RunId::LEN), usize::max)
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RunId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The text is no run id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a run id has 16 characters of 0-9 and a-z without i, l, o and u")]
pub struct IdError;

#[cfg(test)]
mod tests;
