//! A small real model takes turns: what a script cannot show, that tokens come when they
//! come and a call is written by a model. `./scripts/model` has one.

use std::env;
use std::time::{Duration, Instant};

use outlast_agent::message::{Arguments, Message, StopReason};
use outlast_agent::models::{Model, Patience, choose};

use crate::talk::Talk;

#[tokio::test]
#[ignore = "asks a real model: ./scripts/model"]
async fn a_small_real_model_calls_a_tool_and_speaks_of_its_result() {
    let url = env::var("OUTLAST_SMALL_MODEL").expect("./scripts/model sets it");
    let variables = |name: &str| (name == "OPENAI_BASE_URL").then(|| url.clone());
    let choice = choose(None, None, &variables).await.expect("a model");
    let mut talk = Talk::new(choice.provider);
    talk.model = Model::new(&choice, None)
        .expect("a client")
        .with_patience(Patience::default());
    talk.messages = vec![Message::User {
        text: "Look at the folder.".to_owned(),
    }];

    let begun = Instant::now();
    let turn = talk.go_on().await;
    assert_eq!(turn.stop, StopReason::Calls);
    let Some(call) = turn.calls.first() else {
        unreachable!("a turn that stops for calls has one: {turn:?}");
    };
    assert!(["shell", "look"].contains(&call.name.as_str()), "{call:?}");
    assert!(matches!(&call.arguments, Arguments::Json(object) if object["text"].is_string()));
    let called = begun.elapsed();

    talk.through_the_journal();
    let turn = talk.go_on().await;
    assert_eq!((turn.stop, turn.calls.len()), (StopReason::Done, 0));
    assert_eq!(
        (turn.text.as_str(), turn.model.as_str()),
        (talk.text.as_str(), choice.name.as_str())
    );
    assert!(!turn.text.trim().is_empty());
    assert!(
        turn.usage.output.is_some_and(|tokens| tokens > 0),
        "{:?}",
        turn.usage
    );
    assert_eq!(talk.retries, []);
    println!(
        "{}: a call after {called:.1?}, then in {:.1?}: {}",
        choice.name,
        begun.elapsed().saturating_sub(called),
        turn.text.trim()
    );
    assert!(begun.elapsed() < Duration::from_mins(10));
}
