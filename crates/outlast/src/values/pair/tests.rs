//! A value is taken as it is and never shown.

use super::*;

#[test]
fn the_first_equals_sign_ends_the_name() {
    let read = pair("A=b=c").expect("a pair");
    assert_eq!((read.name.as_str(), read.value.as_str()), ("A", "b=c"));
    let empty = pair("A=").expect("a pair");
    assert_eq!((empty.name.as_str(), empty.value.as_str()), ("A", ""));
}

#[test]
fn a_value_never_stands_in_a_message() {
    let error = pair("TOKEN:hunter2hunter2").expect_err("no pair");
    assert_eq!(error.to_string(), "`TOKEN` has no `=`");
    let shown = format!("{:?}", pair("TOKEN=hunter2hunter2"));
    assert!(!shown.contains("hunter2"), "{shown}");
}
