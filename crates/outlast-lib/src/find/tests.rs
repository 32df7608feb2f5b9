//! What somebody types means one run, or it is said that it does not.

use super::*;
use crate::testing::{Fixture, Run};
use outlast_journal::Status;

fn ended(fixture: &Fixture, number: u16, label: &str, project: &str) -> Run {
    let maker = fixture.run(number).label(label).project(project);
    maker.claimed().started().ended(Status::Completed).make()
}

fn beginning(run: &Run, length: usize) -> &str {
    run.id.as_str().get(..length).unwrap()
}

/// Finds with and without the index, which must agree.
fn find(fixture: &Fixture, typed: &str, project: Option<&str>) -> Result<RunId, Vec<RunId>> {
    let [one, other] = [&fixture.store, &fixture.read_only()].map(|store| {
        store.find(typed, project).map_err(|error| match error {
            FindError::Ambiguous { candidates, .. } => {
                candidates.into_iter().map(|(id, _)| id).collect()
            }
            FindError::NotFound { .. } => Vec::new(),
            FindError::Read { source } => panic!("{source}"),
        })
    });
    assert_eq!(one, other, "{typed}");
    one
}

#[test]
fn a_whole_id_and_a_unique_beginning_mean_their_run_however_they_are_written() {
    let fixture = Fixture::new();
    let run = ended(&fixture, 1, "one", "/p");
    let other = ended(&fixture, 2, "two", "/p");
    let id = run.id.as_str();
    assert_eq!(find(&fixture, id, None), Ok(run.id));
    assert_eq!(
        find(&fixture, &format!(" {} ", id.to_uppercase()), None),
        Ok(run.id)
    );
    assert_eq!(
        find(&fixture, &id.replace('0', "o").replace('1', "l"), None),
        Ok(run.id)
    );
    assert_eq!(
        find(&fixture, beginning(&run, 15), None),
        Err(vec![run.id, other.id])
    );
    assert_eq!(find(&fixture, "", None), Err(vec![]));
    let lone = Fixture::new();
    let only = lone.ended(1);
    for length in [1, 4, 15] {
        assert_eq!(find(&lone, beginning(&only, length), None), Ok(only.id));
    }
    // An id means its run in whatever project.
    assert_eq!(
        find(&lone, only.id.as_str(), Some("/elsewhere")),
        Ok(only.id)
    );
}

#[test]
fn a_label_means_the_one_run_of_the_project_that_has_it() {
    let fixture = Fixture::new();
    let a = ended(&fixture, 1, "build it", "/a");
    let b = ended(&fixture, 2, "build it", "/b");
    assert_eq!(find(&fixture, "build it", Some("/a")), Ok(a.id));
    assert_eq!(find(&fixture, "build it", Some("/b")), Ok(b.id));
    assert_eq!(find(&fixture, "build it", Some("/c")), Err(vec![]));
    assert_eq!(find(&fixture, "build it", None), Err(vec![a.id, b.id]));
    assert_eq!(find(&fixture, "build", Some("/a")), Err(vec![]));
}

#[test]
fn a_live_run_is_meant_before_ended_ones_of_its_label() {
    let fixture = Fixture::new();
    let old = ended(&fixture, 1, "dev server", "/p");
    let older = ended(&fixture, 2, "dev server", "/p");
    assert_eq!(
        find(&fixture, "dev server", Some("/p")),
        Err(vec![old.id, older.id])
    );
    let live = fixture
        .run(3)
        .label("dev server")
        .project("/p")
        .claimed()
        .started()
        .make();
    let _lock = live.hold();
    assert_eq!(find(&fixture, "dev server", Some("/p")), Ok(live.id));
    let second = fixture
        .run(4)
        .label("dev server")
        .project("/p")
        .claimed()
        .started()
        .make();
    let _second = second.hold();
    assert_eq!(
        find(&fixture, "dev server", Some("/p")),
        Err(vec![live.id, second.id])
    );
}

#[test]
fn a_beginning_that_is_also_a_label_of_another_run_means_neither() {
    let fixture = Fixture::new();
    let lone = fixture.ended(1);
    let prefix = beginning(&lone, 3);
    assert_eq!(find(&fixture, prefix, None), Ok(lone.id));
    let own = Fixture::new();
    let run = ended(&own, 1, own.id(1).as_str().get(..3).unwrap(), "/p");
    assert_eq!(find(&own, beginning(&run, 3), None), Ok(run.id));
    // The ids of one fixture begin alike, so here is one of another.
    let other = RunId::from_bits([0xFF; 10]);
    let named = fixture.run(2).label(prefix).spec(|spec| spec.id = other);
    let named = named.claimed().started().ended(Status::Failed).make();
    let mut both = vec![lone.id, named.id];
    both.sort_unstable();
    assert_eq!(find(&fixture, prefix, None), Err(both));
    // Where the beginning alone decides nothing, the label does.
    fixture.ended(3);
    assert_eq!(find(&fixture, prefix, None), Ok(named.id));
}

#[test]
fn several_are_told_with_their_labels_and_not_without_end() {
    let fixture = Fixture::new();
    for number in 0..30 {
        ended(&fixture, number, "same", "/p");
    }
    let error = fixture.store.find("same", None).unwrap_err();
    assert_eq!(error.code(), "ambiguous_run");
    let FindError::Ambiguous { candidates, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(candidates.len(), FIND_CANDIDATES_MAX);
    assert!(candidates.iter().all(|(_, label)| label == "same"));
    assert!(error.hint().contains("(same)"));
}

#[test]
fn a_run_with_a_damaged_spec_is_found_by_its_id() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    run.put("spec.json", b"");
    assert_eq!(find(&fixture, run.id.as_str(), None), Ok(run.id));
    assert_eq!(find(&fixture, beginning(&run, 6), None), Ok(run.id));
}

#[test]
fn what_means_nothing_is_said_back() {
    let fixture = Fixture::new();
    let error = fixture.store.find("ünknown", None).unwrap_err();
    assert_eq!(error.to_string(), "there is no run `ünknown`");
    assert_eq!(error.code(), "no_such_run");
}
