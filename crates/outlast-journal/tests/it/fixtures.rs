//! Every run directory ever released can still be read.
//!
//! `fixtures/v1` was written by hand in the form of version 1. Whatever a later
//! version does, it reads these files and sees these records. The last tests
//! here are of today's writer and move on with it; the files never change.

use outlast_journal::{Fact, Gap, Line, Live, Record, Spec, State};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Runs of version 1 and how many bytes their logs have.
const RUNS: [(&str, u64); 5] = [
    ("completed", 100_077),
    ("cancelled", 0),
    ("not_started", 0),
    ("interrupted", 45),
    ("later", 7),
];

fn dir(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1");
    fixtures.join(name)
}

fn read(name: &str, file: &str) -> Vec<u8> {
    fs::read(dir(name).join(file)).unwrap()
}

fn gap(name: &str) -> Option<Gap> {
    let file = dir(name).join("output.gap");
    file.exists()
        .then(|| Gap::from_file(&fs::read(file).unwrap()).unwrap())
}

fn lines(name: &str) -> Vec<Vec<u8>> {
    let journal = read(name, "journal.jsonl");
    let lines = journal.split_inclusive(|byte| *byte == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}

fn parsed(line: &[u8]) -> Option<Line> {
    Line::from_bytes(line.strip_suffix(b"\n")?).ok()
}

#[test]
fn every_run_of_version_1_gives_its_record() {
    for (name, output_bytes) in RUNS {
        let spec = Spec::from_json(&read(name, "spec.json")).unwrap();
        let state = State::fold(&read(name, "journal.jsonl"));
        let live = Live {
            output_bytes,
            gap: gap(name),
            ..Live::default()
        };
        let record = Record::build(&spec, &state, live);
        let shown = serde_json::to_string_pretty(&record).unwrap() + "\n";
        let expected = String::from_utf8(read(name, "record.json")).unwrap();
        assert_eq!(shown, expected, "{name}");
        let read: Record = serde_json::from_str(&expected).unwrap();
        assert_eq!(read, record, "{name}");
    }
}

#[test]
fn every_directory_of_version_1_is_looked_at() {
    let found = fs::read_dir(dir("")).unwrap();
    let mut found: Vec<String> = found
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut expected = RUNS.map(|(name, _)| name.to_owned());
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn every_journal_of_version_1_folds_without_loss() {
    for (name, damaged_lines, next_seq) in [
        ("completed", 0, 2),
        ("cancelled", 0, 5),
        ("not_started", 0, 1),
        ("interrupted", 1, 4),
        ("later", 0, 4),
    ] {
        let state = State::fold(&read(name, "journal.jsonl"));
        assert_eq!(state.damaged_lines, damaged_lines, "{name}");
        assert_eq!(state.next_seq.0, next_seq, "{name}");
        assert!(state.is_ended() && !state.is_torn, "{name}");
    }
}

#[test]
fn todays_writer_writes_the_lines_of_version_1() {
    let mut written = Vec::new();
    for name in ["completed", "cancelled", "not_started", "interrupted"] {
        for bytes in lines(name) {
            let Some(line) = parsed(&bytes) else { continue };
            let fact = line.fact().unwrap();
            let again = Line::new(&fact, line.seq.unwrap_or_default(), line.ts).to_bytes();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            assert_eq!(text(&again), text(&bytes), "{name}");
            written.push(fact);
        }
    }
    let has = |is_it: fn(&Fact) -> bool| written.iter().any(is_it);
    assert!(has(|fact| matches!(fact, Fact::Claimed(_))));
    assert!(has(|fact| matches!(fact, Fact::Queued(_))));
    assert!(has(|fact| matches!(fact, Fact::Started(_))));
    assert!(has(|fact| matches!(fact, Fact::MainExited(_))));
    assert!(has(|fact| matches!(fact, Fact::Note(_))));
    assert!(has(|fact| matches!(fact, Fact::Ended(_))));
    assert!(!has(|fact| matches!(fact, Fact::Unknown)));
}

#[test]
fn todays_writer_writes_the_specs_of_version_1() {
    for name in ["completed", "cancelled", "not_started", "interrupted"] {
        let file = String::from_utf8(read(name, "spec.json")).unwrap();
        let spec = Spec::from_json(file.as_bytes()).unwrap();
        assert_eq!(spec.to_json(), file.trim_end(), "{name}");
    }
}

#[test]
fn todays_writer_writes_the_gap_file_of_version_1() {
    let file = read("completed", "output.gap");
    let gap = Gap::from_file(&file).unwrap();
    assert_eq!(gap.to_file().as_slice(), file);
}
