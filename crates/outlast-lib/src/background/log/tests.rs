//! The lines around what a sub-agent printed.

use super::frame;
use crate::testing::Fixture;
use crate::{Kind, Record, Status};
use outlast_journal::Failure;

fn agent(status: Status) -> Record {
    let fixture = Fixture::new();
    let id = fixture.ended(1).id;
    let mut record = fixture.store.record(&id).expect("it can be read");
    record.timeout_secs = None;
    record.kind = Kind::Agent;
    record.status = status;
    record
}

fn head(record: &Record, model: Option<&str>) -> String {
    frame(record, model, false).head
}

#[test]
fn each_state_has_its_line_with_the_model_and_the_session() {
    let with = |status, change: fn(&mut Record)| {
        let mut record = agent(status);
        record.child_session_id = Some("c1".to_owned());
        change(&mut record);
        assert_eq!(frame(&record, None, false).foot, "[child session: c1]\n");
        head(&record, Some("big"))
    };
    let after = " · child session c1 · model big]";
    for (line, expected) in [
        (with(Status::Queued, |_| {}), "waits for a place"),
        (with(Status::Running, |_| {}), "is running"),
        (with(Status::Completed, |_| {}), "finished · success: true"),
        (with(Status::Failed, |_| {}), "failed · success: false"),
        (
            with(Status::Failed, |record| record.exit_code = Some(3)),
            "failed: exit code 3 · success: false",
        ),
        (
            with(Status::Failed, |record| {
                record.signal = Some("KILL".to_owned());
            }),
            "failed: killed by SIGKILL · success: false",
        ),
        (
            with(Status::Failed, |record| {
                record.failure = Some(Failure {
                    code: "no_such_program".to_owned(),
                    message: "there is no program `x`".to_owned(),
                    errno: None,
                });
            }),
            "could not be run: there is no program `x` · success: false",
        ),
        (
            with(Status::TimedOut, |record| {
                record.timeout_secs = Some(1_800.0);
            }),
            "timed out after 1800 s · success: false",
        ),
        (
            with(Status::Cancelled, |_| {}),
            "was cancelled · success: false",
        ),
        (
            with(Status::Interrupted, |_| {}),
            "was interrupted: its supervisor died · success: false",
        ),
    ] {
        assert_eq!(line, format!("[sub-agent {expected}{after}"));
    }
}

#[test]
fn what_is_not_known_is_left_out() {
    let record = agent(Status::Completed);
    assert_eq!(head(&record, None), "[sub-agent finished · success: true]");
    assert_eq!(frame(&record, None, false).foot, "");
}

#[test]
fn an_agent_of_our_own_says_what_its_worker_said() {
    let mut record = agent(Status::Running);
    let line = |record: &Record| frame(record, None, true).head;
    assert_eq!(line(&record), "[sub-agent is running; its newest output]");
    record.status = Status::Failed;
    record.exit_code = Some(0);
    record.summary = Some("stopped: all 3 turns are used".to_owned());
    assert_eq!(
        line(&record),
        "[sub-agent failed: stopped: all 3 turns are used · success: false]"
    );
    record.failure = Some(Failure {
        code: "model_refused".to_owned(),
        message: "the model refused to go on".to_owned(),
        errno: None,
    });
    assert!(record.started.is_some());
    assert_eq!(
        line(&record),
        "[sub-agent failed: the model refused to go on · success: false]"
    );
    record.started = None;
    assert_eq!(
        line(&record),
        "[sub-agent could not be run: the model refused to go on · success: false]"
    );
}
