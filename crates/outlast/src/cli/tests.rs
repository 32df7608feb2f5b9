//! Options belong to us, and what follows the command belongs to it.

use super::*;
use clap::CommandFactory;

fn run(words: &[&str]) -> Result<RunArguments, clap::Error> {
    let all = ["outlast", "run"].iter().chain(words).map(OsString::from);
    let Verb::Run(arguments) = Cli::try_parse_from(all)?.verb else {
        panic!("another verb");
    };
    Ok(*arguments)
}

fn kind(words: &[&str]) -> clap::error::ErrorKind {
    run(words).expect_err("a refusal").kind()
}

#[test]
fn the_command_line_is_consistent_in_itself() {
    Cli::command().debug_assert();
}

#[test]
fn a_run_is_read_alone_as_it_is_among_all_verbs() {
    for words in [
        "run true",
        "run -- cargo test -- --nocapture",
        "run --label a --timeout 5m --env A=b --secret-env C -- make -j8 --label b",
        "run --wait --json -c true",
        "run --queue --session s --leftovers stop --stdin pipe -- cat -",
        "run",
        "run --help",
        "run --version",
        "run --no-such -- true",
        "run --timeout abc -- true",
        "run --login -- true",
        "ps",
        "--version",
        "",
    ] {
        let words = ["outlast"].into_iter().chain(words.split_whitespace());
        let words: Vec<OsString> = words.map(OsString::from).collect();
        let told = |read: Result<Cli, clap::Error>| match read {
            Ok(cli) => format!("{cli:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(told(Cli::read(&words)), told(Cli::try_parse_from(&words)));
    }
}

#[test]
fn every_verb_has_examples_or_nothing_to_show() {
    let plain = ["reindex", "doctor", "config"];
    for verb in Cli::command().get_subcommands() {
        let is_shown = verb
            .get_after_help()
            .is_some_and(|help| help.to_string().contains("Examples:"));
        assert_eq!(
            is_shown,
            !plain.contains(&verb.get_name()),
            "{}",
            verb.get_name()
        );
    }
}

#[test]
fn what_follows_the_program_belongs_to_it() {
    let expected = ["cargo", "test", "--wait", "--", "-c"].map(OsString::from);
    for words in [
        &["cargo", "test", "--wait", "--", "-c"][..],
        &["--", "cargo", "test", "--wait", "--", "-c"][..],
    ] {
        let arguments = run(words).expect("arguments");
        assert_eq!(arguments.words, expected);
        assert!(!arguments.wait && !arguments.is_shell);
    }
}

#[test]
fn options_stand_before_the_command() {
    let arguments =
        run(&["-c", "--wait", "--timeout", "1.5m", "make | tee log"]).expect("arguments");
    assert!(arguments.is_shell && arguments.wait);
    assert_eq!(arguments.timeout_ms, Some(90_000));
    assert_eq!(arguments.words, ["make | tee log"]);
    let stdin = run(&["-c", "-"]).expect("arguments");
    assert_eq!(stdin.words, ["-"]);
}

#[test]
fn a_queue_is_absent_bare_or_with_a_time() {
    let queue = |words: &[&str]| run(words).expect("arguments").queue_ms;
    assert_eq!(queue(&["true"]), None);
    assert_eq!(queue(&["--queue", "true"]), Some(None));
    assert_eq!(queue(&["--queue=5m", "true"]), Some(Some(300_000)));
}

#[test]
fn a_time_that_is_none_is_a_usage_error() {
    use clap::error::ErrorKind::ValueValidation;
    for option in ["--timeout", "--grace", "--idle-ttl"] {
        for value in ["-1", "abc", "", "-5m", "--json"] {
            assert_eq!(
                kind(&[option, value, "true"]),
                ValueValidation,
                "{option} {value}"
            );
        }
    }
    assert_eq!(kind(&["--queue=-1", "true"]), ValueValidation);
    assert_eq!(kind(&["--max-output", "-1", "true"]), ValueValidation);
    assert_eq!(kind(&["--deadline", "soon", "true"]), ValueValidation);
    assert_eq!(kind(&["--env", "A", "true"]), ValueValidation);
}

#[test]
fn a_run_needs_a_command_and_known_options() {
    use clap::error::ErrorKind;
    assert_eq!(kind(&[]), ErrorKind::MissingRequiredArgument);
    assert_eq!(kind(&["-c"]), ErrorKind::MissingRequiredArgument);
    assert_eq!(kind(&["--lable", "x", "true"]), ErrorKind::UnknownArgument);
    assert_eq!(
        kind(&["--login", "true"]),
        ErrorKind::MissingRequiredArgument
    );
    assert_eq!(
        kind(&["--sandbox", "loose", "true"]),
        ErrorKind::InvalidValue
    );
}

#[test]
fn a_program_is_taken_as_it_is_typed_even_if_it_is_no_text() {
    use std::os::unix::ffi::OsStringExt;
    let odd = OsString::from_vec(vec![b'a', 0xff]);
    let all = ["outlast", "run", "--"].map(OsString::from);
    let cli = Cli::try_parse_from(all.into_iter().chain([odd.clone()])).expect("arguments");
    let Verb::Run(arguments) = cli.verb else {
        panic!("another verb");
    };
    assert_eq!(arguments.words, [odd]);
}
