//! What a pattern matches, and that no `*` of an `allow` list reaches into another command.

use super::*;

fn all(pattern: &str, text: &str) -> bool {
    Pattern::new(pattern).fits(text, Reach::All)
}

fn one(pattern: &str, text: &str) -> bool {
    Pattern::new(pattern).fits(text, Reach::OneCommand)
}

#[test]
fn a_pattern_matches_the_whole_text() {
    assert!(all("make", "make"));
    assert!(!all("make", "make all"));
    assert!(!all("make", "cmake"));
    assert!(all("make *", "make all"));
    assert!(!all("make *", "make"));
    assert!(all("make*", "make"));
    assert!(all("*sudo*", "cd /x\nsudo rm"));
    assert!(all("a?c", "abc") && all("a?c", "aéc"));
    assert!(!all("a?c", "ac"));
    assert!(all("*a*b*c", "xaxbxbxc"));
    assert!(!all("*a*b*c", "xaxbxbx"));
    assert!(all("", "") && all("*", "") && !all("?", ""));
}

#[test]
fn a_sign_after_a_backslash_is_meant_as_such() {
    assert!(all(r"ls \*", "ls *"));
    assert!(!all(r"ls \*", "ls x"));
    assert!(all(r"a\\b", r"a\b"));
    assert!(all("a\\", "a\\"));
}

#[test]
fn a_star_of_an_allow_list_stands_for_no_second_command() {
    assert!(one("cargo *", "cargo test --all"));
    for text in [
        "cargo test; rm -rf ~",
        "cargo test && rm -rf ~",
        "cargo test & rm",
        "cargo test | sh",
        "cargo test\nrm -rf ~",
        "cargo $(rm -rf ~)",
        "cargo `rm -rf ~`",
        "cargo $HOME",
        "cargo test > ~/.bashrc",
        "cargo test < x",
        "cargo (x)",
    ] {
        assert!(!one("cargo *", text), "{text}");
        assert!(!one("*", text), "{text}");
        assert!(all("cargo *", text), "{text}");
    }
    assert!(!one("a?b", "a;b"));
    assert!(one("cargo * | tee *", "cargo test | tee log"));
    assert!(!one("cargo * | tee *", "cargo test | tee log | sh"));
}

#[test]
fn a_pattern_of_many_stars_takes_no_long_time() {
    let pattern = "*a".repeat(64);
    let text = "a".repeat(100_000);
    assert!(all(&pattern, &text));
    assert!(!all(&format!("{pattern}b"), &text));
}
