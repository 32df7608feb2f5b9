//! A mistake on the command line is told with the way to mend it.

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
    insta::assert_snapshot!(told(&["run", "--timeout", "abc", "true"]), @"
    error: `abc` is no time, given as --timeout <TIME>
    hint: write a number from 0 with ms, s, m, h or d, such as `90s` or `1.5h`; bare means seconds
    code: no_duration
    ");
    insta::assert_snapshot!(told(&["run", "--timeout", "-1", "true"]), @"
    error: the time `-1` is negative, given as --timeout <TIME>
    hint: write a number from 0 with ms, s, m, h or d, such as `90s` or `1.5h`; bare means seconds
    code: negative_duration
    ");
}

#[test]
fn a_missing_or_unknown_argument_is_told_with_where_to_look() {
    insta::assert_snapshot!(told(&["run"]), @"
    error: nothing says what to run: neither a program nor, with -c, a text
    hint: write for example `outlast run -- cargo test` or `outlast run -c 'make | tee log'`
    code: usage
    ");
    insta::assert_snapshot!(told(&["show"]), @"
    error: the following required arguments were not provided: <ID>
    hint: see `outlast show --help`
    code: usage
    ");
    assert_eq!(told(&["run", "-c"]), told(&["run"]));
    insta::assert_snapshot!(told(&["run", "--lable", "x", "true"]), @"
    error: unexpected argument '--lable' found
    hint: a similar argument exists: '--label'
    code: usage
    ");
    insta::assert_snapshot!(told(&["sho"]), @"
    error: unrecognized verb 'sho'
    hint: a similar verb exists: 'show'
    code: usage
    ");
    insta::assert_snapshot!(told(&["cancel", "--now", "--grace", "5", "m3qd"]), @"
    error: the argument '--now' cannot be used with '--grace <TIME>'
    hint: see `outlast cancel --help`
    code: usage
    ");
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
    insta::assert_snapshot!(failure(&error, &words).to_string(), @"
    error: the argument is not UTF-8: `caf�`
    hint: names, labels and ids are text; write it in UTF-8
    code: not_utf8
    ");
}

#[test]
fn json_is_wanted_when_it_is_asked_for_before_the_command() {
    let wants = |words: &[&str]| wants_json(&words.iter().map(OsString::from).collect::<Vec<_>>());
    assert!(wants(&["outlast", "ps", "--json"]));
    assert!(!wants(&["outlast", "run", "--", "gh", "--json"]));
}
