//! One line for each task.

use super::*;

#[test]
fn a_line_has_what_is_known() {
    let bare = Line {
        id: "i",
        kind: "command",
        status: "running",
        exit_code: None,
        label: "build",
        summary: None,
        session: None,
    };
    assert_eq!(written(&bare), "  [i] command running exit=-: build");
    let full = Line {
        status: "failed",
        exit_code: Some(-1),
        summary: Some("no room"),
        session: Some("c1"),
        ..bare
    };
    assert_eq!(
        written(&full),
        "  [i] command failed exit=-1: build — no room (session c1)"
    );
}

#[test]
fn a_page_says_how_to_read_on() {
    let fixture = crate::testing::Fixture::new();
    let id = fixture.ended(1).id;
    let record = fixture.store.record(&id).expect("it can be read");
    let page = |truncated| OutputPage {
        text: String::new(),
        from_byte: 10,
        next_byte: 20,
        total_bytes: 30,
        truncated,
        gap: None,
        matches: Vec::new(),
        scanned_to_end: !truncated,
    };
    let newest = OutputQuery::default();
    let onward = OutputQuery {
        from: OutputFrom::Byte(10),
        ..OutputQuery::default()
    };
    let search = OutputQuery {
        grep: Some("x".to_owned()),
        ..OutputQuery::default()
    };
    for (query, truncated, expected) in [
        (&newest, false, "Ended: completed."),
        (
            &onward,
            true,
            "Ended: completed. More follows: since_byte 20 (of 30).",
        ),
        (
            &newest,
            true,
            "Ended: completed. Shown from byte 10 of 30; for the rest grep, or since_byte 0.",
        ),
        (
            &search,
            true,
            "Ended: completed. Not all matches are shown: fewer context lines, or since_byte 0.",
        ),
    ] {
        assert_eq!(page_message(&record, query, &page(truncated)), expected);
    }
}
