//! The words that wake a model.

use super::*;
use crate::{Kind, RunId, ShortRecord, Status, Timestamp};

fn finished(id: &str, restored: bool) -> Finished {
    Finished {
        run: ShortRecord {
            id: RunId::parse(id).expect("an id"),
            kind: Kind::Command,
            label: "build".to_owned(),
            status: Status::Failed,
            created: Timestamp(0),
            updated: Timestamp(0),
            exit_code: Some(3),
            summary: Some("no such file".to_owned()),
            child_session_id: None,
            needs_approval: None,
            elapsed_ms: None,
        },
        restored,
    }
}

const ONE: &str = "0123456789abcdef";
const OTHER: &str = "fedcba9876543210";

#[test]
fn one_end_is_told_as_automatic_and_with_the_call_that_reads_it() {
    assert_eq!(
        wake_prompt(&[finished(ONE, false)]).expect("there is a reason"),
        "[This message is automatic: it is not from the user.]\n\
         A background task that you started has ended:\n\
         \x20 [0123456789abcdef] command failed exit=3: build — no such file\n\
         Read its result with background_output with id `0123456789abcdef`, then go on with what \
         you wanted it for. If nothing is left to do, say in one sentence how it ended."
    );
}

#[test]
fn many_ends_are_one_prompt() {
    let prompt = wake_prompt(&[finished(ONE, false), finished(OTHER, false)]);
    assert_eq!(
        prompt.expect("there is a reason"),
        "[This message is automatic: it is not from the user.]\n\
         2 background tasks that you started have ended:\n\
         \x20 [0123456789abcdef] command failed exit=3: build — no such file\n\
         \x20 [fedcba9876543210] command failed exit=3: build — no such file\n\
         Read their results with background_output, one id at a time, then go on with what you \
         wanted them for. If nothing is left to do, say in one sentence how they ended."
    );
}

#[test]
fn a_restored_end_is_no_reason_and_not_named() {
    assert_eq!(wake_prompt(&[]), None);
    assert_eq!(wake_prompt(&[finished(ONE, true)]), None);
    let prompt = wake_prompt(&[finished(ONE, true), finished(OTHER, false)]);
    let prompt = prompt.expect("there is a reason");
    assert!(prompt.contains(OTHER) && !prompt.contains(ONE), "{prompt}");
    assert!(prompt.contains("A background task that"), "{prompt}");
}
