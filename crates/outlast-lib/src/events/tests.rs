//! Events come in pages without silent gaps, read from the end of the journal.

use super::*;
use crate::testing::{Fixture, Run};
use outlast_journal::agent::Told;
use outlast_journal::{Fact, Note, Status};
use serde_json::json;

fn noted(fixture: &Fixture, notes: u64) -> Run {
    let mut maker = fixture.run(1).claimed().started();
    for _ in 1..notes {
        maker = maker.fact(&Fact::Note(Note::default()));
    }
    maker.ended(Status::Completed).make()
}

fn seqs(page: &EventPage) -> Vec<u64> {
    page.events.iter().map(|event| event.seq.0).collect()
}

#[test]
fn damaged_lines_hide_no_others_and_are_counted() {
    let fixture = Fixture::new();
    let run = fixture
        .run(1)
        .claimed()
        .bytes(b"not json\n{}\n\xff\xfe\n")
        .started()
        .bytes(b"\n")
        .ended(Status::Failed)
        .make();
    let record = fixture.store.record(&run.id).unwrap();
    assert_eq!(record.status, Status::Failed);
    assert!(record.started.is_some());
    let page = fixture.store.events(&run.id, Seq(0), 10).unwrap();
    assert_eq!(seqs(&page), [0, 1]);
    assert_eq!(page.damaged_lines, 4);
}

#[test]
fn events_come_in_pages_from_wherever_the_caller_stands() {
    let fixture = Fixture::new();
    let run = noted(&fixture, 5);
    let page = |since, most| fixture.store.events(&run.id, Seq(since), most).unwrap();
    let look = |page: &EventPage| (seqs(page), page.next_seq.0, page.more, page.skipped);
    assert_eq!(look(&page(0, 100)), (vec![0, 1, 2, 3, 4, 5], 6, false, 0));
    assert_eq!(look(&page(0, 2)), (vec![0, 1], 2, true, 0));
    assert_eq!(look(&page(2, 4)), (vec![2, 3, 4, 5], 6, false, 0));
    assert_eq!(look(&page(6, 4)), (vec![], 6, false, 0));
    assert_eq!(look(&page(99, 4)), (vec![], 99, false, 0));
    assert_eq!(look(&page(0, 0)), (vec![], 0, true, 0));
    let all = page(0, 100);
    assert_eq!(all.events[0].kind, "started");
    assert_eq!(all.events[5].kind, "completed");
}

#[test]
fn events_that_are_too_old_for_a_poll_are_skipped_and_counted() {
    let fixture = Fixture::new();
    let most = u64::try_from(limits::POLL_EVENTS_MAX).unwrap();
    let run = noted(&fixture, most + 10);
    let page = |since| fixture.store.events(&run.id, Seq(since), 2).unwrap();
    assert_eq!((seqs(&page(0)), page(0).skipped), (vec![11, 12], 11));
    assert_eq!((seqs(&page(5)), page(5).skipped), (vec![11, 12], 6));
    assert_eq!((seqs(&page(20)), page(20).skipped), (vec![20, 21], 0));
}

#[test]
fn a_line_in_the_making_is_no_event_yet() {
    let fixture = Fixture::new();
    let (run, _lock) = fixture.live(1);
    let journal = run.journal();
    let line = journal
        .split_inclusive(|byte| *byte == b'\n')
        .next_back()
        .unwrap();
    run.put(
        "journal.jsonl",
        &[&journal[..], &line[..line.len() - 1]].concat(),
    );
    let page = fixture.store.events(&run.id, Seq(0), 10).unwrap();
    assert_eq!((seqs(&page), page.damaged_lines), (vec![0], 0));
}

#[test]
fn a_page_is_the_same_however_little_of_a_long_journal_is_read_for_it() {
    let fixture = Fixture::new();
    let mut maker = fixture.run(1).claimed().started();
    // A turn of a model is no event and longer than the part that is read first.
    let turn = Told {
        kind: "model.turn".to_owned(),
        message: None,
        data: json!({"message": "x".repeat(300_000)}),
    };
    for number in 1..40 {
        let said = Told {
            kind: "text".to_owned(),
            message: Some(format!("line {number}")),
            data: json!(null),
        };
        maker = maker
            .fact(&Fact::Told(said))
            .fact(&Fact::Told(turn.clone()));
    }
    let run = maker.make();
    for since in [0, 1, 20, 38, 39, 40] {
        let page = fixture.store.events(&run.id, Seq(since), 100).unwrap();
        // The supervisor is gone, so the reader closed the run.
        assert_eq!(seqs(&page), (since..41).collect::<Vec<u64>>(), "{since}");
        assert_eq!(
            (page.next_seq, page.more, page.skipped),
            (Seq(41), false, 0)
        );
    }
    let page = fixture.store.events(&run.id, Seq(7), 2).unwrap();
    let said: Vec<_> = page
        .events
        .iter()
        .flat_map(|event| &event.message)
        .collect();
    assert_eq!(said, ["line 7", "line 8"]);
    assert!(page.more);
}

#[test]
fn secrets_are_masked_in_events() {
    let fixture = Fixture::new();
    let key = fixture.store.key().unwrap();
    let secret = "hunter2-hunter2";
    let mark = outlast_journal::mask::mark(&key, "API_KEY", secret.as_bytes()).unwrap();
    let said = Told {
        kind: "note".to_owned(),
        message: Some(format!("it is {secret}")),
        data: json!({"deep": [{"er": secret}]}),
    };
    let run = fixture
        .run(1)
        .spec(|spec| spec.secrets = vec![mark])
        .claimed()
        .fact(&Fact::Told(Told {
            kind: "text".to_owned(),
            ..said
        }))
        .ended(Status::Completed)
        .make();
    let page = fixture.store.events(&run.id, Seq(0), 10).unwrap();
    let text = serde_json::to_string(&page.events).unwrap();
    assert!(!text.contains(secret) && text.contains("it is "), "{text}");
}
