//! Sizes: bytes, or a number with `KiB`, `MiB`, `GiB` or their first letter.

use super::{ValueError, duration::decimal};

/// Units, the longer name before the shorter one that ends it.
const UNITS: [(&str, u32); 7] = [
    ("kib", 10),
    ("mib", 20),
    ("gib", 30),
    ("k", 10),
    ("m", 20),
    ("g", 30),
    ("b", 0),
];

/// Returns the bytes that `text` means; what no `u64` can hold is its largest value.
///
/// `K`, `M` and `G` are powers of 1,024, and case does not matter. `KB` and its
/// like are refused, since half of the world reads them in another way.
///
/// # Errors
///
/// Fails on anything that is no number with one of the units.
pub(crate) fn size_bytes(text: &str) -> Result<u64, ValueError> {
    read(&text.trim().to_ascii_lowercase()).ok_or_else(|| ValueError::Size {
        text: text.to_owned(),
    })
}

fn read(text: &str) -> Option<u64> {
    let (number, shift) = UNITS
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)))
        .unwrap_or((text, 0));
    let number = number.trim_end();
    // Whole numbers stay exact beyond 2^53.
    let is_whole = number.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(whole) = number.parse::<u64>().ok().filter(|_| is_whole) {
        return Some(whole.saturating_mul(1 << shift));
    }
    let number = decimal(number)?;
    Some(bytes(number * f64::from(1_u32 << shift)))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, which is what is promised"
)]
fn bytes(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests;
