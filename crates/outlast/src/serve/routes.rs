//! Which request means what: one table of methods and paths.

use super::query;
use hyper::Method;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Health,
    Metrics,
    Mcp,
    OpenApi,
    Api(Act),
}

/// A verb of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Start,
    List,
    Show,
    Remove,
    Events,
    Output,
    Wait,
    Send,
    Cancel,
    Notices,
    Acknowledge,
    StartAgent,
    Poll,
    Asks,
    Answer,
}

/// Every request that is answered. `{id}` is any one part of a path.
pub(super) const ROUTES: [(Method, &str, Verb); 19] = [
    (Method::GET, "/healthz", Verb::Health),
    (Method::GET, "/metrics", Verb::Metrics),
    (Method::POST, "/mcp", Verb::Mcp),
    (Method::GET, "/api/openapi.json", Verb::OpenApi),
    (Method::POST, "/api/runs", Verb::Api(Act::Start)),
    (Method::GET, "/api/runs", Verb::Api(Act::List)),
    (Method::GET, "/api/runs/{id}", Verb::Api(Act::Show)),
    (Method::DELETE, "/api/runs/{id}", Verb::Api(Act::Remove)),
    (Method::GET, "/api/runs/{id}/events", Verb::Api(Act::Events)),
    (Method::GET, "/api/runs/{id}/output", Verb::Api(Act::Output)),
    (Method::POST, "/api/runs/{id}/send", Verb::Api(Act::Send)),
    (
        Method::POST,
        "/api/runs/{id}/cancel",
        Verb::Api(Act::Cancel),
    ),
    (Method::GET, "/api/runs/{id}/poll", Verb::Api(Act::Poll)),
    (
        Method::POST,
        "/api/runs/{id}/answer",
        Verb::Api(Act::Answer),
    ),
    (Method::POST, "/api/agents", Verb::Api(Act::StartAgent)),
    (Method::GET, "/api/asks", Verb::Api(Act::Asks)),
    (Method::GET, "/api/wait", Verb::Api(Act::Wait)),
    (Method::GET, "/api/notices", Verb::Api(Act::Notices)),
    (
        Method::POST,
        "/api/notices/acknowledge",
        Verb::Api(Act::Acknowledge),
    ),
];

/// Where a request leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// To this verb, with the `{id}` of the path.
    Verb(Verb, Option<String>),
    /// To a path that is asked by these methods alone.
    Methods(Vec<Method>),
    /// Nowhere.
    Nothing,
}

/// Returns where a request leads.
pub(super) fn find(method: &Method, path: &str) -> Found {
    let mut methods = Vec::new();
    for (known, template, verb) in &ROUTES {
        let mut id = None;
        if !has_form(template, path, &mut id) {
            continue;
        }
        if known == method {
            return Found::Verb(*verb, id);
        }
        methods.push(known.clone());
    }
    if methods.is_empty() {
        Found::Nothing
    } else {
        Found::Methods(methods)
    }
}

/// Returns whether a path is of this form, and puts what stands for `{id}` into `id`.
fn has_form(template: &str, path: &str, id: &mut Option<String>) -> bool {
    let mut parts = path.split('/');
    for wanted in template.split('/') {
        let Some(part) = parts.next() else {
            return false;
        };
        if wanted == "{id}" {
            *id = query::decode(part).filter(|id| !id.is_empty());
            if id.is_none() {
                return false;
            }
        } else if wanted != part {
            return false;
        }
    }
    parts.next().is_none()
}

#[cfg(test)]
mod tests;
