//! Paths and where they lead.

use super::{Act, Found, ROUTES, Verb, find};
use hyper::Method;
use std::collections::BTreeSet;

#[test]
fn a_path_leads_to_its_verb_with_the_name_that_stands_in_it() {
    let run = |method, path| find(&method, path);
    assert_eq!(run(Method::GET, "/mcp"), Found::Methods(vec![Method::POST]));
    assert_eq!(
        run(Method::GET, "/api/runs/my%20run%2Fx/output"),
        Found::Verb(Verb::Api(Act::Output), Some("my run/x".to_owned()))
    );
    assert_eq!(
        run(Method::PUT, "/api/runs/x"),
        Found::Methods(vec![Method::GET, Method::DELETE])
    );
    for nowhere in [
        "",
        "/",
        "/api",
        "/api/runs/",
        "/api/runs/%zz",
        "/api/runs/x/",
        "/mcp/",
        "//mcp",
    ] {
        assert_eq!(run(Method::GET, nowhere), Found::Nothing, "{nowhere}");
    }
}

#[test]
fn no_request_stands_twice_in_the_table() {
    let all: BTreeSet<_> = ROUTES
        .iter()
        .map(|(method, path, _)| (method.as_str(), *path))
        .collect();
    assert_eq!(all.len(), ROUTES.len());
}
