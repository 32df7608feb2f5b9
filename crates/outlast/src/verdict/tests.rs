//! Every state can be told from every other, also without colours.

use super::*;
use crate::sample;

fn word(change: impl FnOnce(&mut Record)) -> String {
    let mut record = sample::running();
    change(&mut record);
    Verdict::of(&record).text()
}

#[test]
fn each_state_has_its_own_glyph_and_word() {
    let ended = |status| word(move |record| record.status = status);
    assert_eq!(ended(Status::Queued), "◌ queue");
    assert_eq!(ended(Status::Running), "● run");
    assert_eq!(ended(Status::Completed), "✓ 0");
    assert_eq!(ended(Status::Cancelled), "⊘ cancel");
    assert_eq!(ended(Status::TimedOut), "⏱ time");
    assert_eq!(ended(Status::Interrupted), "‼ intr");
    assert_eq!(word(|record| record.cancelling = true), "● stop");
}

#[test]
fn a_failure_shows_its_code_its_signal_or_why_it_never_began() {
    let failed = |change: fn(&mut Record)| {
        word(|record| {
            record.status = Status::Failed;
            change(record);
        })
    };
    assert_eq!(failed(|record| record.exit_code = Some(101)), "✗ 101");
    assert_eq!(
        failed(|record| record.signal = Some("KILL".to_owned())),
        "✗ KILL"
    );
    let no_place = |record: &mut Record| record.ended_by = Some("limit:queue".to_owned());
    assert_eq!(failed(no_place), "✗ queue");
    let no_program = |record: &mut Record| record.failure = Some(sample::no_program());
    assert_eq!(failed(no_program), "✗ start");
}

#[test]
fn a_failure_that_has_no_code_and_no_signal_says_why() {
    let mut record = sample::running();
    record.status = Status::Failed;
    record.summary = Some("no place was free\x1b in time".to_owned());
    assert_eq!(
        state_words(&record),
        "failed: no place was free\u{fffd} in time"
    );
    record.summary = None;
    assert_eq!(state_words(&record), "failed");
}
