//! No line brings a server down, and each request is answered once, whatever comes around it.
//!
//! `PROPTEST_CASES` raises how many sessions are tried.

use crate::{case_ground::Ground, mcp_client::Client};
use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    sample::select,
    test_runner::{Config, TestRunner},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Sessions that are tried, and lines in each: a few seconds.
const SESSIONS: u32 = 48;
const LINES_MAX: usize = 24;

/// Names that tools know as arguments.
const NAMES: [&str; 22] = [
    "command",
    "label",
    "cwd",
    "timeout_secs",
    "wait_secs",
    "env",
    "stdin",
    "pipefail",
    "leftovers",
    "lifetime",
    "sandbox",
    "network",
    "queue",
    "idempotency_key",
    "id",
    "ids",
    "any",
    "max_bytes",
    "since_byte",
    "grep",
    "context",
    "lines",
];

const METHODS: [&str; 16] = [
    "tools/call",
    "tools/call",
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "resources/templates/list",
    "tasks/get",
    "tasks/cancel",
    "ping",
    "server/discover",
    "initialize",
    "subscriptions/listen",
    "no/such",
];

const TOOLS: [&str; 7] = [
    "background_run",
    "background_list",
    "background_output",
    "background_wait",
    "background_send",
    "background_cancel",
    "background",
];

/// A line that is sent.
#[derive(Clone, Debug)]
enum Frame {
    /// A request that must be answered.
    Request { method: String, params: Value },
    /// A request of which one byte is another.
    Bent {
        method: String,
        params: Value,
        at: usize,
        byte: u8,
    },
    /// Anything.
    Raw(Vec<u8>),
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0..99_u64).prop_map(Value::from),
        "[a-z0-9:/.*(\\[ \"\u{e9}\\\\-]{0,12}".prop_map(Value::from),
        select(
            &[
                "pipe",
                "null",
                "session",
                "report",
                "host",
                "none",
                "outlast://run/x"
            ][..]
        )
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(select(&NAMES[..]), inner, 0..6).prop_map(|map| {
                let pairs = map
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Value::Object(pairs.collect())
            }),
        ]
    })
}

/// Arguments of a tool. What would be run is harmless.
fn arguments() -> impl Strategy<Value = Value> {
    let commands = select(&["true", "exit 3", "echo x", " ", "cat"][..]);
    let command = prop_oneof![
        3 => commands.prop_map(Value::from),
        1 => value().prop_filter("no text", |value| !value.is_string()),
    ];
    (btree_map(select(&NAMES[..]), value(), 0..5), command).prop_map(|(map, command)| {
        let pairs = map
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let mut arguments: Map<String, Value> = pairs.collect();
        // A run that nobody ends would be waited for.
        arguments.insert("command".to_owned(), command);
        for name in ["stdin", "wait_secs"] {
            arguments.remove(name);
        }
        Value::Object(arguments)
    })
}

fn params(method: &str) -> BoxedStrategy<Value> {
    if method == "tools/call" {
        let sensible = (select(&TOOLS[..]), arguments())
            .prop_map(|(name, arguments)| json!({"name": name, "arguments": arguments}));
        return prop_oneof![9 => sensible, 1 => value()].boxed();
    }
    let named = (value(), value()).prop_map(
        |(uri, id)| json!({"uri": uri, "taskId": id, "inputResponses": {}, "notifications": {}}),
    );
    prop_oneof![named, value()].boxed()
}

fn request() -> impl Strategy<Value = (String, Value)> {
    select(&METHODS[..])
        .prop_flat_map(|method| params(method).prop_map(move |params| (method.to_owned(), params)))
}

fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        4 => request().prop_map(|(method, params)| Frame::Request { method, params }),
        2 => (request(), any::<usize>(), any::<u8>()).prop_map(|((method, params), at, byte)| {
            Frame::Bent { method, params, at, byte }
        }),
        1 => vec(any::<u8>(), 0..80).prop_map(Frame::Raw),
        1 => "[\\[\\]{}\",:0-9a-z]{0,60}".prop_map(|text| Frame::Raw(text.into_bytes())),
    ]
}

fn line(id: &Value, method: &str, params: &Value) -> Vec<u8> {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    request.to_string().into_bytes()
}

/// Sends a session's lines and returns the answers by the ids of its requests.
fn session(client: &mut Client, frames: &[Frame]) -> BTreeMap<u64, Vec<Value>> {
    let mut answers = BTreeMap::new();
    for frame in frames {
        match frame {
            Frame::Request { method, params } => {
                answers.insert(client.send(method, params.clone()), Vec::new());
            }
            Frame::Bent {
                method,
                params,
                at,
                byte,
            } => {
                let mut line = line(&json!("bent"), method, params);
                let at = at % line.len();
                line[at] = *byte;
                client.write_bytes(&line);
            }
            Frame::Raw(bytes) => client.write_bytes(bytes),
        }
    }
    // All that came before it is answered, or will be.
    let mut missing = answers.len();
    while missing > 0 {
        let message = client.message().expect("the server answers");
        let Some(of) = message["id"].as_u64().and_then(|id| answers.get_mut(&id)) else {
            continue;
        };
        of.push(message);
        missing -= 1;
    }
    answers
}

mod heavy {
    use super::*;

    #[test]
    fn each_request_is_answered_once_whatever_comes_around_it() {
        let ground = Ground::with_limits("runs_per_session = 1000");
        let config = Config {
            failure_persistence: None,
            max_shrink_iters: 200,
            ..Config::with_cases(
                std::env::var("PROPTEST_CASES")
                    .ok()
                    .and_then(|cases| cases.parse().ok())
                    .unwrap_or(SESSIONS),
            )
        };
        let mut runner = TestRunner::new(config);
        let outcome = runner.run(&vec(frame(), 1..LINES_MAX), |frames| {
            let mut client = Client::open(&ground);
            let answers = session(&mut client, &frames);
            for (id, answers) in &answers {
                prop_assert_eq!(answers.len(), 1, "request {}: {:?}", id, answers);
                let answer = &answers[0];
                let has_result = answer["result"].is_object();
                let has_error =
                    answer["error"]["code"].is_i64() && answer["error"]["message"].is_string();
                prop_assert!(has_result != has_error, "{:#}", answer);
            }
            // It still does what it is there for.
            let list = client.fine("background_list", json!({"limit": 1}));
            prop_assert!(list["count"].is_u64());
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{error}");
        }
    }
}
