//! Who commits is known inside, and a worktree's repository only where both sides agree.

use super::*;
use crate::fsio::write_new;
use outlast_testkit::Home;

#[test]
fn of_a_configuration_only_who_the_user_is_goes_inside() {
    let home = Home::new();
    let path = home.path().join(".gitconfig");
    let text = "[url \"https://token@host\"]\n\tinsteadOf = x\n[user]\n\tname = \"A \\\"B\"\n\
                \temail = a@b.example\n[core]\n\tname = other\n";
    write_new(&path, text.as_bytes()).expect("the home can be filled");
    let identity = identity(home.path()).expect("an identity");
    assert!(identity.starts_with("[user]\n\tname = "), "{identity}");
    assert!(identity.contains("email = \"a@b.example\""), "{identity}");
    for kept_out in ["token", "other", "insteadOf"] {
        assert!(!identity.contains(kept_out), "{identity}");
    }
    assert_eq!(super::identity(&home.work()), None);
}

#[test]
fn a_worktree_has_a_repository_only_if_that_knows_it() {
    let home = Home::new();
    let common = home.path().join("main/.git");
    let own = common.join("worktrees/w");
    fs::create_dir_all(&own).expect("the home can be filled");
    let file = |path: PathBuf, text: String| {
        fs::remove_file(&path).ok();
        write_new(&path, text.as_bytes()).expect("the home can be filled");
    };
    let link = home.work().join(".git");
    file(link.clone(), format!("gitdir: {}\n", own.display()));
    file(own.join("commondir"), "../..\n".to_owned());
    file(common.join("HEAD"), "ref: refs/heads/main\n".to_owned());
    assert_eq!(repository(&home.work()), None);
    file(own.join("gitdir"), format!("{}\n", link.display()));
    assert_eq!(repository(&home.work()), Some(common.clone()));
    file(own.join("gitdir"), "/elsewhere/.git\n".to_owned());
    assert_eq!(repository(&home.work()), None);
}
