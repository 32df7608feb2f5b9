//! What a document points at is there: files behind links, decisions in their
//! order, and the two commands of the readme.

use std::{collections::BTreeSet, fs};

use crate::{assert_none, files_beneath, root, shown};

/// The commands that a newcomer is told to type, and all of them.
const COMMANDS: &[&str] = &[
    "cargo run --release -- run --wait -- uname -a",
    "./scripts/test",
];

/// Pages beside the decisions that are none.
const NOT_DECISIONS: &[&str] = &["README.md", "changed-from-the-origins.md"];

/// What each decision says, as its headings.
const DECISION_HEADINGS: &[&str] = &[
    "## Context",
    "## Decision",
    "## Dismissed",
    "## When to look again",
];

/// The lines of a document that are prose: no blocks of code, no code in a line.
fn prose(text: &str) -> Vec<String> {
    let mut is_fenced = false;
    let mut is_after_blank = true;
    let mut is_indented = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        is_indented = line.starts_with("    ") && (is_indented || is_after_blank);
        is_after_blank = line.trim().is_empty();
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced && !is_indented {
            let outside_code = line.split('`').step_by(2);
            lines.push(outside_code.collect::<Vec<_>>().join("`"));
        }
    }
    lines
}

/// What the links of a line point at: `[words](target)` and `[name]: target`.
fn targets(line: &str) -> Vec<String> {
    let within = line.split("](").skip(1);
    let within = within.filter_map(|rest| rest.split([')', ' ']).next());
    let below = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "));
    let below = below.and_then(|(_, rest)| rest.split(' ').next());
    within.chain(below).map(str::to_owned).collect()
}

fn is_elsewhere(target: &str) -> bool {
    ["https://", "http://", "mailto:", "#"]
        .iter()
        .any(|start| target.starts_with(start))
}

#[test]
fn every_link_to_a_file_points_at_one() {
    let mut faults = Vec::new();
    for file in files_beneath(root(), "md") {
        let text = fs::read_to_string(&file).unwrap();
        let lines = prose(&text);
        let links = lines.iter().flat_map(|line| targets(line));
        for target in links.filter(|target| !is_elsewhere(target)) {
            let path = target.split('#').next().unwrap();
            if !file.parent().unwrap().join(path).exists() {
                faults.push(format!("{}: no file `{target}`", shown(&file)));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn links_are_read_from_prose_alone() {
    let text = "see [a](A.md#x) and [b](b/c.md \"title\")\n\
        `[no](code.md)`\n```\n[no](fence.md)\n```\n\n    [no](indented.md)\n\n[r]: R.md\n";
    let lines = prose(text);
    let found: Vec<_> = lines.iter().flat_map(|line| targets(line)).collect();
    assert_eq!(found, ["A.md#x", "b/c.md", "R.md"]);
}

fn decisions() -> Vec<(String, String)> {
    let directory = root().join("docs/decisions");
    if !directory.exists() {
        return Vec::new();
    }
    let files = files_beneath(&directory, "md").into_iter();
    let pages = files.map(|file| {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(file).unwrap())
    });
    pages
        .filter(|(name, _)| !NOT_DECISIONS.contains(&name.as_str()))
        .collect()
}

#[test]
fn decisions_are_numbered_without_gaps_and_have_their_headings() {
    let mut faults = Vec::new();
    for ((name, text), number) in decisions().iter().zip(1..) {
        if !name.starts_with(&format!("{number:04}-")) {
            faults.push(format!("{name}: its number should be {number:04}"));
        }
        let headings: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        if headings != DECISION_HEADINGS {
            faults.push(format!("{name}: its headings are {headings:?}"));
        }
    }
    assert_none(&faults);
}

#[test]
fn every_decision_that_the_code_names_is_there() {
    let known = decisions();
    let known: BTreeSet<&str> = known.iter().filter_map(|(name, _)| name.get(..4)).collect();
    let mut faults = Vec::new();
    for file in files_beneath(&root().join("crates"), "rs") {
        let text = fs::read_to_string(&file).unwrap();
        for rest in text.split("decisions/").skip(1) {
            let Some(number) = rest.get(..4).filter(|number| is_number(number)) else {
                continue;
            };
            if !known.contains(number) {
                faults.push(format!("{}: no decisions/{number}", shown(&file)));
            }
        }
    }
    assert_none(&faults);
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[test]
fn the_readme_asks_for_two_commands_and_no_more() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let is_ours = |line: &&str| line.starts_with("cargo ") || line.starts_with("./");
    let commands: Vec<_> = blocks(&text).filter(is_ours).collect();
    assert_eq!(commands, COMMANDS);
    let script = COMMANDS[1];
    assert!(root().join(script).exists(), "no {script}");
}

/// The lines within the fences of a document.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").skip(1).step_by(2).flat_map(str::lines)
}

#[test]
fn what_the_manifests_promise_to_ship_is_there() {
    let missing = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"]
        .into_iter()
        .filter(|name| !root().join(name).exists());
    assert_none(&missing.map(|name| format!("no {name}")).collect::<Vec<_>>());
}
