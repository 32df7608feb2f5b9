//! What is shown of the output of a call.

use crate::tools::Plan;
use crate::tools::testing::{Bench, numbered, run_dir};
use outlast_journal::limits::{CALL_MS, CALL_SHOWN_BYTES};
use outlast_journal::names;
use outlast_journal::worker::{CallEnd, CallEnded, CallProgram};
use serde_json::{Value, json};

fn command(text: &str) -> Value {
    json!({"command": text})
}

#[test]
fn a_call_shows_its_code_and_its_output() {
    let mut bench = Bench::new();
    let outcome = bench.call("shell", &command("echo out; echo err >&2; printf end"));
    assert_eq!(outcome.shown, "[exit code 0, 1.2 s]\nout\nerr\nend\n");
    assert_eq!(
        outcome.brief,
        "shell echo out; echo err >&2; printf end: exit code 0"
    );
    assert!(outcome.ok);
    let outcome = bench.call("shell", &command("exit 3"));
    assert_eq!(outcome.shown, "[exit code 3, 1.2 s]\n[no output]\n");
    assert_eq!((outcome.ok, outcome.exit_code), (false, Some(3)));
}

#[test]
fn the_time_limit_is_the_usual_one_unless_another_is_asked_for() {
    let mut bench = Bench::new();
    for (arguments, expected) in [
        (command("true"), CALL_MS),
        (json!({"command": "true", "timeout_secs": 7}), 7_000),
    ] {
        let Plan::Hands {
            program,
            stdin,
            timeout_ms,
        } = bench.tools.plan("shell", &arguments)
        else {
            panic!("no call of hands");
        };
        assert_eq!(program, CallProgram::Shell("true".to_owned()));
        assert_eq!((stdin, timeout_ms), (None, expected));
    }
    let shown = bench.refused("shell", &json!({"command": "true", "timeout_secs": 0}));
    assert!(
        shown.contains("`timeout_secs` is 0, and the least is 1"),
        "{shown}"
    );
}

#[test]
fn of_a_long_output_head_and_tail_are_shown_and_the_rest_can_be_read() {
    let mut bench = Bench::new();
    let shown = bench.shown("shell", &command("seq 1 20000"));
    assert!(shown.len() < CALL_SHOWN_BYTES + 400, "{}", shown.len());
    assert!(shown.contains("]\n1\n2\n3\n"));
    assert!(shown.ends_with("\n19999\n20000\n"));
    let (_, rest) = shown.split_once("read on with call_output ").unwrap();
    let (arguments, _) = rest.split_once(']').unwrap();
    let mut arguments: Value = serde_json::from_str(arguments).unwrap();
    let (head, _) = shown.split_once("[bytes ").unwrap();
    let mut text = head.split_once('\n').unwrap().1.to_owned();
    loop {
        let shown = bench.shown("call_output", &arguments);
        let (part, note) = shown.rsplit_once("[bytes ").unwrap();
        text.push_str(part);
        let Some((_, next)) = note.split_once("read on with from_byte ") else {
            break;
        };
        let next: u64 = next.trim_end_matches("]\n").parse().unwrap();
        arguments["from_byte"] = json!(next);
    }
    let whole: String = numbered(20_000, "");
    let plain = |text: &str| text.replace('\n', "");
    assert_eq!(plain(&text), plain(&whole));
}

#[test]
fn an_output_is_searched() {
    let mut bench = Bench::new();
    bench.shown("shell", &command("seq 1 20000"));
    let shown = bench.shown("call_output", &json!({"call": "1.1", "grep": "^1234.$"}));
    assert!(shown.starts_with("12340\n12341\n"), "{shown}");
    let shown = bench.shown("call_output", &json!({"call": "1.1", "grep": "none"}));
    assert!(shown.starts_with("[no line matches]\n"), "{shown}");
    for call in ["2.1", "../../spec", "a/b"] {
        let shown = bench.refused("call_output", &json!({"call": call}));
        assert!(shown.contains("code: no_such_call"), "{shown}");
    }
    let shown = bench.refused("call_output", &json!({"call": "1.1", "grep": "("}));
    assert!(shown.contains("code: bad_pattern"), "{shown}");
}

#[test]
fn escapes_and_redraws_are_shown_as_they_came_to() {
    let mut bench = Bench::new();
    let shown = bench.shown(
        "shell",
        &command("printf '10%%\\r50%%\\r100%%\\n'; printf '\\033[31mred\\033[0m\\n\\a\\377\\n'"),
    );
    assert_eq!(shown, "[exit code 0, 1.2 s]\n100%\nred\n\u{fffd}\n");
    let shown = bench.shown(
        "shell",
        &command("for n in $(seq 1 9999); do printf \"$n\\r\"; done; echo done"),
    );
    assert_eq!(shown, "[exit code 0, 1.2 s]\ndone\n");
}

#[test]
fn no_character_is_cut_in_the_middle() {
    let mut bench = Bench::new();
    for offset in 0..4 {
        let text = format!("printf %{offset}s; head -c 90000 /dev/zero | sed 's/\\x0/ä/g'");
        let shown = bench.shown("shell", &command(&text));
        assert!(!shown.contains('\u{fffd}'), "{offset}");
        assert!(shown.len() < CALL_SHOWN_BYTES + 400);
    }
}

#[test]
fn the_same_end_and_log_make_the_same_bytes() {
    let mut bench = Bench::new();
    let program = CallProgram::Shell("seq 1 20000; exit 1".to_owned());
    let (ended, log) = bench.hands("4.2", &program, None);
    let arguments = command("seq 1 20000; exit 1");
    let first = bench.tools.finish("shell", &arguments, &ended, &log);
    let mut later = crate::tools::Toolbox::new(bench.around.clone());
    assert_eq!(later.finish("shell", &arguments, &ended, &log), first);
}

#[test]
fn every_end_has_its_words() {
    let mut bench = Bench::new();
    let log = run_dir(&bench.home.store(), &bench.around.run).join(names::CALLS);
    let mut ended = CallEnded {
        call: "1.1".to_owned(),
        end: CallEnd::TimedOut,
        exit_code: None,
        signal: None,
        is_out_of_memory: false,
        output_bytes: 0,
        elapsed_ms: 7_000,
        failure: None,
    };
    let mut shown = |ended: &CallEnded| {
        let outcome = bench
            .tools
            .finish("shell", &command("x"), ended, &log.join("no.log"));
        assert!(!outcome.ok);
        outcome.shown
    };
    assert_eq!(
        shown(&ended),
        "[timed out after 7 s and was stopped, 7.0 s]\n[no output]\n"
    );
    ended.end = CallEnd::Exited;
    ended.signal = Some("KILL".to_owned());
    assert_eq!(shown(&ended), "[killed by SIGKILL, 7.0 s]\n[no output]\n");
    ended.end = CallEnd::NotStarted;
    assert!(shown(&ended).starts_with("[not started: nobody knows why"));
    ended.end = CallEnd::Cancelled;
    assert!(shown(&ended).starts_with("[stopped, since the run is being cancelled"));
}
