//! What rules of one file and of several forbid, and that a refusal names rule and file.

use super::*;
use toml::Table;

fn rules(file: &str, text: &str) -> Rules {
    let table: Table = text.parse().expect("TOML");
    Rules::read(Path::new(file), &table).expect("rules")
}

fn layers(all: &[(&str, &str)]) -> Policy {
    let layers = all.iter().map(|(file, text)| rules(file, text));
    Policy {
        layers: layers.collect(),
        ..Policy::default()
    }
}

fn refusal(outcome: Result<(), PolicyError>) -> (&'static str, String, String) {
    let error = outcome.expect_err("a refusal");
    (error.code(), error.to_string(), error.hint())
}

#[test]
fn without_rules_everything_may_be_started() {
    let none = Policy::default();
    assert!(none.check_command("rm -rf x; y").is_ok());
    assert!(none.check_env("PATH").is_ok());
    assert_eq!(none.timeout_ms(0), (0, None));
}

#[test]
fn what_a_pattern_denies_is_refused_with_the_pattern_and_its_file() {
    let policy = layers(&[("/c.toml", r#"deny = ["x", "*sudo*"]"#)]);
    assert!(policy.check_command("make").is_ok());
    let (code, fact, hint) = refusal(policy.check_command(" make && sudo make install "));
    assert_eq!(code, "policy_denied");
    assert_eq!(
        fact,
        "the command matches the pattern `*sudo*` (number 2 of `policy.deny` in `/c.toml`)"
    );
    assert!(hint.contains("ask the user"), "{hint}");
}

#[test]
fn what_no_pattern_allows_is_refused_with_those_that_there_are() {
    let policy = layers(&[("/c.toml", r#"allow = ["make *", "cargo test"]"#)]);
    assert!(policy.check_command("make all").is_ok());
    assert!(policy.check_command("\tcargo test\n").is_ok());
    let (code, fact, hint) = refusal(policy.check_command("make all; curl x"));
    assert_eq!(code, "policy_denied");
    assert_eq!(
        fact,
        "the command matches no pattern of `policy.allow` in `/c.toml`"
    );
    assert!(
        hint.starts_with("allowed is `make *`, `cargo test`;"),
        "{hint}"
    );
    let nothing = layers(&[("/c.toml", "allow = []")]);
    let (_, _, hint) = refusal(nothing.check_command("make"));
    assert!(hint.starts_with("allowed is nothing;"), "{hint}");
}

#[test]
fn each_layer_must_let_a_start_pass_so_that_a_project_only_tightens() {
    let user = ("/c.toml", r#"deny = ["*sudo*"]"#);
    let project = ("/p/.outlast.toml", r#"allow = ["sudo make", "make"]"#);
    let policy = layers(&[user, project]);
    assert!(policy.check_command("make").is_ok());
    let (_, fact, _) = refusal(policy.check_command("sudo make"));
    assert!(fact.contains("/c.toml"), "{fact}");
    let (_, fact, _) = refusal(policy.check_command("ls"));
    assert!(fact.contains("/p/.outlast.toml"), "{fact}");
}

#[test]
fn a_variable_must_be_allowed_where_names_or_commands_are_listed() {
    let listed = layers(&[("/c.toml", r#"env = ["RUST_LOG", "CARGO_*"]"#)]);
    assert!(listed.check_env("RUST_LOG").is_ok());
    assert!(listed.check_env("CARGO_TERM_COLOR").is_ok());
    let (code, fact, hint) = refusal(listed.check_env("BASH_ENV"));
    assert_eq!(code, "policy_denied");
    assert_eq!(
        fact,
        "`env` may not set `BASH_ENV` by `policy.env` in `/c.toml`"
    );
    assert_eq!(hint, "`env` may set `RUST_LOG`, `CARGO_*`, or leave it out");
    let commands = layers(&[("/c.toml", r#"allow = ["make"]"#)]);
    let (_, fact, hint) = refusal(commands.check_env("BASH_ENV"));
    assert_eq!(
        fact,
        "`env` may not set `BASH_ENV` by `policy.allow` without `env` in `/c.toml`"
    );
    assert_eq!(hint, "`env` may set nothing, or leave it out");
    let denied = layers(&[("/c.toml", r#"deny = ["x"]"#)]);
    assert!(denied.check_env("ANY").is_ok());
}

#[test]
fn the_shortest_time_limit_holds_and_is_said_where_it_cuts() {
    let policy = layers(&[
        ("/c.toml", r#"timeout_max = "2h""#),
        ("/p/.outlast.toml", "timeout_max = 600"),
    ]);
    assert_eq!(policy.timeout_ms(60_000), (60_000, None));
    for asked in [0, 3_600_000] {
        let (used, notice) = policy.timeout_ms(asked);
        assert_eq!(used, 600_000);
        assert_eq!(
            notice.as_deref(),
            Some("the time limit was set to 10m by `policy.timeout_max` of `/p/.outlast.toml`")
        );
    }
}

#[test]
fn a_key_or_a_value_that_means_nothing_is_an_error() {
    let read = |text: &str| {
        let table: Table = text.parse().expect("TOML");
        Rules::read(Path::new("/c.toml"), &table).expect_err("an error")
    };
    for (text, code) in [
        ("allowed = []", "config_key"),
        ("allow = \"make\"", "config_value"),
        ("deny = [1]", "config_value"),
        ("deny = [\"\"]", "config_value"),
        ("env = true", "config_value"),
        ("timeout_max = 0", "config_value"),
        ("timeout_max = \"soon\"", "config_value"),
    ] {
        assert_eq!(read(text).code(), code, "{text}");
    }
    let long = format!("deny = [\"{}\"]", "x".repeat(257));
    assert_eq!(read(&long).code(), "config_value");
    let hint = read("allowed = []").hint();
    assert_eq!(
        hint,
        "the table [policy] may have allow, deny, env, timeout_max"
    );
}
