//! What is known of a call comes from the journal, as long as that is.

use super::{Calls, Known};
use outlast_journal::worker::{CallAsk, CallClaimed, CallEnd, CallEnded};
use outlast_journal::{Fact, Line, Seq, Timestamp, names};
use outlast_testkit::Home;
use std::fs::File;
use std::io::Write;

#[test]
fn a_call_is_never_new_twice_and_its_end_is_found_again() {
    let home = Home::new();
    let dir = home.work();
    let mut journal = File::create(dir.join(names::JOURNAL)).unwrap();
    let mut calls = Calls::default();
    let ended = CallEnded {
        exit_code: Some(3),
        ..CallEnded::new("1.1", CallEnd::Exited)
    };
    for call in ["1.1", "1.2"] {
        let claimed = Fact::CallClaimed(CallClaimed {
            call: call.to_owned(),
        });
        let line = Line::new(&claimed, Seq(0), Timestamp(0));
        journal.write_all(&line.to_bytes()).unwrap();
        assert_eq!(calls.look(call, &dir), Known::Never);
        calls.note_claim(call);
    }
    let fact = Fact::CallEnded(Box::new(ended.clone()));
    let line = Line::new(&fact, Seq(0), Timestamp(0));
    journal.write_all(&line.to_bytes()).unwrap();
    assert_eq!(calls.look("1.1", &dir), Known::Ended(ended));
    assert_eq!(calls.look("1.2", &dir), Known::Unknown);
    assert_eq!(calls.look("1", &dir), Known::Never);
}

#[test]
fn what_could_be_another_files_name_is_no_id_of_a_call() {
    let good = ["1.1", "a", "12.3-goal", &"x".repeat(64)];
    assert!(good.iter().all(|id| CallAsk::is_id(id)));
    let bad = [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\0",
        "a b",
        "-a",
        "\u{e4}",
        &"x".repeat(65),
    ];
    assert!(bad.iter().all(|id| !CallAsk::is_id(id)));
}
