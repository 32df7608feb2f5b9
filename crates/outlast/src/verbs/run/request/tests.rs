//! Words become the request that they mean, or a refusal that says how to mend them.

use super::*;
use crate::cli::{Cli, Verb};
use clap::Parser;
use std::os::unix::ffi::OsStringExt;

fn arguments(words: &[&str]) -> RunArguments {
    let words = ["outlast", "run"].iter().chain(words);
    let Verb::Run(arguments) = Cli::try_parse_from(words).expect("arguments").verb else {
        panic!("another verb");
    };
    *arguments
}

fn refused(words: &[&str]) -> String {
    let arguments = arguments(words);
    request(arguments).expect_err("a refusal").to_string()
}

#[test]
fn the_words_of_a_command_are_taken_as_they_are() {
    let request = request(arguments(&["--label", "l", "echo", "a b", "$HOME"])).expect("a request");
    let words = ["echo", "a b", "$HOME"].map(str::to_owned).to_vec();
    assert_eq!(request.command, CommandLine::Direct(words));
    assert_eq!(request.label.as_deref(), Some("l"));
    assert_eq!(request.origin.host.as_deref(), Some("cli"));
    assert!(request.cwd.is_absolute() && !request.is_queued && !request.is_for_tool);
}

#[test]
fn a_shell_text_is_one_word() {
    let request = request(arguments(&["-c", "--pipefail", "a | b"])).expect("a request");
    let expected = CommandLine::Shell {
        text: "a | b".to_owned(),
        login: false,
        pipefail: true,
    };
    assert_eq!(request.command, expected);
    insta::assert_snapshot!(refused(&["-c", "make", "--wait"]), @"
    error: `-c` takes one text and there are 2
    hint: put the text into quotes, and options before it
    code: usage
    ");
}

#[test]
fn containment_that_cannot_be_bound_is_refused_and_never_left_out() {
    insta::assert_snapshot!(refused(&["--network", "none", "true"]), @"
    error: `--network` bounds nothing on the host, where nothing contains the run
    hint: add --sandbox edit or --sandbox read, or leave --network away
    code: containment_unavailable
    ");
    for words in [
        ["--network", "allow:a.example"],
        ["--git", "read"],
        ["--memory", "1GiB"],
        ["--pids", "10"],
        ["--cpu", "1.5"],
        ["--image", ""],
    ] {
        let told = refused(&[words[0], words[1], "true"]);
        assert!(told.contains("code: containment_unavailable"), "{told}");
    }
    let host = arguments(&["--sandbox", "host", "--network", "full", "true"]);
    assert_eq!(containment(&host), Ok(None));
}

#[test]
fn a_sandbox_has_no_network_unless_one_is_asked_for() {
    let asked = |words: &[&str]| {
        let words = [words, &["true"]].concat();
        containment(&arguments(&words)).expect("it can be bound")
    };
    assert_eq!(
        asked(&["--sandbox", "edit"]),
        Some(Containment::new(Tier::SandboxEdit))
    );
    let read = asked(&["--sandbox", "read", "--network", "full", "--git", "read"]);
    assert_eq!(
        read,
        Some(Containment {
            network: Network::Full,
            git: outlast_journal::Git::Read,
            ..Containment::new(Tier::ReadOnly)
        })
    );
    let words = [
        "--sandbox",
        "edit",
        "--memory",
        "64MiB",
        "--pids",
        "9",
        "--cpu",
        "1.5",
    ];
    let bounded = asked(&words).expect("it is contained");
    assert_eq!(
        (
            bounded.memory_bytes_max,
            bounded.pids_max,
            bounded.cpu_milli_max
        ),
        (Some(64 << 20), Some(9), Some(1_500))
    );
}

#[test]
fn an_image_means_an_editing_sandbox_unless_less_is_asked_for() {
    let edit = containment(&arguments(&["--image", "alpine", "true"]));
    let edit = edit.expect("it can be bound").expect("it is contained");
    assert_eq!(
        (edit.tier, edit.image.as_deref(), edit.network),
        (Tier::SandboxEdit, Some("alpine"), Network::None)
    );
    let read = containment(&arguments(&["--image", "a", "--sandbox", "read", "true"]));
    let read = read.expect("it can be bound").expect("it is contained");
    assert_eq!(read.tier, Tier::ReadOnly);
    for words in [["--sandbox", "host"], ["--network", "allow:a.example"]] {
        let told = refused(&["--image", "a", words[0], words[1], "true"]);
        assert!(told.contains("code: containment_unavailable"), "{told}");
    }
}

#[test]
fn a_run_that_ends_with_a_session_needs_to_know_whose() {
    insta::assert_snapshot!(refused(&["--lifetime", "session", "true"]), @"
    error: nothing says whose end ends the run
    hint: add --wait to hold it by this command, or --session-pid PID
    code: no_holder
    ");
    insta::assert_snapshot!(refused(&["--session-pid", "1", "true"]), @"
    error: `--session-pid` says nothing about a detached run
    hint: add --lifetime session, or leave --session-pid away
    code: usage
    ");
    let none = i32::MAX.to_string();
    let told = refused(&["--lifetime", "session", "--session-pid", &none, "true"]);
    assert!(told.contains("code: no_such_process"), "{told}");

    let held = request(arguments(&["--lifetime", "session", "--wait", "true"])).expect("a request");
    assert_eq!(held.holder, Some(process::own()));
    let named = request(arguments(&[
        "--lifetime",
        "session",
        "--session-pid",
        "1",
        "true",
    ]));
    assert_eq!(named.expect("a request").holder, process::current(1));
}

#[test]
fn a_secret_is_read_from_the_environment_and_its_value_is_not_repeated() {
    let told = refused(&["--secret-env", "NO_SUCH_VARIABLE", "true"]);
    assert!(told.contains("no variable `NO_SUCH_VARIABLE`"), "{told}");
    let told = refused(&["--secret-env", "TOKEN=hunter2hunter2", "true"]);
    assert!(
        told.contains("`TOKEN`") && !told.contains("hunter2"),
        "{told}"
    );
    let set =
        request(arguments(&["--env", "A=b", "--secret-env", "A", "true"])).expect("a request");
    assert_eq!(set.secret_env, ["A"]);
    assert_eq!(set.env_set, [("A".to_owned(), "b".to_owned())]);
}

#[test]
fn an_argument_that_is_no_text_is_named() {
    let odd = OsString::from_vec(b"caf\xe9".to_vec());
    let shell = Shell {
        login: false,
        pipefail: false,
    };
    let failure = command(&["echo".into(), odd], false, shell).expect_err("a refusal");
    insta::assert_snapshot!(failure.to_string(), @r"
    error: the argument is not UTF-8: `caf�`
    hint: run it through a shell text that spells the bytes, such as `$'\xff'`
    code: not_utf8
    ");
    assert_eq!(failure.exit(), exit::USAGE);
}

#[test]
fn a_relative_directory_is_one_below_this() {
    let here = work_dir().expect("a directory");
    let below = request(arguments(&["--cwd", "sub", "true"])).expect("a request");
    assert_eq!(below.cwd, here.join("sub"));
}
