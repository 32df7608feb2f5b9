use super::*;
use crate::{look::tests::look, sample};
use outlast_journal::{Gap, LeftoverRecord, Seq, Shell};
use serde_json::json;

fn event(seq: u64, kind: &str, time: &str, message: &str) -> Event {
    Event {
        seq: Seq(seq),
        ts: sample::at(time),
        kind: kind.to_owned(),
        phase: None,
        message: Some(message.to_owned()),
        data: json!({}),
    }
}

fn page<'a>(record: &'a Record, events: &'a [Event], last_lines: &'a str) -> Page<'a> {
    Page {
        record,
        spec: None,
        events,
        last_lines,
        short_id: "m3qd",
    }
}

#[test]
fn the_page_of_a_running_run_says_how_to_go_on() {
    let record = sample::running();
    let events = [event(
        0,
        "started",
        "11:55:48.010",
        "started as process 4711",
    )];
    let lines = "   Compiling serde v1.0.229\n   Compiling serde_json v1.0.154\n";
    insta::assert_snapshot!(page(&record, &events, lines).draw(&look()), @"");
}

#[test]
fn the_page_of_an_ended_run_says_what_it_used_and_what_is_left() {
    let mut record = sample::failed();
    record.shell = Some(Shell {
        program: "/bin/bash".to_owned(),
        login: true,
        pipefail: false,
    });
    record.timeout_secs = Some(1_800.0);
    record.session = Some("s1".to_owned());
    record.output.gap = Some(Gap {
        from: 16_384,
        to: 17_408,
    });
    record.leftovers = vec![LeftoverRecord {
        pid: 812,
        command: "sleep 600".to_owned(),
    }];
    let events = [
        event(0, "started", "09:59:00.010", "started as process 4711"),
        event(
            1,
            "failed",
            "09:59:41",
            "error[E0382]: borrow of moved value",
        ),
    ];
    insta::assert_snapshot!(page(&record, &events, "").draw(&look()), @"");
}

#[test]
fn the_page_of_an_interrupted_run_claims_nothing_it_does_not_know() {
    let record = sample::interrupted();
    insta::assert_snapshot!(page(&record, &[], "").draw(&look()), @"");
}

#[test]
fn only_the_newest_events_stand_on_the_page() {
    let record = sample::running();
    let events: Vec<Event> = (0..20)
        .map(|seq| event(seq, "note", "11:59:00", "SIGTERM from process 9 ignored"))
        .collect();
    let page = page(&record, &events, "").draw(&look());
    assert!(page.contains("… 12 older events"), "{page}");
    assert_eq!(page.matches("SIGTERM").count(), 8);
}

#[test]
fn nothing_on_the_page_can_speak_to_the_terminal() {
    let mut record = sample::running();
    record.label = "\x1b[31m".to_owned();
    record.command = "a\x07b".to_owned();
    record.cwd = "/x\x1b]0;t\x07".to_owned();
    let events = [event(0, "note", "11:59:00", "\x1b[2J")];
    let page = page(&record, &events, "line\x1b[1A\n").draw(&look());
    assert!(!page.contains(['\x1b', '\x07']), "{page}");
}
