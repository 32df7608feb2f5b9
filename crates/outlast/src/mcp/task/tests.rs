//! Which starts become tasks, and what a task's status says of its run.

use super::*;

fn fits_with(arguments: &Value) -> bool {
    fits(arguments.as_object().expect("an object"))
}

#[test]
fn a_start_is_a_task_unless_it_waits_itself_or_has_no_limit() {
    assert!(fits_with(&json!({"command": "make"})));
    assert!(fits_with(&json!({"wait_secs": null, "timeout_secs": null})));
    assert!(fits_with(&json!({"timeout_secs": 60})));
    assert!(!fits_with(&json!({"wait_secs": 0})));
    assert!(!fits_with(&json!({"wait_secs": 45})));
    assert!(!fits_with(&json!({"timeout_secs": 0})));
    assert!(!fits_with(&json!({"timeout_secs": 0.0})));
}

#[test]
fn a_task_has_the_status_that_the_contract_gives_its_run() {
    let statuses = [
        (Status::Queued, "working"),
        (Status::Running, "working"),
        (Status::Completed, "completed"),
        (Status::Failed, "completed"),
        (Status::TimedOut, "completed"),
        (Status::Cancelled, "cancelled"),
        (Status::Interrupted, "failed"),
    ];
    for (status, wanted) in statuses {
        let record = Record {
            status,
            ..crate::sample::running()
        };
        assert_eq!(word(&record), wanted, "{status}");
    }
}

#[test]
fn a_quiet_task_is_looked_at_less_often_within_bounds() {
    assert_eq!(poll_ms(0), 2_000);
    assert_eq!(poll_ms(40_000), 10_000);
    assert_eq!(poll_ms(u64::MAX), 15_000);
}
