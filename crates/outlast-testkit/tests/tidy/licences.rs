//! Every package may be given away under a licence that asks for no more than
//! its text: ours, and all that our tests and builds use.

use crate::{assert_none, graph::Graph};

/// SPDX ids, with their exception if they have one.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    // Of data alone: the root certificates of systems that have no store.
    "CDLA-Permissive-2.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether an SPDX expression can be met with licences of the list alone.
///
/// `/` is how cargo once wrote `OR`. What cannot be read is not allowed.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut words: &[&str] = &spaced.split_whitespace().collect::<Vec<_>>();
    any(&mut words).is_some_and(|is_allowed| is_allowed && words.is_empty())
}

fn any(words: &mut &[&str]) -> Option<bool> {
    let mut is_allowed = all(words)?;
    while take(words, "OR") {
        is_allowed |= all(words)?;
    }
    Some(is_allowed)
}

fn all(words: &mut &[&str]) -> Option<bool> {
    let mut is_allowed = one(words)?;
    while take(words, "AND") {
        is_allowed &= one(words)?;
    }
    Some(is_allowed)
}

fn one(words: &mut &[&str]) -> Option<bool> {
    if take(words, "(") {
        let is_allowed = any(words)?;
        return take(words, ")").then_some(is_allowed);
    }
    let mut licence = next(words)?.to_owned();
    if take(words, "WITH") {
        licence = format!("{licence} WITH {}", next(words)?);
    }
    Some(ALLOWED.contains(&licence.as_str()))
}

fn next<'a>(words: &mut &[&'a str]) -> Option<&'a str> {
    let (first, rest) = words.split_first()?;
    *words = rest;
    Some(first)
}

fn take(words: &mut &[&str], word: &str) -> bool {
    let is_next = words.first() == Some(&word);
    if is_next {
        next(words);
    }
    is_next
}

#[test]
fn every_package_has_a_permissive_licence() {
    let graph = Graph::of_all_platforms();
    let refused = graph.packages.values().filter(|package| {
        let licence = package.licence.as_deref();
        !licence.is_some_and(is_allowed)
    });
    let faults: Vec<_> = refused
        .map(|package| {
            let licence = package.licence.as_deref().unwrap_or("no licence named");
            format!("{} {}: {licence}", package.name, package.version)
        })
        .collect();
    assert_none(&faults);
}

#[test]
fn an_expression_is_allowed_only_if_it_can_be_met() {
    for expression in [
        "MIT",
        "MIT/Apache-2.0",
        "MIT OR GPL-3.0-only",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        "GPL-2.0 AND MIT OR ISC",
    ] {
        assert!(is_allowed(expression), "{expression}");
    }
    for expression in [
        "",
        "MPL-2.0",
        "MIT AND GPL-3.0-only",
        "MIT AND (MPL-2.0 OR LGPL-2.1)",
        "GPL-2.0 AND (MIT OR ISC)",
        "MIT WITH LLVM-exception",
        "(MIT",
        "MIT)",
        "MIT OR",
        "MIT ISC",
    ] {
        assert!(!is_allowed(expression), "{expression}");
    }
}
