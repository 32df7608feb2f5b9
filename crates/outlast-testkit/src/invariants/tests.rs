//! The checker finds each kind of broken promise in a store made by hand.

use super::*;
use crate::Home;

const ID: &str = "0123456789abcdef";
const CLAIMED: &str = r#"{"v":1,"ts":"2025-01-01T00:00:00.000Z","type":"claimed","data":{}}"#;
const STARTED: &str = r#"{"v":1,"seq":0,"type":"started","data":{}}"#;
const END: &str = r#"{"v":1,"seq":1,"type":"completed","data":{"status":"completed"}}"#;

struct Made(Home);

impl Made {
    fn new(journal: &str) -> Self {
        let made = Self(Home::new());
        let spec = format!(r#"{{"v":1,"id":"{ID}","created":"2025-01-01T00:00:00.000Z"}}"#);
        made.put("births", &format!("{ID}\n"));
        made.put(&format!("runs/2025-01/{ID}/spec.json"), &spec);
        made.put(&format!("runs/2025-01/{ID}/journal.jsonl"), journal);
        made.put(&format!("runs/2025-01/{ID}/lock"), "");
        made
    }

    fn put(&self, name: &str, text: &str) {
        use std::{io::Write, os::unix::fs::DirBuilderExt, os::unix::fs::OpenOptionsExt};
        let path = self.0.store().join(name);
        let mut folders = fs::DirBuilder::new();
        folders.recursive(true).mode(0o700);
        folders.create(path.parent().unwrap()).unwrap();
        let mut file = fs::OpenOptions::new();
        file.write(true).create(true).truncate(true).mode(0o600);
        file.open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn violations(&self) -> Vec<String> {
        violations(&self.0.store())
    }
}

fn lines(lines: &[&str]) -> String {
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

#[test]
fn an_ended_run_that_is_listed_is_sound() {
    let made = Made::new(&lines(&[CLAIMED, STARTED, END]));
    assert_eq!(made.violations(), [""; 0]);
}

#[test]
fn what_breaks_a_journal_is_said() {
    for (journal, said) in [
        (
            lines(&[CLAIMED, STARTED]),
            "it has no end and no supervisor",
        ),
        (lines(&[STARTED, END, END]), "2 ends"),
        (lines(&[CLAIMED, END]), "event 1 stands where 0 should"),
        (
            lines(&[STARTED, END, CLAIMED]),
            "something stands after the end",
        ),
        (lines(&[STARTED, "{\"v\"", END]), "1 lines cannot be read"),
        (
            lines(&[STARTED, END]).trim_end().to_owned(),
            "the end is cut off",
        ),
    ] {
        let found = Made::new(&journal).violations();
        assert!(
            found.iter().any(|one| one.ends_with(said)),
            "{said}: {found:?}"
        );
    }
}

#[test]
fn half_a_line_before_an_interrupted_end_is_sound() {
    let end = END
        .replace("\"completed\"}", "\"interrupted\"}")
        .replace(":1,\"type", ":0,\"type");
    let made = Made::new(&lines(&[CLAIMED, "{\"v\":1,\"se", &end]));
    assert_eq!(made.violations(), [""; 0]);
}

#[test]
fn a_birth_that_is_not_listed_is_said() {
    let made = Made::new(&lines(&[STARTED, END]));
    made.put("births", "");
    let found = made.violations();
    assert!(
        found[0].ends_with("is not listed among the births"),
        "{found:?}"
    );
}

#[test]
fn a_run_whose_key_leads_elsewhere_is_said() {
    let made = Made::new(&lines(&[STARTED, END]));
    let spec = format!(r#"{{"id":"{ID}","created":"2025-01","key":"k"}}"#);
    made.put(&format!("runs/2025-01/{ID}/spec.json"), &spec);
    let found = made.violations();
    assert!(
        found[0].ends_with("its key does not lead to it"),
        "{found:?}"
    );
}

#[test]
fn a_file_that_others_can_read_is_said() {
    let made = Made::new(&lines(&[STARTED, END]));
    let lock = made.0.store().join(format!("runs/2025-01/{ID}/lock"));
    fs::set_permissions(lock, fs::Permissions::from_mode(0o644)).unwrap();
    let found = made.violations();
    assert!(found[0].ends_with("is open to others"), "{found:?}");
}

#[test]
fn debris_is_found() {
    let made = Made::new(&lines(&[STARTED, END]));
    made.put("queue/store/7", "");
    made.put("runs/2025-01/.fedcba9876543210/lock", "");
    made.put("key.1.tmp", "");
    made.put("keys/.lock", "");
    let link = made.0.store().join("keys/k");
    std::os::unix::fs::symlink("fedcba9876543210", link).unwrap();
    assert_eq!(debris(&made.0.store()).len(), 4);
}
