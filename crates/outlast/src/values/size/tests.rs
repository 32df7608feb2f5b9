//! A size is exact, saturates, or is refused.

use super::*;

#[test]
fn a_size_is_bytes_or_a_power_of_1024() {
    let cases = [
        ("0", 0),
        ("65536", 65_536),
        ("64MiB", 64 << 20),
        ("64M", 64 << 20),
        ("512KiB", 512 << 10),
        ("512k", 512 << 10),
        ("1.5GiB", 3 << 29),
        ("1 GiB", 1 << 30),
        ("100b", 100),
        ("18446744073709551615", u64::MAX),
    ];
    for (text, expected) in cases {
        assert_eq!(size_bytes(text), Ok(expected), "{text}");
    }
}

#[test]
fn a_huge_size_saturates() {
    assert_eq!(size_bytes("99999999999999999999GiB"), Ok(u64::MAX));
    assert_eq!(size_bytes("18446744073709551615K"), Ok(u64::MAX));
}

#[test]
fn a_word_that_is_no_size_is_refused() {
    for text in ["", "abc", "-1", "64MB", "1e6", "+5", ".", "MiB", "1,5GiB"] {
        let expected = ValueError::Size {
            text: text.to_owned(),
        };
        assert_eq!(size_bytes(text), Err(expected), "{text}");
    }
}
