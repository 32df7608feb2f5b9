//! What models write as arguments, and what they are told of it.

use super::*;
use serde_json::json;

fn arguments(given: &Value) -> Arguments {
    let given = given.as_object().expect("an object").clone();
    Arguments::new(given, &["a", "b"]).expect("known names")
}

fn said(error: &ArgumentError) -> (String, String) {
    (error.to_string(), error.hint())
}

#[test]
fn null_and_blank_mean_absent_for_every_type() {
    for absent in [
        json!({}),
        json!({"a": null}),
        json!({"a": ""}),
        json!({"a": "  "}),
    ] {
        assert_eq!(arguments(&absent).text("a"), Ok(None));
        assert_eq!(arguments(&absent).number("a"), Ok(None));
        assert_eq!(arguments(&absent).flag("a"), Ok(None));
        assert_eq!(arguments(&absent).texts("a"), Ok(None));
        assert_eq!(arguments(&absent).pairs("a"), Ok(Vec::new()));
        assert_eq!(arguments(&absent).word("a", &[("x", 1)]), Ok(None));
    }
    assert_eq!(arguments(&json!({"a": []})).texts("a"), Ok(None));
}

#[test]
fn a_text_to_send_may_be_blank_but_not_empty() {
    let sent = |value| arguments(&json!({"a": value})).exact_text("a");
    assert_eq!(sent(json!("\n")), Ok(Some("\n".to_owned())));
    assert_eq!(sent(json!("")), Ok(None));
}

#[test]
fn an_unknown_argument_is_named_with_those_that_there_are() {
    let given = json!({"a": 1, "timeout": 5});
    let given = given.as_object().expect("an object").clone();
    let error = Arguments::new(given, &["a", "b"]).expect_err("a refusal");
    let (fact, hint) = said(&error);
    assert_eq!(fact, "there is no argument `timeout`");
    assert_eq!(hint, "use `a`, `b`");
}

#[test]
fn a_number_is_whole_and_from_zero() {
    let number = |value| arguments(&json!({"a": value})).number("a");
    assert_eq!(number(json!(45)), Ok(Some(45)));
    assert_eq!(number(json!(45.0)), Ok(Some(45)));
    assert_eq!(number(json!(1e300)), Ok(Some(u64::MAX)));
    for (wrong, fact) in [
        (json!(-1), "`a` must not be negative, as -1 is"),
        (json!(-0.5), "`a` must not be negative, as -0.5 is"),
        (json!(1.5), "`a` must be a whole number, not another number"),
        (json!("5"), "`a` must be a whole number, not a string"),
        (json!([5]), "`a` must be a whole number, not a list"),
    ] {
        assert_eq!(number(wrong).expect_err("a refusal").to_string(), fact);
    }
}

#[test]
fn a_word_that_is_none_is_told_with_those_that_are() {
    let error = arguments(&json!({"a": "Pipe"})).word("a", &[("null", 0), ("pipe", 1)]);
    let (fact, hint) = said(&error.expect_err("a refusal"));
    assert_eq!(fact, "`a` cannot be `Pipe`");
    assert_eq!(hint, "use one of `null`, `pipe`, or leave it out");
}

#[test]
fn one_text_may_stand_for_a_list_of_one() {
    let texts = |value| arguments(&json!({"a": value})).texts("a");
    assert_eq!(texts(json!("x")), Ok(Some(vec!["x".to_owned()])));
    assert_eq!(texts(json!(["x"])), Ok(Some(vec!["x".to_owned()])));
    assert!(texts(json!(["x", 1])).is_err());
}

#[test]
fn a_clamp_is_said() {
    let mut notices = Vec::new();
    assert_eq!(clamp(&mut notices, "wait_secs", 45, 0, 45), 45);
    assert!(notices.is_empty());
    assert_eq!(clamp(&mut notices, "wait_secs", 90, 0, 45), 45);
    assert_eq!(notices, ["`wait_secs` of 90 was set to 45"]);
}
