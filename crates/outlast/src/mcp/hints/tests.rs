//! No next step over MCP names a verb, but to a person.

use super::*;
use crate::failure::exit;
use outlast_lib::{CancelError, RunId, SendError, StartError};

fn hint_of(error: &dyn outlast_lib::Advice) -> String {
    in_tools(Failure::new(error, exit::ERROR)).hint().to_owned()
}

#[test]
fn a_step_that_names_a_verb_says_that_a_person_takes_it() {
    for (code, step) in STEPS {
        assert!(
            !names_a_verb(step) || step.contains("the user"),
            "{code}: {step}"
        );
    }
}

#[test]
fn a_hint_that_names_a_verb_and_has_no_words_here_says_less() {
    for hint in [
        "see `outlast new-verb`",
        "start it with --new-option",
        "`--x`",
    ] {
        let failure = Failure::plain("some_new_code", "fact".to_owned(), hint, exit::ERROR);
        assert_eq!(in_tools(failure).hint(), PLAIN);
    }
    let failure = Failure::plain("some_new_code", "fact".to_owned(), "try again", exit::ERROR);
    assert_eq!(in_tools(failure).hint(), "try again");
}

#[test]
fn errors_of_the_library_speak_of_tools() {
    let id = RunId::parse("hwbw5d3m7spj0mak").expect("an id");
    let source = || std::io::Error::from(std::io::ErrorKind::TimedOut);
    assert_eq!(
        hint_of(&StartError::AtCapacity {
            session: None,
            of_agents: false,
            places_max: 1,
            holders: vec![(id, "build".to_owned())],
        }),
        "background_wait for one, background_cancel one, or start with `queue: true`; active: \
         hwbw5d3m7spj0mak (build)"
    );
    for error in [
        &CancelError::NoAnswer {
            id,
            source: source(),
        } as &dyn outlast_lib::Advice,
        &SendError::NoStdin { id },
        &StartError::NoHolder,
        &StartError::Store {
            what: "a file",
            source: None,
        },
        &StartError::StoreFull {
            what: "a file",
            source: None,
        },
    ] {
        let hint = hint_of(error);
        assert_ne!(hint, PLAIN);
        assert!(!names_a_verb(&hint) || hint.contains("the user"), "{hint}");
    }
}
