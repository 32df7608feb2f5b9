//! A run lives, ends, and is told as it was.

use crate::home::Place;
use libtest_mimic::{Failed, Trial};
use outlast_lib::{CancelQuery, Status, WaitQuery};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials.push(Trial::test(
        "life::a_run_tells_its_exit_code_and_its_output",
        a_run_tells,
    ));
    trials.push(Trial::test(
        "life::a_cancelled_run_leaves_no_process",
        a_cancelled_run,
    ));
}

fn a_run_tells() -> Result<(), Failed> {
    let place = Place::new();
    let id = place.start("echo hi; exit 7");
    let waited = place.store.wait(
        &[id],
        &WaitQuery {
            timeout_ms: Some(10_000),
            ..WaitQuery::default()
        },
    )?;
    assert_eq!(waited.ended, [id]);
    let record = place.store.record(&id)?;
    assert_eq!((record.status, record.exit_code), (Status::Failed, Some(7)));
    assert_eq!(record.output.bytes, 3);
    assert_eq!(record.summary.as_deref(), Some("hi"));
    Ok(())
}

fn a_cancelled_run() -> Result<(), Failed> {
    let place = Place::new();
    let id = place.start("setsid sleep 301 & (setsid bash -c 'sleep 302 &'); sleep 300 & wait");
    let done = place.store.cancel(&id, &CancelQuery::default())?;
    assert!(done.cancelled, "{done:?}");
    let record = place.store.record(&id)?;
    assert_eq!(record.status, Status::Cancelled);
    Ok(())
}
