//! What fails for a moment is asked again and told; what fails for good is an error that
//! says what to do. No error shows the key.

use std::time::{Duration, Instant};

use outlast_agent::models::{Choice, Model, ModelError, Patience, Provider, Secret};
use outlast_journal::error::Advice;
use outlast_testkit::model::{Gate, Script, Turn};
use serde_json::json;

use crate::talk::{KEY, Talk, WIRES, impatient};

/// By then what is waited for has happened, on a machine however busy.
const SOON: Duration = Duration::from_secs(30);

/// Answers that are worth another attempt, with the code under which each is told.
fn passing(provider: Provider, held: &Gate) -> Vec<(&'static str, Turn)> {
    let long = || Turn::text("a text that is long enough for a few events of the stream");
    let refused = |status| Turn::refusal(status, None);
    let mut turns = vec![
        ("model_rate_limited", refused(429)),
        ("model_server_failed", refused(500)),
        (
            "model_server_failed",
            Turn::raw(502, "text/html", "<!doctype html><p>Bad Gateway"),
        ),
        ("model_overloaded", refused(503)),
        ("model_overloaded", refused(529)),
        ("model_stalled", refused(408)),
        ("model_server_failed", refused(409)),
        ("model_cut", long().cut_after(0)),
        ("model_cut", long().cut_after(2)),
        ("model_cut", long().ended_after(0)),
        ("model_cut", long().ended_after(2)),
        ("model_stalled", long().held_after(1, held)),
        (
            "model_cut",
            Turn::raw(200, "application/json", "{\"no\": \"stream\"}"),
        ),
    ];
    let call = Turn::call(
        "shell",
        json!({"text": "a long text that takes several events"}),
    );
    turns.push((
        "model_cut",
        call.cut_after(if provider == Provider::Gemini { 0 } else { 4 }),
    ));
    let (overloaded, failed) = match provider {
        Provider::Anthropic => (
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
            json!({"type": "error", "error": {"type": "api_error", "message": "oh"}}),
        ),
        Provider::OpenAi => (
            json!({"type": "error", "code": "server_is_overloaded", "message": "busy"}),
            json!({"type": "response.failed", "response": {
                "id": "r", "model": "m", "status": "failed", "output": [],
                "error": {"code": "server_error", "message": "oh"},
            }}),
        ),
        Provider::Gemini => (
            json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}),
            json!({"error": {"code": 500, "message": "oh", "status": "INTERNAL"}}),
        ),
        Provider::Compatible | Provider::Ollama | Provider::LlamaCpp => (
            json!({"error": {"code": 503, "message": "busy"}}),
            json!({"error": {"type": "server_error", "message": "oh"}}),
        ),
    };
    turns.push(("model_overloaded", long().failed_after(2, overloaded)));
    turns.push(("model_server_failed", long().failed_after(2, failed)));
    turns
}

#[tokio::test]
async fn what_fails_for_a_moment_is_asked_again_and_told() {
    for provider in WIRES {
        let gate = Gate::new();
        for (code, turn) in passing(provider, &gate) {
            let mut talk = Talk::new(provider);
            talk.model = talk.model.with_patience(Patience {
                stall: Duration::from_millis(250),
                ..impatient()
            });
            let what = format!("{provider} {code} {turn:?}");
            talk.server.play(Script::new().turn(turn).text("at last"));
            let turn = talk.ask().await.expect(&what);
            assert_eq!(turn.text, "at last", "{what}");
            assert_eq!(talk.text, "at last", "{what}");
            let [(told, said)] = talk.retries.as_slice() else {
                panic!("{what}: {:?}", talk.retries);
            };
            assert_eq!(told, code, "{what}: {said}");
            assert!(!said.is_empty(), "{what}");
            talk.server.assert_played();
            let [first, second] = talk.server.turns().try_into().expect("two requests");
            assert_eq!(first.body, second.body, "{what}");
        }
        gate.open();
    }
}

#[tokio::test]
async fn garbage_in_a_stream_is_asked_again() {
    for provider in WIRES {
        let mut talk = Talk::new(provider);
        let garbage = Turn::raw(
            200,
            "text/event-stream",
            "data: {\"half\": \n\ndata: ][\n\n",
        );
        talk.server
            .play(Script::new().turn(garbage).text("at last"));
        assert_eq!(talk.ask().await.expect("a turn").text, "at last");
        let (code, _) = &talk.retries[0];
        let codes = ["model_unreadable", "model_cut"];
        assert!(codes.contains(&code.as_str()), "{provider} {code}");
        talk.server.assert_played();
    }
}

#[tokio::test]
async fn a_stream_of_another_type_is_read_all_the_same() {
    for provider in WIRES {
        let mut talk = Talk::new(provider);
        let turn = Turn::text("a stream").with_content_type("text/plain");
        talk.server.play(Script::new().turn(turn));
        assert_eq!(talk.ask().await.expect("a turn").text, "a stream");
        assert_eq!(talk.retries, []);
    }
}

/// Answers that no further attempt would change, with the error's code and a word of it.
fn lasting() -> Vec<(&'static str, &'static str, Turn)> {
    let document =
        |status, body: serde_json::Value| Turn::raw(status, "application/json", &body.to_string());
    let error = |status, words: &str| document(status, json!({"error": {"message": words}}));
    vec![
        ("model_auth", "no such key", error(401, "no such key")),
        ("model_auth", "not you", error(403, "not you")),
        (
            "model_auth",
            "API key not valid",
            document(
                400,
                json!([{"error": {
                    "code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT",
                    "details": [{"reason": "API_KEY_INVALID"}],
                }}]),
            ),
        ),
        ("model_not_found", "no model", error(404, "no model `x`")),
        ("model_request_invalid", "tools?", error(400, "tools?")),
        (
            "model_request_invalid",
            "odd",
            document(422, json!({"detail": "odd"})),
        ),
        ("model_window_full", "too large", error(413, "too large")),
        (
            "model_window_full",
            "prompt is too long",
            error(400, "prompt is too long: 9 > 8"),
        ),
        (
            "model_window_full",
            "context length",
            error(400, "maximum context length is 8"),
        ),
        (
            "model_window_full",
            "context size",
            error(400, "the available context size (8)"),
        ),
        ("model_quota", "credit", error(402, "no credit")),
        (
            "model_quota",
            "credit balance",
            error(400, "Your credit balance is too low"),
        ),
        (
            "model_quota",
            "exceeded",
            document(
                429,
                json!({"error": {
                    "message": "You exceeded your quota", "code": "insufficient_quota",
                }}),
            ),
        ),
        (
            "not_a_model",
            "web page (status 404)",
            Turn::raw(404, "text/html", "<h1>no</h1>"),
        ),
        (
            "not_a_model",
            "redirect (status 302)",
            Turn::raw(302, "text/plain", "there"),
        ),
    ]
}

#[tokio::test]
async fn what_no_attempt_would_change_is_an_error_at_once() {
    for provider in WIRES {
        for (code, word, turn) in lasting() {
            let mut talk = Talk::new(provider);
            talk.server.play(Script::new().turn(turn));
            let error = talk.ask().await.expect_err(word);
            assert_eq!(error.code(), code, "{provider}: {error}");
            let shown = error.to_string();
            assert!(shown.contains(word), "{provider}: {shown}");
            assert!(!error.hint().is_empty());
            assert_eq!(talk.retries, [], "{provider}: {shown}");
            talk.server.assert_played();
        }
    }
}

#[tokio::test]
async fn an_event_that_refuses_for_good_is_an_error_at_once() {
    let events = [
        (
            Provider::Anthropic,
            "model_request_invalid",
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "x"}}),
        ),
        (
            Provider::OpenAi,
            "model_window_full",
            json!({"type": "response.failed", "response": {
                "id": "r", "model": "m", "status": "failed", "output": [],
                "error": {"code": "context_length_exceeded", "message": "x"},
            }}),
        ),
        (
            Provider::Compatible,
            "model_auth",
            json!({"error": {"type": "authentication_error", "message": "x"}}),
        ),
        (
            Provider::Gemini,
            "model_blocked",
            json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
        ),
    ];
    for (provider, code, event) in events {
        let mut talk = Talk::new(provider);
        let turn = Turn::text("a").failed_after(0, event);
        talk.server.play(Script::new().turn(turn));
        let error = talk.ask().await.expect_err("it is refused");
        assert_eq!(error.code(), code, "{provider}: {error}");
        assert_eq!(talk.retries, [], "{provider}");
    }
}

#[tokio::test]
async fn a_web_page_in_place_of_a_model_is_told_as_one() {
    for provider in WIRES {
        let mut talk = Talk::new(provider);
        let page = "<!doctype html><title>Welcome</title>";
        talk.server
            .page_for_models("text/html; charset=utf-8", page);
        talk.server
            .play(Script::new().turn(Turn::raw(200, "text/html", page)));
        let error = talk.ask().await.expect_err("a page");
        assert_eq!(error.code(), "not_a_model", "{error}");
        assert!(error.to_string().contains("web page"), "{error}");
        assert_eq!(talk.retries, []);
    }
}

#[tokio::test]
async fn a_page_where_turns_are_asked_for_alone_is_no_model_either() {
    for provider in WIRES {
        let mut talk = Talk::new(provider);
        let page = "<!doctype html><title>Welcome</title>";
        talk.server
            .answer_all(move |_| Turn::raw(200, "text/html", page));
        let error = talk.ask().await.expect_err("a page");
        assert_eq!(error.code(), "not_a_model", "{error}");
        assert_eq!(talk.server.turns().len(), 3, "{provider:?}");
        assert_eq!(talk.retries.len(), 2, "{:?}", talk.retries);
    }
}

#[tokio::test]
async fn attempts_end_and_the_last_failure_is_the_error() {
    let mut talk = Talk::new(Provider::Anthropic);
    talk.server.answer_all(|_| Turn::refusal(529, None));
    let error = talk.ask().await.expect_err("it is never there");
    assert_eq!(error.code(), "model_overloaded");
    assert_eq!(talk.retries.len(), 2, "{:?}", talk.retries);
    assert_eq!(talk.server.turns().len(), 3);
    let shown = error.to_string();
    assert!(shown.contains("attempts: 3"), "{shown}");
    assert!(shown.contains("overloaded"), "{shown}");
}

#[tokio::test]
async fn a_wait_that_the_provider_asks_for_is_kept_or_not_begun() {
    let mut talk = Talk::new(Provider::OpenAi);
    talk.server
        .play(Script::new().turn(Turn::refusal(429, Some(1))).text("now"));
    let begun = Instant::now();
    assert_eq!(talk.ask().await.expect("a turn").text, "now");
    assert!(begun.elapsed() >= Duration::from_secs(1));

    let mut talk = Talk::new(Provider::OpenAi);
    talk.server
        .play(Script::new().turn(Turn::refusal(429, Some(86_400))));
    let error = talk.ask().await.expect_err("nobody waits for a day");
    assert_eq!(error.code(), "model_rate_limited");
    assert_eq!(talk.retries, []);
    talk.server.assert_played();
}

#[tokio::test]
async fn a_server_that_is_not_there_is_asked_again_and_then_told() {
    let talk = Talk::new(Provider::Compatible);
    let gone = talk.model.choice().clone();
    drop(talk.server);
    let mut talk = Talk::new(Provider::Compatible);
    talk.model = Model::new(&gone, None)
        .expect("a client")
        .with_patience(impatient());
    let error = talk.ask().await.expect_err("nobody is there");
    assert_eq!(error.code(), "model_unreachable", "{error}");
    assert_eq!(talk.retries.len(), 2, "{:?}", talk.retries);
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn what_cannot_be_sent_is_told_at_once() {
    let mut talk = Talk::new(Provider::Compatible);
    let choice = talk.model.choice().clone();
    let no_url = Choice {
        base_url: Some("nonsense".to_owned()),
        ..choice.clone()
    };
    let broken_key = Some(Secret::new("two\nlines"));
    for (choice, key) in [(no_url, None), (choice, broken_key)] {
        talk.model = Model::new(&choice, key).expect("a client");
        let error = talk.ask().await.expect_err("it cannot be sent");
        assert_eq!(error.code(), "model_request_unsent", "{error}");
        assert!(!error.to_string().contains("two"), "{error}");
        assert_eq!(talk.retries, []);
    }
    assert_eq!(talk.server.asked().len(), 0);
}

#[tokio::test]
async fn an_answer_that_never_ends_is_given_up() {
    let mut talk = Talk::new(Provider::Anthropic);
    let gate = Gate::new();
    talk.model = talk.model.with_patience(Patience {
        answer: Duration::from_millis(300),
        attempts_max: 1,
        ..impatient()
    });
    let turn = Turn::text("a text").held_after(2, &gate);
    talk.server.play(Script::new().turn(turn));
    let error = talk.ask().await.expect_err("it does not end");
    assert_eq!(error.code(), "model_stalled");
    gate.open();
}

#[tokio::test]
async fn a_head_that_does_not_come_is_given_up() {
    let mut talk = Talk::new(Provider::Gemini);
    let gate = Gate::new();
    talk.model = talk.model.with_patience(Patience {
        headers: Duration::from_millis(200),
        attempts_max: 1,
        ..impatient()
    });
    talk.server
        .play(Script::new().turn(Turn::text("late").held_at(&gate)));
    let error = talk.ask().await.expect_err("nothing comes");
    assert_eq!(error.code(), "model_stalled", "{error}");
    gate.open();
}

#[tokio::test]
async fn a_turn_that_is_dropped_ends_at_once_and_leaves_the_model_usable() {
    for provider in WIRES {
        let mut talk = Talk::new(provider);
        let gate = Gate::new();
        let held = Turn::text("a text in several pieces, held").held_after(1, &gate);
        talk.server.play(Script::new().turn(held).text("the next"));
        let asked = tokio::time::timeout(Duration::from_millis(300), talk.ask()).await;
        assert!(asked.is_err(), "{provider}: it is held");
        talk.server.wait_for_turn(0, SOON);
        talk.text.clear();
        let turn = talk.ask().await.expect("a turn");
        assert_eq!(turn.text, "the next", "{provider}");
        gate.open();
        talk.server.assert_played();
    }
}

#[tokio::test]
async fn no_error_and_no_view_shows_the_key() {
    for provider in WIRES {
        let words = format!("Incorrect API key provided: {KEY}. See {KEY}");
        let body = json!({"error": {"message": words}}).to_string();
        for status in [400, 401, 404, 429, 500] {
            let mut talk = Talk::new(provider);
            talk.model = talk.model.with_patience(Patience {
                attempts_max: 2,
                ..impatient()
            });
            let turn = || Turn::raw(status, "application/json", &body);
            talk.server.play(Script::new().turn(turn()).turn(turn()));
            let error: ModelError = talk.ask().await.expect_err("it is refused");
            let choice: &Choice = talk.model.choice();
            let choice = serde_json::to_string(choice).expect("JSON");
            let model = &talk.model;
            let shown = format!("{error} {error:?} {} {model:?} {choice}", error.hint());
            let shown = format!("{shown} {:?}", talk.retries);
            assert!(!shown.contains(KEY), "{provider} {status}: {shown}");
            assert!(shown.contains("Incorrect API key"), "{shown}");
        }
    }
    assert_eq!(format!("{:?}", Secret::new(KEY)), "[key]");
}
