//! The table fits its terminal, names each run, and says what it leaves out.

use super::*;
use crate::{look::tests::look, sample};
use outlast_journal::LeftoverRecord;

fn samples() -> Vec<Record> {
    vec![sample::running(), sample::failed(), sample::interrupted()]
}

fn ids(records: &[Record]) -> Vec<RunId> {
    records.iter().map(|record| record.id).collect()
}

fn drawn(records: &[Record], look: &Look) -> String {
    table(records, &ids(records), look)
}

#[test]
fn the_table_says_at_a_glance_what_runs_and_how_it_ended() {
    insta::assert_snapshot!(drawn(&samples(), &look()), @"
    RUN   STATE   LABEL   AGE   TIME  NOW
    m3qd  ● run   build    4m  4m12s  Compiling serde_json v1.0.154 (212/431)
    z8zz  ✗ 101   lint     2h    41s  error[E0382]: borrow of moved value
    w4tt  ‼ intr  deploy   1d      ?  supervisor gone at 09:12; exit code unknown
    ");
}

#[test]
fn a_run_that_never_started_took_no_time() {
    let mut record = sample::failed();
    (record.exit_code, record.started, record.elapsed_ms) = (None, None, None);
    record.ended_by = Some("limit:queue".to_owned());
    record.summary = Some("no place was free in time".to_owned());
    insta::assert_snapshot!(drawn(&[record], &look()), @"
    RUN   STATE    LABEL  AGE  TIME  NOW
    z8zz  ✗ queue  lint    2h     –  no place was free in time
    ");
}

#[test]
fn an_empty_list_says_what_it_was_asked_for() {
    let here = Some("/p".to_owned());
    let asked = |project: Option<String>, session: Option<&str>, statuses: &[Status]| ListQuery {
        project,
        session: session.map(str::to_owned),
        statuses: statuses.to_vec(),
        limit: 50,
    };
    assert_eq!(
        none(&asked(None, None, &[Status::Running]), 0),
        "no runs are running"
    );
    assert_eq!(
        none(&asked(here.clone(), None, &[]), 2),
        "no runs of this project; 2 in others: outlast ps -a"
    );
    assert_eq!(
        none(&asked(None, Some("s\x1b"), &[]), 0),
        "no runs of session `s\u{fffd}`"
    );
    assert_eq!(
        none(
            &asked(here, Some("s"), &[Status::TimedOut, Status::Failed]),
            0
        ),
        "no runs of this project and of session `s` are timed out or failed"
    );
}

#[test]
fn a_line_is_never_wider_than_the_terminal() {
    let mut records = samples();
    records[0].label = "a label that is much longer than it has any right to be".to_owned();
    records[1].summary = Some("日本語".repeat(40));
    for width in 60..120 {
        let look = Look {
            width: Some(width),
            ..look()
        };
        for line in drawn(&records, &look).lines() {
            assert!(columns(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn nothing_is_cut_where_there_is_no_terminal() {
    let look = Look {
        width: None,
        ..look()
    };
    let mut records = samples();
    records[1].summary = Some("x".repeat(200));
    assert!(drawn(&records, &look).contains(&"x".repeat(200)));
}

#[test]
fn an_id_is_as_long_as_it_must_be_to_name_one_run() {
    let mut records = samples();
    records[1].id = sample::id("m3qd00zz");
    let table = drawn(&records, &look());
    assert!(
        table.contains("m3qd000 ") && table.contains("m3qd00z "),
        "{table}"
    );
}

#[test]
fn output_cannot_speak_to_the_terminal_through_the_table() {
    let mut records = samples();
    records[0].label = "\x1b]0;title\x07".to_owned();
    records[1].summary = Some("\x1b[2J\r".to_owned());
    assert!(!drawn(&records, &look()).contains(['\x1b', '\x07', '\r']));
}

#[test]
fn what_is_left_out_is_said_with_the_way_to_see_it() {
    let mut records = samples();
    records[1].leftovers = vec![LeftoverRecord {
        pid: 7,
        command: "sleep 600".to_owned(),
    }];
    let said = Notes {
        has_more: true,
        elsewhere: 2,
        damaged: vec![("/s/runs/x".to_owned(), "its spec cannot be read".to_owned())],
    };
    insta::assert_snapshot!(notes(&records, &ids(&records), &said).join("\n"), @"
    z8zz has ended and 1 process of it is still alive: outlast cancel z8zz
    older runs are not shown: outlast ps -n 200
    2 runs go on in other projects: outlast ps -a
    set aside, since its spec cannot be read: /s/runs/x
    ");
}

#[test]
fn coloured_cells_keep_the_columns_in_line() {
    let plain = drawn(&samples(), &look());
    let coloured = Look {
        is_coloured: true,
        ..look()
    };
    let coloured = drawn(&samples(), &coloured);
    assert!(coloured.contains("\x1b[31m✗ 101\x1b[0m"), "{coloured}");
    let stripped: String = coloured
        .split('\x1b')
        .map(|part| {
            part.split_once('m').map_or(
                part,
                |(code, rest)| if code.starts_with('[') { rest } else { part },
            )
        })
        .collect();
    assert_eq!(stripped, plain);
}
