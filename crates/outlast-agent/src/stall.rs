//! Sees when a run goes round in circles: the same call with the same result, again and again.
//!
//! Results are compared without times and ids, arguments as they are. A write that changed
//! something, or a word from outside, begins the count anew.

use outlast_journal::agent::{CallClass, CallRequest, CallResult};
use outlast_journal::limits;
use serde_json::Value;

/// Beginning of the warning at the end of a result.
const WARNING: &str = "\n\n[outlast: repeated call: ";

/// The calls since something was last achieved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeats {
    seen: Vec<Seen>,
    is_over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    call: u64,
    result: u64,
    is_failed_write: bool,
}

impl Repeats {
    /// Returns the result's text as the model is to see it: with a warning where it is due.
    pub(crate) fn warned(&self, request: &CallRequest, ok: bool, shown: String) -> String {
        let seen = seen(request, ok, &shown);
        let times = self.times(seen) + 1;
        if times < bound(seen) {
            return shown;
        }
        format!(
            "{shown}{WARNING}the same call gave the same result {times} times; do something else, \
             since one more ends the run]"
        )
    }

    /// Takes a result that the model was told.
    pub(crate) fn take(&mut self, request: &CallRequest, result: &CallResult) {
        if result.wrote.is_some() && result.ok {
            self.begin_anew();
            return;
        }
        let seen = seen(request, result.ok, without_warning(&result.shown));
        self.seen.push(seen);
        if self.times(seen) > bound(seen) {
            self.is_over = true;
        }
    }

    /// Forgets what was: there is something new to go by.
    pub(crate) fn begin_anew(&mut self) {
        self.seen.clear();
    }

    /// Returns whether a warning was not heeded.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    fn times(&self, one: Seen) -> usize {
        self.seen.iter().filter(|seen| **seen == one).count()
    }
}

fn bound(seen: Seen) -> usize {
    if seen.is_failed_write {
        limits::REPEATED_FAILED_WRITES_MAX
    } else {
        limits::REPEATED_CALLS_MAX
    }
}

fn seen(request: &CallRequest, ok: bool, shown: &str) -> Seen {
    let mut arguments = request.arguments.clone();
    arguments.sort_all_objects();
    let call = Value::from(vec![Value::from(request.tool.as_str()), arguments]);
    Seen {
        call: hash(call.to_string().as_bytes()),
        result: fingerprint(shown),
        is_failed_write: request.class == CallClass::Idempotent && !ok,
    }
}

fn without_warning(shown: &str) -> &str {
    match shown.rsplit_once(WARNING) {
        Some((before, after)) if after.ends_with(']') => before,
        Some(_) | None => shown,
    }
}

/// Returns a hash of `text` without what differs from time to time: times, durations, ids.
///
/// It is the same in every version of the program.
pub(crate) fn fingerprint(text: &str) -> u64 {
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | ':' | '-');
    let mut kept = String::with_capacity(text.len());
    let mut word = String::new();
    for letter in text.chars().chain(['\n']) {
        if is_word(letter) {
            word.push(letter);
            continue;
        }
        kept.push_str(if is_passing(&word) { "#" } else { &word });
        word.clear();
        kept.push(letter);
    }
    hash(kept.as_bytes())
}

/// Returns whether a word is a time, a duration or an id.
fn is_passing(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ':', '-']);
    let digits = word.chars().filter(char::is_ascii_digit).count();
    if digits == 0 {
        return false;
    }
    let is_number = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|letter| letter.is_ascii_digit() || letter == '.')
    };
    let is_duration = ["ms", "µs", "us", "ns", "s", "m", "h"]
        .iter()
        .any(|unit| word.strip_suffix(unit).is_some_and(is_number));
    let is_long_number = digits >= 5 && is_number(word);
    let is_clock = word.contains(':')
        && digits >= 4
        && word
            .chars()
            .all(|letter| letter.is_ascii_digit() || ".:-TZ".contains(letter));
    let is_date = digits >= 6 && word.matches('-').count() >= 2;
    let is_id = word.len() >= 8
        && digits >= 2
        && word
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
        && (word
            .chars()
            .all(|letter| letter.is_ascii_hexdigit() || letter == '-')
            || word.len() >= 16);
    is_duration || is_long_number || is_clock || is_date || is_id
}

/// Returns FNV-1a of `bytes`.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
