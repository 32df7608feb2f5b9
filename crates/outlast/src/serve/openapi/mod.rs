//! The description of the API, made of types and functions that only describe.
//!
//! It is checked in as `docs/reference/openapi.json`, which the server gives
//! out. What is described is compared here with the table of routes and the
//! names of arguments, and in the tests of the program with real answers.

#[expect(
    dead_code,
    clippy::struct_field_names,
    reason = "it only describes, and the names are those of the documents"
)]
mod answers;
#[expect(dead_code, reason = "it only describes")]
mod arguments;
#[expect(dead_code, reason = "it only describes")]
mod paths;
#[expect(dead_code, reason = "it only describes")]
mod record;

use super::{
    api,
    routes::{ROUTES, Verb},
};
use serde_json::Value;
use std::{collections::BTreeSet, fs::File, io::Write, path::Path};
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};

/// The description that is checked in.
const CHECKED_IN: &str = include_str!("../../../openapi.json");

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Outlast",
        description = "Background runs that outlast whoever started them.\n\nErrors are `{\"error\":{\"code\",\"message\",\"hint\"}}`. Decide by `code`; `docs/reference/errors.md` has them all. Times are RFC 3339 in UTC. A field that is not known is absent, never zero."
    ),
    servers((url = "http://127.0.0.1:27183")),
    security(("token" = [])),
    modifiers(&Token),
    paths(
        paths::health,
        paths::metrics,
        paths::openapi,
        paths::start,
        paths::list,
        paths::show,
        paths::remove,
        paths::events,
        paths::output,
        paths::send,
        paths::cancel,
        paths::wait,
        paths::notices,
        paths::acknowledge,
        paths::start_agent,
        paths::poll,
        paths::asks,
        paths::answer
    )
)]
struct Description;

struct Token;

impl Modify for Token {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

fn described() -> Value {
    serde_json::to_value(Description::openapi()).unwrap()
}

#[test]
fn the_description_that_is_checked_in_is_that_of_the_code() {
    let fresh = Description::openapi().to_pretty_json().unwrap() + "\n";
    if fresh == CHECKED_IN {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/openapi.json");
    let mut file = File::create(&path).unwrap();
    file.write_all(fresh.as_bytes()).unwrap();
    panic!("docs/reference/openapi.json is stale: copy target/openapi.json over it");
}

#[test]
fn every_route_is_described_and_nothing_else() {
    let described = described();
    assert!(described["openapi"].as_str().unwrap().starts_with("3.1"));
    let mut known = BTreeSet::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            known.insert((method.to_uppercase(), path.clone()));
        }
    }
    // MCP has a description of its own.
    let routes = ROUTES.iter().filter(|(_, _, verb)| *verb != Verb::Mcp);
    let routes: BTreeSet<_> = routes
        .map(|(method, path, _)| (method.to_string(), (*path).to_owned()))
        .collect();
    assert_eq!(known, routes);
}

#[test]
fn every_argument_is_described_and_nothing_else() {
    let described = described();
    for (path, names) in api::queries() {
        let parameters = described["paths"][path]["get"]["parameters"]
            .as_array()
            .unwrap();
        let in_query = parameters.iter().filter(|one| one["in"] == "query");
        let known: BTreeSet<&str> = in_query.map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(known, names.all().into_iter().collect(), "{path}");
    }
    for (schema, names) in api::bodies() {
        let schema = &described["components"]["schemas"][schema];
        let known = schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str);
        assert_eq!(
            known.collect::<BTreeSet<_>>(),
            names.iter().copied().collect()
        );
        assert_eq!(schema["additionalProperties"], false);
    }
}
