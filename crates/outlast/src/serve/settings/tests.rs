//! Flags that hold and flags that do not.

use super::{PORT, Settings, SettingsError};
use crate::cli::{Cli, Verb};

fn settings(words: &[&str], configured: Option<u16>) -> Result<Settings, SettingsError> {
    let words = ["outlast", "serve"].iter().chain(words).map(Into::into);
    let cli = Cli::read(&words.collect::<Vec<_>>()).unwrap();
    let Verb::Serve(arguments) = cli.verb else {
        unreachable!("the words say so")
    };
    Settings::of(&arguments, configured)
}

#[test]
fn the_port_is_that_of_the_flag_then_the_file_then_ours() {
    let port = |words: &[&str], configured| settings(words, configured).unwrap().address.port();
    assert_eq!(port(&[], None), PORT);
    assert_eq!(port(&[], Some(5)), 5);
    assert_eq!(port(&["--port", "0"], Some(5)), 0);
}

#[test]
fn an_address_for_others_takes_a_flag_and_says_what_that_means() {
    let loopback = settings(&["--bind", "127.1.2.3"], None).unwrap();
    assert_eq!(loopback.warning(), None);
    for address in ["0.0.0.0", "::", "192.0.2.7"] {
        let refused = settings(&["--bind", address], None);
        assert!(
            matches!(refused, Err(SettingsError::Remote { .. })),
            "{address}"
        );
        let allowed = settings(&["--bind", address, "--allow-remote"], None).unwrap();
        assert!(
            allowed
                .warning()
                .is_some_and(|warning| warning.contains("TLS"))
        );
        // Nobody calls a server `0.0.0.0`; its own address is a name.
        assert_eq!(
            allowed.hosts.contains(&address.to_owned()),
            address == "192.0.2.7"
        );
    }
}

#[test]
fn names_and_origins_are_checked_at_the_start() {
    let with = |flag, value| settings(&[flag, value], None);
    assert!(
        with("--allow-host", "Build.example")
            .unwrap()
            .hosts
            .contains(&"build.example".into())
    );
    assert!(
        with("--allow-host", "::2")
            .unwrap()
            .hosts
            .contains(&"::2".into())
    );
    for wrong in ["", "a b", "a@b", "http://a"] {
        assert!(
            matches!(with("--allow-host", wrong), Err(SettingsError::Host { .. })),
            "{wrong}"
        );
    }
    let known = with("--allow-origin", "https://App.example/")
        .unwrap()
        .origins;
    assert!(
        known.contains(&"https://app.example:443".into()),
        "{known:?}"
    );
    for wrong in ["app.example", "https://a/b", "null", ""] {
        let refused = with("--allow-origin", wrong);
        assert!(
            matches!(refused, Err(SettingsError::Origin { .. })),
            "{wrong}"
        );
    }
}
