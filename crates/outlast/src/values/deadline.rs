//! Points in time: RFC 3339 with an offset, or a time of day that is still to come.

use super::ValueError;
use jiff::{
    civil::Time,
    tz::{AmbiguousOffset, AmbiguousTimestamp, TimeZone},
};
use outlast_journal::Timestamp;

/// A point in time as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// A date with an offset, which means the same everywhere.
    At(Timestamp),
    /// A time of day, to be read where the caller is.
    TimeOfDay(Time),
}

/// Reads what was typed. Which day a time of day falls on is settled by `Deadline::resolve`.
///
/// # Errors
///
/// Fails on anything else, a date without an offset included.
pub(crate) fn deadline(text: &str) -> Result<Deadline, ValueError> {
    let trimmed = text.trim();
    if let Some(time) = time_of_day(trimmed) {
        return Ok(Deadline::TimeOfDay(time));
    }
    let wrong = || ValueError::Deadline {
        text: text.to_owned(),
    };
    let instant: jiff::Timestamp = trimmed.parse().map_err(|_| wrong())?;
    let unix_ms = u64::try_from(instant.as_millisecond()).map_err(|_| wrong())?;
    Ok(Deadline::At(Timestamp(unix_ms)))
}

/// Reads `HH:MM` or `HH:MM:SS`.
fn time_of_day(text: &str) -> Option<Time> {
    let mut fields = text.split(':').map(|field| {
        let is_number = field.len() == 2 && field.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| field.parse::<i8>().ok())?
    });
    let hour = fields.next()??;
    let minute = fields.next()??;
    let second = fields.next().unwrap_or(Some(0))?;
    match fields.next() {
        Some(_) => None,
        None => Time::new(hour, minute, second, 0).ok(),
    }
}

impl Deadline {
    /// Returns the point in time that is meant by someone in `zone` at `now`.
    ///
    /// A time of day is the first such moment after `now`. On the night that has
    /// an hour twice each of the two counts; on the night that skips it, it is
    /// the moment as far after the gap as the time is inside it.
    pub(crate) fn resolve(self, now: Timestamp, zone: &TimeZone) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::TimeOfDay(time) => next(time, now, zone).unwrap_or(Timestamp::MAX),
        }
    }
}

fn next(time: Time, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let now_ms = i64::try_from(now.unix_ms()).ok()?;
    let instant = jiff::Timestamp::from_millisecond(now_ms).ok()?;
    let today = zone.to_datetime(instant).date();
    let tomorrow = today.tomorrow().ok()?;
    [today, tomorrow]
        .into_iter()
        .flat_map(|day| moments(zone.to_ambiguous_timestamp(day.to_datetime(time))))
        .find(|moment| *moment > now)
}

/// Returns the moments at which the clock shows a time: one, or two in the night that has it twice.
fn moments(wall: AmbiguousTimestamp) -> Vec<Timestamp> {
    let moments = match wall.offset() {
        AmbiguousOffset::Fold { .. } => vec![wall.earlier(), wall.later()],
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Gap { .. } => {
            vec![wall.compatible()]
        }
    };
    moments
        .into_iter()
        .filter_map(|instant| u64::try_from(instant.ok()?.as_millisecond()).ok())
        .map(Timestamp)
        .collect()
}

#[cfg(test)]
mod tests;
