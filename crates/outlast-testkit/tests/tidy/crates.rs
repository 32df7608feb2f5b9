//! A crate depends on and links what ARCHITECTURE.md allows, no more.

use std::collections::{BTreeMap, BTreeSet};

use crate::{assert_none, graph::Graph};

/// Which of our crates may stand under `[dependencies]` of which.
const EDGES: &[(&str, &[&str])] = &[
    ("outlast-journal", &[]),
    ("outlast-supervisor", &["outlast-journal"]),
    ("outlast-lib", &["outlast-journal", "outlast-supervisor"]),
    ("outlast-agent", &["outlast-journal", "outlast-lib"]),
    (
        "outlast",
        &[
            "outlast-agent",
            "outlast-lib",
            "outlast-journal",
            "outlast-supervisor",
        ],
    ),
    ("outlast-testkit", &[]),
];

/// All that a small crate may name under `[dependencies]`.
const DIRECT: &[(&str, &[&str])] = &[
    ("outlast-journal", &["serde", "serde_json", "thiserror"]),
    (
        // The launcher that contains a run is this crate's: it alone uses landlock and
        // seccompiler, both small and without dependencies of weight.
        "outlast-supervisor",
        &[
            "outlast-journal",
            "landlock",
            "libc",
            "seccompiler",
            "serde_json",
            "thiserror",
        ],
    ),
];

/// What may not be linked, at any distance.
const NEVER_LINKED: &[(&str, &[&str])] = &[
    (
        // There is one supervisor a live run: each page counts a thousandfold.
        "outlast-supervisor",
        &[
            "aws-lc-rs",
            "aws-lc-sys",
            "hyper",
            "libsqlite3-sys",
            "native-tls",
            "openssl",
            "openssl-sys",
            "reqwest",
            "ring",
            "rusqlite",
            "rustls",
            "tokio",
        ],
    ),
    // One implementation of TLS does: that of ring, which is small.
    (
        "outlast-agent",
        &["aws-lc-rs", "aws-lc-sys", "native-tls", "openssl"],
    ),
    // The library prints nothing: terminals are the program's.
    ("outlast-lib", &["clap", "crossterm", "ratatui"]),
];

/// Crates that the program links in more than one version, each with the reason.
const SEVERAL_VERSIONS: &[(&str, &str)] = &[
    (
        "base64",
        "bollard is built with an older one than rmcp; both are small",
    ),
    (
        "io-lifetimes",
        "fs-set-times of cap-std is built with an older one; both are small",
    ),
    (
        "syn",
        "the macros of tracing are built with an older one; neither is in the program",
    ),
];

#[test]
fn crates_of_ours_depend_only_on_those_they_may() {
    let graph = Graph::of_all_platforms();
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for id in &graph.ours {
        let package = &graph.packages[id];
        let name = package.name.as_str();
        seen.insert(name);
        let Some((_, allowed)) = EDGES.iter().find(|(from, _)| *from == name) else {
            faults.push(format!("{name}: say in EDGES on what it may depend"));
            continue;
        };
        let ours = graph.ours.iter().map(|id| &graph.packages[id].name);
        for other in ours.filter(|other| package.direct.contains(*other)) {
            if !allowed.contains(&other.as_str()) {
                faults.push(format!("{name} may not depend on {other}"));
            }
        }
    }
    let gone = EDGES.iter().filter(|(name, _)| !seen.contains(name));
    faults.extend(gone.map(|(name, _)| format!("{name}: in EDGES, but no such crate")));
    assert_none(&faults);
}

#[test]
fn small_crates_name_no_dependency_that_is_not_listed() {
    let graph = Graph::of_all_platforms();
    let mut faults = Vec::new();
    for (name, allowed) in DIRECT {
        let package = &graph.packages[graph.ours(name)];
        let extra = package.direct.iter();
        let extra = extra.filter(|other| !allowed.contains(&other.as_str()));
        faults.extend(extra.map(|other| format!("{name} may not depend on {other}")));
    }
    assert_none(&faults);
}

#[test]
fn what_must_stay_out_of_a_process_is_not_linked_into_it() {
    let graph = Graph::of_all_platforms();
    let mut faults = Vec::new();
    for (name, forbidden) in NEVER_LINKED {
        let linked = graph.linked_into(graph.ours(name));
        let linked = linked.iter().map(|id| graph.packages[*id].name.as_str());
        let linked = linked.filter(|other| forbidden.contains(other));
        faults.extend(linked.map(|other| format!("{name} links {other}")));
    }
    assert_none(&faults);
}

#[test]
fn the_program_links_one_version_of_each_crate() {
    let graph = Graph::of_this_platform();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for id in graph.linked_into(graph.ours("outlast")) {
        let package = &graph.packages[id];
        versions
            .entry(&package.name)
            .or_default()
            .insert(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let is_known = |name: &str| SEVERAL_VERSIONS.iter().any(|(known, _)| *known == name);
    let new = versions.iter().filter(|(name, _)| !is_known(name));
    let mut faults: Vec<_> = new
        .map(|(name, versions)| format!("{name} is linked as {versions:?}"))
        .collect();
    let gone = SEVERAL_VERSIONS.iter();
    let gone = gone.filter(|(name, _)| !versions.contains_key(name));
    faults.extend(gone.map(|(name, _)| format!("{name}: take it off SEVERAL_VERSIONS")));
    assert_none(&faults);
}
