//! A trajectory has every line that can be read, and no secret.

use crate::testing::Fixture;
use outlast_journal::agent::Told;
use outlast_journal::{Fact, Status, mask};
use serde_json::json;
use std::io::{self, ErrorKind};

#[test]
fn a_trajectory_has_what_is_no_event_too_and_no_secret() {
    let fixture = Fixture::new();
    let secret = "hunter2-hunter2";
    let key = fixture.store.key().unwrap();
    let mark = mask::mark(&key, "API_KEY", secret.as_bytes()).unwrap();
    let turn = Told {
        kind: "model.turn".to_owned(),
        message: None,
        data: json!({"turn": 1, "message": {"text": format!("use {secret}")}}),
    };
    let run = fixture
        .run(1)
        .spec(|spec| spec.secrets = vec![mark])
        .claimed()
        .started()
        .bytes(b"not json\n")
        .fact(&Fact::Told(turn))
        .ended(Status::Completed)
        .bytes(b"{\"v\":1")
        .make();
    let mut kinds = Vec::new();
    let mut text = String::new();
    let taken = fixture.store.trajectory(&run.id, |line| {
        kinds.push(line.kind.clone());
        text.push_str(&line.data.to_string());
        Ok(())
    });
    taken.unwrap().unwrap();
    assert_eq!(kinds, ["claimed", "started", "model.turn", "completed"]);
    assert!(!text.contains(secret) && text.contains("use "), "{text}");
}

#[test]
fn who_takes_the_lines_can_end_it() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    let mut count = 0;
    let taken = fixture.store.trajectory(&run.id, |_| {
        count += 1;
        Err(io::Error::from(ErrorKind::BrokenPipe))
    });
    assert!(taken.unwrap().is_err());
    assert_eq!(count, 1);
}
