//! Labels and signals have one name each.

use crate::{label, signal_name, signal_number};

#[test]
fn a_label_is_the_given_one_or_made() {
    for (given, made) in [
        (None, "make all"),
        (Some(""), "make all"),
        (Some("  \n "), "make all"),
        (Some(" build "), "build"),
    ] {
        assert_eq!(label(given, "make  all\nmake test"), made, "{given:?}");
    }
    let long = "é".repeat(300);
    assert_eq!(label(Some(&long), "x").chars().count(), 200);
    assert_eq!(label(None, &long).chars().count(), 60);
    assert_eq!(label(None, ""), "");
}

#[test]
fn a_signal_has_one_name_and_one_number() {
    for number in 1..=64_u8 {
        let name = signal_name(i32::from(number));
        assert_eq!(signal_number(&name), Some(number), "{name}");
        assert_eq!(signal_number(&format!("SIG{name}")), Some(number), "{name}");
        assert_eq!(signal_number(&name.to_lowercase()), Some(number), "{name}");
    }
    for (number, name) in [
        (1, "HUP"),
        (9, "KILL"),
        (15, "TERM"),
        (31, "SYS"),
        (34, "34"),
    ] {
        assert_eq!(signal_name(number), name);
    }
    for name in ["", "SIG", "FOO", "0", "65", "-1", "256", " TERM", "TERM "] {
        assert_eq!(signal_number(name), None, "{name:?}");
    }
}
