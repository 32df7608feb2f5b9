//! What was seen becomes words that say what to do.

use super::*;
use crate::doctor::Level;
use std::io;

#[test]
fn a_step_that_fails_is_named_with_the_fix() {
    let check = native(&Err(ProbeError {
        message: "the run cannot be contained as asked: step `namespaces` failed".to_owned(),
        source: Some(io::Error::from_raw_os_error(1)),
        hint: "let users make namespaces".to_owned(),
    }));
    assert_eq!(check.level, Level::Warning);
    assert!(check.message.contains("`namespaces`") && check.message.contains("os error 1"));
    assert_eq!(check.fix.as_deref(), Some("let users make namespaces"));
}

#[test]
fn a_limit_that_nothing_enforces_is_said() {
    let limit = |by: &str| LimitBound {
        value: 1,
        enforced_by: by.to_owned(),
    };
    let mut bound = BTreeMap::from([
        ("memory".to_owned(), limit("watchdog")),
        ("pids".to_owned(), limit("rlimit")),
    ]);
    let check = limits(&bound);
    assert_eq!(check.level, Level::Warning);
    assert!(
        check
            .message
            .ends_with("memory by watchdog, pids by rlimit, cpu by nothing")
    );
    for name in ["memory", "pids", "cpu"] {
        bound.insert(name.to_owned(), limit("cgroup2"));
    }
    assert_eq!(limits(&bound).level, Level::Fine);
}
