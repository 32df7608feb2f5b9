//! A journal adds up to one state, whatever happened to some of its lines.

use super::{State, Status};
use crate::{
    Claimed, End, Fact, Line, MainExit, Note, ProcessRef, Queued, Seq, Started, Stop, StopCause,
    Timestamp,
};

fn at(second: u64) -> Timestamp {
    Timestamp(1_796_055_327_123 + second * 1_000)
}

fn process(pid: i32) -> ProcessRef {
    ProcessRef {
        pid,
        start_ticks: 7_000,
    }
}

fn claimed() -> Claimed {
    Claimed {
        supervisor: process(40),
        boot_id: "boot".to_owned(),
        pid_namespace: 4_026_531_836,
        version: "0.1.0".to_owned(),
    }
}

fn started() -> Started {
    Started {
        main: process(41),
        queued_ms: Some(5),
        monotonic_ms: Some(600),
        posture: None,
    }
}

fn stop(cause: StopCause) -> Stop {
    Stop {
        cause,
        grace_ms: 5_000,
        by: Some("a person".to_owned()),
    }
}

fn stop_note(cause: StopCause) -> Fact {
    Fact::Note(Note {
        stop: Some(stop(cause)),
        ..Note::default()
    })
}

fn signal_note() -> Fact {
    Fact::Note(Note {
        ignored_signal: Some("TERM".to_owned()),
        from_pid: Some(42),
        ..Note::default()
    })
}

fn main_exit() -> MainExit {
    MainExit {
        exit_code: Some(3),
        signal: None,
    }
}

fn end(status: Status) -> Fact {
    Fact::Ended(Box::new(End::new(status, "self", format!("it {status}"))))
}

/// One fact of every kind, in an order that can occur.
fn facts() -> Vec<Fact> {
    vec![
        Fact::Claimed(claimed()),
        Fact::Queued(Queued { ticket: 9 }),
        Fact::Started(started()),
        signal_note(),
        stop_note(StopCause::Timeout),
        stop_note(StopCause::Cancel),
        Fact::MainExited(main_exit()),
        end(Status::TimedOut),
    ]
}

/// The facts as lines, a second apart, the events numbered from 0.
fn lines(facts: &[Fact]) -> Vec<Vec<u8>> {
    let mut seq = 0;
    let number = |(fact, second): (&Fact, u64)| {
        let line = Line::new(fact, Seq(seq), at(second));
        seq += u64::from(fact.is_event());
        line.to_bytes()
    };
    facts.iter().zip(0..).map(number).collect()
}

fn folded(facts: &[Fact]) -> State {
    State::fold(&lines(facts).concat())
}

#[test]
fn a_journal_of_every_kind_adds_up() {
    let expected = State {
        claimed: Some(claimed()),
        queued: Some(Queued { ticket: 9 }),
        started: Some(started()),
        started_at: Some(at(2)),
        stop: Some(stop(StopCause::Timeout)),
        main_exit: Some(main_exit()),
        end: Some(Box::new(End::new(
            Status::TimedOut,
            "self",
            "it timed_out".to_owned(),
        ))),
        ended_at: Some(at(7)),
        asks: Vec::new(),
        updated_at: Some(at(7)),
        next_seq: Seq(6),
        damaged_lines: 0,
        is_torn: false,
    };
    assert_eq!(folded(&facts()), expected);
}

#[test]
fn an_empty_journal_is_that_of_a_run_that_was_just_born() {
    assert_eq!(State::fold(b""), State::default());
    assert_eq!(State::default().status(), Status::Running);
    assert!(!State::default().is_ended());
}

#[test]
fn each_fact_moves_the_run_on() {
    let expected = [
        Status::Running,
        Status::Running,
        Status::Queued,
        Status::Running,
        Status::Running,
        Status::Running,
        Status::Running,
        Status::Running,
        Status::TimedOut,
    ];
    let facts = facts();
    for (count, status) in expected.into_iter().enumerate() {
        let state = folded(&facts[..count]);
        assert_eq!(state.status(), status, "after {count} facts");
        assert_eq!(state.is_ended(), status.is_ended(), "after {count} facts");
    }
}

#[test]
fn a_run_may_end_while_it_is_queued() {
    let state = folded(&[
        Fact::Claimed(claimed()),
        Fact::Queued(Queued { ticket: 9 }),
        stop_note(StopCause::Cancel),
        end(Status::Cancelled),
    ]);
    assert_eq!(state.status(), Status::Cancelled);
    assert_eq!(state.started_at, None);
}

#[test]
fn the_first_end_counts() {
    let first = [Fact::Claimed(claimed()), end(Status::Completed)];
    for later in [Status::Interrupted, Status::Failed, Status::Completed] {
        let both = [first.as_slice(), &[end(later)]].concat();
        let state = folded(&both);
        assert_eq!(state.end, folded(&first).end);
        assert_eq!(state.ended_at, Some(at(1)));
    }
}

#[test]
fn an_end_that_says_that_the_run_goes_on_is_damage() {
    for status in [Status::Queued, Status::Running] {
        let state = folded(&[end(status), end(Status::Failed)]);
        assert_eq!(state.damaged_lines, 1);
        assert_eq!(state.status(), Status::Failed);
    }
}

#[test]
fn the_first_stop_counts_and_other_notes_are_none() {
    let notes = [
        signal_note(),
        stop_note(StopCause::Session),
        stop_note(StopCause::Cancel),
        signal_note(),
    ];
    assert_eq!(folded(&notes).stop, Some(stop(StopCause::Session)));
    assert_eq!(folded(&notes[..1]).stop, None);
}

#[test]
fn an_end_of_a_later_version_is_an_end() {
    let line = br#"{"v":2,"seq":1,"ts":"2026-11-29T16:28:47.123Z","type":"failed","message":"put to sleep","data":{"status":"hibernated","ended_by":"self","summary":"x"}}"#;
    let mut journal = line.to_vec();
    journal.push(b'\n');
    let state = State::fold(&journal);
    assert_eq!((state.status(), state.damaged_lines), (Status::Failed, 0));
    assert_eq!(state.end.unwrap().summary, "put to sleep");
}

#[test]
fn a_torn_last_line_is_passed_over_wherever_it_is_cut() {
    let lines = lines(&facts());
    let (last, before) = lines.split_last().unwrap();
    let before = before.concat();
    let whole = State::fold(&before);
    assert!(!whole.is_torn);
    for cut in 1..last.len() {
        let torn = [&before[..], &last[..cut]].concat();
        let expected = State {
            is_torn: true,
            ..whole.clone()
        };
        assert_eq!(State::fold(&torn), expected, "cut at {cut}");
    }
}

#[test]
fn a_torn_line_that_was_closed_takes_no_other_line_with_it() {
    let lines = lines(&facts());
    let torn = &lines[6][..20];
    let closed = [&lines[..6].concat(), torn, b"\n", &lines[7]].concat();
    let state = State::fold(&closed);
    assert_eq!(state.damaged_lines, 1);
    assert!(!state.is_torn);
    assert_eq!(state.main_exit, None);
    assert_eq!(state.status(), Status::TimedOut);
}

#[test]
fn damaged_lines_are_counted_and_the_others_kept() {
    let whole = folded(&facts());
    let damage: [&[u8]; 9] = [
        b"",
        b" ",
        b"\xff\xfe\xfd",
        b"null",
        b"[]",
        b"{}",
        b"{\"v\":1,\"ts\":\"yesterday\",\"type\":\"note\"}",
        b"{\"v\":1,\"ts\":\"2026-11-29T16:15:27.123Z\",\"type\":\"completed\"",
        b"\0\0\0\0\0\0",
    ];
    let lines = lines(&facts());
    for place in 0..=lines.len() {
        let mut journal = lines[..place].concat();
        for line in damage {
            journal.extend(line);
            journal.push(b'\n');
        }
        journal.extend(lines[place..].concat());
        let expected = State {
            damaged_lines: 9,
            ..whole.clone()
        };
        assert_eq!(State::fold(&journal), expected, "damage before {place}");
    }
}

#[test]
fn a_known_kind_with_foreign_data_is_damage_but_keeps_its_number() {
    for kind in [
        "claimed",
        "queued",
        "started",
        "main_exited",
        "note",
        "completed",
        "failed",
    ] {
        let line = format!(
            "{{\"v\":1,\"seq\":4,\"ts\":\"{}\",\"type\":\"{kind}\",\"data\":[true]}}\n",
            at(5)
        );
        let expected = State {
            updated_at: Some(at(5)),
            next_seq: Seq(5),
            damaged_lines: 1,
            ..State::default()
        };
        assert_eq!(State::fold(line.as_bytes()), expected, "{kind}");
    }
}

#[test]
fn reserved_space_at_the_end_is_no_damage() {
    let journal = lines(&facts()).concat();
    let reserved = [&journal[..], &[0; 16 << 10]].concat();
    assert_eq!(State::fold(&reserved), State::fold(&journal));
    assert_eq!(State::fold(&[0; 4_096]), State::default());
}

#[test]
fn a_torn_line_before_reserved_space_is_torn() {
    let journal = lines(&facts()).concat();
    let torn = [&journal[..journal.len() - 9], &[0; 64]].concat();
    let state = State::fold(&torn);
    assert!(state.is_torn);
    assert!(!state.is_ended());
    assert_eq!(state.damaged_lines, 0);
}

#[test]
fn kinds_of_later_versions_are_numbered_kept_and_ignored() {
    let text = format!(
        "{{\"v\":2,\"seq\":6,\"ts\":\"{}\",\"type\":\"tide_turned\",\"phase\":\"goal\",\
         \"message\":\"not yet\",\"data\":{{\"check\":\"make\"}},\"later\":[1]}}",
        at(9)
    );
    let line = Line::from_bytes(text.as_bytes()).unwrap();
    assert_eq!(line.fact().unwrap(), Fact::Unknown);
    assert_eq!(line.kind, "tide_turned");
    assert_eq!(line.data["check"], "make");
    let journal = [
        lines(&facts()[..6]).concat(),
        text.into_bytes(),
        vec![b'\n'],
    ]
    .concat();
    let expected = State {
        next_seq: Seq(7),
        updated_at: Some(at(9)),
        ..folded(&facts()[..6])
    };
    assert_eq!(State::fold(&journal), expected);
}

#[test]
fn fields_of_later_versions_are_ignored() {
    for fact in facts() {
        let line = lines(std::slice::from_ref(&fact)).concat();
        let text = String::from_utf8(line.clone()).unwrap();
        let later = text
            .replace("{\"v\":1,", "{\"v\":3,\"later\":{\"a\":[null]},")
            .replace("\"data\":{", "\"data\":{\"aaa_later\":\"x\",");
        assert_ne!(later, text);
        assert_eq!(State::fold(later.as_bytes()), State::fold(&line), "{later}");
    }
}

#[test]
fn the_next_event_comes_after_the_highest_number() {
    let mut state = State::default();
    let fact = signal_note();
    for (seq, next) in [
        (0, 1),
        (7, 8),
        (3, 8),
        (8, 9),
        (u64::MAX, u64::MAX),
        (1, u64::MAX),
    ] {
        state.apply(&Line::new(&fact, Seq(seq), at(0)));
        assert_eq!(state.next_seq, Seq(next), "after {seq}");
    }
    let mut state = State::default();
    state.apply(&Line::new(&Fact::Claimed(claimed()), Seq(5), at(0)));
    assert_eq!(state.next_seq, Seq(0));
}

#[test]
fn a_clock_that_was_set_back_does_not_make_a_run_older() {
    let mut state = State::default();
    for second in [5, 9, 2] {
        state.apply(&Line::new(&signal_note(), Seq(0), at(second)));
    }
    assert_eq!(state.updated_at, Some(at(9)));
}

#[test]
fn a_state_has_one_word_everywhere() {
    let words = [
        "queued",
        "running",
        "completed",
        "failed",
        "cancelled",
        "timed_out",
        "interrupted",
    ];
    for (status, word) in Status::ALL.into_iter().zip(words) {
        assert_eq!(status.as_str(), word);
        assert_eq!(status.to_string(), word);
        assert_eq!(Status::from_word(word), Some(status));
        assert_eq!(serde_json::to_value(status).unwrap(), word);
        assert_eq!(
            serde_json::from_value::<Status>(word.into()).unwrap(),
            status
        );
    }
    assert_eq!(Status::from_word("Running"), None);
    assert_eq!(Status::from_word(""), None);
    assert_eq!(format!("{:>10}|", Status::Failed), "    failed|");
    let ended = Status::ALL.into_iter().filter(|status| status.is_ended());
    assert_eq!(ended.collect::<Vec<_>>(), Status::ALL[2..]);
}

fn told(kind: &str, data: serde_json::Value) -> Line {
    let told = crate::agent::Told {
        kind: kind.to_owned(),
        message: None,
        data,
    };
    Line::new(&Fact::Told(told), Seq(4), at(9))
}

fn ask(name: &str) -> Line {
    let data = serde_json::json!({
        "ask": name, "tool": "shell", "question": "may I?",
        "expires": "2026-01-01T00:00:00.000Z",
    });
    told("ask", data)
}

#[test]
fn an_ask_is_open_until_it_is_answered_or_the_run_ends() {
    let mut state = State::default();
    for line in [ask("1.1"), ask("1.2"), ask("1.2")] {
        state.apply_bytes(line.to_bytes().trim_ascii_end());
    }
    let open = |state: &State| -> Vec<String> {
        let asks = state.asks.iter();
        asks.map(|open| open.asked.ask.clone()).collect()
    };
    assert_eq!(open(&state), ["1.1", "1.2"]);
    assert_eq!(state.asks[0].since, at(9));
    let answered = crate::worker::Answered {
        ask: "1.1".to_owned(),
        is_approved: false,
        text: None,
        by: "cli".to_owned(),
    };
    state.apply(&Line::new(&Fact::Answered(answered), Seq(7), at(10)));
    assert_eq!(open(&state), ["1.2"]);
    let end = End::new(Status::Cancelled, "cancel", "cancelled".to_owned());
    state.apply(&Line::new(&Fact::Ended(Box::new(end)), Seq(8), at(11)));
    assert!(open(&state).is_empty());
}

#[test]
fn a_fact_that_changes_no_state_counts_whether_its_head_or_its_whole_is_read() {
    for kind in super::STATELESS {
        let line = told(
            kind,
            serde_json::json!({"call": "1.1", "text": "x".repeat(100)}),
        );
        let mut by_head = State::default();
        by_head.apply_bytes(line.to_bytes().trim_ascii_end());
        let mut whole = State::default();
        whole.apply(&line);
        // Data that is not of its kind is damage only to those who read it.
        whole.damaged_lines = 0;
        assert_eq!(by_head, whole, "{kind}");
    }
}
