//! Which paths are beneath the workspace.

use super::Workspace;
use outlast_testkit::Home;
use std::os::unix::fs::symlink;
use std::path::Path;

#[test]
fn paths_are_taken_by_their_words() {
    let home = Home::new();
    let workspace = Workspace::open(&home.work(), None).unwrap();
    let root = home.work().to_string_lossy().into_owned();
    for (text, path) in [
        ("", ""),
        (".", ""),
        ("a", "a"),
        ("./a//b/", "a/b"),
        ("a/../b", "b"),
        (&root, ""),
        (&format!("{root}/a/./b"), "a/b"),
    ] {
        assert_eq!(workspace.locate(text).unwrap(), Path::new(path), "{text}");
    }
    for text in [
        "..",
        "a/../..",
        "/",
        "/etc",
        &format!("{root}x"),
        &format!("{root}/../x"),
    ] {
        let refusal = workspace.locate(text).unwrap_err();
        assert_eq!(refusal.code, "outside_workspace", "{text}");
    }
}

#[test]
fn a_workspace_that_is_named_by_a_link_is_known_by_both_names() {
    let home = Home::new();
    let link = home.path().join("link");
    symlink("work", &link).unwrap();
    let workspace = Workspace::open(&link, None).unwrap();
    for root in [&link, &home.work()] {
        let named = root.join("a");
        let path = workspace.locate(named.to_str().unwrap()).unwrap();
        assert_eq!(path, Path::new("a"));
    }
}
