//! What a client may ask for, and of which hosts.

use super::*;

#[test]
fn a_host_is_taken_from_a_connect_and_from_nothing_else() {
    let asked =
        |line: &str| target(format!("{line}\r\nHost: x\r\n\r\n").as_bytes()).map(str::to_owned);
    assert_eq!(
        asked("CONNECT a.example:443 HTTP/1.1").as_deref(),
        Some("a.example")
    );
    for wrong in [
        "GET http://a.example/ HTTP/1.1",
        "CONNECT a.example HTTP/1.1",
        "CONNECT :443 HTTP/1.1",
        "CONNECT a.example:https HTTP/1.1",
        "CONNECT a.example:443 HTTP/2",
        "CONNECT a.example:443 HTTP/1.1 x",
        "connect a.example:443 HTTP/1.1",
        "",
    ] {
        assert_eq!(asked(wrong), None, "{wrong}");
    }
}

#[test]
fn a_name_allows_itself_and_a_name_with_a_dot_what_is_below_it() {
    let hosts = ["a.example", ".b.example", "*.c.example"].map(str::to_owned);
    let allowed = |host| is_allowed(host, &hosts);
    for host in [
        "a.example",
        "A.EXAMPLE",
        "a.example.",
        "b.example",
        "x.b.example",
        "y.c.example",
    ] {
        assert!(allowed(host), "{host}");
    }
    for host in [
        "x.a.example",
        "xb.example",
        "a.example.evil",
        "example",
        "",
        "[::1]",
    ] {
        assert!(!allowed(host), "{host}");
    }
}
