//! A run directory counts when it can be seen and is called like a run.

use crate::testing::{Fixture, hold};
use outlast_journal::{RunId, names};
use outlast_supervisor::{clock, fsio};
use std::fs;

/// An id but for its case; those of a fixture may have no letters.
const UPPER: &str = "ABCDEFGHJKMNPQRS";

#[test]
fn hidden_and_other_directories_are_no_runs() {
    assert!(RunId::parse(&UPPER.to_lowercase()).is_ok());
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    let folder = run.dir.parent().unwrap();
    for name in [
        names::hidden(&fixture.id(2)),
        names::removed(&fixture.id(3)),
        "notes".to_owned(),
        UPPER.to_owned(),
    ] {
        fsio::make_private_dir(&folder.join(name)).unwrap();
    }
    assert_eq!(super::visible(folder), [run.id]);
    assert_eq!(super::month_of(&run.dir), clock::now().month());
    assert_eq!(super::visible(&folder.join("none")), []);
}

#[test]
fn a_run_is_being_born_while_its_hidden_lock_is_held() {
    let fixture = Fixture::new();
    let run = fixture.run(1).make();
    assert!(!super::is_being_born(&fixture.store, &run.id));
    let hidden = run.dir.with_file_name(names::hidden(&run.id));
    fs::rename(&run.dir, &hidden).unwrap();
    assert!(!super::is_being_born(&fixture.store, &run.id));
    let lock = hold(&hidden.join("lock"));
    assert!(super::is_being_born(&fixture.store, &run.id));
    drop(lock);
    assert!(!super::is_being_born(&fixture.store, &run.id));
}

#[test]
fn runs_of_every_month_are_read_newest_month_first() {
    let fixture = Fixture::new();
    let old = fixture
        .run(1)
        .spec(|spec| spec.created.0 = 1_700_000_000_000)
        .make();
    let new = fixture.run(2).make();
    let dirs: Vec<_> = fixture.store.run_dirs().unwrap().collect();
    assert_eq!(dirs, [(new.id, new.dir), (old.id, old.dir)]);
}
