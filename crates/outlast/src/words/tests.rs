//! Numbers in words, at the borders of each unit.

use super::*;
use crate::look::tests::look;

#[test]
fn an_age_has_one_unit() {
    let cases = [
        (0, "0s"),
        (59_999, "59s"),
        (60_000, "1m"),
        (3_599_999, "59m"),
        (2 * HOUR_MS, "2h"),
        (DAY_MS, "1d"),
        (400 * DAY_MS, "400d"),
    ];
    for (ms, expected) in cases {
        assert_eq!(age(ms), expected);
    }
}

#[test]
fn a_span_has_the_two_units_that_matter() {
    let cases = [
        (0, "0.0s"),
        (349, "0.3s"),
        (9_999, "9.9s"),
        (41_000, "41s"),
        (252_000, "4m12s"),
        (2 * HOUR_MS + 3 * MINUTE_MS, "2h03m"),
        (DAY_MS + 4 * HOUR_MS, "1d04h"),
    ];
    for (ms, expected) in cases {
        assert_eq!(span(ms), expected);
    }
}

#[test]
fn a_limit_reads_as_it_would_be_typed() {
    let cases = [
        (0, "0ms"),
        (250, "250ms"),
        (1_500, "1.5s"),
        (5_000, "5s"),
        (90_000, "90s"),
        (30 * MINUTE_MS, "30m"),
        (30 * DAY_MS, "30d"),
    ];
    for (ms, expected) in cases {
        assert_eq!(limit(ms), expected);
    }
}

#[test]
fn bytes_have_the_unit_that_fits() {
    let cases = [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_024, "1.0 KiB"),
        (4_300, "4.1 KiB"),
        (64 << 20, "64.0 MiB"),
        (u64::MAX, "16777215.9 TiB"),
    ];
    for (number, expected) in cases {
        assert_eq!(bytes(number), expected);
    }
}

#[test]
fn a_moment_has_its_date_unless_it_is_today() {
    let at = |text| Timestamp::parse(text).expect("a time");
    assert_eq!(moment(at("2026-11-29T09:12:03Z"), &look()), "09:12:03");
    assert_eq!(
        moment(at("2026-11-28T23:59:59Z"), &look()),
        "2026-11-28 23:59:59"
    );
}
