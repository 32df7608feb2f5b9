//! A record says what spec, journal and log add up to, and nothing that is not known.

mod gap;
mod names;

use super::{Event, Gap, LeftoverRecord, Live, Record};
use crate::{
    Claimed, End, Fact, Failure, Kind, Leftover, Leftovers, Lifetime, Line, MainExit, Note, Origin,
    Posture, ProcessRef, RunId, Seq, Shell, Spec, Started, State, Status, Stdin, Stop, StopCause,
    Survives, Timestamp, Usage,
};
use serde_json::{Value, json};

fn at(second: u64) -> Timestamp {
    Timestamp(1_796_055_327_123 + second * 1_000)
}

fn id() -> RunId {
    RunId::parse("0123456789abcdef").unwrap()
}

/// The spec of `true`, born at second 0, with nothing that may be absent.
fn spec() -> Spec {
    Spec {
        v: 1,
        id: id(),
        kind: Kind::Command,
        created: at(0),
        argv: vec!["true".to_owned()],
        command: "true".to_owned(),
        command_in_file: false,
        shell: None,
        label: "true".to_owned(),
        cwd: "/work".to_owned(),
        project: "/".to_owned(),
        session: None,
        parent: None,
        root: None,
        depth: 0,
        agents_above: 0,
        child_session_id: None,
        model: None,
        timeout_ms: None,
        deadline: None,
        idle_ttl_ms: None,
        grace_ms: 5_000,
        stop_signal: None,
        stop_command: None,
        output_bytes_max: 64 << 20,
        leftovers: Leftovers::Report,
        lifetime: Lifetime::Detached,
        holder: None,
        stdin: Stdin::Null,
        pools: Vec::new(),
        queue: None,
        env_names: Vec::new(),
        secrets: Vec::new(),
        key: None,
        request_hash: None,
        origin: Origin::default(),
        posture: Posture::host(),
        containment: None,
        agent: None,
        survives: None,
    }
}

fn process(pid: i32) -> ProcessRef {
    ProcessRef {
        pid,
        start_ticks: 9,
    }
}

fn started() -> Fact {
    Fact::Started(Started {
        main: process(41),
        queued_ms: None,
        monotonic_ms: Some(77),
        posture: None,
    })
}

fn stop_note() -> Fact {
    Fact::Note(Note {
        stop: Some(Stop {
            cause: StopCause::Cancel,
            grace_ms: 1,
            by: None,
        }),
        ..Note::default()
    })
}

fn end(status: Status) -> End {
    End::new(status, "self", "said".to_owned())
}

/// The state of these facts, written from second 1 on.
fn state(facts: &[Fact]) -> State {
    let mut state = State::default();
    for (fact, second) in facts.iter().zip(1..) {
        state.apply(&Line::new(fact, state.next_seq, at(second)));
    }
    state
}

/// The record of a run that ended with `end` and was looked at as `live`.
fn ended(end: End, live: Live) -> Record {
    let state = state(&[started(), Fact::Ended(Box::new(end))]);
    Record::build(&spec(), &state, live)
}

fn json_of(record: &Record) -> Value {
    serde_json::to_value(record).unwrap()
}

#[test]
fn a_run_that_was_just_born_says_only_what_is_known() {
    let record = Record::build(&spec(), &State::default(), Live::default());
    let born = "2026-11-30T16:15:27.123Z";
    let expected = json!({
        "schema": "outlast.run/1", "id": "0123456789abcdef", "kind": "command",
        "label": "true", "command": "true", "project": "/", "cwd": "/work",
        "status": "running", "created": born, "updated": born,
        "output": {"bytes": 0, "kept": 0},
        "posture": {"mode": "host", "tier": "FullAccess", "network": "full"},
        "origin": {}, "lifetime": "detached",
    });
    assert_eq!(json_of(&record), expected);
}

/// A spec with everything that a record shows of it.
fn full_spec() -> Spec {
    Spec {
        child_session_id: Some("child".to_owned()),
        session: Some("s".to_owned()),
        parent: Some(id()),
        timeout_ms: Some(1_500),
        deadline: Some(at(99)),
        idle_ttl_ms: Some(3_600_000),
        shell: Some(Shell {
            program: "/bin/bash".to_owned(),
            login: false,
            pipefail: true,
        }),
        agent: None,
        survives: Some(Survives {
            host_exit: true,
            terminal: true,
            unit_restart: false,
        }),
        ..spec()
    }
}

#[test]
fn a_run_of_which_all_is_known_says_all() {
    let spec = full_spec();
    let end = End {
        exit_code: Some(3),
        signal: Some("TERM".to_owned()),
        output_bytes: 10,
        output_lost_bytes: 2,
        last_output_at: Some(at(1)),
        elapsed_ms: Some(1_000),
        usage: Some(Usage {
            cpu_ms: 4,
            peak_rss_bytes: 5,
            ..Usage::default()
        }),
        leftovers: vec![Leftover {
            process: process(50),
            command: "sleep 9".to_owned(),
        }],
        leftovers_more: 1,
        runs_inside: vec![id()],
        unkillable: vec![60],
        failure: Some(Failure {
            code: "x".to_owned(),
            message: "y".to_owned(),
            errno: Some(1),
        }),
        ..end(Status::Failed)
    };
    let live = Live {
        output_bytes: 12,
        gap: Some(Gap { from: 4, to: 6 }),
        last_output_at: Some(at(5)),
        last_line: Some("not this".to_owned()),
        elapsed_ms: Some(9),
        leftovers: None,
        queue_position: Some(0),
    };
    let state = state(&[started(), Fact::Ended(Box::new(end))]);
    let record = Record::build(&spec, &state, live);
    let value = json_of(&record);
    let expected = json!({
        "exit_code": 3, "exit_rule": "pipefail", "signal": "TERM", "ended_by": "self",
        "failure": {"code": "x", "message": "y", "errno": 1}, "summary": "said",
        "started": at(1), "updated": at(2), "ended": at(2), "elapsed_ms": 1_000,
        "output": {
            "bytes": 10, "kept": 8, "gap": {"from": 4, "to": 6}, "last_output_at": at(5),
            "after_end": 2, "lost": 2,
        },
        "leftovers": [{"pid": 50, "command": "sleep 9"}], "runs_inside": [id()],
        "unkillable": [60], "usage": {"cpu_ms": 4, "peak_rss_bytes": 5},
        "session": "s", "parent": id(), "timeout_secs": 1.5, "deadline": at(99),
        "idle_ttl_secs": 3_600.0, "queue_position": 0, "child_session_id": "child",
        "shell": {"program": "/bin/bash", "login": false, "pipefail": true},
        "survives": {"host_exit": true, "terminal": true, "unit_restart": false},
    });
    for (name, expected) in expected.as_object().unwrap() {
        assert_eq!(&value[name], expected, "{name}");
    }
    assert_eq!(serde_json::from_value::<Record>(value).unwrap(), record);
}

#[test]
fn the_short_form_is_a_part_of_the_record() {
    let end = End {
        exit_code: Some(0),
        elapsed_ms: Some(4),
        ..end(Status::Completed)
    };
    let record = ended(end, Live::default());
    let whole = json_of(&record);
    let short = serde_json::to_value(record.short()).unwrap();
    let names = [
        "id",
        "kind",
        "label",
        "status",
        "created",
        "updated",
        "exit_code",
        "summary",
        "elapsed_ms",
    ];
    let expected: serde_json::Map<String, Value> = names
        .map(|name| (name.to_owned(), whole[name].clone()))
        .into_iter()
        .collect();
    assert_eq!(short, Value::Object(expected));
    let born = Record::build(&spec(), &State::default(), Live::default());
    let born = serde_json::to_value(born.short()).unwrap();
    assert_eq!(born.as_object().unwrap().len(), 6);
}

/// The table of causes in the contract, row by row.
#[test]
fn a_wait_exits_with_the_code_of_the_contract() {
    let code = |end: End| {
        let record = ended(end, Live::default());
        (record.status.as_str(), record.wait_code())
    };
    let exited = |status, exit_code| End {
        exit_code: Some(exit_code),
        ..end(status)
    };
    let killed = |signal: &str| End {
        signal: Some(signal.to_owned()),
        ..end(Status::Failed)
    };
    let unstarted = |failure: &str| End {
        failure: Some(Failure {
            code: failure.to_owned(),
            message: String::new(),
            errno: None,
        }),
        ..end(Status::Failed)
    };
    let caused = |cause: StopCause| End {
        signal: Some("TERM".to_owned()),
        ..End::new(cause.status(), cause.ended_by(), String::new())
    };
    let unqueued = End::new(
        StopCause::QueueLimit.status(),
        StopCause::QueueLimit.ended_by(),
        String::new(),
    );
    for (end, status, expected) in [
        (exited(Status::Completed, 0), "completed", 0),
        (exited(Status::Failed, 1), "failed", 1),
        (exited(Status::Failed, 7), "failed", 7),
        (exited(Status::Failed, 255), "failed", 255),
        (killed("HUP"), "failed", 129),
        (killed("KILL"), "failed", 137),
        (killed("TERM"), "failed", 143),
        (killed("64"), "failed", 192),
        (killed("of a later system"), "failed", 1),
        (unstarted("no_such_program"), "failed", 127),
        (unstarted("no_interpreter"), "failed", 126),
        (unstarted("not_executable"), "failed", 126),
        (unstarted("work_dir"), "failed", 126),
        (unstarted("of_a_later_version"), "failed", 126),
        (unqueued, "failed", 126),
        (caused(StopCause::Cancel), "cancelled", 130),
        (caused(StopCause::Idle), "cancelled", 130),
        (caused(StopCause::Session), "cancelled", 130),
        (caused(StopCause::Host), "cancelled", 130),
        (caused(StopCause::Timeout), "timed_out", 124),
        (caused(StopCause::Deadline), "timed_out", 124),
        // Its own code does not hide that it was stopped.
        (exited(Status::Cancelled, 0), "cancelled", 130),
        (exited(Status::TimedOut, 3), "timed_out", 124),
        (exited(Status::Interrupted, 0), "interrupted", 125),
    ] {
        let words = format!("{end:?}");
        assert_eq!(code(end), (status, expected), "{words}");
    }
}

#[test]
fn a_wait_that_ended_first_exits_with_75() {
    let running = Record::build(&spec(), &state(&[started()]), Live::default());
    assert_eq!((running.status, running.wait_code()), (Status::Running, 75));
    let queued = Fact::Queued(crate::Queued { ticket: 1 });
    let queued = Record::build(&spec(), &state(&[queued]), Live::default());
    assert_eq!((queued.status, queued.wait_code()), (Status::Queued, 75));
}

#[test]
fn what_is_kept_is_what_came_without_the_gap() {
    let gap = |from, to| Some(Gap { from, to });
    for (at_end, now, gap, bytes, kept, after_end) in [
        (0, 0, None, 0, 0, None),
        (100, 100, None, 100, 100, None),
        (100, 100, gap(20, 50), 100, 70, None),
        (100, 100, gap(0, 100), 100, 0, None),
        (100, 140, None, 100, 100, Some(40)),
        // The gap goes on growing while leftovers write.
        (100, 200, gap(20, 150), 100, 20, Some(100)),
        (100, 200, gap(120, 150), 100, 100, Some(100)),
        (100, 200, gap(100, 150), 100, 100, Some(100)),
        // A log that is shorter than its count was cut by somebody else.
        (100, 60, None, 100, 100, None),
    ] {
        let end = End {
            output_bytes: at_end,
            ..end(Status::Completed)
        };
        let live = Live {
            output_bytes: now,
            gap,
            ..Live::default()
        };
        let output = ended(end, live).output;
        assert_eq!(
            (output.bytes, output.kept, output.gap, output.after_end),
            (bytes, kept, gap, after_end),
            "{at_end} at the end, {now} now, {gap:?}"
        );
    }
}

#[test]
fn a_run_that_goes_on_counts_what_its_log_has() {
    let live = Live {
        output_bytes: 100,
        gap: Some(Gap { from: 10, to: 40 }),
        last_output_at: Some(at(8)),
        last_line: Some("half way".to_owned()),
        elapsed_ms: Some(12),
        ..Live::default()
    };
    let record = Record::build(&spec(), &state(&[started()]), live);
    assert_eq!((record.output.bytes, record.output.kept), (100, 70));
    assert_eq!(record.output.after_end, None);
    assert_eq!(record.summary.as_deref(), Some("half way"));
    assert_eq!(record.elapsed_ms, Some(12));
    assert_eq!(record.updated, at(8));
    assert_eq!(record.started, Some(at(1)));
}

#[test]
fn of_an_interrupted_run_nobody_froze_the_count() {
    let end = End {
        output_bytes: 10,
        last_output_at: Some(at(1)),
        ..end(Status::Interrupted)
    };
    let live = Live {
        output_bytes: 30,
        ..Live::default()
    };
    let output = ended(end, live).output;
    assert_eq!(
        (output.bytes, output.kept, output.after_end),
        (30, 30, None)
    );
    assert_eq!(output.last_output_at, Some(at(1)));
}

#[test]
fn output_after_the_end_does_not_change_when_the_run_changed() {
    let live = Live {
        last_output_at: Some(at(50)),
        ..Live::default()
    };
    let record = ended(end(Status::Completed), live);
    assert_eq!(record.updated, at(2));
    assert_eq!(record.ended, Some(at(2)));
    assert_eq!(record.output.last_output_at, Some(at(50)));
}

#[test]
fn leftovers_are_those_alive_now_else_those_of_the_end() {
    let left = |pid| Leftover {
        process: process(pid),
        command: "sleep 9".to_owned(),
    };
    let shown = |pid| LeftoverRecord {
        pid,
        command: "sleep 9".to_owned(),
    };
    for (now, expected) in [
        (None, vec![shown(50), shown(51)]),
        (Some(vec![shown(51)]), vec![shown(51)]),
        (Some(Vec::new()), Vec::new()),
    ] {
        let end = End {
            leftovers: vec![left(50), left(51)],
            ..end(Status::Completed)
        };
        let live = Live {
            leftovers: now,
            ..Live::default()
        };
        assert_eq!(ended(end, live).leftovers, expected);
    }
}

#[test]
fn a_run_is_cancelling_from_the_stop_to_the_end() {
    let cancelling =
        |facts: &[Fact]| Record::build(&spec(), &state(facts), Live::default()).cancelling;
    let exit = Fact::MainExited(MainExit {
        exit_code: Some(0),
        signal: None,
    });
    let end = Fact::Ended(Box::new(end(Status::Cancelled)));
    let facts = [started(), stop_note(), exit, end];
    let seen: Vec<bool> = (0..=4).map(|count| cancelling(&facts[..count])).collect();
    assert_eq!(seen, [false, false, true, true, false]);
}

#[test]
fn the_rule_that_made_the_code_is_named() {
    let shell = |pipefail| {
        Some(Shell {
            program: "/bin/sh".to_owned(),
            login: false,
            pipefail,
        })
    };
    for (shell, command, rule) in [
        (None, "true", "direct"),
        (None, "echo a | cat", "direct"),
        (shell(false), "make", "shell"),
        (shell(false), "make | tail -1", "last_of_pipe"),
        (shell(false), "make | tail -1; true", "shell"),
        (shell(true), "make", "pipefail"),
        (shell(true), "make | tail -1", "pipefail"),
    ] {
        let spec = Spec {
            shell,
            command: command.to_owned(),
            ..spec()
        };
        let exited = End {
            exit_code: Some(0),
            ..end(Status::Completed)
        };
        let with_code = state(&[Fact::Ended(Box::new(exited))]);
        let record = Record::build(&spec, &with_code, Live::default());
        assert_eq!(record.exit_rule.as_deref(), Some(rule), "{command}");
        let without = state(&[Fact::Ended(Box::new(end(Status::Failed)))]);
        let record = Record::build(&spec, &without, Live::default());
        assert_eq!(record.exit_rule, None, "{command}");
    }
}

#[test]
fn an_event_is_a_numbered_line() {
    let line = Line::new(&started(), Seq(4), at(3));
    let event = Event::from_line(line.clone()).unwrap();
    let expected = json!({
        "seq": 4, "ts": at(3), "type": "started", "phase": "start",
        "message": "started as process 41", "data": line.data,
    });
    assert_eq!(serde_json::to_value(&event).unwrap(), expected);
    let claimed = Fact::Claimed(Claimed {
        supervisor: process(1),
        boot_id: String::new(),
        pid_namespace: 0,
        version: String::new(),
    });
    assert_eq!(Event::from_line(Line::new(&claimed, Seq(0), at(0))), None);
}
