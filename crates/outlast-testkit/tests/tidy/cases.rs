//! Each case of `data/cases.tsv` has one row in `docs/reference/cases.md`, and
//! what that row says is so: tests of that name, in files that name the case,
//! or what the case waits for.

use std::fs;

use crate::{assert_none, files_beneath, root};

/// How the last cell begins when there is no test yet; the reason follows.
const WAITS: &str = "waits:";

/// A row of the page: id, title, and what shows the case.
type Row<'a> = (&'a str, &'a str, &'a str);

/// Ids and titles, in the order of the file.
fn cases() -> Vec<(&'static str, &'static str)> {
    let rows = include_str!("../../data/cases.tsv").lines().skip(1);
    rows.map(|row| row.split_once('\t').unwrap()).collect()
}

fn rows(page: &str) -> Vec<Row<'_>> {
    let lines = page.lines();
    let lines = lines.filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let rows = lines.filter_map(|line| {
        let (id, rest) = line.split_once(" | ")?;
        let (title, shown_by) = rest.split_once(" | ")?;
        Some((id, title, shown_by))
    });
    // The head and the line below it.
    rows.skip(2).collect()
}

/// What is wrong with the last cell of a row.
fn fault(id: &str, shown_by: &str, sources: &[String]) -> Option<String> {
    if let Some(reason) = shown_by.strip_prefix(WAITS) {
        return reason
            .trim()
            .is_empty()
            .then(|| format!("{id}: waits for what?"));
    }
    let names: Vec<_> = shown_by.split('`').skip(1).step_by(2).collect();
    if names.is_empty() {
        return Some(format!("{id}: neither a test in backticks nor `{WAITS}`"));
    }
    let is_shown = |name: &&str| sources.iter().any(|text| shows(text, name, id));
    let unknown = names.into_iter().find(|name| !is_shown(name))?;
    Some(format!(
        "{id}: no file has a test `{unknown}` and names the case"
    ))
}

/// Whether a source file has the test and names the case.
fn shows(source: &str, test: &str, id: &str) -> bool {
    let test = test.rsplit("::").next().unwrap();
    let has_test =
        source.contains(&format!("fn {test}(")) || source.contains(&format!("\"{test}\""));
    has_test && source.contains(id)
}

#[test]
fn every_case_has_a_row_and_what_the_row_says_is_so() {
    let page = fs::read_to_string(root().join("docs/reference/cases.md")).unwrap();
    let rows = rows(&page);
    let named: Vec<_> = rows.iter().map(|(id, title, _)| (*id, *title)).collect();
    assert_eq!(named, cases());

    let sources = files_beneath(&root().join("crates"), "rs").into_iter();
    let sources: Vec<_> = sources
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let faults = rows.iter();
    let faults = faults.filter_map(|(id, _, shown_by)| fault(id, shown_by, &sources));
    assert_none(&faults.collect::<Vec<_>>());
}

#[test]
fn a_row_is_believed_only_if_its_test_is_there() {
    let source = "/// Case XX-01.\n#[test]\nfn it_ends() {}\nTrial::test(\"it_waits\", f)";
    let sources = [source.to_owned()];
    let is_right = |shown_by| fault("XX-01", shown_by, &sources).is_none();
    assert!(is_right("waits: agent runs"));
    assert!(is_right("`it_ends`"));
    assert!(is_right("`runs::it_ends`, `it_waits`"));
    assert!(!is_right("waits:"));
    assert!(!is_right("it_ends"));
    assert!(!is_right("`it_ends`, `it_flies`"));
    assert!(fault("XX-02", "`it_ends`", &sources).is_some());
}
