//! Which exit code a wait has, and what it shows meanwhile.

use super::*;
use crate::{look::tests::look, sample};
use outlast_lib::{Matched, Status};

fn completed() -> Record {
    Record {
        id: sample::id("cccc"),
        status: Status::Completed,
        exit_code: Some(0),
        ended: Some(sample::at("10:00:00")),
        ..sample::running()
    }
}

fn waited(ended: &[&Record], running: &[&Record]) -> Waited {
    Waited {
        ended: ended.iter().map(|record| record.id).collect(),
        running: running.iter().map(|record| record.id).collect(),
        ..Waited::default()
    }
}

#[test]
fn a_wait_for_all_has_the_first_code_that_is_not_zero() {
    let (fine, failed) = (completed(), sample::failed());
    let interrupted = sample::interrupted();
    let all = waited(&[&fine, &failed, &interrupted], &[]);
    let records = [fine, failed, interrupted];
    assert_eq!(code(&records, &all, false), 101);
    assert_eq!(code(&records[..1], &all, false), 0);
    assert_eq!(code(&records[2..], &all, false), 125);
}

#[test]
fn a_wait_for_any_has_the_code_of_the_run_that_ended_first() {
    let (fine, failed, running) = (completed(), sample::failed(), sample::running());
    let both = waited(&[&fine, &failed], &[&running]);
    let records = [running, fine, failed];
    assert_eq!(code(&records, &both, true), 101);
    let none = waited(&[], &[&records[0]]);
    assert_eq!(code(&records[..1], &none, true), 75);
}

#[test]
fn a_wait_that_ended_before_the_run_says_so() {
    let (failed, running) = (sample::failed(), sample::running());
    let some = waited(&[&failed], &[&running]);
    assert_eq!(code(&[failed, running], &some, false), 75);
}

#[test]
fn a_wait_for_output_that_came_is_fine() {
    let running = sample::running();
    let matched = Waited {
        matched: Some(Matched {
            id: running.id,
            line: "listening on 80".to_owned(),
            byte: 0,
        }),
        ..waited(&[], &[&running])
    };
    assert_eq!(code(&[running], &matched, false), 0);
}

#[test]
fn the_line_tells_what_is_waited_for() {
    let line = |records: &[Record]| progress::line(records, &look());
    insta::assert_snapshot!(line(&[sample::running()]), @"● run build · 4m12s · Compiling serde_json v1.0.154 (212/431)");
    insta::assert_snapshot!(line(&[sample::failed(), sample::running()]), @"1 of 2 ended · ● run build · 4m12s · Compiling serde_json v1.0.154 (212/431)");
}
