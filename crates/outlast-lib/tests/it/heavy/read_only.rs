//! A store that cannot be written can still be read, and says what it cannot do.

use super::{Mount, NO_MOUNT, Small};
use crate::home::Place;
use libtest_mimic::{Completion, Failed, Trial};
use outlast_lib::{Advice, GcQuery, Limits, ListQuery, OutputQuery, Seq, Status, Store, WaitQuery};
use std::fs;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_store_on_a_read_only_file_system_can_be_read,
        a_live_run_can_be_watched_through_a_read_only_mount,
    );
}

fn all() -> ListQuery {
    ListQuery {
        limit: usize::MAX,
        ..ListQuery::default()
    }
}

fn a_store_on_a_read_only_file_system_can_be_read() -> Result<Completion, Failed> {
    let Some(small) = Small::new("size=8m") else {
        return Ok(Completion::ignored_with(NO_MOUNT));
    };
    let place = &small.place;
    let ended = place.start("echo hi; exit 7");
    place.ended(&ended);
    let dead = place.start("exec sleep 600");
    crate::home::kill(place.supervisor_of(&dead));
    crate::home::kill(place.main_of(&dead).pid);
    outlast_testkit::eventually("nothing is open to be written", crate::home::LIMIT, || {
        small.mount.make_read_only()
    });

    let store = Store::open(place.store.root(), Limits::default())?;
    assert!(!store.is_writable());
    let listing = store.list(&all())?;
    assert_eq!(
        (listing.records.len(), listing.damaged.len()),
        (2, 0),
        "{listing:?}"
    );
    let record = store.record(&ended)?;
    assert_eq!((record.status, record.exit_code), (Status::Failed, Some(7)));
    assert_eq!(store.output(&ended, &OutputQuery::default())?.text, "hi\n");
    // Settled in what is told, though nothing can be written.
    assert_eq!(store.record(&dead)?.status, Status::Interrupted);
    let events = store.events(&dead, Seq(0), 100)?.events;
    assert_eq!(
        events.last().map(|event| event.kind.as_str()),
        Some("failed")
    );
    assert_eq!(
        place
            .journal(&dead)
            .iter()
            .filter(|line| line["type"] == "failed")
            .count(),
        0
    );
    let waited = store.wait(&[ended, dead], &WaitQuery::default())?;
    assert_eq!(waited.ended.len(), 2);
    let refused = store
        .start(&place.shell("exit 0"))
        .expect_err("nothing can be written");
    assert_eq!(refused.code(), "store_read_only");
    let refused = store
        .collect_garbage(&GcQuery::default())
        .expect_err("nothing can be written");
    assert_eq!(refused.code(), "store_read_only");
    let refused = store.remove(&ended).expect_err("nothing can be written");
    assert_eq!(refused.code(), "store_read_only");
    Ok(Completion::Completed)
}

fn a_live_run_can_be_watched_through_a_read_only_mount() -> Result<Completion, Failed> {
    let place = Place::new();
    let id = place.start("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 3");
    let view = place.home.path().join("view");
    fs::create_dir(&view)?;
    let from = place.store.root().to_string_lossy().into_owned();
    let Some(_mount) = Mount::new(&["--bind", "-o", "ro", &from], &view) else {
        return Ok(Completion::ignored_with(NO_MOUNT));
    };
    let store = Store::open(&view, Limits::default())?;
    assert!(!store.is_writable());
    assert_eq!(store.record(&id)?.status, Status::Running);
    assert_eq!(store.list(&all())?.records.len(), 1);
    place.touch("go");
    let query = WaitQuery {
        timeout_ms: Some(20_000),
        ..WaitQuery::default()
    };
    assert_eq!(store.wait(&[id], &query)?.ended, [id]);
    assert_eq!(store.record(&id)?.exit_code, Some(3));
    assert_eq!(
        store.output(&id, &OutputQuery::default())?.text,
        "one\ntwo\n"
    );
    Ok(Completion::Completed)
}
