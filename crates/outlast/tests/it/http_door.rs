//! Who comes in over HTTP: whoever has the token, by our names, from our pages.

use crate::{
    case_ground::{Ground, write},
    http_client::{Ask, Server},
};
use std::{fs, os::unix::fs::PermissionsExt};

#[test]
fn only_health_is_told_without_a_token() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let health = server.send(&Ask::new("GET", "/healthz"));
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
    for target in [
        "/metrics",
        "/api/runs",
        "/api/openapi.json",
        "/mcp",
        "/",
        "/none",
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            let refused = server.send(&Ask::new(method, target));
            let expected = (401, "token_missing".to_owned());
            assert_eq!(refused.refusal(), expected, "{method} {target}");
            assert_eq!(refused.header("www-authenticate"), "Bearer");
        }
    }
    assert_eq!(server.send(&server.get("/metrics")).status, 200);
}

#[test]
fn a_wrong_token_is_refused_however_near_it_is() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let token = server.token.clone();
    let (begin, end) = token.split_at(token.len() - 1);
    let other_end = if end == "0" { "1" } else { "0" };
    let ask = |header: &str| server.refused(&server.get("/api/runs").with("Authorization", header));
    let wrong = (401, "token_wrong".to_owned());
    for near in [
        format!("{begin}{other_end}"),
        begin.to_owned(),
        format!("{token}0"),
        "x".into(),
    ] {
        assert_eq!(ask(&format!("Bearer {near}")), wrong, "{near}");
    }
    let missing = (401, "token_missing".to_owned());
    for header in [
        token.clone(),
        format!("Basic {token}"),
        "Bearer".to_owned(),
        String::new(),
    ] {
        assert_eq!(ask(&header), missing, "{header}");
    }
    let twice = server
        .get("/api/runs")
        .and("Authorization", &format!("Bearer {token}"));
    assert_eq!(server.refused(&twice), (400, "header_twice".to_owned()));
    let fine = server
        .get("/api/runs")
        .with("Authorization", &format!("bearer {token}"));
    assert_eq!(server.send(&fine).status, 200);
}

#[test]
fn a_token_in_the_url_does_not_count() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    for name in ["token", "access_token", "authorization", "bearer"] {
        let target = format!("/api/runs?{name}={}", server.token);
        let refused = server.send(&Ask::new("GET", &target));
        assert_eq!(refused.refusal(), (401, "token_missing".to_owned()));
        assert!(!refused.body.contains(&server.token), "{refused:#?}");
        // With the header, it is an argument that nobody knows.
        let refused = server.send(&server.get(&target));
        assert_eq!(refused.refusal(), (400, "unknown_argument".to_owned()));
        assert!(!refused.body.contains(&server.token), "{refused:#?}");
    }
}

#[test]
fn a_request_by_another_name_is_refused_with_and_without_the_token() {
    let ground = Ground::new();
    let server = Server::start(&ground);
    let port = server.address.port();
    let refused = (403, "host_refused".to_owned());
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.2",
        "a@localhost",
        "",
        "[::2]",
    ] {
        for target in ["/api/runs", "/healthz", "/mcp"] {
            let ask = server.get(target).with("Host", host);
            assert_eq!(server.refused(&ask), refused, "{host}");
            assert_eq!(
                server.refused(&ask.without("Authorization")),
                refused,
                "{host}"
            );
        }
    }
    for host in [
        "localhost".to_owned(),
        "LocalHost:1".to_owned(),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
    ] {
        let ask = server.get("/api/runs").with("Host", &host);
        assert_eq!(server.send(&ask).status, 200, "{host}");
    }
    let none = server.get("/api/runs").without("Host");
    assert_eq!(server.refused(&none), refused);
    let twice = server.get("/api/runs").and("Host", "localhost");
    assert_eq!(server.refused(&twice), (400, "header_twice".to_owned()));
    let absolute = server.get("http://evil.example/api/runs");
    assert_eq!(server.refused(&absolute), refused);
}

#[test]
fn a_page_of_another_site_is_refused_and_a_page_of_this_machine_is_not() {
    let ground = Ground::new();
    let server = Server::start_with(&ground, &["--allow-origin", "https://app.example"]);
    let refused = (403, "origin_refused".to_owned());
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "https://app.example:444",
        "http://app.example",
        "file://",
        "x",
    ] {
        for target in ["/api/runs", "/healthz", "/mcp"] {
            let ask = server.get(target).with("Origin", origin);
            assert_eq!(server.refused(&ask), refused, "{origin} {target}");
        }
    }
    for origin in [
        "http://localhost:5173",
        "http://127.0.0.1",
        "http://[::1]:1",
        "https://app.example",
        "https://app.example:443",
    ] {
        let ask = server.get("/api/runs").with("Origin", origin);
        assert_eq!(server.send(&ask).status, 200, "{origin}");
    }
}

#[test]
fn the_token_is_made_once_for_its_owner_alone_and_is_never_said() {
    let ground = Ground::new();
    let first = Server::start(&ground);
    let file = ground.home.store().join("serve.token");
    let mode = fs::metadata(&file)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(first.token.len(), 64, "32 random bytes");
    assert!(!first.said.contains(&first.token), "{}", first.said);
    let second = Server::start(&ground);
    assert_eq!(first.token, second.token);

    let other = Ground::new();
    assert_ne!(Server::start(&other).token, first.token);
}

#[test]
fn a_token_that_others_can_read_or_that_is_none_is_not_used() {
    let ground = Ground::new();
    drop(Server::start(&ground));
    let store = ground.home.store().join("serve.token");
    let refused = |options: &[&str]| {
        let words = [&["serve", "--port", "0"], options].concat();
        let output = ground.program.run(&words);
        assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""));
        let code = output
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix("code: "));
        code.unwrap_or_default().to_owned()
    };
    fs::set_permissions(&store, PermissionsExt::from_mode(0o640)).expect("it is ours");
    assert_eq!(refused(&[]), "token_open_to_others");
    fs::set_permissions(&store, PermissionsExt::from_mode(0o600)).expect("it is ours");
    write(&store, "short\n");
    assert_eq!(refused(&[]), "token_form");

    let own = ground.home.work().join("token");
    let path = own.to_str().expect("it is text");
    assert_eq!(refused(&["--token-file", path]), "token_unreadable");
    write(&own, "an-own-token-of-more-than-32-characters\n");
    fs::set_permissions(&own, PermissionsExt::from_mode(0o400)).expect("it is ours");
    let server = Server::start_with(&ground, &["--token-file", path]);
    assert_eq!(server.token, "an-own-token-of-more-than-32-characters");
    assert_eq!(server.send(&server.get("/api/runs")).status, 200);
}

#[test]
fn an_address_that_others_can_reach_takes_a_flag_and_names() {
    let ground = Ground::new();
    let output = ground
        .program
        .run(&["serve", "--port", "0", "--bind", "0.0.0.0"]);
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("code: remote_bind"), "{output:#?}");
    let options = [
        "--bind",
        "0.0.0.0",
        "--allow-remote",
        "--allow-host",
        "Build.example",
    ];
    let mut server = Server::start_with(&ground, &options);
    server.address.set_ip([127, 0, 0, 1].into());
    assert!(server.said.contains("plain text"), "{}", server.said);
    let by = |host: &str| {
        server
            .send(&server.get("/api/runs").with("Host", host))
            .status
    };
    assert_eq!(
        (by("build.example"), by("build.example:99"), by("0.0.0.0")),
        (200, 200, 403)
    );
    let no_token = Ask::new("GET", "/api/runs").with("Host", "build.example");
    assert_eq!(server.send(&no_token).status, 401);
}

#[test]
fn the_port_is_that_of_the_flag_else_of_the_configuration() {
    let ground = Ground::new();
    let taken = Server::start(&ground);
    let port = taken.address.port();
    let folder = ground.home.path().join(".config/outlast");
    fs::create_dir_all(&folder).expect("the home can be filled");
    write(
        &folder.join("config.toml"),
        &format!("[serve]\nport = {port}\n"),
    );
    let output = ground.program.run(&["serve"]);
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("code: cannot_listen"), "{output:#?}");
    assert!(
        output.stderr.contains(&format!("127.0.0.1:{port}")),
        "{output:#?}"
    );
    let shown = ground.program.json(&["config", "--json"]);
    assert_eq!(shown["serve"]["port"], port);
    drop(Server::start(&ground));
    write(&folder.join("config.toml"), "[serve]\nport = 65536\n");
    assert!(
        ground
            .program
            .run(&["serve"])
            .stderr
            .contains("code: config_value")
    );
}
