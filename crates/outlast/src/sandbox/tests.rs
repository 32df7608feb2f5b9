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
