//! Protected names come with the directories between, each once and before what lies in it.

use super::*;
use outlast_testkit::Home;

fn make(root: &Path, names: &[&str]) {
    for name in names {
        fs::create_dir_all(root.join(name)).expect("the home can be filled");
    }
}

fn names(root: &Path, git: Git) -> Vec<(String, bool)> {
    let pinned = of(root, git).into_iter();
    let pinned = pinned.map(|one| {
        let name = one.path.strip_prefix(root).expect("it lies below");
        (name.to_string_lossy().into_owned(), one.is_read_only)
    });
    pinned.collect()
}

#[test]
fn what_gives_orders_is_read_only_and_what_holds_it_is_pinned() {
    let home = Home::new();
    let root = home.work();
    make(
        &root,
        &[".git/hooks", ".git/objects", ".claude", "a/b/.git"],
    );
    let own = |name: &str, is_read_only| (name.to_owned(), is_read_only);
    assert_eq!(
        names(&root, Git::Commit),
        [
            own(".git", false),
            own(".git/hooks", true),
            own(".claude", true),
            own("a", false),
            own("a/b", false),
            own("a/b/.git", true),
        ]
    );
    assert_eq!(names(&root, Git::Read)[0], own(".git", true));
    assert_eq!(names(&root, Git::Write), [own(".claude", true)]);
}

#[test]
fn a_link_is_not_followed_and_names_that_are_absent_are_left_out() {
    let home = Home::new();
    let root = home.work();
    make(&root, &["elsewhere"]);
    std::os::unix::fs::symlink("elsewhere", root.join(".claude")).expect("a link");
    assert_eq!(names(&root, Git::Commit), []);
}
