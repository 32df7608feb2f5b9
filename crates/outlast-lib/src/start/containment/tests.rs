//! Which directories can be a workspace.

use super::*;
use outlast_testkit::Home;

#[test]
fn a_project_is_a_workspace_and_what_holds_more_than_one_is_not() {
    let home = Home::new();
    fs::create_dir(home.store()).expect("the home can be filled");
    let refused = |path: &Path| refusal(path, Some(home.path()), &home.store());
    assert_eq!(refused(&home.work()), None);
    for (path, word) in [
        (Path::new("/"), "root"),
        (home.path(), "store"),
        (&home.store(), "store"),
        (Path::new("/usr"), "system"),
        (Path::new("/proc/self"), "system"),
        (&home.path().join("absent"), "no directory"),
    ] {
        let why = refused(path).unwrap_or_default();
        assert!(why.contains(word), "{}: {why}", path.display());
    }
    let of_home = refusal(home.path(), Some(&home.work()), Path::new("/nowhere"));
    assert!(of_home.unwrap_or_default().contains("home"));
}
