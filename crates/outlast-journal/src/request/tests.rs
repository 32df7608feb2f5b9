//! A request is refused by name, or made right and what was changed is said.

use super::{Checked, CommandLine, Request, RequestError};
use crate::{Limits, Timestamp, error::Advice, limits};

const NOW: Timestamp = Timestamp(1_796_055_327_123);
const YEAR_MS: u64 = 365 * 24 * 3_600 * 1_000;

fn direct(words: &[&str]) -> Request {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    Request::new(CommandLine::Direct(words), "/work")
}

fn shell(text: &str) -> Request {
    let command = CommandLine::Shell {
        text: text.to_owned(),
        login: false,
        pipefail: false,
    };
    Request::new(command, "/work")
}

fn check(request: &Request) -> Result<Checked, RequestError> {
    request.check(&Limits::default(), NOW)
}

/// Returns the plain request `true`, changed by `change`.
fn with(change: impl FnOnce(&mut Request)) -> Request {
    let mut request = direct(&["true"]);
    change(&mut request);
    request
}

#[track_caller]
fn assert_refused(request: &Request, fact: &str, code: &str, hint: &str) {
    let error = check(request).unwrap_err();
    assert_eq!(error.to_string(), fact);
    assert_eq!(error.code(), code);
    assert_eq!(error.hint(), hint);
}

#[test]
fn a_plain_request_gets_every_default() {
    let expected = Checked {
        turns_max: 50,
        command: "cargo test 'a b'".to_owned(),
        label: "cargo test 'a b'".to_owned(),
        stop_signal: None,
        timeout_ms: None,
        idle_ttl_ms: None,
        queue_ms: None,
        grace_ms: 5_000,
        output_bytes_max: 64 << 20,
        notices: Vec::new(),
    };
    assert_eq!(check(&direct(&["cargo", "test", "a b"])), Ok(expected));
}

#[test]
fn a_shell_text_stays_as_it_was_typed() {
    let text = "  make -j8 |\n tail -1 \n";
    let checked = check(&shell(text)).unwrap();
    assert_eq!(checked.command, text);
    assert_eq!(checked.label, "make -j8 |");
}

#[test]
fn an_empty_command_is_refused() {
    for request in [
        direct(&[]),
        direct(&[""]),
        direct(&["", "x"]),
        shell(""),
        shell(" \t\r\n"),
    ] {
        assert_refused(
            &request,
            "the command is empty",
            "empty_command",
            "give a program and its arguments, or a shell text",
        );
    }
    assert!(check(&direct(&["echo", ""])).is_ok());
}

#[test]
fn a_nul_byte_is_refused_wherever_the_kernel_would_cut_it() {
    let cases: [(Request, &str); 8] = [
        (direct(&["a\0b"]), "argument"),
        (direct(&["echo", "x", "\0"]), "argument"),
        (shell("echo \0"), "command"),
        (
            with(|request| request.env_set.push(("A".to_owned(), "x\0y".to_owned()))),
            "environment value",
        ),
        (
            with(|request| request.stop_command = Some("\0".to_owned())),
            "stop command",
        ),
        (
            with(|request| request.session = Some("s\0".to_owned())),
            "session",
        ),
        (
            with(|request| request.idempotency_key = Some("k\0".to_owned())),
            "idempotency key",
        ),
        (
            with(|request| request.session = Some("\0".to_owned())),
            "session",
        ),
    ];
    for (request, what) in cases {
        assert_refused(
            &request,
            &format!("the {what} holds a NUL byte"),
            "nul_byte",
            "remove the NUL byte",
        );
    }
}

#[test]
fn an_argument_is_refused_exactly_when_the_kernel_would() {
    let longest = "x".repeat(131_071);
    assert!(check(&direct(&["echo", &longest])).is_ok());
    assert!(check(&direct(&[&longest])).is_ok());
    assert_refused(
        &direct(&["echo", &"x".repeat(131_072)]),
        "the argument has 131072 bytes and the limit is 131071",
        "too_long",
        "pass the text in a file, or on stdin of a shell text",
    );
    // Bytes count, not characters.
    assert!(check(&direct(&["echo", &"ä".repeat(65_536)])).is_err());
}

#[test]
fn a_shell_text_of_4_mib_is_the_longest() {
    let mut text = "x".repeat(4 << 20);
    let checked = check(&shell(&text)).unwrap();
    assert_eq!(checked.command.len(), 4 << 20);
    assert_eq!(checked.label.chars().count(), 60);
    text.push('x');
    assert_refused(
        &shell(&text),
        "the command has 4194305 bytes and the limit is 4194304",
        "too_long",
        "write the text into a script and run that",
    );
}

#[test]
fn a_stop_command_must_fit_an_argument() {
    let stop = |bytes| with(|request| request.stop_command = Some("x".repeat(bytes)));
    assert!(check(&stop(131_071)).is_ok());
    assert_refused(
        &stop(131_072),
        "the stop command has 131072 bytes and the limit is 131071",
        "too_long",
        "shorten the stop command",
    );
}

#[test]
fn names_must_fit_a_file_name_and_a_row() {
    type Set = fn(&mut Request, String);
    let names: [(&str, Set); 2] = [
        ("session", |request, name| request.session = Some(name)),
        ("idempotency key", |request, name| {
            request.idempotency_key = Some(name);
        }),
    ];
    for (what, set) in names {
        let named = |name: &str| with(|request| set(request, name.to_owned()));
        assert!(check(&named(&"n".repeat(512))).is_ok());
        assert_refused(
            &named(&"n".repeat(513)),
            &format!("the {what} has 513 bytes and the limit is 512"),
            "too_long",
            &format!("shorten the {what}"),
        );
        for blank in ["", "  ", "\t\n"] {
            assert_refused(
                &named(blank),
                &format!("the {what} is blank"),
                "blank",
                &format!("leave the {what} away, or give it a name"),
            );
        }
    }
}

#[test]
fn a_variable_must_have_a_name_that_can_be_told_from_its_value() {
    for name in ["", "A=B", "=", "A\0"] {
        assert_refused(
            &with(|request| request.env_set.push((name.to_owned(), "x".to_owned()))),
            &format!("`{name}` cannot be the name of an environment variable"),
            "environment_name",
            "write NAME=VALUE, the name without `=`",
        );
    }
    let odd = with(|request| request.env_set.push(("a b.c".to_owned(), "=".to_owned())));
    assert!(check(&odd).is_ok());
}

#[test]
fn a_variable_is_refused_exactly_when_the_kernel_would() {
    let set = |bytes| with(|request| request.env_set.push(("NAME".to_owned(), "x".repeat(bytes))));
    assert!(check(&set(131_066)).is_ok());
    assert_refused(
        &set(131_067),
        "the environment value has 131067 bytes and the limit is 131066",
        "too_long",
        "shorten the environment value",
    );
}

#[test]
fn an_inherited_variable_cannot_hide_another_behind_a_nul() {
    for (name, value) in [("A", "x\0LD_PRELOAD=y"), ("A\0B", "")] {
        let request = with(|request| request.environment.push((name.into(), value.into())));
        assert_refused(
            &request,
            "the environment holds a NUL byte",
            "nul_byte",
            "remove the NUL byte",
        );
    }
}

#[test]
fn an_environment_that_no_exec_takes_is_refused() {
    // Each entry counts its `=` and its NUL.
    let entries = |count: usize, value: usize| {
        with(|request| {
            request.environment = vec![("A".into(), "x".repeat(value).into()); count];
        })
    };
    assert!(check(&entries(32, (64 << 10) - 3)).is_ok());
    assert_refused(
        &entries(32, (64 << 10) - 2),
        "the environment has 2097184 bytes and the limit is 2097152",
        "too_long",
        "shorten the environment",
    );
    let mut both = entries(32, (64 << 10) - 3);
    both.env_set.push((String::from("B"), String::new()));
    let error = check(&both).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the environment has 2097155 bytes and the limit is 2097152"
    );
}

#[test]
fn a_signal_is_known_by_name_or_number_and_kept_by_name() {
    for (given, kept) in [
        ("INT", "INT"),
        ("SIGINT", "INT"),
        ("sigusr1", "USR1"),
        ("2", "INT"),
        ("40", "40"),
    ] {
        let request = with(|request| request.stop_signal = Some(given.to_owned()));
        let checked = check(&request).unwrap();
        assert_eq!(checked.stop_signal.as_deref(), Some(kept), "{given}");
    }
    for given in ["", "SIG", "TERMINATE", "0", "65", "-9"] {
        assert_refused(
            &with(|request| request.stop_signal = Some(given.to_owned())),
            &format!("there is no signal `{given}`"),
            "unknown_signal",
            "use a name such as INT, TERM or USR1",
        );
    }
}

#[test]
fn a_deadline_must_be_still_to_come() {
    let at = |deadline| with(|request| request.deadline = Some(deadline));
    for passed in [NOW, Timestamp(NOW.0 - 1), Timestamp(0)] {
        assert_refused(
            &at(passed),
            &format!("the deadline {passed} has passed"),
            "deadline_passed",
            "give a time that is still to come",
        );
    }
    assert!(check(&at(Timestamp(NOW.0 + 1))).is_ok());
}

#[test]
fn what_is_not_utf8_says_what_it_looks_like() {
    let error = RequestError::NotUtf8 {
        what: "argument",
        lossy: "a\u{fffd}".to_owned(),
    };
    assert_eq!(error.to_string(), "the argument is not UTF-8: `a\u{fffd}`");
    assert_eq!(error.code(), "not_utf8");
    assert!(error.hint().contains("$'\\xff'"));
}

#[test]
fn four_hundred_years_are_thirty_days_and_said() {
    let request = with(|request| {
        request.timeout_ms = Some(400 * YEAR_MS);
        request.idle_ttl_ms = Some(limits::TIMEOUT_MS_MAX + 1);
        request.queue_ms = Some(u64::MAX);
        request.grace_ms = Some(3_600_001);
        request.output_bytes_max = Some(1);
    });
    let checked = check(&request).unwrap();
    let days_30 = Some(30 * 24 * 3_600 * 1_000);
    assert_eq!(checked.timeout_ms, days_30);
    assert_eq!(checked.idle_ttl_ms, days_30);
    assert_eq!(checked.queue_ms, days_30);
    assert_eq!(checked.grace_ms, 3_600_000);
    assert_eq!(checked.output_bytes_max, 16_384);
    assert_eq!(
        checked.notices,
        [
            "timeout of 146000 days was set to 30 days",
            "idle-ttl of a little more was set to 30 days",
            "queue of 213503982334 days was set to 30 days",
            "grace of a little more was set to 3600 s",
            "max-output of 1 bytes was set to 16384 bytes",
        ]
    );
}

#[test]
fn what_is_in_range_is_taken_without_a_word() {
    let request = with(|request| {
        request.timeout_ms = Some(limits::TIMEOUT_MS_MAX);
        request.idle_ttl_ms = Some(1);
        request.queue_ms = Some(0);
        request.grace_ms = Some(0);
        request.output_bytes_max = Some(limits::OUTPUT_BYTES_MAX);
    });
    let checked = check(&request).unwrap();
    assert_eq!(checked.timeout_ms, Some(limits::TIMEOUT_MS_MAX));
    assert_eq!(checked.idle_ttl_ms, Some(1));
    assert_eq!(checked.queue_ms, Some(0));
    assert_eq!(checked.grace_ms, 0);
    assert_eq!(checked.output_bytes_max, 1 << 40);
    assert_eq!(checked.notices, Vec::<String>::new());
    let over = with(|request| request.output_bytes_max = Some(u64::MAX));
    let over = check(&over).unwrap();
    assert_eq!(over.output_bytes_max, 1 << 40);
    assert_eq!(over.notices.len(), 1);
}

#[test]
fn a_time_limit_of_zero_is_none() {
    let request = with(|request| {
        request.timeout_ms = Some(0);
        request.idle_ttl_ms = Some(0);
    });
    let checked = check(&request).unwrap();
    assert_eq!(checked.timeout_ms, None);
    assert_eq!(checked.idle_ttl_ms, None);
    assert_eq!(checked.notices, Vec::<String>::new());
}

#[test]
fn the_store_decides_what_the_request_leaves_open() {
    let limits = Limits {
        grace_ms: 250,
        output_bytes_max: 1 << 20,
        ..Limits::default()
    };
    let checked = direct(&["true"]).check(&limits, NOW).unwrap();
    assert_eq!(checked.grace_ms, 250);
    assert_eq!(checked.output_bytes_max, 1 << 20);
}

#[test]
fn a_long_label_is_cut_and_never_an_error() {
    let labelled = |label: &str| {
        let request = with(|request| request.label = Some(label.to_owned()));
        check(&request).unwrap().label
    };
    assert_eq!(
        labelled(&"ü".repeat(10_000)),
        format!("{}…", "ü".repeat(199))
    );
    assert_eq!(labelled(&"l".repeat(200)), "l".repeat(200));
    assert_eq!(labelled("two\nlines"), "two");
    // A blank one is as good as none.
    assert_eq!(labelled(" \n"), "true");
    let made = check(&direct(&["echo", &"x".repeat(100)])).unwrap().label;
    assert_eq!(made, format!("echo {}…", "x".repeat(54)));
}
