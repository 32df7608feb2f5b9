//! Each wire carries a conversation with calls, also one that was read back from a journal,
//! and what only the provider understands comes back to it.

use outlast_agent::message::{Arguments, Message, StopReason, TokenUsage};
use outlast_agent::models::Provider;
use outlast_testkit::model::{Script, Turn};
use serde_json::{Value, json};

use crate::talk::{KEY, Talk, WIRES};

/// What the model reasons, and what proves that it did.
const SIGNATURE: &str = "signature-of-the-provider==";

fn script() -> Script {
    Script::new()
        .turn(
            Turn::text("I look and work.")
                .with_reasoning("hm, what is there", SIGNATURE)
                .and_call("look", json!({"text": "here", "count": 2}))
                .and_call(
                    "shell",
                    json!({"text": "echo \"a long text, in pieces\" > é"}),
                )
                .with_tokens(120, 100, 7),
        )
        .turn(Turn::call("shell", json!({"text": "cat é"})))
        .turn(Turn::text("All is done."))
}

/// The list of what was said, in a request of any wire, without the marks for the cache.
/// They move, and make a block of what is a plain text without one.
fn said(body: &Value) -> Vec<String> {
    let names = ["messages", "input", "contents"];
    let list = names.iter().find_map(|name| body[*name].as_array());
    let mut list = list.expect("a conversation").clone();
    for message in &mut list {
        if let Some(text) = message["content"].as_str() {
            message["content"] = json!([{"type": "text", "text": text}]);
        }
        for block in message["content"].as_array_mut().into_iter().flatten() {
            block
                .as_object_mut()
                .expect("a block")
                .remove("cache_control");
        }
    }
    list.iter().map(Value::to_string).collect()
}

/// Plays the script and returns the bodies that were sent.
async fn play(provider: Provider, reads_back: bool) -> Vec<Value> {
    let mut talk = Talk::new(provider);
    talk.server.play(script());
    let first = talk.go_on().await;
    assert_eq!(first.text, "I look and work.", "{provider}");
    assert_eq!(talk.text, first.text, "{provider}");
    assert_eq!(first.stop, StopReason::Calls, "{provider}");
    let called: Vec<_> = first
        .calls
        .iter()
        .map(|call| (call.name.as_str(), call.arguments.clone()))
        .collect();
    assert_eq!(
        called,
        [
            ("look", Arguments::Json(json!({"text": "here", "count": 2}))),
            (
                "shell",
                Arguments::Json(json!({"text": "echo \"a long text, in pieces\" > é"}))
            ),
        ],
        "{provider}"
    );
    assert_eq!(
        (
            first.usage.input,
            first.usage.cached_input,
            first.usage.output
        ),
        (Some(120), Some(100), Some(7)),
        "{provider}"
    );
    for _ in 0..2 {
        if reads_back {
            talk.through_the_journal();
        }
        talk.go_on().await;
    }
    assert_eq!(talk.text, "All is done.", "{provider}");
    let last = talk.messages.last().expect("messages");
    assert!(matches!(last, Message::Assistant { calls, .. } if calls.is_empty()));
    assert_eq!(talk.retries, [], "{provider}");
    talk.server.assert_played();
    talk.server.assert_histories();
    let asked = talk.server.turns().into_iter();
    asked.map(|asked| asked.body).collect()
}

#[tokio::test]
async fn a_conversation_that_was_read_back_is_asked_in_the_same_bytes() {
    for provider in WIRES {
        let kept = play(provider, false).await;
        let read_back = play(provider, true).await;
        let bytes = |bodies: &[Value]| bodies.iter().map(Value::to_string).collect::<Vec<_>>();
        assert_eq!(bytes(&kept), bytes(&read_back), "{provider}");
    }
}

#[tokio::test]
async fn each_request_begins_with_all_of_the_one_before() {
    for provider in WIRES {
        let bodies = play(provider, true).await;
        for pair in bodies.windows(2) {
            let [before, after] = pair else {
                panic!("a pair")
            };
            let (before, after) = (said(before), said(after));
            assert!(after.len() > before.len(), "{provider}");
            assert_eq!(after[..before.len()], before, "{provider}");
        }
    }
}

#[tokio::test]
async fn what_only_the_provider_understands_is_given_back() {
    for provider in WIRES {
        let bodies = play(provider, true).await;
        let whole = bodies.last().expect("requests").to_string();
        let of_chat = provider == Provider::Compatible;
        let proof = if of_chat {
            "\"reasoning_content\":\"hm, what is there\""
        } else {
            SIGNATURE
        };
        assert_eq!(whole.matches(proof).count(), 1, "{provider}: {whole}");
    }
}

#[tokio::test]
async fn requests_are_these() {
    for provider in WIRES {
        let bodies = play(provider, true).await;
        let last = bodies.last().expect("requests");
        let pretty = serde_json::to_string_pretty(last).expect("JSON");
        insta::assert_snapshot!(format!("request_{}", provider.word()), pretty);
    }
}

#[tokio::test]
async fn the_key_goes_where_the_provider_looks_for_it() {
    for provider in WIRES {
        let mut talk = Talk::new(provider);
        talk.server.play(Script::new().text("hello"));
        let turn = talk.go_on().await;
        let name = talk.model.choice().name.as_str();
        let of_gemini = provider == Provider::Gemini;
        let expected = if of_gemini { "scripted" } else { name };
        assert_eq!(turn.model, expected, "{provider}");
        assert_eq!(turn.stop, StopReason::Done);
        let asked = &talk.server.turns()[0];
        let (header, value) = match provider {
            Provider::Anthropic => ("x-api-key", KEY.to_owned()),
            Provider::Gemini => ("x-goog-api-key", KEY.to_owned()),
            Provider::OpenAi | Provider::Compatible | Provider::Ollama | Provider::LlamaCpp => {
                ("authorization", format!("Bearer {KEY}"))
            }
        };
        assert_eq!(asked.headers[header], value, "{provider}");
        assert!(asked.headers["user-agent"].starts_with("outlast/"));
    }
}

#[tokio::test]
async fn reasoning_is_told_and_is_no_text() {
    for provider in [Provider::Anthropic, Provider::OpenAi, Provider::Compatible] {
        let mut talk = Talk::new(provider);
        let turn = Turn::text("said").with_reasoning("thought", SIGNATURE);
        talk.server.play(Script::new().turn(turn));
        assert_eq!(talk.go_on().await.text, "said");
        let is_told = talk.reasoned > 0;
        // Encrypted reasoning has no words.
        assert_eq!(is_told, provider != Provider::OpenAi, "{provider}");
    }
}

#[tokio::test]
async fn a_call_that_the_length_cut_is_malformed_and_those_before_it_are_not() {
    for provider in [Provider::Anthropic, Provider::OpenAi, Provider::Compatible] {
        let mut talk = Talk::new(provider);
        talk.server.play(
            Script::new()
                .turn(
                    Turn::call("look", json!({"text": "whole"}))
                        .and_call("shell", json!({}))
                        .with_arguments_text("{\"text\": \"rm -rf wo")
                        .cut_by_length(),
                )
                // What is cut may look whole.
                .turn(Turn::call("shell", json!({"text": "rm"})).cut_by_length())
                .text("I see."),
        );
        let turn = talk.go_on().await;
        assert_eq!(turn.stop, StopReason::Length, "{provider}");
        assert_eq!(
            turn.calls[0].arguments,
            Arguments::Json(json!({"text": "whole"}))
        );
        let Arguments::Malformed { text, why } = &turn.calls[1].arguments else {
            panic!("{provider}: {:?}", turn.calls);
        };
        assert_eq!(text, "{\"text\": \"rm -rf wo", "{provider}");
        assert!(why.contains("cut"), "{why}");
        talk.through_the_journal();
        let turn = talk.go_on().await;
        let is_malformed = matches!(turn.calls[0].arguments, Arguments::Malformed { .. });
        assert!(is_malformed, "{provider}: {turn:?}");
        talk.go_on().await;
        talk.server.assert_played();
        talk.server.assert_histories();
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_are_malformed_and_the_conversation_goes_on() {
    for provider in WIRES {
        let mut talk = Talk::new(provider);
        let garbled = |text: &str| Turn::call("look", json!({})).with_arguments_text(text);
        talk.server.play(
            Script::new()
                .turn(garbled("{\"text\": "))
                .turn(garbled("[1, 2]"))
                .text("I give up."),
        );
        for _ in 0..2 {
            let turn = talk.go_on().await;
            let arguments = &turn.calls[0].arguments;
            let is_malformed = matches!(arguments, Arguments::Malformed { .. });
            assert!(is_malformed, "{provider}: {arguments:?}");
            talk.through_the_journal();
        }
        talk.go_on().await;
        talk.server.assert_played();
        talk.server.assert_histories();
    }
}

#[tokio::test]
async fn a_call_without_arguments_has_an_empty_object() {
    for provider in [Provider::Anthropic, Provider::OpenAi, Provider::Compatible] {
        let mut talk = Talk::new(provider);
        let turn = Turn::call("look", json!({})).with_arguments_text("");
        talk.server.play(Script::new().turn(turn).text("done"));
        let turn = talk.go_on().await;
        assert_eq!(
            turn.calls[0].arguments,
            Arguments::Json(json!({})),
            "{provider}"
        );
        talk.go_on().await;
        talk.server.assert_histories();
    }
}

#[tokio::test]
async fn ids_of_calls_are_unique_also_where_the_server_gives_none_or_the_same() {
    for provider in [Provider::Compatible, Provider::Gemini, Provider::OpenAi] {
        let mut talk = Talk::new(provider);
        let id = if provider == Provider::OpenAi {
            "same"
        } else {
            ""
        };
        let call = || {
            Turn::call("look", json!({"text": "a"}))
                .with_id(id)
                .and_call("look", json!({"text": "b"}))
                .with_id(id)
        };
        talk.server
            .play(Script::new().turn(call()).turn(call()).text("done"));
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.extend(talk.go_on().await.calls.into_iter().map(|call| call.id));
            talk.through_the_journal();
        }
        let mut unique = ids.clone();
        unique.sort();
        unique.dedup();
        assert_eq!((ids.len(), unique.len()), (4, 4), "{provider}: {ids:?}");
        talk.server.assert_played();
        talk.server.assert_histories();
    }
}

#[tokio::test]
async fn a_refusal_is_a_turn_that_says_so() {
    for provider in WIRES {
        let mut talk = Talk::new(provider);
        talk.server
            .play(Script::new().turn(Turn::text("I may not").refused()));
        let turn = talk.go_on().await;
        assert_eq!(turn.stop, StopReason::Refused, "{provider}");
        assert_eq!(turn.text, "I may not");
    }
}

#[tokio::test]
async fn messages_that_no_model_wrote_and_those_of_another_are_understood() {
    for provider in WIRES {
        let mut other = Talk::new(if provider == Provider::Anthropic {
            Provider::Gemini
        } else {
            Provider::Anthropic
        });
        other.server.play(script());
        other.go_on().await;
        let mut talk = Talk::new(provider);
        talk.messages = other.messages;
        talk.messages.push(Message::User {
            text: "A notice.".to_owned(),
        });
        let empty = Message::Assistant {
            text: String::new(),
            calls: Vec::new(),
            opaque: Value::Null,
        };
        talk.messages.push(empty);
        talk.messages.push(Message::User {
            text: "Go on.".to_owned(),
        });
        talk.server.play(Script::new().text("done"));
        talk.go_on().await;
        talk.server.assert_histories();
        let body = talk.server.turns()[0].body.to_string();
        assert!(!body.contains(SIGNATURE), "{provider}: {body}");
        assert!(body.contains("I look and work."), "{provider}");
    }
}

#[tokio::test]
async fn tokens_that_are_not_told_are_unknown() {
    let mut talk = Talk::new(Provider::Compatible);
    // Without its last events: the end is there, the usage is not.
    let chunk = "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\
        \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let turn = Turn::raw(200, "text/event-stream", chunk);
    talk.server.play(Script::new().turn(turn));
    let turn = talk.go_on().await;
    assert_eq!(
        (turn.text.as_str(), turn.usage),
        ("x", TokenUsage::default())
    );
}

#[tokio::test]
async fn what_a_model_says_in_refusal_is_its_text() {
    let of_chat = [
        json!({"model": "m", "choices": [{"index": 0, "delta": {"refusal": "I may "}}]}),
        json!({"model": "m", "choices": [
            {"index": 0, "delta": {"refusal": "not."}, "finish_reason": "stop"},
        ]}),
    ];
    let of_responses = [
        json!({"type": "response.refusal.delta", "delta": "I may "}),
        json!({"type": "response.refusal.delta", "delta": "not."}),
        json!({"type": "response.completed", "response": {
            "id": "r", "model": "m", "status": "completed", "output": [],
        }}),
    ];
    let stream = |events: &[Value], end: &str| {
        let events: Vec<_> = events.iter().map(|it| format!("data: {it}\n\n")).collect();
        Turn::raw(200, "text/event-stream", &(events.concat() + end))
    };
    for (provider, turn) in [
        (Provider::Compatible, stream(&of_chat, "data: [DONE]\n\n")),
        (Provider::OpenAi, stream(&of_responses, "")),
    ] {
        let mut talk = Talk::new(provider);
        talk.server.play(Script::new().turn(turn));
        let turn = talk.go_on().await;
        assert_eq!(
            (turn.text.as_str(), turn.stop),
            ("I may not.", StopReason::Refused)
        );
    }
}
