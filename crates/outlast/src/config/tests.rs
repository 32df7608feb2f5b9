//! A configuration holds as it is written, or is an error that names file and key.

use super::*;
use outlast_testkit::Home;
use std::io::Write;

fn load(text: &str) -> (Home, Result<Config, ConfigError>) {
    let home = Home::new();
    let path = home.path().join("config.toml");
    let mut file = fs::File::create(&path).expect("a file");
    file.write_all(text.as_bytes()).expect("a write");
    let config = Config::load(Some(path));
    (home, config)
}

fn refused(text: &str) -> (String, String) {
    let (home, config) = load(text);
    let error = config.expect_err("a refusal");
    let shown = error.to_string();
    let shown = shown.replace(&home.path().display().to_string(), "HOME");
    (shown, error.hint())
}

#[test]
fn a_file_that_is_not_there_says_nothing() {
    let config = Config::load(Some("/nonexistent/config.toml".into())).expect("defaults");
    assert!(!config.is_there);
    assert_eq!(config.limits, Limits::default());
    assert!(config.settings().iter().all(|setting| !setting.is_set));
}

#[test]
fn every_limit_can_be_set_in_words() {
    let (_home, config) = load(
        "[limits]\nruns_per_session = 1\nruns_per_store = 2\nagent_runs = 3\ndepth = 4\n\
         agent_depth = 2\ndescendants = 5\nmax_output = \"6MiB\"\ngrace = \"7s\"\ntool_timeout = 8\n\
         retention_days = 9\n",
    );
    let config = config.expect("a configuration");
    let mut expected = Limits::default();
    expected.session_runs_max = 1;
    expected.store_runs_max = 2;
    expected.agent_runs_max = 3;
    expected.command_depth_max = 4;
    expected.agent_depth_max = 2;
    expected.descendants_max = 5;
    expected.output_bytes_max = 6 << 20;
    expected.grace_ms = 7_000;
    expected.tool_timeout_ms = 8_000;
    expected.retention_days = 9;
    assert_eq!(config.limits, expected);
    assert!(config.settings().iter().all(|setting| setting.is_set));
}

#[test]
fn a_setting_says_whether_the_file_or_the_default_made_it() {
    let (_home, config) = load("[limits]\ngrace = 1.5\n");
    let settings = config.expect("a configuration").settings();
    let of = |name| {
        let setting = settings.iter().find(|setting| setting.name == name);
        setting.map(|setting| (setting.value.clone(), setting.is_set))
    };
    assert_eq!(of("grace"), Some((json!(1.5), true)));
    assert_eq!(of("depth"), Some((json!(3), false)));
}

#[test]
fn an_unknown_key_is_an_error_that_names_file_and_key() {
    insta::assert_debug_snapshot!(refused("[limits]\nrun_per_store = 1\n"), @r#"
    (
        "the configuration `HOME/config.toml` has the unknown key `limits.run_per_store`",
        "the table [limits] may have runs_per_session, runs_per_store, agent_runs, depth, agent_depth, descendants, max_output, grace, tool_timeout, retention_days",
    )
    "#);
    assert!(refused("[limit]\ndepth = 1\n").0.contains("`limit`"));
    assert!(refused("depth = 1\n").0.contains("`depth`"));
}

#[test]
fn a_value_of_another_form_is_an_error_that_says_the_form() {
    insta::assert_debug_snapshot!(refused("[limits]\ngrace = \"soon\"\n"), @r#"
    (
        "the configuration `HOME/config.toml` sets `limits.grace` to `\"soon\"`",
        "write a number of seconds, or a time such as \"5s\" or \"30m\"",
    )
    "#);
    for text in [
        "depth = -1",
        "depth = \"3\"",
        "depth = 1.5",
        "max_output = -1",
        "max_output = true",
        "grace = -1",
        "grace = []",
        "retention_days = 99999999999",
    ] {
        let (fact, _) = refused(&format!("[limits]\n{text}\n"));
        assert!(fact.contains(" sets `limits."), "{fact}");
    }
}

#[test]
fn what_is_no_toml_and_what_cannot_be_read_are_errors() {
    assert!(refused("[limits\n").0.ends_with("is no TOML"));
    let home = Home::new();
    let error = Config::load(Some(home.work())).expect_err("a directory");
    assert_eq!(error.code(), "config_unreadable");
}
