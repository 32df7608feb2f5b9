//! What models write as arguments, and what they are told of it.

use super::*;
use serde_json::json;

const KNOWN: [&str; 2] = ["a", "b"];

fn arguments(given: &Value) -> Arguments {
    Arguments::new(given, &KNOWN).expect("known names")
}

fn said(error: &ArgumentError) -> (&'static str, String, String) {
    (error.code(), error.to_string(), error.hint())
}

fn refusal(given: &Value, known: &[&str]) -> ArgumentError {
    Arguments::new(given, known).err().expect("a refusal")
}

#[test]
fn null_and_blank_mean_absent_for_every_type() {
    for absent in [
        json!(null),
        json!({}),
        json!({"a": null}),
        json!({"a": " \n"}),
    ] {
        assert_eq!(arguments(&absent).text("a"), Ok(None));
        assert_eq!(arguments(&absent).number("a"), Ok(None));
        assert_eq!(arguments(&absent).flag("a"), Ok(false));
        assert_eq!(arguments(&absent).word("a", &[("x", 1)]), Ok(None));
        let missing = arguments(&absent)
            .needed_text("a")
            .expect_err("it is needed");
        assert_eq!(
            said(&missing),
            (
                "missing_argument",
                "`a` is missing or blank".to_owned(),
                "give `a`".to_owned()
            )
        );
    }
}

#[test]
fn a_name_that_is_not_known_is_named_with_those_that_are() {
    let wrong = refusal(&json!({"a": 1, "timeout": 5}), &KNOWN);
    assert_eq!(
        said(&wrong),
        (
            "unknown_argument",
            "there is no argument `timeout`".to_owned(),
            "use `a`, `b`".to_owned()
        )
    );
    assert_eq!(refusal(&json!({"x": 1}), &[]).hint(), "give no arguments");
    let long = refusal(&json!({"y".repeat(5_000): 1}), &KNOWN);
    assert!(long.to_string().len() < 100, "{long}");
}

#[test]
fn what_is_no_object_is_refused() {
    for (given, kind) in [
        (json!("{}"), "a string"),
        (json!([1]), "a list"),
        (json!(1), "another number"),
    ] {
        let error = refusal(&given, &KNOWN);
        let fact = format!("the arguments must be an object, not {kind}");
        assert_eq!((error.code(), error.to_string()), ("wrong_type", fact));
    }
}

#[test]
fn a_number_is_whole_and_from_zero() {
    let number = |value: Value| arguments(&json!({"a": value})).number("a");
    assert_eq!(number(json!(45)), Ok(Some(45)));
    assert_eq!(number(json!(45.0)), Ok(Some(45)));
    assert_eq!(number(json!(u64::MAX)), Ok(Some(u64::MAX)));
    assert_eq!(number(json!(1e300)), Ok(Some(u64::MAX)));
    for (wrong, fact) in [
        (json!(-1), "`a` must not be negative, as -1 is"),
        (json!(1.5), "`a` must be a whole number, not another number"),
        (json!("5"), "`a` must be a whole number, not a string"),
        (json!(true), "`a` must be a whole number, not a boolean"),
    ] {
        let error = number(wrong).expect_err("a refusal");
        assert_eq!(error.to_string(), fact);
    }
}

#[test]
fn a_word_is_one_of_its_words() {
    let word = |value: &str| arguments(&json!({"a": value})).word("a", &[("x", 1), ("y", 2)]);
    assert_eq!(word("y"), Ok(Some(2)));
    let error = word("z").expect_err("a refusal");
    assert_eq!(
        said(&error),
        (
            "unknown_word",
            "`a` cannot be `z`".to_owned(),
            "use one of `x`, `y`, or leave it out".to_owned()
        )
    );
}

#[test]
fn what_a_clamp_changes_is_said() {
    let mut notices = Vec::new();
    assert_eq!(clamp(&mut notices, "limit", 5, 1, 9), 5);
    assert_eq!(notices, [""; 0]);
    assert_eq!(clamp(&mut notices, "limit", 0, 1, 9), 1);
    assert_eq!(clamp(&mut notices, "limit", 99, 1, 9), 9);
    assert_eq!(
        notices,
        ["`limit` of 0 was set to 1", "`limit` of 99 was set to 9"]
    );
}
