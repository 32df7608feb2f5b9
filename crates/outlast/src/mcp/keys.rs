//! The idempotency key of a start whose caller gave none: the host's id of the call.
//!
//! A host that repeats a call, since it lost the answer, repeats its id. An id
//! that could come again for another call makes no key: the second start would
//! be taken for the first.

use super::wire::Caller;
use outlast_lib::limits;

/// Characters of an id that is drawn at random, at least: fewer are counted or made up.
const RANDOM_CHARS_MIN: usize = 16;

/// Different characters among them, at least: a padded number has fewer.
const RANDOM_DIFFERENT_MIN: usize = 8;

/// Returns the key of a call, `None` where the host gives no id or one that may come again.
pub(super) fn of_call(caller: &Caller) -> Option<String> {
    let id = caller.call.as_deref().filter(|id| is_random(id))?;
    let host = caller.host.as_deref().unwrap_or_default();
    let thread = caller.thread.as_ref().or(caller.session.as_ref());
    let thread = thread.map(String::as_str).unwrap_or_default();
    let key = format!("call/{host}/{thread}/{id}");
    (key.len() <= limits::NAME_BYTES_MAX).then_some(key)
}

/// Returns whether an id was drawn at random, by its looks: `call_` or another word, then letters
/// and digits that are many and differ.
fn is_random(id: &str) -> bool {
    let drawn = id.rsplit('_').next().unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let mut different: Vec<u8> = drawn.bytes().collect();
    different.sort_unstable();
    different.dedup();
    drawn.len() >= RANDOM_CHARS_MIN
        && drawn.bytes().all(is_plain)
        && different.len() >= RANDOM_DIFFERENT_MIN
}

#[cfg(test)]
mod tests;
