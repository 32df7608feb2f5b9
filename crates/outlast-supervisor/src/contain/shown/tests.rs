//! PATH shows toolchains, and never a home, a workspace or what holds keys.

use super::*;
use outlast_testkit::Home;

#[test]
fn a_path_into_a_home_shows_the_toolchain_and_not_the_home() {
    let home = Home::new();
    let root = home.path();
    for name in [
        ".cargo/bin",
        ".rustup",
        ".local/bin",
        ".local/state/secret",
        "tools/x/bin",
        "tools/x/lib",
        "work/bin",
    ] {
        fs::create_dir_all(root.join(name)).expect("the home can be filled");
    }
    crate::fsio::write_new(&root.join(".cargo/credentials.toml"), b"token").expect("a file");
    let path = [".cargo/bin", ".local/bin", "tools/x/bin", "work/bin", ""];
    let text = |name: &str| root.join(name).to_string_lossy().into_owned();
    let surroundings = Surroundings {
        home: Some(text("")),
        path: path
            .into_iter()
            .map(text)
            .chain(["/usr/bin".to_owned()])
            .collect(),
        toolchains: vec![text("")],
        ..Surroundings::default()
    };
    let shown = of(&surroundings, &home.work());
    let mut names: Vec<&Path> = shown
        .iter()
        .map(|path| path.strip_prefix(root).expect("it lies below"))
        .collect();
    names.sort_unstable();
    let wanted = [
        ".cargo",
        ".local/bin",
        ".rustup",
        "tools/x/bin",
        "tools/x/lib",
    ];
    assert_eq!(names, wanted.map(Path::new));
    assert_eq!(keys(&shown), [root.join(".cargo/credentials.toml")]);
}
