//! Lengths of time: a number with `ms`, `s`, `m`, `h` or `d`; bare means seconds.

use super::ValueError;

/// Units, the longer name before the shorter one that ends it.
const UNITS: [(&str, f64); 5] = [
    ("ms", 1.0),
    ("s", 1_000.0),
    ("m", 60_000.0),
    ("h", 3_600_000.0),
    ("d", 86_400_000.0),
];

/// Returns the milliseconds that `text` means.
///
/// Decimals are allowed. What is more than zero is at least 1 ms, since 0 means
/// "none" for most limits. What no `u64` can hold is its largest value; the
/// library clamps it further and says so.
///
/// # Errors
///
/// Fails on anything that is no number with one of the units, and below zero.
pub(crate) fn duration_ms(text: &str) -> Result<u64, ValueError> {
    let trimmed = text.trim();
    if let Some(positive) = trimmed.strip_prefix('-') {
        let error = match read(positive) {
            Some(_) => ValueError::Negative {
                text: trimmed.to_owned(),
            },
            None => wrong(text),
        };
        return Err(error);
    }
    read(trimmed).ok_or_else(|| wrong(text))
}

fn wrong(text: &str) -> ValueError {
    ValueError::Duration {
        text: text.to_owned(),
    }
}

fn read(text: &str) -> Option<u64> {
    let (number, unit_ms) = UNITS
        .iter()
        .find_map(|(unit, ms)| Some((text.strip_suffix(unit)?, *ms)))
        .unwrap_or((text, 1_000.0));
    let milliseconds = decimal(number.trim_end())? * unit_ms;
    Some(whole(milliseconds))
}

/// Reads digits with at most one point; `inf`, `nan` and exponents are no numbers here.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    (has_digit && is_plain).then(|| text.parse().ok())?
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, which is what is promised"
)]
fn whole(number: f64) -> u64 {
    if number > 0.0 && number < 1.0 {
        return 1;
    }
    number.round() as u64
}

#[cfg(test)]
mod tests;
