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
fn programs_read_the_same_as_one_document() {
    let id = RunId::from_bits([7; 10]);
    insta::assert_snapshot!(failure().of_run(id).to_json(), @"");
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let closed = Stop::from(io::Error::from(ErrorKind::BrokenPipe));
    assert!(matches!(closed, Stop::PipeClosed));
    let full = Stop::from(io::Error::from(ErrorKind::StorageFull));
    assert!(matches!(full, Stop::Failure(_)));
}
