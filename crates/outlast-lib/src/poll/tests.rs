//! A poll is bounded in bytes and loses nothing; the document comes from the whole chain.

use super::*;
use crate::testing::{Fixture, Maker};
use outlast_journal::agent::{AgentRequest, AgentSpec, Told};
use outlast_journal::{Fact, Kind, Status};
use std::time::Instant;

fn told(kind: &str, message: Option<&str>, data: Value) -> Fact {
    Fact::Told(Told {
        kind: kind.to_owned(),
        message: message.map(str::to_owned),
        data,
    })
}

fn agent(fixture: &Fixture, number: u16, resumes: Option<RunId>) -> Maker<'_> {
    fixture.run(number).spec(|spec| {
        spec.kind = Kind::Agent;
        spec.agent = Some(Box::new(AgentSpec {
            request: AgentRequest {
                task: "do it".to_owned(),
                resumes,
                ..AgentRequest::default()
            },
            turns_max: 50,
            call_env_names: Vec::new(),
            has_sub_agents: false,
        }));
    })
}

fn turn(number: u64) -> Fact {
    let data = json!({"turn": number, "message": "…", "tokens": 10, "model": "m"});
    told("model.turn", None, data)
}

fn done(call: &str) -> Fact {
    let data = json!({
        "call": call, "tool": "shell", "ok": true, "shown": "", "brief": format!("did {call}"),
    });
    told("call.result", None, data)
}

fn last(status: &str, text: &str) -> Fact {
    let data = json!({"status": status, "summary": "s", "text": text, "ended_by": "self"});
    told("final", None, data)
}

fn query(since: u64, bytes_max: usize) -> PollQuery {
    PollQuery {
        since: Seq(since),
        bytes_max,
    }
}

#[test]
fn pages_of_bytes_give_every_event_once() {
    let fixture = Fixture::new();
    let mut maker = agent(&fixture, 1, None).claimed().started();
    for number in 1..200 {
        maker = maker.fact(&told("text", Some(&format!("said {number}")), json!(null)));
    }
    let run = maker.ended(Status::Completed).make();
    for bytes_max in [1, 500, 8_192, 16_384] {
        let mut since = 0;
        let mut seqs = Vec::new();
        loop {
            let page = fixture
                .store
                .poll(&run.id, &query(since, bytes_max))
                .unwrap()
                .page;
            assert!(!page.events.is_empty(), "at least one");
            let bytes = serde_json::to_vec(&page.events).unwrap().len();
            // One alone is cut to what a text can be cut to.
            assert!(bytes <= bytes_max.max(400) + 2, "{bytes} of {bytes_max}");
            seqs.extend(page.events.iter().map(|event| event.seq.0));
            since = page.next_seq.0;
            if !page.more {
                break;
            }
        }
        assert_eq!(seqs, (0..201).collect::<Vec<u64>>(), "{bytes_max}");
    }
}

#[test]
fn no_bytes_are_no_events_and_the_position_stays() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    let page = fixture.store.poll(&run.id, &query(0, 0)).unwrap().page;
    assert_eq!(
        (page.events.len(), page.next_seq, page.more),
        (0, Seq(0), true)
    );
}

#[test]
fn an_event_that_is_too_long_is_cut_and_says_so() {
    let fixture = Fixture::new();
    let long = "\"ä\\".repeat(40_000);
    let run = agent(&fixture, 1, None)
        .claimed()
        .fact(&told("text", Some(&long), json!(null)))
        .fact(&told("tool_result", None, json!({"shown": long})))
        .make();
    let (run, _lock) = (run.clone(), run.hold());
    for seq in [0, 1] {
        let page = fixture
            .store
            .poll(&run.id, &query(seq, 2_000))
            .unwrap()
            .page;
        let text = serde_json::to_string(&page.events).unwrap();
        assert_eq!(page.events.len(), 1, "{text}");
        assert!(text.len() <= 2_002 && text.contains("truncated"), "{text}");
    }
}

#[test]
fn events_and_result_stay_together_within_an_answer() {
    let fixture = Fixture::new();
    let mut maker = agent(&fixture, 1, None).claimed().started();
    for number in 1..100 {
        let text = format!("{number} {}", "x".repeat(200));
        maker = maker.fact(&told("text", Some(&text), json!(null)));
        maker = maker.fact(&done(&format!("1.{number}")));
    }
    let run = maker
        .fact(&last("success", &"y".repeat(9_000)))
        .ended(Status::Completed)
        .make();
    let polled = fixture.store.poll(&run.id, &PollQuery::default()).unwrap();
    let document = polled.document.expect("it has ended");
    let bytes = json_bytes(&polled.page.events) + json_bytes(&document);
    assert!(bytes < limits::POLL_ANSWER_BYTES - 500, "{bytes}");
    assert!(polled.page.more && polled.page.events.len() > 5);
    let more = fixture
        .store
        .poll(&run.id, &query(0, limits::POLL_BYTES_MAX))
        .unwrap();
    assert!(
        json_bytes(&more.page.events) > limits::POLL_ANSWER_BYTES,
        "as asked"
    );
}

#[test]
fn only_the_newest_events_are_replayed_and_a_poll_says_how_many_are_not() {
    let fixture = Fixture::new();
    let most = limits::POLL_EVENTS_MAX as u64;
    let mut maker = agent(&fixture, 1, None).claimed().started();
    for number in 1..most + 10 {
        maker = maker.fact(&told("text", Some(&number.to_string()), json!(null)));
    }
    let run = maker.make();
    let _lock = run.hold();
    let page = fixture.store.poll(&run.id, &query(3, 500)).unwrap().page;
    assert_eq!((page.events[0].seq, page.skipped), (Seq(10), 7));
    let page = fixture.store.poll(&run.id, &query(10, 500)).unwrap().page;
    assert_eq!((page.events[0].seq, page.skipped), (Seq(10), 0));
}

#[test]
fn a_document_counts_what_the_runs_before_it_did() {
    let fixture = Fixture::new();
    let first = agent(&fixture, 1, None)
        .claimed()
        .started()
        .fact(&turn(1))
        .fact(&done("1.1"));
    let first = first.ended(Status::Interrupted).make();
    let second = agent(&fixture, 2, Some(first.id))
        .claimed()
        .started()
        .fact(&turn(2));
    let second = second.ended(Status::Interrupted).make();
    let third = agent(&fixture, 3, Some(second.id))
        .claimed()
        .started()
        .fact(&turn(3));
    let third = third.fact(&done("3.1")).fact(&last("success", "all done"));
    let third = third.ended(Status::Completed).make();
    let document = fixture
        .store
        .document(&third.id)
        .unwrap()
        .expect("it has ended");
    assert_eq!((document.turns, document.receipts.total), (3, 2));
    assert_eq!(document.resumed, [first.id, second.id]);
    assert_eq!(document.usage["tokens"], 30);
    let early = fixture
        .store
        .document(&first.id)
        .unwrap()
        .expect("it has ended");
    assert_eq!(
        (early.turns, early.error.as_deref()),
        (1, Some("interrupted"))
    );
}

#[test]
fn a_chain_of_resumed_runs_that_bites_its_tail_ends() {
    let fixture = Fixture::new();
    let run = agent(&fixture, 1, Some(fixture.id(1)))
        .claimed()
        .fact(&turn(1));
    let run = run.ended(Status::Interrupted).make();
    let document = fixture
        .store
        .document(&run.id)
        .unwrap()
        .expect("it has ended");
    assert_eq!(document.resumed.len(), limits::RESUMES_MAX);
}

#[test]
fn a_command_and_a_run_that_goes_on_have_no_document() {
    let fixture = Fixture::new();
    let command = fixture.ended(1);
    assert_eq!(fixture.store.document(&command.id).unwrap(), None);
    let live = agent(&fixture, 2, None).claimed().started().make();
    let _lock = live.hold();
    assert_eq!(fixture.store.document(&live.id).unwrap(), None);
}

#[test]
fn an_open_ask_is_in_the_record() {
    let fixture = Fixture::new();
    let ask = json!({
        "ask": "1.1", "tool": "shell", "question": "rm -rf build", "expires": "2026-01-01T00:00:00Z",
    });
    let run = agent(&fixture, 1, None)
        .claimed()
        .started()
        .fact(&told("ask", None, ask))
        .make();
    let _lock = run.hold();
    let record = fixture
        .store
        .poll(&run.id, &PollQuery::default())
        .unwrap()
        .record;
    let asked = record.needs_approval.as_ref().expect("somebody must say");
    assert_eq!(asked.question, "rm -rf build");
    assert_eq!(record.short().needs_approval, record.needs_approval);
}

#[test]
fn a_poll_of_a_hundred_thousand_events_is_quick_wherever_it_stands() {
    let fixture = Fixture::new();
    let mut maker = agent(&fixture, 1, None).claimed().started();
    for number in 1..100_000 {
        maker = maker.fact(&told("text", Some(&format!("said {number}")), json!(null)));
    }
    let run = maker.make();
    let _lock = run.hold();
    for since in [0, 50_000, 99_990] {
        let begun = Instant::now();
        let polled = fixture.store.poll(&run.id, &query(since, 8_192)).unwrap();
        assert!(!polled.page.events.is_empty());
        // A build without optimisation on a busy machine: what reads each whole takes minutes.
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}
