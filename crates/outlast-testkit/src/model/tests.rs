//! A scripted model is asked over real connections, as a host would.

use std::{
    fmt::Write as _,
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use serde_json::{Value, json};

use super::{Gate, Script, ScriptedModel, Turn, Wire};

/// By then a request on loopback has arrived, on a machine however busy.
const SOON: Duration = Duration::from_secs(30);

fn connect(model: &ScriptedModel) -> TcpStream {
    TcpStream::connect(model.address).expect("it listens")
}

/// Sends a request that closes the connection after it, and returns the answer as it came.
fn send(model: &ScriptedModel, request: &[u8]) -> String {
    let mut connection = connect(model);
    connection.write_all(request).expect("it reads");
    connection.shutdown(Shutdown::Write).expect("it is open");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("it is text");
    answer
}

fn post(model: &ScriptedModel, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let head = format!("POST {path}?x=1 HTTP/1.1\r\nX-Key: k\r\n");
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    send(model, request.as_bytes())
}

/// The documents of a stream, in order, without the marks of its chunks.
fn data(answer: &str) -> Vec<Value> {
    let lines = answer
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn document(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").expect("head and body");
    serde_json::from_str(body).expect("a document")
}

/// A question of each wire that offers two tools and holds one result.
fn question(wire: Wire, is_streamed: bool) -> (String, Value) {
    let result = "Said:\n{\"id\": \"r1\"}";
    match wire {
        Wire::Responses => {
            let tools = json!([{"name": "run"}, {"name": "list"}]);
            let group = json!({"type": "namespace", "name": "mcp__x", "tools": tools});
            let output = json!([{"type": "input_text", "text": result}]);
            let item = json!({"type": "function_call_output", "output": output});
            let body = json!({"stream": is_streamed, "tools": [group], "input": [item]});
            ("/v1/responses".to_owned(), body)
        }
        Wire::Chat => {
            let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
            let message = json!({"role": "tool", "content": result});
            let tools = [tool("mcp_x_run"), tool("mcp_x_list")];
            let body = json!({"stream": is_streamed, "tools": tools, "messages": [message]});
            ("/v1/chat/completions".to_owned(), body)
        }
        Wire::Messages => {
            let tools = json!([{"name": "mcp__x__run"}, {"name": "mcp__x__list"}]);
            let block =
                json!({"type": "tool_result", "content": [{"type": "text", "text": result}]});
            let message = json!({"role": "user", "content": [block]});
            let body = json!({"stream": is_streamed, "tools": tools, "messages": [message]});
            ("/v1/messages".to_owned(), body)
        }
        Wire::Gemini => {
            let tools = json!([{"name": "mcp_x_run"}, {"name": "mcp_x_list"}]);
            let part = json!({"functionResponse": {"response": {"output": result}}});
            let body = json!({
                "tools": [{"functionDeclarations": tools}], "contents": [{"parts": [part]}],
            });
            let verb = if is_streamed { "stream" } else { "" };
            let verb = format!("{verb}GenerateContent");
            let verb = verb.replacen('G', if is_streamed { "G" } else { "g" }, 1);
            (format!("/v1beta/models/m:{verb}"), body)
        }
    }
}

const WIRES: [Wire; 4] = [Wire::Responses, Wire::Chat, Wire::Messages, Wire::Gemini];

/// The same of a stream of items, which ends with all of them.
fn streamed_items(whole: &[Value]) -> (String, String, Value) {
    let done = whole
        .iter()
        .filter(|it| it["type"] == "response.output_item.done");
    let items: Vec<Value> = done.map(|it| it["item"].clone()).collect();
    let completed = whole.last().expect("an end");
    assert_eq!(completed["response"]["output"], json!(items));
    assert_eq!(items[1]["namespace"], "mcp__x");
    let deltas = |kind: &str| -> String {
        let them = whole.iter().filter(|it| it["type"] == kind);
        them.filter_map(|it| it["delta"].as_str()).collect()
    };
    let arguments = deltas("response.function_call_arguments.delta");
    (
        deltas("response.output_text.delta"),
        items[1]["name"].as_str().unwrap_or_default().to_owned(),
        serde_json::from_str(&arguments).unwrap_or_default(),
    )
}

/// What an answer says: its text, the tool it calls and with which arguments.
fn said(wire: Wire, answer: &str, is_streamed: bool) -> (String, String, Value) {
    let whole = if is_streamed {
        data(answer)
    } else {
        vec![document(answer)]
    };
    let texts = |pointer: &str| -> String {
        let found = whole.iter().filter_map(|it| it.pointer(pointer)?.as_str());
        found.collect()
    };
    let parsed = |text: String| serde_json::from_str::<Value>(&text).unwrap_or_default();
    match (wire, is_streamed) {
        (Wire::Responses, true) => streamed_items(&whole),
        (Wire::Responses, false) => (
            texts("/output/0/content/0/text"),
            texts("/output/1/name"),
            parsed(texts("/output/1/arguments")),
        ),
        (Wire::Chat, true) => {
            assert!(answer.contains("data: [DONE]"), "{answer}");
            let call = "/choices/0/delta/tool_calls/0/function";
            (
                texts("/choices/0/delta/content"),
                texts(&format!("{call}/name")),
                parsed(texts(&format!("{call}/arguments"))),
            )
        }
        (Wire::Chat, false) => {
            let call = "/choices/0/message/tool_calls/0/function";
            (
                texts("/choices/0/message/content"),
                texts(&format!("{call}/name")),
                parsed(texts(&format!("{call}/arguments"))),
            )
        }
        (Wire::Messages, true) => (
            texts("/delta/text"),
            texts("/content_block/name"),
            parsed(texts("/delta/partial_json")),
        ),
        (Wire::Messages, false) => (
            texts("/content/0/text"),
            texts("/content/1/name"),
            whole[0]["content"][1]["input"].clone(),
        ),
        (Wire::Gemini, _) => {
            let last = &whole.last().expect("an end")["candidates"][0];
            assert_eq!(last["finishReason"], "STOP");
            let parts = last["content"]["parts"].as_array().expect("parts");
            let call = &parts.last().expect("a call")["functionCall"];
            let name = call["name"].as_str().unwrap_or_default().to_owned();
            (
                texts("/candidates/0/content/parts/0/text"),
                name,
                call["args"].clone(),
            )
        }
    }
}

#[test]
fn each_wire_says_the_same_streamed_and_whole() {
    let words = "Words that are longer than one piece, with an é and a \"quote\"";
    let arguments = json!({"command": "echo 'a long text that is streamed in pieces'", "n": 7});
    for wire in WIRES {
        for is_streamed in [true, false] {
            let model = ScriptedModel::new();
            let turn = Turn::text(words).and_call("run", arguments.clone());
            model.play(Script::new().turn(turn));
            let (path, body) = question(wire, is_streamed);
            let answer = post(&model, &path, &body);
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            let (text, tool, given) = said(wire, &answer, is_streamed);
            assert_eq!((text.as_str(), &given), (words, &arguments), "{wire:?}");
            assert!(tool.ends_with("run"), "{wire:?}: {tool}");
            model.assert_played();
            let asked = &model.turns()[0];
            assert_eq!((asked.wire, asked.turn), (wire, Some(0)));
            assert_eq!((&asked.path, &asked.body), (&path, &body));
            assert_eq!(asked.headers["x-key"], "k");
            assert_eq!(asked.result().object(), json!({"id": "r1"}));
        }
    }
}

#[test]
fn a_turn_may_take_what_a_tool_answered() {
    let model = ScriptedModel::new();
    model.play(
        Script::new()
            .turn_from(|asked| Turn::call("list", json!({"id": asked.result().object()["id"]}))),
    );
    let (path, body) = question(Wire::Messages, true);
    let answer = post(&model, &path, &body);
    let (_, tool, arguments) = said(Wire::Messages, &answer, true);
    assert_eq!(
        (tool.as_str(), arguments),
        ("mcp__x__list", json!({"id": "r1"}))
    );
}

#[test]
fn a_tool_is_found_by_its_end_and_its_server() {
    let model = ScriptedModel::new();
    let names = [
        "read_output",
        "mcp_outlast_output",
        "mcp_other_output",
        "list",
    ];
    let tools = names.map(|name| json!({"function": {"name": name}}));
    let body = json!({"tools": tools, "messages": []});
    for (asked, called) in [("outlast/output", "mcp_outlast_output"), ("list", "list")] {
        model.play(Script::new().call(asked, json!({})));
        let answer = post(&model, "/chat/completions", &body);
        assert_eq!(said(Wire::Chat, &answer, false).1, called);
    }
    model.play(Script::new().call("output", json!({})));
    let refused = post(&model, "/chat/completions", &body);
    assert!(refused.contains("no one tool is `output`"), "{refused}");
}

#[test]
fn a_question_without_tools_takes_no_turn() {
    let model = ScriptedModel::new();
    model.play(Script::new().text("the turn"));
    let aside = json!({"messages": [{"role": "user", "content": "a title?"}]});
    let answer = document(&post(&model, "/v1/messages", &aside));
    assert_ne!(answer["content"][0]["text"], "the turn");
    let wants_json = json!({"generationConfig": {"responseMimeType": "application/json"}});
    let answer = document(&post(&model, "/models/m:generateContent", &wants_json));
    assert_eq!(answer["candidates"][0]["content"]["parts"][0]["text"], "{}");
    assert_eq!((model.asked().len(), model.turns().len()), (2, 0));
    let (path, body) = question(Wire::Messages, false);
    let answer = document(&post(&model, &path, &body));
    assert_eq!(answer["content"][0]["text"], "the turn");
}

#[test]
fn what_hosts_ask_beside_is_answered_with_a_length() {
    let model = ScriptedModel::new();
    for (request, expected) in [
        ("HEAD / HTTP/1.1\r\n\r\n", ""),
        ("GET /v1/models HTTP/1.1\r\n\r\n", "scripted"),
        (
            "POST /v1/messages/count_tokens HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}",
            "10",
        ),
        (
            "POST /m:countTokens HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}",
            "10",
        ),
        (
            "POST /telemetry HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
            "{}",
        ),
    ] {
        let answer = send(&model, request.as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("content-length: "), "{head}");
        assert!(
            body.contains(expected) && body.is_empty() == expected.is_empty(),
            "{answer}"
        );
    }
    assert!(model.asked().is_empty());
}

#[test]
fn one_connection_serves_many_requests_also_in_chunks() {
    let model = ScriptedModel::new();
    model.play(Script::new().text("first").text("second"));
    let (path, body) = question(Wire::Chat, false);
    let body = body.to_string();
    let (begin, end) = body.split_at(9);
    let mut request = format!("POST {path} HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n");
    for part in [begin, end, ""] {
        write!(request, "{:x}\r\n{part}\r\n", part.len()).expect("a text takes all");
    }
    let answers = send(&model, request.repeat(2).as_bytes());
    let first = answers.find("first").expect("the first turn");
    assert!(answers.find("second").expect("the second turn") > first);
    model.assert_played();
}

#[test]
fn a_turn_may_refuse_break_off_and_wait_at_a_gate() {
    let model = ScriptedModel::new();
    let gate = Gate::new();
    model.play(
        Script::new()
            .turn(Turn::refusal(429, Some(2)))
            .turn(Turn::text("a text that is cut").cut_after(2))
            .turn(Turn::text("late").held_at(&gate)),
    );
    let (path, body) = question(Wire::Responses, true);
    let refused = post(&model, &path, &body);
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert!(refused.contains("retry-after: 2\r\n"), "{refused}");
    let cut = post(&model, &path, &body);
    assert_eq!(data(&cut).len(), 2, "{cut}");
    assert!(!cut.ends_with("0\r\n\r\n"), "{cut}");

    std::thread::scope(|scope| {
        let held = scope.spawn(|| post(&model, &path, &body));
        model.wait_for_turn(2, SOON);
        assert!(!held.is_finished());
        gate.open();
        let late = held.join().expect("it is answered");
        assert!(late.contains("late"), "{late}");
    });
    model.assert_played();
}

#[test]
fn what_does_not_fit_the_script_fails_the_test() {
    let (path, body) = question(Wire::Chat, true);
    let failing = |script: Script| {
        let model = ScriptedModel::new();
        model.play(script);
        let answer = post(&model, &path, &body);
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        let played = std::panic::catch_unwind(|| model.assert_played());
        let words = played.expect_err("it did not fit");
        words.downcast_ref::<String>().expect("words").clone()
    };
    assert!(failing(Script::new()).contains("after the script's end"));
    let other = Script::new().call("cancel", json!({}));
    assert!(failing(other).contains("no one tool is `cancel`"));
    let wrong = Script::new().turn_from(|asked| {
        assert_eq!(asked.results.len(), 9, "results");
        Turn::default()
    });
    assert!(failing(wrong).contains("results"));
    let model = ScriptedModel::new();
    model.play(Script::new().text("never asked for"));
    assert!(std::panic::catch_unwind(|| model.assert_played()).is_err());
}

#[test]
fn a_stream_may_end_in_good_form_too_early_and_with_an_error() {
    let model = ScriptedModel::new();
    let error = json!({"type": "error", "error": {"type": "overloaded_error"}});
    model.play(
        Script::new()
            .turn(Turn::text("a text that just ends").ended_after(3))
            .turn(Turn::text("a text that fails").failed_after(2, error.clone()))
            .turn(Turn::raw(502, "text/html", "<!doctype html>")),
    );
    let (path, body) = question(Wire::Messages, true);
    let ended = post(&model, &path, &body);
    assert_eq!(data(&ended).len(), 3, "{ended}");
    assert!(ended.ends_with("0\r\n\r\n"), "{ended}");
    let failed = post(&model, &path, &body);
    assert_eq!(data(&failed).last(), Some(&error), "{failed}");
    let page = post(&model, &path, &body);
    assert!(page.starts_with("HTTP/1.1 502"), "{page}");
    assert!(page.contains("content-type: text/html"), "{page}");
    model.assert_played();
}

#[test]
fn models_are_listed_hidden_and_answered_to_any_question() {
    let model = ScriptedModel::new();
    model.list_models(&["one", "two"], "llamacpp");
    let get = |path: &str| send(&model, format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes());
    let listed = document(&get("/v1/models"));
    assert_eq!(listed["data"][1]["id"], "two");
    assert_eq!(listed["data"][1]["owned_by"], "llamacpp");
    let of_gemini = document(&get("/v1beta/models?pageSize=9"));
    assert_eq!(of_gemini["models"][0]["name"], "models/one");
    model.hide_models();
    assert!(get("/v1/models").starts_with("HTTP/1.1 404"));

    model.answer_all(|asked| Turn::text(format!("answer {}", asked.results.len())));
    let (path, body) = question(Wire::Chat, false);
    for _ in 0..2 {
        assert_eq!(
            said(Wire::Chat, &post(&model, &path, &body), false).0,
            "answer 1"
        );
    }
    model.assert_played();
    assert_eq!(model.turns().len(), 2);
}
