//! Cases that go wrong between a host and its tools: ends lost or told twice, output cut, places
//! lost, keys and names that do not hold.

use crate::{
    case_ground::{Ground, SOON, kill, status_number},
    mcp_client::Client,
};
use outlast_testkit::eventually;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, io::Write, process::Stdio, thread};

/// Returns the ids of what a list of runs in an answer names.
fn ids(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|run| run["id"].as_str())
        .map(str::to_owned)
        .collect()
}

/// Returns all ends that a server tells beside what it is asked, until it tells none.
fn unseen(client: &mut Client) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let answer = client.fine("background_output", json!({"id": "nonesuch"}));
        let more = ids(&answer["ended_unseen"]);
        if more.is_empty() {
            return told;
        }
        told.extend(more);
    }
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort_unstable();
    ids
}

/// Case LS-06. The server is killed while the runs are about to end.
#[test]
fn twenty_ends_around_a_killed_server_are_told_once_each_by_the_next() {
    let ground = Ground::with_limits("runs_per_session = 20");
    let gate = ground.gate("go");
    let mut client = Client::open(&ground);
    let runs: Vec<String> = (0..20)
        .map(|_| client.run(json!({"command": "read -r _ <go"})))
        .collect();
    gate.open(20);
    client.kill();
    let mut next = Client::open(&ground);
    let waited = next.fine("background_wait", json!({"ids": runs, "any": false}));
    let mut told = ids(&waited["ended"]);
    assert_eq!(told.len(), 20, "{waited:#}");
    told.extend(unseen(&mut next));
    assert_eq!(sorted(told), sorted(runs));
}

/// Case LS-06, to one who only looks now and then.
#[test]
fn twenty_ends_at_once_are_told_once_each_beside_other_answers() {
    let ground = Ground::with_limits("runs_per_session = 20");
    let gate = ground.gate("go");
    let mut client = Client::open(&ground);
    let runs: Vec<String> = (0..20)
        .map(|_| client.run(json!({"command": "read -r _ <go"})))
        .collect();
    gate.open(20);
    for id in &runs {
        ground.wait(id);
    }
    assert_eq!(sorted(unseen(&mut client)), sorted(runs));
    assert_eq!(unseen(&mut client), Vec::<String>::new());
}

/// Case LS-06, an answer that was made and never read.
#[test]
fn an_end_whose_answer_never_left_the_server_is_told_by_the_next() {
    let ground = Ground::new();
    let id = ground.shell_with(&["--session", "one", "--idle-ttl", "1h"], "true");
    ground.wait(&id);
    let mark = ground.run_dir(&id).join("polled");
    let marked = || fs::read_to_string(&mark).unwrap_or_default();
    let before = marked();
    let server = || ground.program.command(&["mcp", "--session", "one"]);
    let mut command = server();
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut ask = |id: u32, method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(stdin, "{request}").expect("there is room");
    };
    let hello = json!({"name": "deaf", "version": "1"});
    ask(
        0,
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": hello}),
    );
    // More than the pipe holds, of which nothing is read.
    for number in 1..20 {
        ask(number, "tools/list", json!({}));
    }
    ask(
        20,
        "tools/call",
        json!({"name": "background_output", "arguments": {"id": id}}),
    );
    eventually("the run is read", SOON, || marked() != before);
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    let mut next = Client::open_with(server(), "test-host").0;
    assert_eq!(unseen(&mut next), [id]);
}

/// Case LS-07.
#[test]
fn an_end_that_was_told_is_not_told_again_by_the_next_three_servers() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "true"}));
    let waited = client.fine("background_wait", json!({"ids": [id]}));
    assert_eq!(ids(&waited["ended"]), [id.as_str()]);
    for _ in 0..3 {
        client.kill();
        let (next, opened) = Client::open_with(ground.program.command(&["mcp"]), "test-host");
        client = next;
        let told = opened["instructions"].as_str().expect("instructions");
        assert!(!told.contains(&id), "{told}");
        assert_eq!(unseen(&mut client), Vec::<String>::new());
    }
    let seqs = ground.event_types(&id);
    let ends = seqs.iter().filter(|kind| *kind == "completed").count();
    assert_eq!(ends, 1);
}

/// Case LS-10.
#[test]
fn every_tool_knows_a_run_that_ended_at_once() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "true", "label": "quick"}));
    for name in [id.as_str(), "quick"] {
        let waited = client.fine("background_wait", json!({"ids": [name]}));
        assert_eq!(ids(&waited["ended"]), [id.as_str()]);
        let read = client.fine("background_output", json!({"id": name}));
        assert_eq!(
            (&read["status"], &read["output"], &read["total_bytes"]),
            (&json!("completed"), &json!(""), &json!(0))
        );
        let cancelled = client.fine("background_cancel", json!({"id": name}));
        assert_eq!(cancelled["status"], "completed");
        let (code, _) = client.refused("background_send", json!({"id": name, "text": "x"}));
        assert_eq!(code, "no_stdin");
    }
    let list = client.fine("background_list", json!({}));
    assert_eq!(ids(&list["tasks"]), [id.as_str()]);
}

/// Case PT-16, descriptors of a server that waits, watches and answers.
#[test]
fn a_command_that_a_tool_started_has_three_descriptors_whatever_its_server_had_open() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "sleep 300"}));
    for _ in 0..9 {
        client.begin("background_wait", json!({"ids": [id]}));
    }
    client.request(
        "resources/subscribe",
        json!({"uri": format!("outlast://run/{id}")}),
    );
    let command = "exec ls /proc/self/fd";
    let seen = client.fine(
        "background_run",
        json!({"command": command, "wait_secs": 45}),
    );
    // The last is that of the directory that `ls` reads.
    assert_eq!(seen["output"], "0\n1\n2\n3\n");
}

/// Case RU-01, the server. The run has 5 s in place of 20.
#[test]
fn the_memory_of_a_server_does_not_grow_with_the_output_of_what_it_waits_for() {
    let ground = Ground::with_limits("max_output = \"1MiB\"\ngrace = 1");
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "yes", "timeout_secs": 5}));
    client.request(
        "resources/subscribe",
        json!({"uri": format!("outlast://run/{id}/output")}),
    );
    let wait = json!({"ids": [id], "wait_secs": 1, "until_output": "^no$"});
    client.fine("background_wait", wait.clone());
    let rss = || status_number(client_pid(&ground), "VmRSS").expect("the server lives");
    let early = rss();
    let mut late;
    loop {
        let waited = client.fine("background_wait", wait.clone());
        client.fine("background_output", json!({"id": id, "max_bytes": 32_768}));
        late = rss();
        if !ids(&waited["ended"]).is_empty() {
            break;
        }
    }
    assert!(late <= 64 << 10, "{late} KiB");
    assert!(
        late <= early + (2 << 10),
        "it grew from {early} to {late} KiB"
    );
}

/// The one server of a home.
fn client_pid(ground: &Ground) -> i32 {
    let servers = ground.processes_of(crate::case_ground::OUTLAST);
    assert_eq!(servers.len(), 1, "{servers:?}");
    servers[0]
}

/// Case OC-01, pages.
#[test]
fn pages_of_a_tool_end_inside_of_no_character_and_are_the_whole() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let print = "PYTHONIOENCODING=utf-8 python3 -c \"print('\\u4f60' * 50000, end='')\"";
    let id = client.run(json!({"command": print}));
    ground.wait(&id);
    for page in [1_000, 4_096] {
        let (mut text, mut at) = (String::new(), 0);
        while at < 150_000 {
            let asked = json!({"id": id, "since_byte": at, "max_bytes": page});
            let read = client.fine("background_output", asked);
            text += read["output"].as_str().expect("a text");
            let next = read["next_byte"].as_u64().expect("an offset");
            assert!(next > at, "{read:#}");
            at = next;
        }
        assert!(text == "你".repeat(50_000), "pages of {page} bytes");
    }
}

/// Cases OC-02, OC-04, OC-07 and OC-10.
#[test]
fn what_a_tool_reads_of_redraws_caps_and_rewrites_is_what_there_was() {
    let ground = Ground::with_limits("max_output = \"64KiB\"");
    let mut client = Client::open(&ground);
    let mut read = |command: &str, asked: Value| {
        let run = json!({"command": command, "wait_secs": 45});
        let ended = client.fine("background_run", run);
        let mut asked = asked;
        asked["id"] = ended["id"].clone();
        client.fine("background_output", asked)
    };
    let bar =
        "for i in $(seq 0 2000); do printf '\\r%5d/2000 [####]' $i; done; printf '\\ndone\\n'";
    let shown = read(bar, json!({}));
    assert_eq!(shown["output"], " 2000/2000 [####]\ndone\n");

    let capped = "head -c 20000000 /dev/zero | tr '\\0' x; exit 7";
    let shown = read(capped, json!({}));
    assert_eq!(
        (&shown["status"], &shown["exit_code"], &shown["total_bytes"]),
        (&json!("failed"), &json!(7), &json!(20_000_000))
    );
    let gap = &shown["gap"];
    let lost = gap["to"].as_u64().zip(gap["from"].as_u64());
    let lost = lost.map(|(to, from)| to - from).expect("a gap");
    assert!(20_000_000 - lost <= 65_536, "{gap}");

    let again = "echo first-line-kept; echo second > /dev/stdout; echo third";
    let shown = read(again, json!({}));
    assert_eq!(shown["output"], "first-line-kept\nsecond\nthird\n");

    let long = "yes filler | head -n 3000; echo 'error: X'; yes filler | head -n 3000";
    let shown = read(long, json!({"grep": "error:"}));
    assert_eq!(shown["output"], "error: X\n");
    let report = read("printf 'y%.0s' $(seq 6410)", json!({"since_byte": 0}));
    assert_eq!(
        (&report["total_bytes"], &report["truncated"]),
        (&json!(6_410), &json!(false))
    );
}

/// Case LQ-01.
#[test]
fn beyond_the_cap_a_tool_queues_or_names_who_holds_the_places_and_the_dead_hold_none() {
    let ground = Ground::new();
    let session = || {
        let command = ground.program.command(&["mcp", "--session", "one"]);
        Client::open_with(command, "test-host").0
    };
    let mut clients: Vec<Client> = (0..4).map(|_| session()).collect();
    let start = json!({"command": "sleep 300", "queue": true});
    for number in 0..10 {
        clients[number % 4].begin("background_run", start.clone());
    }
    // Answers come in any order.
    let begun: Vec<Value> = (0..10)
        .map(|number| {
            let answer = clients[number % 4].message().expect("each is answered");
            answer["result"]["structuredContent"].clone()
        })
        .collect();
    let of = |status: &str| {
        let these = begun.iter().filter(|run| run["status"] == status);
        these
            .filter_map(|run| run["id"].as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!((of("running").len(), of("queued").len()), (8, 2));
    let client = &mut clients[0];
    let reply = client.call("background_run", json!({"command": "true"}));
    let error = &reply.object["error"];
    assert_eq!(error["code"], "at_capacity");
    let hint = error["hint"].as_str().expect("a hint");
    assert!(hint.contains("background_cancel"), "{hint}");
    for id in of("running") {
        assert!(hint.contains(id), "{hint}");
    }
    for id in of("running") {
        kill(ground.supervisor(id));
    }
    let waiting = json!({"ids": of("queued"), "wait_secs": 0});
    eventually("those that waited run", SOON, || {
        client.fine("background_wait", waiting.clone());
        ground.count("running") == 2
    });
    client.fine(
        "background_run",
        json!({"command": "true", "wait_secs": 45}),
    );
}

/// Case RD-10, with the supervisor killed.
#[test]
fn what_a_killed_supervisor_leaves_is_told_and_stopped_by_a_tool() {
    let ground = Ground::new();
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "sleep 300"}));
    kill(ground.supervisor(&id));
    let waited = client.fine("background_wait", json!({"ids": [id]}));
    assert_eq!(waited["ended"][0]["status"], "interrupted");
    assert_eq!(ground.processes_of("sleep").len(), 1);
    let cancelled = client.fine("background_cancel", json!({"id": id}));
    assert_eq!(
        (&cancelled["cancelled"], &cancelled["status"]),
        (&json!(false), &json!("interrupted"))
    );
    assert_eq!(cancelled["leftovers_stopped"], 1);
    ground.assert_no_process_but(client.pid());
}

/// Case TW-02. The host drops the request after a while, as hosts do at their limit.
#[test]
fn a_wait_that_its_host_gave_up_on_loses_no_result() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let mut client = Client::open(&ground);
    let id = client.run(json!({"command": "read -r _ <go; echo done"}));
    let short = client.fine("background_wait", json!({"ids": [id], "wait_secs": 1}));
    assert_eq!(ids(&short["running"]), [id.as_str()]);
    let waiting = client.begin("background_wait", json!({"ids": [id], "wait_secs": 600}));
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": waiting},
    });
    client.write(&cancel.to_string());
    gate.open(1);
    ground.wait(&id);
    let later = client.fine("background_output", json!({"id": id}));
    assert_eq!(
        (&later["status"], &later["output"]),
        (&json!("completed"), &json!("done\n"))
    );
}

/// Case TW-03. The third waits longer than its time limit.
#[test]
fn time_in_the_queue_does_not_count_against_the_limit_of_a_tool() {
    let ground = Ground::with_limits("runs_per_session = 1");
    let mut client = Client::open(&ground);
    let start = json!({"command": "sleep 2", "timeout_secs": 3, "queue": true});
    let runs: Vec<String> = (0..3).map(|_| client.run(start.clone())).collect();
    let waited = client.fine("background_wait", json!({"ids": runs, "any": false}));
    let ended = waited["ended"].as_array().expect("a list");
    assert_eq!(ended.len(), 3, "{waited:#}");
    assert!(
        ended.iter().all(|run| run["status"] == "completed"),
        "{waited:#}"
    );
}

mod heavy {
    use super::*;

    /// Case OC-06, forty of two hundred.
    #[test]
    fn bursts_right_before_the_exit_are_whole_when_a_tool_tells_the_end() {
        let ground = Ground::new();
        let mut client = Client::open(&ground);
        for _ in 0..40 {
            let ended = client.fine(
                "background_run",
                json!({"command": "seq 1 100000", "wait_secs": 45}),
            );
            assert_eq!(
                (&ended["status"], &ended["total_bytes"]),
                (&json!("completed"), &json!(588_895))
            );
            let text = ended["output"].as_str().expect("a text");
            assert!(text.ends_with("\n99999\n100000\n"));
        }
    }

    /// Case RD-05, a hundred of two hundred: four servers with twenty-five starts each.
    #[test]
    fn four_servers_that_start_runs_at_once_lose_none() {
        let ground = Ground::with_limits("runs_per_session = 100");
        let starts = |_| {
            let mut client = Client::open(&ground);
            let asked: Vec<u64> = (0..25)
                .map(|_| client.begin("background_run", json!({"command": "true"})))
                .collect();
            let mut begun = Vec::new();
            while begun.len() < asked.len() {
                let answer = client.message().expect("each is answered");
                let id = answer["result"]["structuredContent"]["id"].as_str();
                begun.push(id.expect("it is started").to_owned());
            }
            begun
        };
        let begun: Vec<String> = thread::scope(|scope| {
            let hands: Vec<_> = (0..4).map(|at| scope.spawn(move || starts(at))).collect();
            let done = hands.into_iter();
            done.flat_map(|hand| hand.join().expect("each starts all"))
                .collect()
        });
        let distinct: BTreeSet<&String> = begun.iter().collect();
        assert_eq!((begun.len(), distinct.len()), (100, 100));
        assert_eq!(ground.runs().len(), 100);
    }
}
