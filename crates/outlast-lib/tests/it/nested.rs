//! A run that is started inside a run belongs to it: counted by ancestry, asked to stop, not killed.
//!
//! Case LQ-02. The runs inside are started by this very program, as any command could.

use crate::home::{LIMIT, Place, program};
use libtest_mimic::{Failed, Trial};
use outlast_lib::{CancelQuery, Record, Request, RunId, Status};
use outlast_supervisor::fsio;
use outlast_testkit::eventually;
use serde_json::Value;
use std::time::{Duration, Instant};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_fourth_run_inside_is_refused,
        a_cleared_environment_hides_no_ancestry,
        a_cancel_of_the_root_asks_every_run_inside,
        a_run_inside_that_ignores_term_still_writes_its_own_end,
        a_killed_root_leaves_the_runs_inside_alone,
        a_run_inside_is_no_leftover,
        a_root_has_so_many_descendants_and_no_more,
    );
}

/// Starts itself inside itself `$1` times more, then does what `$2` says.
const NEST: &str = "
    left=$1; shift
    if [ $left -gt 0 ]; then
        CLEAR 'IT' __start 'STORE' \"sh nest.sh $((left - 1)) '$*'\" >> answers
    fi
    eval \"$*\"
";

/// Makes the script and returns the text that runs it, `depth` runs deep below the root.
fn nest(place: &Place, depth: u32, clear: &str, then: &str) -> String {
    let script = NEST
        .replace("CLEAR", clear)
        .replace("IT", &program().get_program().to_string_lossy())
        .replace("STORE", &place.store.root().to_string_lossy());
    let path = place.home.path().join("nest.sh");
    fsio::write_atomic(&path, script.as_bytes()).expect("the home can be written");
    format!("sh nest.sh {depth} '{then}'")
}

/// The records of all runs, the root first.
fn by_depth(place: &Place) -> Vec<Record> {
    let mut records = place.list();
    records.sort_by_key(|record| place.store.spec(&record.id).expect("it can be read").depth);
    records
}

#[track_caller]
fn the_fifth_is_refused(place: &Place, root: &RunId) {
    place.has_lines("answers", 4);
    let answers: Vec<Value> = place
        .lines("answers")
        .iter()
        .map(|line| serde_json::from_str(line).expect("an answer is JSON"))
        .collect();
    let refused: Vec<&Value> = answers
        .iter()
        .filter(|answer| answer["error"] == "depth_exceeded")
        .collect();
    assert_eq!(refused.len(), 1, "{answers:?}");
    let records = by_depth(place);
    assert_eq!(records.len(), 4, "the root and three more");
    for pair in records.windows(2) {
        assert_eq!(pair[1].parent, Some(pair[0].id));
        let spec = place.store.spec(&pair[1].id).expect("it can be read");
        assert_eq!(spec.root, Some(*root));
    }
}

/// LQ-02.
fn a_fourth_run_inside_is_refused() {
    let place = Place::new();
    let root = place.start(&nest(&place, 5, "", "exec sleep 600"));
    the_fifth_is_refused(&place, &root);
    place.is_sound();
}

/// LQ-02 with `env -i`: the tree of processes tells it.
fn a_cleared_environment_hides_no_ancestry() {
    let place = Place::new();
    let clear = "env -i PATH=/usr/bin:/bin setsid";
    let root = place.start(&nest(&place, 5, clear, "exec sleep 600"));
    the_fifth_is_refused(&place, &root);
    place.cancel_now(&root);
    place.is_deserted();
    place.is_sound();
}

/// LQ-02: nothing is left, and each run tells how it ended.
fn a_cancel_of_the_root_asks_every_run_inside() -> Result<(), Failed> {
    let place = Place::new();
    let root = place.start(&nest(&place, 3, "", "exec sleep 600"));
    place.has_lines("answers", 3);
    let asked = Instant::now();
    let done = place.store.cancel(&root, &CancelQuery::default())?;
    assert!(done.cancelled, "{done:?}");
    assert!(
        asked.elapsed() < Duration::from_secs(5),
        "{:?}",
        asked.elapsed()
    );
    place.is_deserted();
    let records = by_depth(&place);
    assert_eq!(records.len(), 4);
    for record in &records {
        assert_eq!(record.status, Status::Cancelled, "{record:?}");
        assert_eq!(record.ended_by.as_deref(), Some("cancel"));
    }
    for (outer, inner) in records.iter().zip(records.iter().skip(1)) {
        let note = place
            .journal(&inner.id)
            .into_iter()
            .find(|line| line["type"] == "note");
        let by = note.expect("who asked is noted")["data"]["stop"]["by"].clone();
        assert_eq!(by, format!("run {}", outer.id));
    }
    place.is_sound();
    Ok(())
}

fn a_run_inside_that_ignores_term_still_writes_its_own_end() -> Result<(), Failed> {
    let place = Place::new();
    let stubborn = "trap \"\" TERM; echo up >> up; while :; do sleep 0.05; done";
    let request = Request {
        grace_ms: Some(2_000),
        ..place.shell(&nest(&place, 2, "", stubborn))
    };
    let root = place.begin(&request);
    place.has_lines("up", 3);
    let done = place.store.cancel(&root, &CancelQuery::default())?;
    assert!(done.cancelled, "{done:?}");
    place.is_deserted();
    for record in by_depth(&place) {
        assert_eq!(record.status, Status::Cancelled, "{record:?}");
        assert_eq!(record.signal.as_deref(), Some("KILL"), "{record:?}");
    }
    place.is_sound();
    Ok(())
}

fn a_killed_root_leaves_the_runs_inside_alone() {
    let place = Place::new();
    let root = place.start(&nest(&place, 1, "", "exec sleep 600"));
    place.has_lines("answers", 1);
    crate::home::kill(place.supervisor_of(&root));
    let outer = place.record(&root);
    assert_eq!(outer.status, Status::Interrupted);
    let inner = by_depth(&place).pop().expect("there are two");
    assert_eq!(inner.status, Status::Running);
    assert_eq!(outer.runs_inside, [inner.id]);
    assert_eq!(outer.leftovers.len(), 1, "{:?}", outer.leftovers);
    place.cancel_now(&root);
    assert_eq!(
        place.record(&inner.id).status,
        Status::Running,
        "a sweep leaves runs to themselves"
    );
    place.cancel_now(&inner.id);
    place.is_deserted();
    place.is_sound();
}

fn a_run_inside_is_no_leftover() -> Result<(), Failed> {
    let place = Place::new();
    let text = nest(&place, 1, "", "[ $left = 1 ] || exec sleep 600");
    let root = place.start(&text);
    let record = place.ended(&root);
    assert_eq!(record.status, Status::Completed);
    let inner = by_depth(&place).pop().expect("there are two");
    assert_eq!(
        (record.leftovers.len(), record.runs_inside),
        (0, vec![inner.id])
    );
    assert_eq!(inner.status, Status::Running);
    // It belongs to the outer one: a cancel of that reaches it.
    place.store.cancel(&root, &CancelQuery::default())?;
    eventually("the run inside ends", LIMIT, || {
        place.record(&inner.id).status.is_ended()
    });
    assert_eq!(place.record(&inner.id).status, Status::Cancelled);
    assert_eq!(place.record(&root).status, Status::Completed);
    place.is_deserted();
    place.is_sound();
    Ok(())
}

fn a_root_has_so_many_descendants_and_no_more() -> Result<(), Failed> {
    let place = Place::new();
    let text =
        "for i in 1 2 3; do 'IT' __start 'STORE' 'exec sleep 600' descendants_max=2 >> answers
                done; exec sleep 600"
            .replace("IT", &program().get_program().to_string_lossy())
            .replace("STORE", &place.store.root().to_string_lossy());
    place.start(&text);
    place.has_lines("answers", 3);
    let last: Value = serde_json::from_str(&place.lines("answers")[2])?;
    assert_eq!(last["error"], "descendants_exceeded", "{last}");
    assert_eq!(place.list().len(), 3);
    place.is_sound();
    Ok(())
}
