//! What no cgroup can bound is bound by something else, or said not to be.

use super::*;
use outlast_journal::Tier;

#[test]
fn without_cgroups_memory_is_watched_processes_are_counted_and_processors_are_refused() {
    let none = Places::default();
    let run = RunId::from_bits([3; 10]);
    let mut bound = Bound {
        own_processes: 1,
        ..Bound::default()
    };
    let mut bind = |counted, name| bound.bind_one(&none, &run, (counted, name), 10);
    bind(Counted::Memory, "memory").expect("a watchdog");
    bind(Counted::Pids, "pids").expect("a limit of the launcher");
    let refused = bind(Counted::Cpu, "cpu").expect_err("nothing counts it");
    assert_eq!(refused.0, "cpu");
    assert_eq!(
        (bound.pids_max, bound.watched_memory_bytes),
        (Some(11), Some(10))
    );
    assert_eq!(bound.told["pids"].value, 10);
    assert_eq!(bound.told["memory"].enforced_by, "watchdog");
    assert_eq!(
        bound.guarantees(),
        [Guarantee::MemLimit, Guarantee::PidsLimit]
    );
}

#[test]
fn nothing_is_bound_where_nothing_is_asked_for() {
    let asked = Containment::new(Tier::SandboxEdit);
    let bound = Bound::bind(&asked, &RunId::from_bits([4; 10])).expect("nothing to fail");
    assert!(!bound.has_groups() && bound.told.is_empty() && bound.guarantees().is_empty());
}
