//! Where things lie, from an environment that is given.

use super::*;

fn surroundings(variables: &[(&str, &str)]) -> Surroundings {
    Surroundings::from_lookup(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| OsString::from(value))
    })
}

fn store(variables: &[(&str, &str)]) -> String {
    let path = surroundings(variables).store().expect("a store");
    path.display().to_string()
}

#[test]
fn the_store_is_named_by_the_first_variable_that_says_something() {
    let all = [
        ("OUTLAST_HOME", "/o"),
        ("XDG_STATE_HOME", "/x"),
        ("HOME", "/h"),
    ];
    assert_eq!(store(&all), "/o");
    assert_eq!(store(&all[1..]), "/x/outlast");
    assert_eq!(store(&all[2..]), "/h/.local/state/outlast");
    assert!(matches!(
        surroundings(&[]).store(),
        Err(SurroundingsError::NoHome)
    ));
}

#[test]
fn an_empty_variable_counts_as_absent_and_a_relative_xdg_path_is_ignored() {
    let variables = [
        ("OUTLAST_HOME", ""),
        ("XDG_STATE_HOME", "relative"),
        ("HOME", "/h"),
    ];
    assert_eq!(store(&variables), "/h/.local/state/outlast");
}

#[test]
fn a_relative_store_is_made_absolute() {
    let path = surroundings(&[("OUTLAST_HOME", "here")])
        .store()
        .expect("a store");
    assert!(path.is_absolute() && path.ends_with("here"), "{path:?}");
}

#[test]
fn the_configuration_lies_in_the_folder_for_configuration() {
    let of = |variables| surroundings(variables).config();
    let xdg = [("XDG_CONFIG_HOME", "/c"), ("HOME", "/h")];
    assert_eq!(of(&xdg), Some(PathBuf::from("/c/outlast/config.toml")));
    let home = of(&xdg[1..]);
    assert_eq!(home, Some(PathBuf::from("/h/.config/outlast/config.toml")));
    assert_eq!(of(&[]), None);
}

#[test]
fn no_color_and_a_dumb_terminal_forbid_colours() {
    assert!(surroundings(&[("NO_COLOR", "1")]).is_plain);
    assert!(surroundings(&[("TERM", "dumb")]).is_plain);
    assert!(!surroundings(&[("NO_COLOR", ""), ("TERM", "xterm")]).is_plain);
}

#[test]
fn a_host_says_which_session_and_project_are_its_own() {
    let of = |project| {
        surroundings(&[
            ("CLAUDE_CODE_SESSION_ID", "s-1"),
            ("CLAUDE_PROJECT_DIR", project),
        ])
    };
    assert_eq!(of("/p").host_session.as_deref(), Some("s-1"));
    assert_eq!(of("/p").host_project, Some(PathBuf::from("/p")));
    assert_eq!(of("p").host_project, None);
}
