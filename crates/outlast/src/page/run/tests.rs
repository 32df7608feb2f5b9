//! The page of a run claims what is known and no more.

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
        document: None,
        last_lines,
        short_id: "m3qd",
        inside: &[],
        unit: None,
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
    insta::assert_snapshot!(page(&record, &events, lines).draw(&look()), @"
    ● build: running  m3qd000000000000
    command   cargo build --release
    where     ~/src/app/crates/core, project ~/src/app
    by        cli
    time      created 11:55:48 (4m ago), ran 4m12s
    limits    no time limit
    posture   uncontained: it may do what you may do (tier FullAccess, network full)
    survives  its caller's end and a closed terminal
    output    17.7 KiB

       0  11:55:48  started      started as process 4711

    │    Compiling serde v1.0.229
    │    Compiling serde_json v1.0.154

    → outlast logs -f m3qd
    → outlast wait m3qd
    → outlast cancel m3qd
    ");
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
    insta::assert_snapshot!(page(&record, &events, "").draw(&look()), @"
    ✗ lint: failed with exit code 101  z8zz000000000000
    command   cargo clippy  (by /bin/bash -l)
    where     ~/src/app/crates/core, project ~/src/app
    by        cli, session s1
    time      created 09:59:00 (2h ago), ended 09:59:41, ran 41s
    limits    time 30m
    posture   uncontained: it may do what you may do (tier FullAccess, network full)
    use       CPU 1m03s, peak memory 812.0 MiB
    output    17.7 KiB, 1.0 KiB dropped (bytes 16384–17407)
    left      812 `sleep 600`

       0  09:59:00  started      started as process 4711
       1  09:59:41  failed       error[E0382]: borrow of moved value

    → outlast logs m3qd
    → outlast cancel m3qd   (stops what is left)
    ");
}

#[test]
fn the_page_of_an_interrupted_run_claims_nothing_it_does_not_know() {
    let record = sample::interrupted();
    insta::assert_snapshot!(page(&record, &[], "").draw(&look()), @"
    ‼ deploy: interrupted: how it ended is unknown  w4tt000000000000
    command   ./deploy.sh
    where     ~/src/app/crates/core, project ~/src/app
    by        cli
    time      created 2026-11-28 11:00:00 (1d ago), ended 09:12:00, ran for an unknown time
    limits    no time limit
    posture   uncontained: it may do what you may do (tier FullAccess, network full)
    output    17.7 KiB

    → outlast logs m3qd
    ");
}

#[test]
fn what_a_run_survives_is_said_while_it_goes_on_and_only_what_is_known() {
    let mut record = sample::running();
    let page = |record: &Record, unit: Option<&str>| {
        let page = Page {
            unit,
            ..page(record, &[], "")
        };
        page.survives()
    };
    assert_eq!(
        page(&record, Some("agent.service")),
        "its caller's end and a closed terminal; not a restart of its systemd unit agent.service"
    );
    record.lifetime = Lifetime::Session;
    assert_eq!(page(&record, Some("agent.service")), "");
    record.lifetime = Lifetime::Detached;
    record.survives = None;
    assert_eq!(page(&record, None), "");
    assert_eq!(page(&sample::failed(), None), "");
}

#[test]
fn a_run_of_a_session_ends_with_it() {
    let mut record = sample::running();
    record.lifetime = Lifetime::Session;
    let page = page(&record, &[], "").draw(&look());
    assert!(
        page.contains("ends      with its session at the latest\n"),
        "{page}"
    );
}

#[test]
fn the_code_of_a_pipe_is_told_from_that_of_its_parts() {
    let mut record = sample::failed();
    assert!(!page(&record, &[], "").draw(&look()).contains("--pipefail"));
    (record.exit_code, record.exit_rule) = (Some(0), Some("last_of_pipe".to_owned()));
    assert_eq!(
        page(&record, &[], "").exit(),
        "0 is that of the last part of the pipe; with --pipefail any part that fails counts"
    );
}

#[test]
fn a_run_inside_that_goes_on_is_left_and_can_be_stopped() {
    let record = sample::failed();
    let inside = [sample::id("ffff")];
    let page = Page {
        inside: &inside,
        ..page(&record, &[], "")
    };
    let page = page.draw(&look());
    assert!(page.contains("left      run ffff000000000000\n"), "{page}");
    assert!(
        page.contains("→ outlast cancel m3qd   (stops what is left)"),
        "{page}"
    );
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
