//! Points in time as they stand in records: UTC, RFC 3339, milliseconds.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{borrow::Cow, fmt};

const DAY_MS: u64 = 86_400_000;

/// A wall-clock time, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The last time that can be written with a year of four digits.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// Returns the time as Unix milliseconds.
    pub fn unix_ms(self) -> u64 {
        self.0
    }

    /// Returns year and month as `2026-11`, the folder that a run born then lies in.
    pub fn month(self) -> String {
        let (year, month, _) = civil(self.0.min(Self::MAX.0) / DAY_MS);
        format!("{year:04}-{month:02}")
    }

    /// Reads what `Display` writes; any number of digits may follow the seconds.
    ///
    /// # Errors
    ///
    /// Fails on any other form, another offset than `Z`, and times before 1970.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        parse(text.as_bytes()).map(Self).ok_or(TimestampError)
    }
}

/// Days since the epoch to year, month and day (Gregorian).
fn civil(days: u64) -> (u64, u64, u64) {
    // Count from 0000-03-01, so that a leap day is the last day of its year.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

/// Year, month and day to days since the epoch.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year / 400;
    let year_of_era = year % 400;
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).checked_sub(719_468)
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |sum, digit| {
        digit
            .is_ascii_digit()
            .then(|| sum * 10 + u64::from(digit - b'0'))
    })
}

fn parse(text: &[u8]) -> Option<u64> {
    let shape: &[(usize, u8)] = &[(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if text.len() < 20 || shape.iter().any(|(at, mark)| text[*at] != *mark) {
        return None;
    }
    let field = |from: usize, to: usize| number(&text[from..to]);
    let (year, month, day) = (field(0, 4)?, field(5, 7)?, field(8, 10)?);
    let (hour, minute, second) = (field(11, 13)?, field(14, 16)?, field(17, 19)?);
    let (fraction, zone) = text[19..].split_at(text.len() - 20);
    let millis = match fraction {
        [] => 0,
        [b'.', digits @ ..] if (1..=9).contains(&digits.len()) => {
            let mut three = [b'0'; 3];
            let kept = digits.len().min(3);
            three[..kept].copy_from_slice(&digits[..kept]);
            number(digits)?;
            number(&three)?
        }
        _ => return None,
    };
    let in_range = year >= 1970
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if zone != b"Z" || !in_range {
        return None;
    }
    let days = days(year, month, day)?;
    (civil(days) == (year, month, day))
        .then(|| days * DAY_MS + (hour * 3_600 + minute * 60 + second) * 1_000 + millis)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.min(Self::MAX.0);
        let (year, month, day) = civil(ms / DAY_MS);
        let rest = ms % DAY_MS;
        let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
        let (second, milli) = (rest / 1_000 % 60, rest % 1_000);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"
        )
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The text is no time in the form of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a time is written like `2026-11-29T16:28:47.123Z`")]
pub struct TimestampError;

#[cfg(test)]
mod tests;
