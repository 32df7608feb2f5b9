//! Numbers in words: ages, durations, sizes, counts, moments.

use crate::look::Look;
use outlast_journal::Timestamp;

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Returns a time span by its largest unit: `12s`, `4m`, `2h`, `1d`.
pub(crate) fn age(ms: u64) -> String {
    match ms {
        0..MINUTE_MS => format!("{}s", ms / SECOND_MS),
        MINUTE_MS..HOUR_MS => format!("{}m", ms / MINUTE_MS),
        HOUR_MS..DAY_MS => format!("{}h", ms / HOUR_MS),
        DAY_MS.. => format!("{}d", ms / DAY_MS),
    }
}

/// Returns a time span by its two largest units: `0.3s`, `41s`, `4m12s`, `2h03m`, `1d04h`.
pub(crate) fn span(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{}.{}s", ms / SECOND_MS, ms % SECOND_MS / 100),
        10_000..MINUTE_MS => format!("{}s", ms / SECOND_MS),
        MINUTE_MS..HOUR_MS => {
            format!("{}m{:02}s", ms / MINUTE_MS, ms % MINUTE_MS / SECOND_MS)
        }
        HOUR_MS..DAY_MS => format!("{}h{:02}m", ms / HOUR_MS, ms % HOUR_MS / MINUTE_MS),
        DAY_MS.. => format!("{}d{:02}h", ms / DAY_MS, ms % DAY_MS / HOUR_MS),
    }
}

/// Returns a limit as it would be typed: `5s`, `1.5s`, `30m`, `2h`, `30d`.
pub(crate) fn limit(ms: u64) -> String {
    let units = [
        (DAY_MS, "d"),
        (HOUR_MS, "h"),
        (MINUTE_MS, "m"),
        (SECOND_MS, "s"),
    ];
    match units
        .iter()
        .find(|(unit, _)| ms >= *unit && ms.is_multiple_of(*unit))
    {
        Some((unit, name)) => format!("{}{name}", ms / unit),
        None if ms >= SECOND_MS => {
            let thousandths = format!("{:03}", ms % SECOND_MS);
            format!("{}.{}s", ms / SECOND_MS, thousandths.trim_end_matches('0'))
        }
        None => format!("{ms}ms"),
    }
}

/// Returns a number of bytes: `812 B`, `4.2 KiB`, `64.0 MiB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match UNITS.iter().find(|(_, shift)| count >> shift > 0) {
        Some((name, shift)) => {
            let whole = count >> shift;
            let tenths = ((count & ((1 << shift) - 1)) * 10) >> shift;
            format!("{whole}.{tenths} {name}")
        }
        None => format!("{count} B"),
    }
}

/// Returns `1 run`, `2 runs`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns a point in time on the reader's clock, with the date unless it is today.
pub(crate) fn moment(time: Timestamp, look: &Look) -> String {
    let on_the_clock = |time: Timestamp| {
        let ms = i64::try_from(time.unix_ms()).ok()?;
        let instant = jiff::Timestamp::from_millisecond(ms).ok()?;
        Some(look.zone.to_datetime(instant))
    };
    let (Some(then), Some(now)) = (on_the_clock(time), on_the_clock(look.now)) else {
        return time.to_string();
    };
    let form = if then.date() == now.date() {
        "%H:%M:%S"
    } else {
        "%Y-%m-%d %H:%M:%S"
    };
    then.strftime(form).to_string()
}

#[cfg(test)]
mod tests;
