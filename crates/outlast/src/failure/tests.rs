//! A failure reads the same for people and for programs.

use super::*;

#[derive(Debug, thiserror::Error)]
#[error("cannot read the store `/s`")]
struct Outer(#[source] io::Error);

impl Advice for Outer {
    fn code(&self) -> &'static str {
        "store_unreadable"
    }

    fn hint(&self) -> String {
        "look at its owner".to_owned()
    }
}

fn failure() -> Failure {
    Failure::new(&Outer(io::Error::other("no luck")), exit::ERROR)
}

#[test]
fn people_read_fact_and_cause_then_the_next_step_then_the_name() {
    insta::assert_snapshot!(failure().to_string(), @r"
    error: cannot read the store `/s`: no luck
    hint: look at its owner
    code: store_unreadable
    ");
}

#[test]
fn a_cause_that_is_drawn_over_several_lines_is_told_on_one() {
    let told = |cause: &str| {
        let error = Outer(io::Error::other(cause.to_owned()));
        Failure::new(&error, exit::ERROR).sentence()
    };
    assert_eq!(
        told("regex parse error:\n    (\n    ^\nerror: unclosed group"),
        "cannot read the store `/s`: regex parse error: unclosed group"
    );
    assert_eq!(
        told("TOML parse error at line 2, column 9\n  |\n2 | grace = \n  |         ^\nno value\n"),
        "cannot read the store `/s`: TOML parse error at line 2, column 9: no value"
    );
    assert_eq!(
        told("no\x1b luck"),
        "cannot read the store `/s`: no\u{fffd} luck"
    );
}

#[test]
fn programs_read_the_same_as_one_document() {
    let failure = failure().of_run(RunId::from_bits([7; 10]));
    let text = serde_json::to_string(&failure.document());
    insta::assert_snapshot!(text.expect("a document"), @r#"{"error":{"code":"store_unreadable","message":"cannot read the store `/s`: no luck","hint":"look at its owner","id":"0w3ge1r70w3ge1r7"}}"#);
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let closed = Stop::from(io::Error::from(ErrorKind::BrokenPipe));
    assert!(matches!(closed, Stop::PipeClosed));
    let full = Stop::from(io::Error::from(ErrorKind::StorageFull));
    assert!(matches!(full, Stop::Failure(_)));
}

#[test]
fn an_error_cannot_be_taken_for_the_code_of_a_run() {
    let exit_beside =
        |exit| match Stop::from(Failure::new(&Outer(io::Error::other("")), exit)).beside_a_run() {
            Stop::Failure(failure) => failure.exit(),
            Stop::PipeClosed => unreachable!("a failure stays one"),
        };
    assert_eq!(exit_beside(exit::ERROR), 125);
    assert_eq!(exit_beside(exit::USAGE), 2);
    assert_eq!(exit_beside(exit::NO_RUN), 3);
}
