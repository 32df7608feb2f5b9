//! A length of time is exact, saturates, or is refused.

use super::*;

#[test]
fn a_number_with_a_unit_is_that_long_and_a_bare_one_is_seconds() {
    let cases = [
        ("0", 0),
        ("90", 90_000),
        ("90s", 90_000),
        ("250ms", 250),
        ("1.5h", 5_400_000),
        (".5", 500),
        ("5.", 5_000),
        ("2m", 120_000),
        ("1d", 86_400_000),
        (" 3 s ", 3_000),
        ("0.1s", 100),
        ("0.29", 290),
    ];
    for (text, expected) in cases {
        assert_eq!(duration_ms(text), Ok(expected), "{text}");
    }
}

#[test]
fn a_time_above_zero_is_never_read_as_none() {
    assert_eq!(duration_ms("0.0001ms"), Ok(1));
    assert_eq!(duration_ms("0.0000001"), Ok(1));
}

#[test]
fn a_huge_time_saturates() {
    assert_eq!(duration_ms("400000000000000000d"), Ok(u64::MAX));
    assert_eq!(duration_ms(&"9".repeat(400)), Ok(u64::MAX));
    assert_eq!(duration_ms("146000d"), Ok(146_000 * 86_400_000));
}

#[test]
fn a_negative_time_is_told_apart_from_a_word() {
    assert!(matches!(
        duration_ms("-1"),
        Err(ValueError::Negative { .. })
    ));
    assert!(matches!(
        duration_ms("-1.5h"),
        Err(ValueError::Negative { .. })
    ));
    for text in [
        "abc", "", " ", ".", "-", "--grace", "5x", "1e5", "inf", "nan", "1.2.3", "s", "1h30m",
        "+5", "٣", "1 0",
    ] {
        let expected = ValueError::Duration {
            text: text.to_owned(),
        };
        assert_eq!(duration_ms(text), Err(expected), "{text}");
    }
}
