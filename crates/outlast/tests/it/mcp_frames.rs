//! A host that sends nonsense, too much, or reads nothing: it is told so, the session goes on where
//! it can, and the server stays small.

use crate::{
    case_ground::{BUSY, Ground, SOON, status_number},
    mcp_client::Client,
};
use outlast_testkit::eventually;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{ErrorKind, Read, Write},
    process::{Command, Stdio},
    time::Duration,
};

/// What a server may take beyond what it takes when it is idle: bounds are in `limits.rs`, and
/// the largest message stands in memory a few times.
const GROWS_KIB_MAX: u64 = 64 << 10;

/// Most memory that a process had so far, in KiB.
fn peak_kib(pid: i32) -> u64 {
    status_number(pid, "VmHWM").expect("the server lives")
}

/// Returns the next error that came to no request or to this one.
#[track_caller]
fn next_error(client: &Client) -> (Value, i64, String) {
    let answer = client.message().expect("an answer");
    let error = &answer["error"];
    let code = error["code"].as_i64().expect("an error");
    let message = error["message"].as_str().expect("a text").to_owned();
    (answer["id"].clone(), code, message)
}

#[test]
fn every_line_that_is_no_request_is_answered_with_what_is_wrong_with_it() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"a":{}}}}}"#,
        "[".repeat(50_000)
    );
    for (line, id, code, fact) in [
        ("{\"jsonrpc\": \"2.0\", ", Value::Null, -32700, "no JSON"),
        ("\u{7f}ELF", Value::Null, -32700, "no JSON"),
        (
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            Value::Null,
            -32600,
            "no batch",
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":7}",
            json!(8),
            -32600,
            "`method`",
        ),
        (
            "{\"id\":9,\"method\":\"ping\"}",
            json!(9),
            -32600,
            "`jsonrpc`",
        ),
        (deep.as_str(), json!(5), -32600, "100 deep"),
    ] {
        client.write(line);
        let (found, said, text) = next_error(&client);
        assert_eq!((found, said), (id, code), "{text}");
        assert!(text.contains(fact), "{text}");
    }
    client.write("\r\n\r");
    assert_eq!(client.fine("background_list", json!({}))["count"], 0);
}

#[test]
fn a_request_with_wrong_types_names_what_does_not_fit_and_an_unknown_method_is_told_apart() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    for (method, params, code, fact) in [
        ("tools/call", json!({"name": 5}), -32602, "a string"),
        ("tools/call", json!({}), -32602, "`name`"),
        (
            "tools/call",
            json!({"name": "background_list", "arguments": [1]}),
            -32602,
            "a map",
        ),
        (
            "tools/call",
            json!({"name": "nonesuch"}),
            -32602,
            "`nonesuch`",
        ),
        ("resources/read", json!({"uri": null}), -32602, "a string"),
        ("resources/subscribe", json!({}), -32602, "`uri`"),
        ("no/such", json!({}), -32601, "`no/such`"),
        ("prompts/get", json!({"name": "x"}), -32601, "prompts/get"),
        (
            "completion/complete",
            json!({}),
            -32601,
            "completion/complete",
        ),
        (
            "logging/setLevel",
            json!({"level": "debug"}),
            -32601,
            "logging/setLevel",
        ),
    ] {
        let answer = client.request(method, params);
        assert_eq!(answer["error"]["code"], code, "{answer:#}");
        let said = answer["error"]["message"].as_str().expect("a text");
        assert!(said.contains(fact), "{method}: {said}");
    }
    client.write(r#"{"jsonrpc":"2.0","method":"notifications/no-such","params":{"x":[]}}"#);
    client.write(r#"{"jsonrpc":"2.0","id":77,"result":{"roots":5}}"#);
    assert_eq!(client.fine("background_list", json!({}))["count"], 0);
}

#[test]
fn a_message_that_is_too_long_or_too_full_is_answered_by_its_id_and_memory_stays_flat() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    client.fine("background_list", json!({}));
    let idle = peak_kib(client.pid());
    let long = "x".repeat(9 << 20);
    for _ in 0..3 {
        let answer = client.call_raw("background_run", &format!(r#"{{"command":"{long}"}}"#));
        assert_eq!(answer["error"]["code"], -32600);
        let said = answer["error"]["message"].as_str().expect("a text");
        assert!(said.contains("longer than 8388608 bytes"), "{said}");
    }
    let full = format!(r#"{{"command":"x","env":[{}0]}}"#, "0,".repeat(3 << 20));
    let answer = client.call_raw("background_run", &full);
    let said = answer["error"]["message"].as_str().expect("a text");
    assert!(said.contains("65536 values"), "{said}");
    // One that just fits is understood.
    let long = "x".repeat(5 << 20);
    let (code, said) = client.refused("background_run", json!({"command": long}));
    assert_eq!(code, "too_long", "{said}");
    let grew = peak_kib(client.pid()).saturating_sub(idle);
    assert!(grew <= GROWS_KIB_MAX, "{grew} KiB");
}

#[test]
fn a_thousand_requests_at_once_are_each_answered_once_and_memory_stays_flat() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "sleep 300"}));
    let idle = peak_kib(client.pid());
    let mut asked = BTreeSet::new();
    for number in 0..1_000 {
        let (tool, arguments) = match number % 4 {
            0 => ("background_wait", json!({"ids": [id]})),
            1 => ("background_output", json!({"id": id})),
            2 => ("background_list", json!({})),
            _ => ("background_run", json!({"command": "", "label": "none"})),
        };
        asked.insert(client.begin(tool, arguments));
    }
    asked.insert(client.begin("background_cancel", json!({"id": id, "now": true})));
    let mut answers: BTreeMap<u64, usize> = BTreeMap::new();
    while answers.len() < asked.len() {
        let answer = client.message().expect("each is answered");
        assert!(answer["result"].is_object(), "{answer:#}");
        let id = answer["id"].as_u64().expect("an id of ours");
        *answers.entry(id).or_default() += 1;
    }
    assert!(answers.values().all(|times| *times == 1));
    assert!(answers.keys().eq(asked.iter()));
    let grew = peak_kib(client.pid()).saturating_sub(idle);
    // Those that wait hold a thread each, of which there are at most 384.
    assert!(grew <= 2 * GROWS_KIB_MAX, "{grew} KiB");
}

/// Clock ticks of processor time that a process has used.
fn cpu_ticks(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the server lives");
    let (_, fields) = text.rsplit_once(')').expect("a name");
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let tick = |at: usize| fields[at].parse::<u64>().expect("a number");
    tick(11) + tick(12)
}

#[test]
fn more_waits_than_a_run_can_tell_cost_next_to_nothing_and_are_all_told() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "sleep 300"}));
    let waits: Vec<u64> = (0..200)
        .map(|_| client.begin("background_wait", json!({"ids": [id]})))
        .collect();
    client.fine("background_list", json!({}));
    let before = cpu_ticks(client.pid());
    client.fine("background_wait", json!({"ids": [id], "wait_secs": 4}));
    let used = cpu_ticks(client.pid()) - before;
    // A quarter of a processor, unoptimised; without a bound it is all that there is.
    assert!(used <= 100, "{used} ticks of 10 ms in 4 s");
    client.begin("background_cancel", json!({"id": id, "now": true}));
    let mut told = BTreeSet::new();
    while told.len() < waits.len() {
        let answer = client.message().expect("each is told");
        if answer["result"]["structuredContent"]["ended"][0]["id"] == json!(id) {
            told.insert(answer["id"].as_u64());
        }
    }
}

#[test]
fn a_request_that_finds_no_room_is_told_so_and_was_not_begun() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "sleep 300"}));
    for _ in 0..1_024 {
        client.begin("background_wait", json!({"ids": [id]}));
    }
    let start = client.begin("background_run", json!({"command": "true"}));
    let refused = client.answer(start);
    assert_eq!(refused["error"]["code"], -32000, "{refused:#}");
    // A cancelled wait makes room.
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": start - 1},
    });
    client.write(&cancel.to_string());
    client.fine("background_cancel", json!({"id": id, "now": true}));
    assert_eq!(ground.runs().len(), 1);
}

#[test]
fn an_id_that_is_in_use_is_refused_and_its_first_request_answered() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "sleep 300"}));
    let wait = client.begin("background_wait", json!({"ids": [id]}));
    let again = json!({"jsonrpc": "2.0", "id": wait, "method": "tools/list"});
    client.write(&again.to_string());
    let (found, code, text) = next_error(&client);
    assert_eq!((found, code), (Value::Null, -32600));
    assert!(text.contains("not answered yet"), "{text}");
    let cancel = client.begin("background_cancel", json!({"id": id, "now": true}));
    let mut answered = [client.message(), client.message()]
        .map(|answer| answer.expect("both are answered")["id"].as_u64());
    answered.sort_unstable();
    assert_eq!(answered, [Some(wait), Some(cancel)]);
}

#[test]
fn a_probe_that_its_host_gave_up_on_is_no_beginning() {
    let ground = Ground::new();
    let mut client = Client::start(ground.program.command(&["mcp"]));
    client.modern(&json!({}), "server/discover", json!({}));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    client.write(cancel);
    let opened = client.initialize("2025-06-18", "test-host");
    assert_eq!(opened["protocolVersion"], "2025-06-18");
    client.write(cancel);
    assert_eq!(client.fine("background_list", json!({}))["count"], 0);
}

/// Starts a server whose stdin never blocks its host.
fn start_unread(ground: &Ground) -> std::process::Child {
    let mut command: Command = ground.program.command(&["mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let child = command.spawn().expect("the program can be started");
    let stdin = child.stdin.as_ref().expect("a pipe");
    let flags = fcntl_getfl(stdin).expect("flags");
    fcntl_setfl(stdin, flags | OFlags::NONBLOCK).expect("flags");
    child
}

/// Writes lines until the server takes no more for a while; returns how many whole ones it took.
fn flood(stdin: &mut impl Write, line: impl Fn(usize) -> String) -> usize {
    let mut taken = 0;
    loop {
        let line = line(taken);
        let mut left = line.as_bytes();
        while !left.is_empty() {
            let mut waited = Duration::ZERO;
            match stdin.write(left) {
                Ok(written) => left = left.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Not a condition to wait for: it is to stay so.
                    let pause = Duration::from_millis(20);
                    while waited < Duration::from_secs(2) {
                        std::thread::park_timeout(pause);
                        waited += pause;
                        if let Ok(written) = stdin.write(left) {
                            left = left.get(written..).unwrap_or_default();
                            break;
                        }
                    }
                    if waited >= Duration::from_secs(2) {
                        return taken;
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
        taken += 1;
    }
}

#[test]
fn a_host_that_reads_nothing_is_not_read_either_until_it_does() {
    let ground = Ground::new();
    let mut child = start_unread(&ground);
    let pid = i32::try_from(child.id()).expect("a pid is small");
    let mut stdin = child.stdin.take().expect("a pipe");
    let hello = json!({
        "jsonrpc": "2.0", "id": "hello", "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                   "clientInfo": {"name": "deaf", "version": "1"}},
    });
    writeln!(stdin, "{hello}").expect("there is room");
    let taken = flood(&mut stdin, |number| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"tools/list\"}}\n")
    });
    assert!(taken > 100, "{taken}");
    assert!(peak_kib(pid) <= GROWS_KIB_MAX, "{} KiB", peak_kib(pid));

    // Once it reads, each line that was taken as a whole is answered.
    drop(stdin);
    let mut all = String::new();
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_to_string(&mut all).expect("text");
    let answers = all
        .lines()
        .filter(|line| line.contains("\"tools\":["))
        .count();
    assert!(answers <= taken && answers > 0, "{answers} of {taken}");
    for line in all.lines() {
        serde_json::from_str::<Value>(line).expect("no line is cut");
    }
    child.wait().expect("it is our child");
}

#[test]
fn a_server_leaves_a_host_that_reads_nothing_and_hangs_up() {
    let ground = Ground::new();
    let mut child = start_unread(&ground);
    let mut stdin = child.stdin.take().expect("a pipe");
    flood(&mut stdin, |number| {
        format!("nonsense {number} {}\n", "x".repeat(500))
    });
    drop(stdin);
    eventually("the server has left", SOON, || {
        child.try_wait().expect("it is our child").is_some()
    });
}

#[test]
fn a_server_leaves_a_host_that_has_closed_the_pipe_it_reads() {
    let ground = Ground::new();
    let mut child = start_unread(&ground);
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("a pipe");
    writeln!(stdin, "nonsense").expect("there is room");
    let limit = Duration::from_secs(1) + BUSY;
    eventually("the server has left", limit, || {
        child.try_wait().expect("it is our child").is_some()
    });
}
