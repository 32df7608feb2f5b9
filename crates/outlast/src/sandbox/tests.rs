//! A configuration bounds what hosts get, and a host may only lower it.

use super::*;

fn read(text: &str) -> Result<Sandbox, ConfigError> {
    let table: Table = text.parse().expect("TOML");
    Sandbox::read(Path::new("config.toml"), &table)
}

#[test]
fn without_a_word_commands_of_hosts_run_on_the_host() {
    let default = Sandbox::default();
    assert_eq!(default.of_host(None, None), Ok(None));
    let asked = default.of_host(Some(Tier::ReadOnly), None);
    assert_eq!(asked, Ok(Some(Containment::new(Tier::ReadOnly))));
    assert_eq!(
        default.of_host(None, Some(Network::None)),
        Err(SandboxError::NetworkOfHost)
    );
}

#[test]
fn a_host_may_ask_for_less_and_never_for_more() {
    let sandbox = read("commands = \"host\"\nmax_tier = \"edit\"").expect("a table");
    let tier = |asked| {
        let contained = sandbox.of_host(asked, None);
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
        let refused = lowered.of_host(Some(Tier::FullAccess), None);
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
