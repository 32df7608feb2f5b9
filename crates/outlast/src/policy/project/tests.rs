//! A project's file is read as what it is, never by way of something else.

use super::*;
use outlast_journal::error::Advice;
use outlast_testkit::Home;
use rustix::fs::{CWD, FileType, mknodat};
use std::{io::Write, os::unix::fs::symlink};

fn project(text: &str) -> Home {
    let home = Home::new();
    let mut file = File::create(home.path().join(FILE)).expect("a file");
    file.write_all(text.as_bytes()).expect("a write");
    home
}

fn refused(home: &Home) -> (&'static str, String) {
    let error = read(home.path()).expect_err("a refusal");
    (error.code(), error.to_string())
}

#[test]
fn a_project_without_a_file_and_one_that_says_nothing_have_no_rules() {
    let nothing = Project::default();
    assert_eq!(read(Home::new().path()).expect("none"), nothing);
    assert_eq!(read(Path::new("/no/such/project")).expect("none"), nothing);
    assert_eq!(read(project("# later\n").path()).expect("none"), nothing);
}

#[test]
fn a_project_may_have_rules_a_bound_or_both() {
    let has = |text| {
        let said = read(project(text).path()).expect("a file");
        (said.rules.is_some(), said.bound.is_some())
    };
    assert_eq!(has("[policy]\n"), (true, false));
    assert_eq!(has("[sandbox]\nmax_tier = \"read\"\n"), (false, true));
    let both = "[sandbox]\ncommands = \"edit\"\n[policy]\ndeny = [\"x\"]\n";
    assert_eq!(has(both), (true, true));
}

#[test]
fn a_link_a_pipe_and_a_folder_of_that_name_are_refused_and_not_read() {
    let target = project("[policy]\n");
    let link = Home::new();
    symlink(target.path().join(FILE), link.path().join(FILE)).expect("a link");
    let pipe = Home::new();
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, pipe.path().join(FILE), FileType::Fifo, mode, 0).expect("a pipe");
    let folder = Home::new();
    std::fs::create_dir(folder.path().join(FILE)).expect("a folder");
    for home in [link, pipe, folder] {
        let (code, fact) = refused(&home);
        assert_eq!(code, "policy_unusable");
        assert!(fact.ends_with("is no regular file"), "{fact}");
    }
}

#[test]
fn a_file_that_is_too_long_is_no_toml_or_says_something_else_is_refused() {
    let long = format!("# {}\n", "x".repeat(70_000));
    for text in [
        long.as_str(),
        "[policy\n",
        "\u{0}",
        "[limits]\ndepth = 1\n",
        "policy = 1\n",
        "[policy]\nallowed = []\n",
        "[policy]\nallow = \"make\"\n",
        "sandbox = \"read\"\n",
        "[sandbox]\nmax_tier = \"none\"\n",
        "[sandbox]\nproxy = \"/run/p\"\n",
    ] {
        let home = project(text);
        assert_eq!(refused(&home).0, "policy_unusable", "{:?}", text.get(..20));
    }
}
