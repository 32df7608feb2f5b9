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

#[test]
fn a_run_inside_of_another_reaches_no_further() {
    let allow = |hosts: &[&str]| Network::Allow(hosts.iter().map(|host| (*host).into()).collect());
    let steps = [
        Network::None,
        allow(&["a"]),
        allow(&["a", "b"]),
        Network::Full,
    ];
    for (at, asked) in steps.iter().enumerate() {
        for (above, bound) in steps.iter().enumerate() {
            let is_within = at <= above;
            assert_eq!(
                reaches_no_further(asked, bound),
                is_within,
                "{asked} in {bound}"
            );
        }
    }
    assert!(!reaches_no_further(&allow(&["c"]), &allow(&["a", "b"])));
}

#[test]
fn a_workspace_inside_of_another_is_below_it() {
    let home = Home::new();
    let bound = Containment {
        workspace: home
            .work()
            .canonicalize()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned(),
        ..Containment::new(Tier::SandboxEdit)
    };
    let parent = RunId::parse("0123456789abcdef").unwrap();
    fs::create_dir(home.work().join("below")).unwrap();
    let check = |cwd: &Path| {
        let request = Request {
            containment: Some(Containment::new(Tier::ReadOnly)),
            ..Request::new(CommandLine::Direct(Vec::new()), cwd)
        };
        check_bound(&request, parent, &bound).map_err(|error| error.code())
    };
    assert_eq!(check(&home.work()), Ok(()));
    assert_eq!(check(&home.work().join("below")), Ok(()));
    assert_eq!(
        check(&home.work().join("below/../..")),
        Err("beyond_parent")
    );
    assert_eq!(check(home.path()), Err("beyond_parent"));
}
