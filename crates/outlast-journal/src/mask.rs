//! Finds secrets in bytes by what a spec keeps of them, and masks them.
//!
//! A spec has no value, only its length and two hashes under the key of the
//! store. The rolling hash finds where a value may stand, the other confirms
//! it. Values are found as they are, not encoded or split by escapes. Keeping
//! the key and choosing the bytes is left to others.

mod hash;
#[cfg(test)]
mod tests;

use crate::SecretMark;
use crate::limits::{LABEL_CHARS, SECRET_BYTES_MAX, SECRET_BYTES_MIN};
use crate::text::first_line_label;
use hash::Rolling;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

pub use hash::keyed_hash;

/// Words in the name of a variable that say that its value is secret.
const SECRET_WORDS: [&str; 22] = [
    "AUTH",
    "AUTHKEY",
    "AUTHORIZATION",
    "BEARER",
    "COOKIE",
    "COOKIES",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "DSN",
    "JWT",
    "KEY",
    "KEYS",
    "PASS",
    "PASSCODE",
    "PASSWORDS",
    "PAT",
    "PRIVATE",
    "PRIVKEY",
    "SECRETS",
    "SSHPASS",
    "WEBHOOK",
];

/// The same, also at the end of a word, as in `PGPASSWORD`.
const SECRET_ENDS: [&str; 9] = [
    "ACCESSKEY",
    "APIKEY",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PRIVATEKEY",
    "SECRET",
    "SECRETKEY",
    "TOKEN",
];

/// Last words that say that the value only tells where something is.
const PLACE_WORDS: [&str; 9] = [
    "DIR", "DIRS", "FILE", "FILES", "HOME", "PATH", "PATHS", "SOCK", "SOCKET",
];

/// Returns whether the name of an environment variable looks like that of a secret.
///
/// Words are what `_` and other signs part; case and digits at their end do
/// not matter. A name whose last word is that of a place, as in
/// `SSH_AUTH_SOCK`, is none.
pub fn looks_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let words: Vec<&str> = upper
        .split(|letter: char| !letter.is_alphanumeric())
        .map(|word| word.trim_end_matches(|letter: char| letter.is_ascii_digit()))
        .collect();
    let last = words.last().copied().unwrap_or_default();
    if PLACE_WORDS.contains(&last) {
        return false;
    }
    // Alone, `PWD` is the working directory; as in `MYSQL_PWD` it is a password.
    let is_password = last == "PWD" && words.len() > 1;
    is_password
        || words.iter().any(|word| {
            SECRET_WORDS.contains(word) || SECRET_ENDS.iter().any(|end| word.ends_with(end))
        })
}

/// Returns what a spec keeps of a secret.
///
/// `None` for a value shorter than `SECRET_BYTES_MIN`, which would be found in
/// plain text, or longer than `SECRET_BYTES_MAX`. Such a value is not masked.
pub fn mark(key: &[u8; 32], name: &str, value: &[u8]) -> Option<SecretMark> {
    if !(SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&value.len()) {
        return None;
    }
    let hash = keyed_hash(key, value);
    Some(SecretMark {
        name: name.to_owned(),
        length: value.len() as u64,
        rolling: Rolling::new(key).sealed(value, &hash),
        hash,
    })
}

/// A part of some bytes that holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it stands.
    pub range: Range<usize>,
    /// Index of its mark among those that the masker was made from.
    pub mark: usize,
}

/// Finds and masks the secrets of one spec.
pub struct Masker {
    key: [u8; 32],
    rolling: Rolling,
    /// By length, longest first.
    groups: Vec<Group>,
    /// One for each mark, in the order in which they were given.
    known: Vec<Known>,
}

struct Known {
    length: usize,
    label: String,
}

/// Secrets of one length.
struct Group {
    length: usize,
    /// In the order of their rolling hashes.
    targets: Vec<Target>,
    /// The last six bits of each rolling hash: spares most bytes a search.
    last_bits: u64,
}

struct Target {
    rolling: u64,
    hash: String,
    mark: usize,
}

impl Group {
    fn add(&mut self, target: Target) {
        self.last_bits |= 1 << (target.rolling % 64);
        self.targets.push(target);
    }

    fn may_hold(&self, rolling: u64) -> bool {
        self.last_bits >> (rolling % 64) & 1 == 1
    }
}

impl Masker {
    /// Returns a masker for the secrets that were marked under `key`.
    ///
    /// A mark with a length that no secret has is passed over.
    pub fn new(key: &[u8; 32], marks: &[SecretMark]) -> Self {
        let mut masker = Self {
            key: *key,
            rolling: Rolling::new(key),
            groups: Vec::new(),
            known: Vec::new(),
        };
        for mark in marks {
            masker.add(mark);
        }
        masker.groups.sort_by_key(|group| Reverse(group.length));
        for group in &mut masker.groups {
            group.targets.sort_by_key(|target| target.rolling);
        }
        masker
    }

    /// Returns whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the length of the longest secret in bytes, 0 when there is none.
    ///
    /// A reader that looks this far over both borders of a page sees the whole
    /// of every secret that the page holds a part of.
    pub fn longest(&self) -> usize {
        self.groups.first().map_or(0, |group| group.length)
    }

    /// Returns the parts of `bytes` that hold secrets, in their order.
    ///
    /// Parts do not overlap: secrets that do are found as one part, under the
    /// mark of the longest. So a byte of a secret is found whatever stands
    /// around the secret. Takes time linear in `bytes` for each distinct length.
    pub fn find(&self, bytes: &[u8]) -> Vec<Found> {
        let mut parts: Vec<Found> = self
            .groups
            .iter()
            .flat_map(|group| self.find_group(group, bytes))
            .collect();
        parts.sort_by_key(|found| found.range.start);
        let mut all = Vec::new();
        for found in parts {
            self.push_merged(&mut all, found);
        }
        all
    }

    /// Returns `bytes` with `[outlast: NAME masked]` in place of each secret.
    pub fn mask<'bytes>(&self, bytes: &'bytes [u8]) -> Cow<'bytes, [u8]> {
        self.mask_page(bytes, 0..bytes.len())
    }

    /// Returns the bytes of `page`, a range of `window`, as `mask` shows bytes.
    ///
    /// The window should reach [`Masker::longest`] bytes over the borders of
    /// the page, where there are so many. A secret that crosses a border is
    /// masked on both of its sides.
    pub fn mask_page<'bytes>(&self, window: &'bytes [u8], page: Range<usize>) -> Cow<'bytes, [u8]> {
        let end = page.end.min(window.len());
        let start = page.start.min(end);
        let is_on_page = |range: &Range<usize>| range.start < end && range.end > start;
        let mut shown = Vec::new();
        let mut at = start;
        for found in self.find(window) {
            if is_on_page(&found.range) {
                shown.extend_from_slice(&window[at..found.range.start.max(at)]);
                shown.extend_from_slice(self.known[found.mark].label.as_bytes());
                at = found.range.end.min(end);
            }
        }
        if at == start {
            return Cow::Borrowed(&window[start..end]);
        }
        shown.extend_from_slice(&window[at..end]);
        Cow::Owned(shown)
    }

    fn add(&mut self, mark: &SecretMark) {
        let index = self.known.len();
        let length = usize::try_from(mark.length).unwrap_or(usize::MAX);
        self.known.push(Known {
            length,
            label: format!(
                "[outlast: {} masked]",
                first_line_label(&mark.name, LABEL_CHARS)
            ),
        });
        if !(1..=SECRET_BYTES_MAX).contains(&length) {
            return;
        }
        let target = Target {
            rolling: self.rolling.opened(mark.rolling, &mark.hash),
            hash: mark.hash.clone(),
            mark: index,
        };
        let place = self.groups.iter().position(|group| group.length == length);
        let place = place.unwrap_or_else(|| {
            self.groups.push(Group {
                length,
                targets: Vec::new(),
                last_bits: 0,
            });
            self.groups.len() - 1
        });
        self.groups[place].add(target);
    }

    fn find_group(&self, group: &Group, bytes: &[u8]) -> Vec<Found> {
        // What the last candidate of each target was. The same bytes again, as
        // in a long run of one letter, are compared and not hashed once more.
        let mut verdicts: Vec<Option<(Range<usize>, bool)>> = vec![None; group.targets.len()];
        let mut all = Vec::new();
        let windows = self.rolling.windows(bytes, group.length);
        for (start, rolling) in windows.filter(|(_, rolling)| group.may_hold(*rolling)) {
            let range = start..start + group.length;
            let first = group
                .targets
                .partition_point(|target| target.rolling < rolling);
            for (target, verdict) in group.targets.iter().zip(&mut verdicts).skip(first) {
                if target.rolling != rolling {
                    break;
                }
                let candidate = &bytes[range.clone()];
                let is_secret = match verdict {
                    Some((last, is_secret)) if bytes[last.clone()] == *candidate => *is_secret,
                    Some(_) | None => keyed_hash(&self.key, candidate) == target.hash,
                };
                *verdict = Some((range.clone(), is_secret));
                if is_secret {
                    let mark = target.mark;
                    self.push_merged(&mut all, Found { range, mark });
                    break;
                }
            }
        }
        all
    }

    /// Adds what begins no earlier than the parts that are there.
    fn push_merged(&self, all: &mut Vec<Found>, found: Found) {
        match all.last_mut() {
            Some(last) if found.range.start < last.range.end => {
                last.range.end = last.range.end.max(found.range.end);
                if self.known[found.mark].length > self.known[last.mark].length {
                    last.mark = found.mark;
                }
            }
            Some(_) | None => all.push(found),
        }
    }
}
