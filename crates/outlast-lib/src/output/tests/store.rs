//! The store finds the log, the secrets and the key of a run, and notes that it was read.

use super::{MASK, SECRET};
use crate::testing::{Fixture, Run};
use crate::{Advice, OutputError, OutputQuery, RunId};
use outlast_journal::mask::mark;
use outlast_journal::{Gap, names};
use std::io::{self, Write};

fn run_with_secret(fixture: &Fixture, output: &str) -> Run {
    let key = fixture.store.key().unwrap();
    let secret = mark(&key, "API_KEY", SECRET.as_bytes()).unwrap();
    let run = fixture
        .run(1)
        .spec(|spec| {
            spec.secrets = vec![secret];
            spec.idle_ttl_ms = Some(1_000);
        })
        .claimed()
        .started()
        .make();
    run.put(names::OUTPUT, output.as_bytes());
    run
}

#[test]
fn output_is_shown_masked_and_told_raw() {
    let fixture = Fixture::new();
    let run = run_with_secret(&fixture, &format!("one\nkey {SECRET}\n"));
    let page = fixture.store.output(&run.id, &OutputQuery::default());
    assert_eq!(page.unwrap().text, format!("one\nkey {MASK}\n"));
    let last_line = fixture.store.last_line(&run.id);
    assert_eq!(last_line, Some(format!("key {MASK}")));
    let mut raw = Vec::new();
    let written = fixture.store.raw_output(&run.id, 4, None, &mut raw);
    assert_eq!(raw, format!("key {SECRET}\n").as_bytes());
    assert_eq!(written.unwrap(), raw.len() as u64);
}

#[test]
fn raw_output_leaves_out_the_gap() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    run.put(names::OUTPUT, b"abc\0\0\0ghi");
    run.put(names::GAP, &Gap { from: 3, to: 6 }.to_file());
    let mut raw = Vec::new();
    let written = fixture.store.raw_output(&run.id, 1, Some(8), &mut raw);
    assert_eq!((written.unwrap(), raw.as_slice()), (4, b"bcgh".as_slice()));
}

#[test]
fn reading_counts_as_reading() {
    let fixture = Fixture::new();
    let polled = |run: &Run| run.dir.join(names::POLLED).exists();
    let run = run_with_secret(&fixture, "one\n");
    assert_eq!(fixture.store.last_line(&run.id).as_deref(), Some("one"));
    assert!(!polled(&run), "a list is not reading");
    fixture
        .store
        .output(&run.id, &OutputQuery::default())
        .unwrap();
    assert!(polled(&run));
    std::fs::remove_file(run.dir.join(names::POLLED)).unwrap();
    fixture
        .store
        .raw_output(&run.id, 0, None, &mut Vec::new())
        .unwrap();
    assert!(polled(&run));
}

#[test]
fn a_run_without_secrets_needs_no_key() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    run.put(names::OUTPUT, b"x\n");
    let page = fixture.read_only().output(&run.id, &OutputQuery::default());
    assert_eq!(page.unwrap().text, "x\n");
    assert!(!fixture.path(names::STORE_KEY).exists());
}

#[test]
fn secrets_that_cannot_be_found_are_not_shown() {
    let fixture = Fixture::new();
    let run = run_with_secret(&fixture, SECRET);
    std::fs::remove_file(fixture.path(names::STORE_KEY)).unwrap();
    let refusal = fixture.read_only().output(&run.id, &OutputQuery::default());
    assert_eq!(refusal.unwrap_err().code(), "key_unreadable");
    assert_eq!(fixture.read_only().last_line(&run.id), None);
}

#[test]
fn an_unknown_run_is_named() {
    let fixture = Fixture::new();
    let refusal = fixture
        .store
        .output(&RunId::from_bits([9; 10]), &OutputQuery::default());
    let refusal = refusal.unwrap_err();
    assert_eq!(refusal.code(), "no_such_run");
    assert_eq!(
        refusal.to_string(),
        format!("there is no run `{}`", RunId::from_bits([9; 10]))
    );
    assert_eq!(fixture.store.last_line(&RunId::from_bits([9; 10])), None);
}

#[test]
fn a_sink_that_fails_ends_a_copy() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    run.put(names::OUTPUT, b"x\n");
    let refusal = fixture.store.raw_output(&run.id, 0, None, &mut Closed);
    assert!(matches!(refusal, Err(OutputError::Sink(_))));
}
