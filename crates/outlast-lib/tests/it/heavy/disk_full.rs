//! A full disk costs output at most: a start is refused and leaves nothing, or its end is true.
//!
//! Case RD-07. Every degree of fullness is tried, page by page, on a small file system in memory.

use super::{NO_MOUNT, Small};
use crate::home::{Place, trees_in};
use libtest_mimic::{Completion, Trial};
use outlast_lib::{Advice, ListQuery, Record, StartError, Status};
use outlast_testkit::invariants;
use std::fs::{self, File, OpenOptions};
use std::io::Write;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_full_disk_costs_output_and_never_the_end,
        a_disk_without_inodes_refuses_or_tells_the_truth,
        a_disk_that_fills_up_under_a_run_costs_no_exit_status,
    );
}

const PAGE: usize = 4_096;
/// Pages left free, from none to more than a start needs.
const PAGES_FREE_MAX: usize = 24;

impl Small {
    /// Fills the disk but for so many pages.
    fn fill(&self, pages_free: usize) {
        let room: Vec<u8> = vec![b'x'; PAGE];
        let mut reserved = self.open("reserved");
        for _ in 0..pages_free {
            reserved.write_all(&room).expect("it was emptied before");
        }
        let mut filler = self.open("filler");
        while filler.write_all(&room).is_ok() {}
        drop(reserved);
        self.free("reserved");
    }

    /// Makes empty files until no more can be made, then removes so many of them.
    fn use_up_inodes(&self, free: usize) -> Vec<String> {
        let mut made = Vec::new();
        loop {
            let name = format!("inode.{}", made.len());
            if File::create_new(self.place.home.store().join(&name)).is_err() {
                break;
            }
            made.push(name);
        }
        let kept = made.len().saturating_sub(free);
        for name in made.split_off(kept) {
            self.free(&name);
        }
        made
    }

    fn open(&self, name: &str) -> File {
        let path = self.place.home.store().join(name);
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .expect("an empty file fits")
    }

    fn free(&self, name: &str) {
        fs::remove_file(self.place.home.store().join(name)).expect("it is there");
    }
}

/// How many runs there are. That the index could not be used is said, and hides none.
fn count(place: &Place) -> usize {
    let query = ListQuery {
        limit: usize::MAX,
        ..ListQuery::default()
    };
    let listing = place.store.list(&query).expect("the store can be listed");
    for damage in &listing.damaged {
        assert!(damage.path.ends_with("index.sqlite"), "{damage:?}");
    }
    listing.records.len()
}

/// RD-07 (a) and (b).
fn a_full_disk_costs_output_and_never_the_end() -> Completion {
    let Some(small) = Small::new("size=8m") else {
        return Completion::ignored_with(NO_MOUNT);
    };
    let place = &small.place;
    // The folder of the month and the index are there, as they are in any store in use.
    place.ended(&place.start("exit 0"));
    let (mut refused, mut lossy, mut whole) = (0, 0, 0);
    for pages_free in 0..=PAGES_FREE_MAX {
        let before = count(place);
        small.fill(pages_free);
        match place.store.start(&place.shell("seq 1 20000; exit 4")) {
            Err(error) => {
                refused += 1;
                is_refused_without_a_trace(place, &error, before, pages_free);
            }
            Ok(begun) => {
                let record = place.ended(&begun.id);
                let full = record.output.lost.is_some_and(|lost| lost > 0);
                assert_eq!(count(place), before + 1, "also while the disk is full");
                small.free("filler");
                is_true(place, &record, pages_free);
                lossy += u32::from(full);
                whole += u32::from(!full);
                continue;
            }
        }
        small.free("filler");
    }
    assert!(
        refused > 0 && lossy > 0,
        "{refused} refused, {lossy} lossy, {whole} whole"
    );
    place.is_deserted();
    place.is_sound();
    Completion::Completed
}

fn is_refused_without_a_trace(place: &Place, error: &StartError, before: usize, free: usize) {
    let what = format!("{free} free: {error:?}");
    assert_eq!(error.code(), "store_full", "{what}");
    assert_eq!(count(place), before, "{what}");
    place.is_deserted();
    let debris = invariants::debris(place.store.root());
    assert!(debris.is_empty(), "{what}: {debris:?}");
}

fn is_true(place: &Place, ended: &Record, pages_free: usize) {
    let what = format!("{pages_free} pages free: {ended:?}");
    assert_eq!(
        (ended.status, ended.exit_code),
        (Status::Failed, Some(4)),
        "{what}"
    );
    // What `seq 1 20000` prints.
    assert_eq!(ended.output.bytes, 108_894, "{what}");
    let later = place.record(&ended.id);
    assert_eq!(
        (later.status, &later.output),
        (ended.status, &ended.output),
        "{what}"
    );
    let lost = later.output.lost.unwrap_or(0);
    let Some(gap) = later.output.gap else {
        // Where the disk has no block for the log, it has none for the word of its gap.
        assert!(lost == 0 || lost == later.output.bytes, "{what}");
        return;
    };
    let gone = gap.to - gap.from;
    assert_eq!(later.output.kept + gone, later.output.bytes, "{what}");
    assert!(lost <= gone, "{what}");
    // What is kept stands where it stood.
    let whole: String = (1..=20_000)
        .map(|number| format!("{number}\n"))
        .collect::<Vec<_>>()
        .concat();
    let log = fs::read(place.run_dir(&ended.id).join("output.log")).expect("it has a log");
    let [from, to] = [gap.from, gap.to].map(|at| usize::try_from(at).unwrap_or(0));
    assert_eq!(log.get(..from), whole.as_bytes().get(..from), "{what}");
    assert_eq!(log.get(to..), whole.as_bytes().get(to..), "{what}");
}

/// RD-07 where not the bytes but the files are used up.
fn a_disk_without_inodes_refuses_or_tells_the_truth() -> Completion {
    let Some(small) = Small::new("size=8m,nr_inodes=200") else {
        return Completion::ignored_with(NO_MOUNT);
    };
    let place = &small.place;
    place.ended(&place.start("exit 0"));
    let mut refused = 0;
    for free in 0..12 {
        let before = count(place);
        let files = small.use_up_inodes(free);
        match place.store.start(&place.shell("echo hi; exit 4")) {
            Err(error) => {
                refused += 1;
                is_refused_without_a_trace(place, &error, before, free);
            }
            Ok(begun) => {
                let record = place.ended(&begun.id);
                assert_eq!((record.status, record.exit_code), (Status::Failed, Some(4)));
                assert_eq!(place.output(&begun.id), "hi\n");
            }
        }
        for file in &files {
            small.free(file);
        }
    }
    assert!((1..12).contains(&refused), "{refused} were refused");
    place.is_deserted();
    place.is_sound();
    Completion::Completed
}

fn a_disk_that_fills_up_under_a_run_costs_no_exit_status() -> Completion {
    let Some(small) = Small::new("size=4m") else {
        return Completion::ignored_with(NO_MOUNT);
    };
    let place = &small.place;
    let text =
        "echo early; echo up > up; while [ ! -e go ]; do sleep 0.02; done; seq 1 20000; exit 4";
    let long = place.start(text);
    let stopped = place.start("exec sleep 600");
    let killed = place.start("exec sleep 600");
    place.has_lines("up", 1);
    small.fill(0);
    place.cancel_now(&stopped);
    crate::home::kill(place.supervisor_of(&killed));
    place.touch("go");
    let record = place.ended(&long);
    assert_eq!((record.status, record.exit_code), (Status::Failed, Some(4)));
    assert!(
        record.output.lost.is_some_and(|lost| lost > 0),
        "{record:?}"
    );
    assert_eq!(place.record(&stopped).status, Status::Cancelled);
    assert_eq!(place.record(&killed).status, Status::Interrupted);
    assert_eq!(count(place), 3);
    small.free("filler");
    for (id, status) in [
        (&long, Status::Failed),
        (&stopped, Status::Cancelled),
        (&killed, Status::Interrupted),
    ] {
        assert_eq!(place.record(id).status, status);
    }
    place.cancel_now(&killed);
    assert!(trees_in(&place.home).is_empty());
    assert_eq!(
        place.ended(&place.start("exit 0")).status,
        Status::Completed
    );
    place.is_sound();
    Completion::Completed
}
