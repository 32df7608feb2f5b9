//! Times survive their text, and the text is a real date.

use super::Timestamp;
use proptest::prelude::*;

#[test]
fn known_times_are_written_as_the_calendar_has_them() {
    for (ms, text) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_796_000_000_123, "2026-11-30T00:53:20.123Z"),
        (Timestamp::MAX.0, "9999-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(Timestamp(ms).to_string(), text);
        assert_eq!(Timestamp::parse(text), Ok(Timestamp(ms)));
    }
    assert_eq!(Timestamp(1_796_000_000_123).month(), "2026-11");
}

#[test]
fn what_is_no_date_is_refused() {
    for bad in [
        "",
        "2026-11-29",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-11-29T24:00:00Z",
        "2026-11-29T00:00:00+01:00",
        "2026-11-29T00:00:00.Z",
        "1969-12-31T23:59:59Z",
        "2026-11-29T00:00:0éZ",
    ] {
        assert!(Timestamp::parse(bad).is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn every_time_survives_its_text(ms in 0..=Timestamp::MAX.0) {
        prop_assert_eq!(Timestamp::parse(&Timestamp(ms).to_string()), Ok(Timestamp(ms)));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,40}") {
        prop_assert!(Timestamp::parse(&text).is_ok() || Timestamp::parse(&text).is_err());
    }
}
