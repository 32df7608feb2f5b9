//! A configuration bounds what hosts get, and a host may only lower it.

use super::*;

fn read(text: &str) -> Result<Sandbox, ConfigError> {
    let table: Table = text.parse().expect("TOML");
    Sandbox::read(Path::new("config.toml"), &table)
}

fn of_tier(tier: Option<Tier>) -> Asked {
    Asked {
        tier,
        ..Asked::default()
    }
}

#[test]
fn without_a_word_commands_of_hosts_run_on_the_host() {
    let default = Sandbox::default();
    assert_eq!(default.of_host(Asked::default()), Ok(None));
    let asked = default.of_host(of_tier(Some(Tier::ReadOnly)));
    assert_eq!(asked, Ok(Some(Containment::new(Tier::ReadOnly))));
    let apart = Asked {
        network: Some(Network::None),
        ..Asked::default()
    };
    assert_eq!(
        default.of_host(apart),
        Err(SandboxError::OfHost { name: "network" })
    );
}

#[test]
fn a_host_may_ask_for_less_and_never_for_more() {
    let sandbox = read("commands = \"host\"\nmax_tier = \"edit\"").expect("a table");
    let tier = |asked| {
        let contained = sandbox.of_host(of_tier(asked));
        contained.map(|contained| contained.map(|contained| contained.tier))
    };
    assert_eq!(tier(None), Ok(Some(Tier::SandboxEdit)));
    assert_eq!(tier(Some(Tier::ReadOnly)), Ok(Some(Tier::ReadOnly)));
    let refused = tier(Some(Tier::FullAccess)).expect_err("a refusal");
    assert_eq!(refused.code(), "tier_above_max");
    assert!(refused.hint().contains("sandbox: edit"), "{refused}");
    let file = "`sandbox.max_tier` in `config.toml`";
    assert!(refused.to_string().ends_with(file), "{refused}");
}

fn bound(file: &str, text: &str) -> Result<Bound, ConfigError> {
    Bound::read(Path::new(file), &text.parse().expect("TOML"))
}

#[test]
fn of_user_and_projects_the_lowest_value_holds_in_any_order() {
    let tiers = ["host", "edit", "read"];
    let lower = |one: &str, other: &str| {
        let place = |word: &str| tiers.iter().position(|tier| *tier == word);
        tiers[place(one).max(place(other)).expect("a tier")]
    };
    for user in tiers {
        for project in tiers {
            for key in PROJECT_KEYS {
                let sandbox = read(&format!("{key} = \"{user}\"")).expect("a table");
                let said = bound("p", &format!("{key} = \"{project}\"")).expect("a bound");
                let lowered = sandbox.clone().lowered(std::slice::from_ref(&said));
                assert_eq!(lowered.value(key), lower(user, project), "{key}");
                let other = PROJECT_KEYS.iter().find(|one| **one != key).expect("two");
                assert_eq!(lowered.value(other), "host", "{key}");
                let least = bound("q", &format!("{key} = \"read\"")).expect("a bound");
                let (one, two) = ([said.clone(), least.clone()], [least, said]);
                assert_eq!(sandbox.clone().lowered(&one).value(key), "read");
                assert_eq!(sandbox.lowered(&two).value(key), "read");
            }
        }
    }
}

#[test]
fn a_refusal_names_the_file_that_bounds_the_most() {
    let sandbox = read("max_tier = \"edit\"").expect("a table");
    let high = bound("high", "max_tier = \"host\"").expect("a bound");
    let same = bound("same", "max_tier = \"edit\"").expect("a bound");
    let low = bound("low", "max_tier = \"read\"").expect("a bound");
    for (bounds, file) in [
        (vec![high, same.clone()], "config.toml"),
        (vec![same, low], "low"),
    ] {
        let lowered = sandbox.clone().lowered(&bounds);
        let refused = lowered.of_host(of_tier(Some(Tier::FullAccess)));
        let refused = refused.expect_err("a refusal").to_string();
        assert!(refused.ends_with(&format!("in `{file}`")), "{refused}");
    }
}

#[test]
fn a_project_may_use_two_keys_and_only_with_a_tier() {
    for (text, code) in [
        ("proxy = \"/run/p\"", "config_key"),
        ("may_miss = [\"mem_limit\"]", "config_key"),
        ("commands = \"full\"", "config_value"),
        ("max_tier = 1", "config_value"),
    ] {
        assert_eq!(
            bound("p", text).expect_err("a refusal").code(),
            code,
            "{text}"
        );
    }
}

#[test]
fn an_unknown_guarantee_and_a_relative_socket_are_errors_that_say_the_form() {
    let sandbox = read("may_miss = [\"mem_limit\"]\nproxy = \"/run/p\"").expect("a table");
    assert_eq!(sandbox.may_miss, [Guarantee::MemLimit]);
    assert_eq!(
        KEYS.map(|key| sandbox.value(key)),
        ["host", "host", "/run/p", "mem_limit"]
    );
    for text in [
        "may_miss = [\"every_limit\"]",
        "may_miss = \"mem_limit\"",
        "proxy = \"run/p\"",
        "max_tier = \"full\"",
        "commands = 1",
    ] {
        let error = read(text).expect_err("a refusal");
        assert_eq!(error.code(), "config_value", "{text}");
    }
    assert_eq!(
        read("tier = \"edit\"").expect_err("a refusal").code(),
        "config_key"
    );
}

#[test]
fn an_image_contains_and_every_bound_needs_something_that_contains() {
    let image = || Asked {
        image: Some("python".to_owned()),
        pids_max: Some(9),
        ..Asked::default()
    };
    let contained = Sandbox::default().of_host(image()).expect("it may");
    let contained = contained.expect("an image contains");
    assert_eq!(contained.tier, Tier::SandboxEdit);
    assert_eq!(contained.image.as_deref(), Some("python"));
    assert_eq!(contained.pids_max, Some(9));
    let read = read("max_tier = \"read\"").expect("a table");
    let lower = read.of_host(image()).expect("it may").expect("contained");
    assert_eq!(lower.tier, Tier::ReadOnly);
    let on_host = Asked {
        tier: Some(Tier::FullAccess),
        ..image()
    };
    assert_eq!(
        Sandbox::default().of_host(on_host),
        Err(SandboxError::OfHost { name: "image" })
    );
    let to_hosts = Asked {
        network: Some(Network::Allow(vec!["a".to_owned()])),
        ..image()
    };
    assert_eq!(
        Sandbox::default().of_host(to_hosts),
        Err(SandboxError::HostsInImage)
    );
    let memory = Asked {
        memory_bytes_max: Some(1),
        ..Asked::default()
    };
    assert_eq!(
        Sandbox::default().of_host(memory),
        Err(SandboxError::OfHost { name: "memory" })
    );
}

#[test]
fn all_of_git_is_for_those_who_may_have_the_host() {
    let asked = || Asked {
        git: Some(Git::Write),
        ..of_tier(Some(Tier::SandboxEdit))
    };
    let free = Sandbox::default().of_host(asked()).expect("it may");
    assert_eq!(free.map(|one| one.git), Some(Git::Write));
    let project = bound("project", "max_tier = \"edit\"").expect("a bound");
    let lowered = Sandbox::default().lowered(&[project]);
    let refused = lowered.of_host(asked()).expect_err("a refusal");
    assert_eq!(refused.code(), "tier_above_max");
    assert!(refused.to_string().ends_with("in `project`"), "{refused}");
}
