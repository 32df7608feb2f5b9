//! A run lives, ends, and is told as it was.
//!
//! Cases LS-03 and OC-10.

use crate::home::Place;
use libtest_mimic::Trial;
use outlast_lib::{CommandLine, Limits, Request, StartError, Status, Store};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_run_tells_its_exit_code_and_its_output,
        the_exit_code_of_a_shell_text_is_the_shell_s,
        a_command_cannot_truncate_its_own_log,
        what_cannot_be_executed_is_an_answer_and_a_failed_record,
        a_host_that_ignores_its_children_may_start_runs,
    );
}

fn a_run_tells_its_exit_code_and_its_output() {
    let place = Place::new();
    let record = place.ended(&place.start("echo hi; exit 7"));
    assert_eq!((record.status, record.exit_code), (Status::Failed, Some(7)));
    assert_eq!((record.output.bytes, record.output.kept), (3, 3));
    assert_eq!(record.summary.as_deref(), Some("hi"));
    assert_eq!(place.output(&record.id), "hi\n");
    place.is_sound();
}

/// LS-03.
fn the_exit_code_of_a_shell_text_is_the_shell_s() {
    let place = Place::new();
    for (text, pipefail, code, rule) in [
        ("exit 1", false, 1, "shell"),
        ("exit 7", false, 7, "shell"),
        ("false | tail -1", false, 0, "last_of_pipe"),
        ("false | tail -1", true, 1, "pipefail"),
        ("false; echo EXIT=$?", false, 0, "shell"),
    ] {
        let command = CommandLine::Shell {
            text: text.to_owned(),
            login: false,
            pipefail,
        };
        let request = Request {
            command,
            ..place.shell("")
        };
        let record = place.ended(&place.begin(&request));
        let status = if code == 0 {
            Status::Completed
        } else {
            Status::Failed
        };
        assert_eq!(
            (record.status, record.exit_code),
            (status, Some(code)),
            "{text}"
        );
        assert_eq!(record.exit_rule.as_deref(), Some(rule), "{text}");
    }
}

/// OC-10.
fn a_command_cannot_truncate_its_own_log() {
    let place = Place::new();
    let text = "echo first-line-kept; echo second > /dev/stdout; echo third > /dev/stderr";
    let record = place.ended(&place.start(text));
    assert_eq!(
        (record.status, record.output.bytes),
        (Status::Completed, 29)
    );
    assert_eq!(place.output(&record.id), "first-line-kept\nsecond\nthird\n");
}

fn what_cannot_be_executed_is_an_answer_and_a_failed_record() {
    let place = Place::new();
    place.touch("plain");
    let home = place.home.path().to_owned();
    let plain = home.join("plain").to_string_lossy().into_owned();
    let gone = |request: Request| Request {
        cwd: home.join("gone"),
        ..request
    };
    for (request, code) in [
        (
            place.direct(&["no-such-program-anywhere"]),
            "no_such_program",
        ),
        (place.direct(&["/nonexistent/program"]), "no_such_program"),
        (place.direct(&[&plain]), "not_executable"),
        (place.direct(&["/tmp"]), "not_executable"),
        (gone(place.direct(&["true"])), "work_dir"),
    ] {
        let before = place.list().len();
        let error = place.store.start(&request).expect_err(code);
        assert_eq!(outlast_lib::Advice::code(&error), code, "{error}");
        let StartError::CouldNotStart { id, .. } = error else {
            unreachable!("{error}");
        };
        let record = place.record(&id);
        assert_eq!(record.status, Status::Failed);
        assert_eq!(
            record.failure.map(|failure| failure.code).as_deref(),
            Some(code)
        );
        assert_eq!((record.started, record.exit_code), (None, None));
        assert_eq!(place.list().len(), before + 1);
    }
    place.is_deserted();
    place.is_sound();
}

/// The launch waits for a child that such a host has had reaped already.
fn a_host_that_ignores_its_children_may_start_runs() {
    let place = Place::new();
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "trap '' CHLD; exec \"$@\"", "-"])
        .arg(crate::home::program().get_program())
        .arg("__start")
        .arg(place.store.root())
        .arg("exit 3")
        .current_dir(place.home.path());
    let said = crate::home::Said::from(outlast_testkit::capture(command));
    let store = Store::open(place.store.root(), Limits::default()).expect("it opens");
    let id = said.id().expect("it starts");
    assert_eq!(store.spec(&id).expect("it can be read").label, "exit 3");
    assert_eq!(place.ended(&id).exit_code, Some(3));
}
