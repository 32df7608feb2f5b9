//! Reports survive the way through a pipe, and each known failure has its fix.

use super::*;

#[test]
fn a_report_is_read_as_it_was_written() {
    let reports = [
        Report::Init { pid: 7 },
        Report::SetupFailed {
            step: "namespaces".to_owned(),
            errno: 1,
        },
        Report::Running {
            holds: vec![Guarantee::WriteBoundary],
            protected: vec![".git/config".to_owned()],
            notice: None,
        },
        Report::Exited {
            status: 256,
            cpu_ms: 3,
            rss_bytes: 4,
        },
    ];
    for report in reports {
        assert_eq!(Report::from_bytes(&report.to_bytes()), Some(report));
    }
    assert_eq!(Report::from_bytes(b"{\"report\":\"other\"}"), None);
    assert_eq!(Report::from_bytes(b"{\"report\":\"ini"), None);
}

#[test]
fn a_step_that_failed_is_told_with_what_to_do() {
    assert!(fix("namespaces", 28).contains("max_user_namespaces"));
    assert!(fix("namespaces", 1).contains("apparmor"));
    assert!(fix("read-only root", 38).contains("5.12"));
    assert!(fix("idmap: /w", 22).contains("ordinary user"));
    assert!(fix("anything", 5).contains("doctor"));
}
