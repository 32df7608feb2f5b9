use super::*;
use crate::cli::Cli;
use clap::Parser;
use std::os::unix::ffi::OsStringExt;

fn told(words: &[&str]) -> String {
    let words: Vec<OsString> = ["outlast"]
        .iter()
        .chain(words)
        .map(OsString::from)
        .collect();
    let error = Cli::try_parse_from(&words).expect_err("a refusal");
    failure(&error, &words).to_string()
}

#[test]
fn a_value_that_means_nothing_is_told_with_what_it_may_be() {
    insta::assert_snapshot!(told(&["run", "--timeout", "abc", "true"]), @"");
    insta::assert_snapshot!(told(&["run", "--timeout", "-1", "true"]), @"");
}

#[test]
fn a_missing_or_unknown_argument_is_told_with_where_to_look() {
    insta::assert_snapshot!(told(&["run"]), @"");
    insta::assert_snapshot!(told(&["run", "--lable", "x", "true"]), @"");
    insta::assert_snapshot!(told(&["sho"]), @"");
    insta::assert_snapshot!(told(&["cancel", "--now", "--grace", "5", "m3qd"]), @"");
}

#[test]
fn a_value_that_may_be_a_secret_is_not_repeated() {
    let told = told(&["run", "--env", "TOKEN hunter2hunter2", "true"]);
    assert!(!told.contains("hunter2"), "{told}");
    assert!(told.contains("`TOKEN` has no `=`"), "{told}");
}

#[test]
fn an_argument_that_is_no_text_is_named() {
    let odd = OsString::from_vec(b"caf\xe9".to_vec());
    let words = vec!["outlast".into(), "show".into(), odd];
    let error = Cli::try_parse_from(&words).expect_err("a refusal");
    insta::assert_snapshot!(failure(&error, &words).to_string(), @"");
}

#[test]
fn json_is_wanted_when_it_is_asked_for_before_the_command() {
    let wants = |words: &[&str]| wants_json(&words.iter().map(OsString::from).collect::<Vec<_>>());
    assert!(wants(&["outlast", "ps", "--json"]));
    assert!(!wants(&["outlast", "run", "--", "gh", "--json"]));
}
