//! The output of a call is read as that of a run is.

use crate::testing::Fixture;
use crate::{OutputFrom, OutputQuery};
use outlast_journal::names;
use std::fs;
use std::io::Write;

#[test]
fn a_log_of_a_call_is_found_by_its_id_alone() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    let calls = run.dir.join(names::CALLS);
    fs::create_dir(&calls).unwrap();
    let mut log = fs::File::create(calls.join("3.1.log")).unwrap();
    log.write_all(b"\x1b[1mone\x1b[0m\r\ntwo\n").unwrap();
    let id = fixture.id(1);
    assert_eq!(fixture.store.call_log(&id, "3.2"), None);
    for call in ["../3.1", "a/../3.1", "/3.1"] {
        assert_eq!(fixture.store.call_log(&id, call), None, "{call}");
    }
    let log = fixture.store.call_log(&id, "3.1").unwrap();
    let query = OutputQuery {
        from: OutputFrom::Byte(0),
        ..OutputQuery::default()
    };
    let page = fixture.store.call_output(&id, &log, &query).unwrap();
    assert_eq!(page.text, "one\ntwo\n");
    assert_eq!(page.next_byte, page.total_bytes);
    assert!(page.scanned_to_end);
}
