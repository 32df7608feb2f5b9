//! Holds what a final message claims to have done against what was done.
//!
//! By words alone, and careful: only a plain claim of one's own doing counts, and only when no
//! tool that could have done it has succeeded. A claim that is not found says nothing.

use crate::memory::Receipt;
use outlast_journal::limits::{CLAIM_CHARS, CLAIMS_NAMED_MAX};
use outlast_journal::text::cut_chars;

/// What must have happened for a claim to be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// A command ran.
    Ran,
    /// A file was changed.
    Wrote,
    /// Something was fetched.
    Fetched,
}

/// Verbs of doing, in the form in which they are claimed.
const VERBS: [(&str, Doing); 31] = [
    ("ran", Doing::Ran),
    ("executed", Doing::Ran),
    ("tested", Doing::Ran),
    ("built", Doing::Ran),
    ("compiled", Doing::Ran),
    ("installed", Doing::Ran),
    ("committed", Doing::Ran),
    ("pushed", Doing::Ran),
    ("merged", Doing::Ran),
    ("deployed", Doing::Ran),
    ("restarted", Doing::Ran),
    ("benchmarked", Doing::Ran),
    ("deleted", Doing::Ran),
    ("wrote", Doing::Wrote),
    ("written", Doing::Wrote),
    ("rewrote", Doing::Wrote),
    ("created", Doing::Wrote),
    ("added", Doing::Wrote),
    ("edited", Doing::Wrote),
    ("modified", Doing::Wrote),
    ("updated", Doing::Wrote),
    ("changed", Doing::Wrote),
    ("replaced", Doing::Wrote),
    ("renamed", Doing::Wrote),
    ("removed", Doing::Wrote),
    ("fixed", Doing::Wrote),
    ("patched", Doing::Wrote),
    ("refactored", Doing::Wrote),
    ("implemented", Doing::Wrote),
    ("downloaded", Doing::Fetched),
    ("fetched", Doing::Fetched),
];

/// Words that make a sentence no claim.
const DOUBTS: [&str; 26] = [
    "not",
    "n't",
    "never",
    "cannot",
    "could",
    "would",
    "should",
    "if",
    "unless",
    "failed",
    "fails",
    "unable",
    "without",
    "no",
    "nothing",
    "none",
    "plan",
    "will",
    "can",
    "may",
    "might",
    "need",
    "needs",
    "unverified",
    "instead",
    "refused",
];

/// Words between the subject and its verb.
const BETWEEN: [&str; 12] = [
    "have",
    "has",
    "had",
    "then",
    "also",
    "successfully",
    "now",
    "already",
    "just",
    "first",
    "finally",
    "been",
];

/// Returns the claims of `text` that nothing in `receipts` bears out.
///
/// `is_checked` says that a goal's check ran: it counts as a command.
pub(crate) fn ungrounded(text: &str, receipts: &[Receipt], is_checked: bool) -> Vec<String> {
    let mut claims = Vec::new();
    for sentence in sentences(text) {
        let Some(doing) = claimed(&sentence) else {
            continue;
        };
        if !is_borne_out(doing, receipts, is_checked) {
            claims.push(cut_chars(sentence.trim(), CLAIM_CHARS));
        }
        if claims.len() == CLAIMS_NAMED_MAX {
            break;
        }
    }
    claims
}

fn is_borne_out(doing: Doing, receipts: &[Receipt], is_checked: bool) -> bool {
    let does = |receipt: &Receipt| {
        let is_command = matches!(receipt.tool.as_str(), "shell" | "background_run");
        let is_delegated = receipt.tool == "background_agent";
        match doing {
            _ if is_command || is_delegated => true,
            Doing::Ran => false,
            Doing::Wrote => {
                receipt.wrote
                    || matches!(
                        receipt.tool.as_str(),
                        "write_file" | "edit_file" | "remember"
                    )
            }
            Doing::Fetched => receipt.tool == "http_request",
        }
    };
    (doing == Doing::Ran && is_checked)
        || receipts.iter().any(|receipt| receipt.ok && does(receipt))
}

/// Returns the sentences of a text without its code.
fn sentences(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if is_code || line.trim_start().starts_with('>') {
            continue;
        }
        let mut sentence = String::new();
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            sentence.push(letter);
            let is_end = matches!(letter, '.' | '!' | '?' | ';')
                && letters.peek().is_none_or(|next| next.is_whitespace());
            if is_end {
                sentences.push(std::mem::take(&mut sentence));
            }
        }
        sentences.push(sentence);
    }
    sentences.retain(|sentence| !sentence.trim().is_empty());
    sentences
}

/// Returns what a sentence claims to have been done by its writer.
fn claimed(sentence: &str) -> Option<Doing> {
    // A question claims nothing, and a quoted word is somebody else's.
    if sentence.trim_end().ends_with('?') {
        return None;
    }
    let lower = sentence.to_lowercase().replace('’', "'");
    let words: Vec<&str> = lower
        .split(|letter: char| !(letter.is_alphanumeric() || letter == '\''))
        .filter(|word| !word.is_empty())
        .collect();
    let is_doubt = |word: &&str| DOUBTS.contains(word) || word.ends_with("n't");
    if words.iter().any(is_doubt) {
        return None;
    }
    if tests_pass(&words) {
        return Some(Doing::Ran);
    }
    let first = words.first().copied()?;
    let is_subject = |word: &str| matches!(word, "i" | "we" | "i've" | "we've");
    // "Fixed the test": the subject is left out.
    if let Some(doing) = verb(first) {
        return Some(doing);
    }
    let mut after_subject = false;
    for word in words {
        if is_subject(word) {
            after_subject = true;
        } else if after_subject {
            if let Some(doing) = verb(word) {
                return Some(doing);
            }
            // "I fixed x and ran y": the subject reaches as far as its first verb; past words
            // that may stand between, nothing is claimed.
            after_subject = BETWEEN.contains(&word);
        }
    }
    None
}

/// Returns whether the words say that tests pass.
fn tests_pass(words: &[&str]) -> bool {
    let is_tests = |word: &str| matches!(word, "test" | "tests" | "build");
    let is_pass = |word: &str| {
        matches!(
            word,
            "pass" | "passes" | "passed" | "green" | "succeeds" | "succeeded"
        )
    };
    words.windows(3).any(|three| match three {
        [tests, "now" | "all" | "are" | "is", pass] => is_tests(tests) && is_pass(pass),
        _ => false,
    }) || words
        .windows(2)
        .any(|two| matches!(two, [tests, pass] if is_tests(tests) && is_pass(pass)))
}

fn verb(word: &str) -> Option<Doing> {
    let found = VERBS.iter().find(|(verb, _)| *verb == word);
    found.map(|(_, doing)| *doing)
}

#[cfg(test)]
mod tests;
