//! The head of a journal line, read without the rest of it.
//!
//! A journal of an agent run holds whole answers of models. Readers who want a
//! few kinds of lines, or a few numbers, look at heads first. Only the exact
//! form that `Line::to_bytes` writes has one; of any other line the whole is
//! to be read.

use crate::{FORMAT_VERSION, Seq, Timestamp};

/// The beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peek<'a> {
    /// Position among the events; absent for a fact that is none.
    pub seq: Option<Seq>,
    /// When it was written.
    pub ts: Timestamp,
    /// Kind of fact.
    pub kind: &'a str,
}

impl<'a> Peek<'a> {
    /// Reads the head of a line without its newline; `None` where it has another form, or does
    /// not end as a line does.
    pub fn of(line: &'a [u8]) -> Option<Self> {
        let rest = line.strip_prefix(b"{\"v\":")?;
        let (version, rest) = number(rest)?;
        if version != u64::from(FORMAT_VERSION) || line.last() != Some(&b'}') {
            return None;
        }
        let (seq, rest) = match rest.strip_prefix(b",\"seq\":") {
            Some(rest) => {
                let (seq, rest) = number(rest)?;
                (Some(Seq(seq)), rest)
            }
            None => (None, rest),
        };
        let (ts, rest) = text(rest.strip_prefix(b",\"ts\":\"")?)?;
        let (kind, rest) = text(rest.strip_prefix(b",\"type\":\"")?)?;
        matches!(rest.first(), Some(b',' | b'}')).then_some(())?;
        Some(Self {
            seq,
            ts: Timestamp::parse(ts).ok()?,
            kind,
        })
    }
}

/// Returns the number that `bytes` begins with, and what follows.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit());
    let (digits, rest) = bytes.split_at_checked(digits.count())?;
    let number = str::from_utf8(digits).ok()?.parse().ok()?;
    Some((number, rest))
}

/// Returns the text up to the next quote, which must have no escapes, and what follows.
fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    let rest = bytes.get(end..)?.strip_prefix(b"\"")?;
    Some((str::from_utf8(bytes.get(..end)?).ok()?, rest))
}

#[cfg(test)]
mod tests;
