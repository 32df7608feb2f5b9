//! What a shell is offered can be typed as it is.

use super::*;
use crate::sample;

fn offered(current: &str) -> Vec<String> {
    let records = [sample::running(), sample::failed(), sample::interrupted()];
    let found = offers(&records, current);
    found
        .iter()
        .map(|one| one.get_value().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn ids_are_offered_as_short_as_they_name_one_run() {
    assert_eq!(offered(""), ["m3qd", "z8zz", "w4tt"]);
    assert_eq!(offered("m"), ["m3qd"]);
    assert_eq!(offered("m3qd00"), ["m3qd00"]);
    assert_eq!(offered("x"), [""; 0]);
}

#[test]
fn labels_are_offered_once_they_are_begun() {
    assert_eq!(offered("bu"), ["build"]);
    assert_eq!(offered("de"), ["deploy"]);
}

#[test]
fn a_label_that_a_shell_would_take_apart_is_not_offered() {
    let mut record = sample::failed();
    record.label = "lint; rm -r x".to_owned();
    assert!(offers(&[record], "lint").is_empty());
}

#[test]
fn an_offer_says_what_became_of_the_run() {
    let found = offers(&[sample::failed()], "z");
    let help = found[0].get_help().map(ToString::to_string);
    assert_eq!(help.as_deref(), Some("✗ 101  lint"));
}
