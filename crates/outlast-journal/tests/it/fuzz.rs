//! No bytes bring a reader down, and damage stays in the line that has it.
//!
//! `PROPTEST_CASES` raises how many cases each property is tried with.

use outlast_journal::control::{Answer, Ask};
use outlast_journal::{
    Claimed, End, Fact, Failure, Gap, Leftover, Line, Live, MainExit, Note, ProcessRef, Queued,
    Record, RunId, Seq, Spec, Started, State, Status, Stop, StopCause, Timestamp, Usage,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// A spec that can be read, for records of whatever journal.
const SPEC: &[u8] = include_bytes!("../fixtures/v1/completed/spec.json");

/// Gives `bytes` to everything that reads what others wrote.
fn read_everywhere(bytes: &[u8]) {
    if let Ok(line) = Line::from_bytes(bytes) {
        line.fact().ok();
        line.to_bytes();
    }
    let gap = Gap::from_file(bytes);
    let state = State::fold(bytes);
    let live = Live {
        output_bytes: 10,
        gap,
        ..Live::default()
    };
    let spec = Spec::from_json(bytes).or_else(|_| Spec::from_json(SPEC));
    let record = Record::build(&spec.unwrap(), &state, live);
    record.wait_code();
    serde_json::to_string(&record).unwrap();
    Ask::from_bytes(bytes).ok();
    Answer::from_bytes(bytes).ok();
}

fn text() -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..12).prop_map(String::from_iter)
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..=Timestamp::MAX.0).prop_map(Timestamp)
}

fn process() -> impl Strategy<Value = ProcessRef> {
    (any::<i32>(), any::<u64>()).prop_map(|(pid, start_ticks)| ProcessRef { pid, start_ticks })
}

fn claimed() -> impl Strategy<Value = Fact> {
    (process(), text(), any::<u64>(), text()).prop_map(
        |(supervisor, boot_id, pid_namespace, version)| {
            Fact::Claimed(Claimed {
                supervisor,
                boot_id,
                pid_namespace,
                version,
            })
        },
    )
}

fn queued() -> impl Strategy<Value = Fact> {
    any::<u64>().prop_map(|ticket| Fact::Queued(Queued { ticket }))
}

fn started() -> impl Strategy<Value = Fact> {
    let times = (option::of(any::<u64>()), option::of(any::<u64>()));
    (process(), times).prop_map(|(main, (queued_ms, monotonic_ms))| {
        Fact::Started(Started {
            main,
            queued_ms,
            monotonic_ms,
            posture: None,
        })
    })
}

fn main_exited() -> impl Strategy<Value = Fact> {
    (option::of(any::<i32>()), option::of(text()))
        .prop_map(|(exit_code, signal)| Fact::MainExited(MainExit { exit_code, signal }))
}

fn stop() -> impl Strategy<Value = Stop> {
    let cause = prop::sample::select(vec![
        StopCause::Cancel,
        StopCause::Timeout,
        StopCause::Deadline,
        StopCause::Idle,
        StopCause::Session,
        StopCause::Host,
        StopCause::QueueLimit,
        StopCause::MemoryLimit,
    ]);
    (cause, any::<u64>(), option::of(text())).prop_map(|(cause, grace_ms, by)| Stop {
        cause,
        grace_ms,
        by,
    })
}

fn note() -> impl Strategy<Value = Fact> {
    (stop(), option::of(text()), option::of(any::<i32>())).prop_map(
        |(stop, ignored_signal, from_pid)| {
            Fact::Note(Note {
                stop: Some(stop),
                ignored_signal,
                from_pid,
            })
        },
    )
}

fn ended() -> impl Strategy<Value = Fact> {
    let status = prop::sample::select(Status::ALL[2..].to_vec());
    let verdict = (status, text(), text(), option::of(any::<i32>()));
    let output = (any::<u64>(), any::<u64>(), option::of(time()));
    let left = vec((process(), text()), 0..3);
    let usage = option::of((any::<u64>(), any::<u64>()));
    let more = (
        any::<u64>(),
        vec(any::<[u8; 10]>(), 0..2),
        vec(any::<i32>(), 0..2),
    );
    let failure = option::of((text(), text(), option::of(any::<i32>())));
    (verdict, output, left, usage, more, failure).prop_map(
        |((status, ended_by, summary, exit_code), output, left, usage, more, failure)| {
            let left = left.into_iter();
            Fact::Ended(Box::new(End {
                exit_code,
                output_bytes: output.0,
                output_lost_bytes: output.1,
                last_output_at: output.2,
                usage: usage.map(|(cpu_ms, peak_rss_bytes)| Usage {
                    cpu_ms,
                    peak_rss_bytes,
                    ..Usage::default()
                }),
                leftovers: left
                    .map(|(process, command)| Leftover { process, command })
                    .collect(),
                leftovers_more: more.0,
                runs_inside: more.1.into_iter().map(RunId::from_bits).collect(),
                unkillable: more.2,
                failure: failure.map(|(code, message, errno)| Failure {
                    code,
                    message,
                    errno,
                }),
                ..End::new(status, &ended_by, summary)
            }))
        },
    )
}

fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        claimed(),
        queued(),
        started(),
        note(),
        main_exited(),
        ended()
    ]
}

fn line(fact: impl Strategy<Value = Fact>) -> impl Strategy<Value = Vec<u8>> {
    (fact, any::<u64>(), time())
        .prop_map(|(fact, seq, ts)| Line::new(&fact, Seq(seq), ts).to_bytes())
}

/// A journal with one line of each kind, so that each line can be missed.
fn journal() -> impl Strategy<Value = Vec<Vec<u8>>> {
    (
        line(claimed()),
        line(queued()),
        line(started()),
        line(note()),
        line(main_exited()),
        line(ended()),
    )
        .prop_map(|(one, two, three, four, five, six)| vec![one, two, three, four, five, six])
}

/// What may happen to the bytes of a line. Places are taken modulo its length.
#[derive(Clone, Debug)]
enum Damage {
    Flip { at: usize, bit: u8 },
    Cut { at: usize, length: usize },
    Duplicate { at: usize, length: usize },
    Insert { at: usize, bytes: Vec<u8> },
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<usize>;
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(b"\0\n\r\"\\{}[],:0e-".to_vec())
    ];
    prop_oneof![
        (at(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip { at, bit }),
        (at(), 1..40_usize).prop_map(|(at, length)| Damage::Cut { at, length }),
        (at(), 1..40_usize).prop_map(|(at, length)| Damage::Duplicate { at, length }),
        (at(), vec(byte, 1..4)).prop_map(|(at, bytes)| Damage::Insert { at, bytes }),
    ]
}

fn harm(bytes: &mut Vec<u8>, damage: &Damage) {
    let part = |bytes: &[u8], at: usize, length: usize| {
        let at = at % (bytes.len() + 1);
        at..(at + length).min(bytes.len())
    };
    match damage {
        Damage::Flip { at, bit } => {
            let part = part(bytes, *at, 1);
            bytes[part].iter_mut().for_each(|byte| *byte ^= 1 << bit);
        }
        Damage::Cut { at, length } => drop(bytes.drain(part(bytes, *at, *length))),
        Damage::Duplicate { at, length } => {
            let part = part(bytes, *at, *length);
            let copy = bytes[part.clone()].to_vec();
            bytes.splice(part.start..part.start, copy);
        }
        Damage::Insert { at, bytes: new } => {
            let at = part(bytes, *at, 0).start;
            bytes.splice(at..at, new.iter().copied());
        }
    }
}

/// What each line of a [`journal`] adds to the state, in their order.
fn parts(state: &State) -> [String; 6] {
    [
        format!("{:?}", state.claimed),
        format!("{:?}", state.queued),
        format!("{:?} {:?}", state.started, state.started_at),
        format!("{:?}", state.stop),
        format!("{:?}", state.main_exit),
        format!("{:?} {:?}", state.end, state.ended_at),
    ]
}

/// Text of the letters that JSON is made of.
fn almost_json() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u00",
        "\\ud800",
        "null",
        "true",
        "-",
        "0",
        "1",
        "9",
        "e",
        ".",
        "1e999",
        "\n",
        "\0",
        " ",
        "\"v\":1,",
        "\"seq\":",
        "\"type\":",
        "\"data\":{",
        "\"ts\":\"2026-11-29T16:28:47.123Z\",",
        "\"note\"",
        "\"failed\"",
        "\"ok\":",
        "\"verb\":\"send\",",
        "\"bytes\":",
        "\"from\":",
        "\"to\":",
        "\"sum\":",
        "\u{1f600}",
    ]);
    vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(bytes in vec(any::<u8>(), 0..300)) {
        read_everywhere(&bytes);
    }

    #[test]
    fn any_text_like_json_can_be_read(bytes in almost_json()) {
        read_everywhere(&bytes);
    }

    #[test]
    fn a_harmed_document_can_be_read(
        which in 0..3_usize,
        harms in vec(damage(), 0..6),
        fact in fact(),
        gap in (any::<u64>(), any::<u64>()),
    ) {
        let mut bytes = match which {
            0 => SPEC.to_vec(),
            1 => Gap { from: gap.0, to: gap.1 }.to_file().to_vec(),
            _ => Line::new(&fact, Seq(gap.0), Timestamp(gap.1)).to_bytes(),
        };
        for one in &harms {
            harm(&mut bytes, one);
        }
        read_everywhere(&bytes);
    }

    #[test]
    fn any_fact_is_one_line_and_read_back(fact in fact(), seq in any::<u64>(), ts in time()) {
        let bytes = Line::new(&fact, Seq(seq), ts).to_bytes();
        let (last, text) = bytes.split_last().unwrap();
        prop_assert!(*last == b'\n' && !text.contains(&b'\n'));
        let line = Line::from_bytes(text).unwrap();
        prop_assert_eq!(line.ts, ts);
        prop_assert_eq!(line.seq, fact.is_event().then_some(Seq(seq)));
        prop_assert_eq!(line.fact().unwrap(), fact);
    }

    #[test]
    fn damage_takes_no_other_line_with_it(
        lines in journal(),
        harmed in 0..6_usize,
        harms in vec(damage(), 1..4),
    ) {
        let whole = parts(&State::fold(&lines.concat()));
        let mut lines = lines;
        let line = &mut lines[harmed];
        line.pop();
        for one in &harms {
            harm(line, one);
        }
        line.push(b'\n');
        let state = State::fold(&lines.concat());
        for (place, (now, before)) in parts(&state).iter().zip(&whole).enumerate() {
            prop_assert!(place == harmed || now == before, "{now} was {before}");
        }
        prop_assert!(!state.is_torn);
    }

    #[test]
    fn a_run_that_ended_stays_as_it_ended(
        lines in vec(prop_oneof![
            3 => line(fact()),
            1 => line(ended()),
            1 => vec(any::<u8>(), 0..20),
            1 => (line(fact()), damage()).prop_map(|(mut line, damage)| {
                harm(&mut line, &damage);
                line
            }),
        ], 0..10),
        cuts in vec(any::<usize>(), 0..8),
    ) {
        let journal = lines.concat();
        let ends = lines.iter().scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        });
        let cuts = cuts.iter().map(|cut| cut % (journal.len() + 1));
        let mut cuts: Vec<usize> = ends.chain(cuts).collect();
        cuts.sort_unstable();
        let mut before = State::default();
        for cut in cuts {
            let now = State::fold(&journal[..cut]);
            if before.is_ended() {
                prop_assert_eq!(&now.end, &before.end);
                prop_assert_eq!(now.ended_at, before.ended_at);
                prop_assert_eq!(now.status(), before.status());
            }
            prop_assert!(now.next_seq >= before.next_seq);
            prop_assert!(now.updated_at >= before.updated_at);
            prop_assert!(now.damaged_lines >= before.damaged_lines);
            before = now;
        }
    }

    #[test]
    fn a_fold_line_by_line_is_the_fold_of_the_whole(lines in vec(line(fact()), 0..8)) {
        let mut state = State::default();
        for line in &lines {
            state.apply_bytes(line.strip_suffix(b"\n").unwrap());
        }
        prop_assert_eq!(state, State::fold(&lines.concat()));
    }

    #[test]
    fn a_gap_half_written_over_another_is_old_or_new_or_none(
        old in gap(), new in gap(), cut in 0..=Gap::FILE_BYTES,
    ) {
        let mixed = [&new.to_file()[..cut], &old.to_file()[cut..]].concat();
        let seen = Gap::from_file(&mixed);
        prop_assert!(seen.is_none_or(|seen| seen == old || seen == new), "{seen:?}");
    }
}

/// Gaps that one log may have one after the other.
fn gap() -> impl Strategy<Value = Gap> {
    (
        prop::sample::select(vec![0_u64, 4_096, 262_144]),
        0..u64::MAX >> 22,
    )
        .prop_map(|(from, length)| Gap {
            from,
            to: from + length,
        })
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let head = "{\"v\":1,\"ts\":\"2026-11-29T16:28:47.123Z\",\"type\":\"note\",\"data\":";
    for depth in [1, 100, 127, 128, 129, 20_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!("{}0{}", open.repeat(depth), close.repeat(depth));
            read_everywhere(deep.as_bytes());
            read_everywhere(open.repeat(depth).as_bytes());
            let line = format!("{head}{deep}}}");
            read_everywhere(line.as_bytes());
            assert_eq!(Line::from_bytes(line.as_bytes()).is_ok(), depth < 127);
        }
    }
}

#[test]
fn numbers_of_any_size_are_numbers_or_errors() {
    let long = "9".repeat(400);
    let numbers = [
        "0",
        "-0",
        "-1",
        "1e2",
        "1e999",
        "-1e999",
        "1e-999",
        "0.1",
        "4294967296",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        long.as_str(),
    ];
    for number in numbers {
        for document in [
            "{\"v\":#,\"ts\":\"2026-11-29T16:28:47.123Z\",\"type\":\"x\"}\n",
            "{\"v\":1,\"seq\":#,\"ts\":\"2026-11-29T16:28:47.123Z\",\"type\":\"x\",\"data\":#}\n",
            "{\"v\":1,\"ts\":\"2026-11-29T16:28:47.123Z\",\"type\":\"queued\",\"data\":{\"ticket\":#}}\n",
            "{\"v\":1,\"ts\":\"2026-11-29T16:28:47.123Z\",\"type\":\"main_exited\",\"data\":{\"exit_code\":#}}\n",
            "{\"v\":1,\"ts\":#,\"type\":\"note\",\"data\":{}}\n",
            "{\"v\":1,\"ts\":\"#-11-29T16:28:47.#Z\",\"type\":\"note\",\"data\":{}}\n",
            "{\"v\":1,\"from\":#,\"to\":#,\"sum\":#}",
            "{\"v\":1,\"verb\":\"send\",\"bytes\":#}",
            "{\"v\":1,\"verb\":\"cancel\",\"grace_ms\":#}",
            "{\"v\":1,\"ok\":true,\"accepted_bytes\":#,\"errno\":#}",
            "#",
        ] {
            read_everywhere(document.replace('#', number).as_bytes());
        }
    }
    let most = "{\"v\":1,\"seq\":18446744073709551615,\"ts\":\"2026-11-29T16:28:47.123Z\",\"type\":\"x\"}\n";
    assert_eq!(State::fold(most.as_bytes()).next_seq, Seq(u64::MAX));
}
