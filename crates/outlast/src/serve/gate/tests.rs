//! What comes in and what does not, head by head.

use super::{Gate, Origin, Refusal};
use crate::serve::{settings::Settings, token::Token};
use hyper::{Request, http::request::Parts};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn gate() -> Gate {
    let settings = Settings {
        address: ([127, 0, 0, 1], 1).into(),
        hosts: ["localhost", "::1", "build.example:81"]
            .map(str::to_owned)
            .to_vec(),
        origins: vec![
            "http://localhost:*".to_owned(),
            "https://app.example:443".to_owned(),
        ],
    };
    Gate::new(&settings, Token::known(TOKEN))
}

fn head(target: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::get(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

#[test]
fn a_name_is_ours_with_any_port_or_with_the_one_that_was_allowed() {
    let check = |host: &str| gate().check_names(&head("/", &[("host", host)]));
    for ours in [
        "localhost",
        "LOCALHOST:9",
        "[::1]:9",
        "[::1]",
        "build.example:81",
    ] {
        assert_eq!(check(ours), Ok(()), "{ours}");
    }
    for other in [
        "build.example",
        "build.example:82",
        "::1:9",
        "localhost.",
        "a@localhost",
        "",
        " ",
    ] {
        assert_eq!(check(other), Err(Refusal::Host), "{other}");
    }
}

#[test]
fn both_names_of_a_request_that_has_two_must_be_ours() {
    let check = |target, host| gate().check_names(&head(target, &[("host", host)]));
    assert_eq!(check("http://localhost/x", "localhost"), Ok(()));
    assert_eq!(
        check("http://evil.example/x", "localhost"),
        Err(Refusal::Host)
    );
    assert_eq!(
        check("http://localhost/x", "evil.example"),
        Err(Refusal::Host)
    );
}

#[test]
fn an_origin_is_compared_by_scheme_host_and_port() {
    let check =
        |origin: &str| gate().check_names(&head("/", &[("host", "localhost"), ("origin", origin)]));
    for known in [
        "http://localhost",
        "http://localhost:3000",
        "https://app.example",
    ] {
        assert_eq!(check(known), Ok(()), "{known}");
    }
    for other in [
        "https://localhost",
        "http://app.example",
        "https://app.example:8443",
        "null",
        "",
    ] {
        assert_eq!(check(other), Err(Refusal::Origin), "{other}");
    }
}

#[test]
fn a_token_counts_behind_bearer_alone_and_once() {
    let check = |values: &[&str]| {
        let headers: Vec<_> = values
            .iter()
            .map(|value| ("authorization", *value))
            .collect();
        gate().check_token(&head("/", &headers).headers)
    };
    let right = format!("Bearer {TOKEN}");
    assert_eq!(check(&[&right]), Ok(()));
    assert_eq!(check(&[&format!("BEARER  {TOKEN} ")]), Ok(()));
    assert_eq!(check(&[]), Err(Refusal::NoToken));
    assert_eq!(check(&[TOKEN]), Err(Refusal::NoToken));
    assert_eq!(check(&["Bearer "]), Err(Refusal::Token));
    assert_eq!(
        check(&["Bearer \u{e9}"]),
        Err(Refusal::NoToken),
        "no text at all"
    );
    assert!(matches!(
        check(&[&right, &right]),
        Err(Refusal::Twice { .. })
    ));
}

#[test]
fn an_origin_is_written_as_it_is_read() {
    for text in [
        "http://localhost:*",
        "https://app.example:443",
        "http://[::1]:*",
    ] {
        assert_eq!(Origin::parse(text).unwrap().to_string(), text);
    }
    for text in ["localhost", "ftp://x", "http://", "http://a@b", "null"] {
        assert_eq!(Origin::parse(text), None, "{text}");
    }
}
