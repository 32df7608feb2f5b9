//! A point in time means one moment, also in the nights that change the clock.

use super::*;

/// Central European time, with its rules for summer written out.
fn zone() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a POSIX rule")
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("a time of a record")
}

fn resolved(text: &str, now: &str) -> String {
    let deadline = deadline(text).expect("a point in time");
    deadline.resolve(at(now), &zone()).to_string()
}

#[test]
fn a_date_with_an_offset_means_the_same_everywhere() {
    let now = "2026-11-29T12:00:00Z";
    for text in [
        "2026-11-29T18:00:00+01:00",
        "2026-11-29T17:00:00Z",
        "2026-11-29T17:00:00.000Z",
        " 2026-11-29T12:00:00-05:00 ",
    ] {
        assert_eq!(resolved(text, now), "2026-11-29T17:00:00.000Z", "{text}");
    }
}

#[test]
fn a_time_of_day_is_the_next_one_where_the_caller_is() {
    let now = "2026-11-29T12:00:00Z";
    assert_eq!(resolved("13:01", now), "2026-11-29T12:01:00.000Z");
    assert_eq!(resolved("13:00:01", now), "2026-11-29T12:00:01.000Z");
    assert_eq!(resolved("13:00", now), "2026-11-30T12:00:00.000Z");
    assert_eq!(resolved("00:30", now), "2026-11-29T23:30:00.000Z");
}

#[test]
fn an_hour_that_comes_twice_is_taken_the_next_time_it_comes() {
    assert_eq!(
        resolved("02:30", "2026-10-25T00:00:00Z"),
        "2026-10-25T00:30:00.000Z"
    );
    assert_eq!(
        resolved("02:30", "2026-10-25T00:45:00Z"),
        "2026-10-25T01:30:00.000Z"
    );
    assert_eq!(
        resolved("02:30", "2026-10-25T01:45:00Z"),
        "2026-10-26T01:30:00.000Z"
    );
}

#[test]
fn an_hour_that_is_skipped_comes_after_the_gap() {
    assert_eq!(
        resolved("02:30", "2026-03-29T00:00:00Z"),
        "2026-03-29T01:30:00.000Z"
    );
}

#[test]
fn what_is_no_point_in_time_is_refused() {
    for text in [
        "",
        "abc",
        "2026-11-29",
        "2026-11-29T18:00:00",
        "24:00",
        "12:60",
        "1:00",
        "12",
        "12:00:00:00",
        "1969-12-31T23:59:59Z",
        "+1:00",
    ] {
        let expected = ValueError::Deadline {
            text: text.to_owned(),
        };
        assert_eq!(deadline(text), Err(expected), "{text}");
    }
}
