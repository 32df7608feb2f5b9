//! Bad input, all of it: an error with fact, next step and stable name, and nothing left.
//!
//! Left may be the `failed` record of a command that could not be executed. No
//! process, no place, no hidden directory, no key. How each error reads to a
//! person is shown in `cli_bad_input`.

use crate::case_ground::{Ground, write};
use outlast_lib::network_name;
use outlast_supervisor::lock;
use outlast_testkit::{Output, capture};
use serde_json::Value;
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, Permissions},
    io::{ErrorKind, Write},
    os::unix::{
        ffi::OsStringExt,
        fs::{PermissionsExt, chown},
    },
    path::Path,
    process::{Command, Stdio},
};

/// Each call stands in a session of its own, whose place must be free again, and has a key.
const OPTIONS: [&str; 5] = ["--json", "--session", "one", "--idempotency-key", "k1"];

/// Returns a call of `run` with these words.
fn call<A: AsRef<OsStr>>(ground: &Ground, words: &[A]) -> Command {
    let mut command = ground.program.command(&["run"]);
    command.args(OPTIONS).args(words);
    command
}

/// Runs a call with this on its stdin.
fn with_stdin(mut command: Command, bytes: Vec<u8>) -> Output {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    // What the program refuses it need not read to the end.
    let writer = std::thread::spawn(move || stdin.write_all(&bytes).ok());
    let output = child.wait_with_output().expect("it is our child");
    writer.join().expect("it does not panic");
    Output {
        code: output.status.code(),
        signal: None,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stdout_bytes: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Asserts that an answer is this error, with all its parts.
#[track_caller]
fn assert_error(output: &Output, exit: i32, code: &str) {
    assert_eq!(output.code, Some(exit), "{output:#?}");
    assert_eq!(output.stderr, "");
    let document: Value = serde_json::from_str(&output.stdout).expect("a document");
    let error = &document["error"];
    assert_eq!(error["code"], code, "{error:#}");
    for part in ["message", "hint"] {
        let text = error[part].as_str().expect("it is text");
        assert!(!text.is_empty() && text.len() < 1_000, "{part}: {text}");
    }
}

/// Asserts that the store holds so many records, all `failed` and told in full, and nothing else.
#[track_caller]
fn assert_left(ground: &Ground, records: usize) {
    ground.assert_no_process();
    let runs = ground.runs();
    assert_eq!(
        (runs.len(), ground.run_dirs().len()),
        (records, records),
        "{runs:#?}"
    );
    for run in &runs {
        assert_eq!(run["status"], "failed", "{run:#}");
        let id = run["id"].as_str().expect("a run has an id");
        assert_eq!(ground.event_types(id), ["failed"]);
    }
    let store = ground.home.store();
    for file in files(&store.join("places")) {
        let open = File::open(&file).expect("it is ours");
        assert!(
            !lock::is_locked(&open).expect("it has locks"),
            "{}",
            file.display()
        );
    }
    assert_eq!(files(&store.join("queue")).len(), 0);
    // The key of a command that was tried is that of its record.
    assert_eq!(files(&store.join("keys")).len(), records);
}

fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Asserts that these words are an error without a record.
#[track_caller]
fn assert_refused<A: AsRef<OsStr>>(words: &[A], exit: i32, code: &str) {
    let ground = Ground::new();
    assert_error(&capture(call(&ground, words)), exit, code);
    assert_left(&ground, 0);
}

/// Asserts that these words are an error with a record of its own.
#[track_caller]
fn assert_failed(ground: &Ground, words: &[&str], exit: i32, code: &str) {
    assert_error(&capture(call(ground, words)), exit, code);
    assert_left(ground, 1);
    let runs = ground.runs();
    assert_eq!(runs[0]["failure"]["code"], code);
    assert_eq!(runs[0]["started"], Value::Null);
    let id = runs[0]["id"].as_str().expect("a run has an id");
    assert_eq!(ground.wait(id), exit);
}

#[test]
fn a_command_that_cannot_be_executed_leaves_its_failed_record_and_nothing_else() {
    for (words, exit, code) in [
        (&["--", "no-such-program"][..], 127, "no_such_program"),
        (&["--", "./no-such-file"], 127, "no_such_program"),
        (&["--", "file/beneath"], 127, "no_such_program"),
        (&["--", "./no-shebang"], 126, "exec_format"),
        (&["--", "./no-interpreter"], 126, "no_interpreter"),
        (&["--", "./file"], 126, "not_executable"),
        (&["--", "./dir"], 126, "not_executable"),
        (&["--cwd", "missing", "--", "true"], 126, "work_dir"),
        (&["--cwd", "file", "--", "true"], 126, "work_dir"),
        (&["--cwd", "missing", "-c", "true"], 126, "work_dir"),
    ] {
        let ground = Ground::new();
        write(&ground.home.work().join("file"), "no permission");
        fs::create_dir(ground.home.work().join("dir")).expect("the home can be filled");
        ground.script("no-shebang", "echo hi\n");
        ground.script("no-interpreter", "#!/no/such/interpreter\n");
        assert_failed(&ground, words, exit, code);
    }
}

#[test]
fn a_command_that_is_none_is_refused() {
    assert_refused::<&str>(&[], 2, "usage");
    assert_refused(&["--"], 2, "usage");
    assert_refused(&["--", ""], 2, "empty_command");
    assert_refused(&["-c", ""], 2, "empty_command");
    assert_refused(&["-c", " \n\t"], 2, "empty_command");
    let ground = Ground::new();
    assert_error(
        &with_stdin(call(&ground, &["-c", "-"]), Vec::new()),
        2,
        "empty_command",
    );
    assert_left(&ground, 0);
}

#[test]
fn a_text_of_four_mebibytes_runs_and_one_byte_more_is_refused() {
    const MOST: usize = 4 << 20;
    let ground = Ground::new();
    let mut text = format!("echo ran\n{}\nexit 5\n", "# filler\n".repeat(10)).into_bytes();
    text.extend(std::iter::repeat_n(b'#', MOST - text.len()));
    let mut command = ground.program.command(&["run", "--wait", "-c", "-"]);
    command.args::<[&str; 0], &str>([]);
    let ran = with_stdin(command, text.clone());
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(5), "ran\n"),
        "{}",
        ran.stderr
    );

    let ground = Ground::new();
    text.push(b'#');
    assert_error(
        &with_stdin(call(&ground, &["-c", "-"]), text),
        2,
        "too_long",
    );
    assert_left(&ground, 0);
}

/// No program can be given such an argument, ours neither: the kernel refuses the caller. One
/// byte less goes through, and as a text on stdin it is none too long.
#[test]
fn the_longest_argument_goes_through_and_a_longer_one_reaches_nobody() {
    const MOST: usize = 131_071;
    let ground = Ground::new();
    let longest = "x".repeat(MOST);
    let words = [
        "run",
        "--wait",
        "--",
        "sh",
        "-c",
        "echo ${#1}",
        "sh",
        &longest,
    ];
    let ran = ground.program.run(&words);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "131071\n"),
        "{}",
        ran.stderr
    );

    let ground = Ground::new();
    let refused = call(&ground, &["--", "echo", &format!("{longest}x")]).output();
    let kind = refused
        .map_err(|error| error.kind())
        .expect_err("the kernel refuses it");
    assert_eq!(kind, ErrorKind::ArgumentListTooLong);
    assert_left(&ground, 0);
    let text = format!("x={longest}x; echo ${{#x}}").into_bytes();
    let ran = with_stdin(ground.program.command(&["run", "--wait", "-c", "-"]), text);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "131072\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_nul_byte_is_refused() {
    let ground = Ground::new();
    let output = with_stdin(call(&ground, &["-c", "-"]), b"echo a\0b".to_vec());
    assert_error(&output, 2, "nul_byte");
    assert_left(&ground, 0);
}

#[test]
fn what_is_not_utf_8_is_refused() {
    let odd = || OsString::from_vec(b"caf\xe9".to_vec());
    let words = |before: &[&str], after: &[&str]| {
        let before = before.iter().map(OsString::from);
        let after = after.iter().map(OsString::from);
        before.chain([odd()]).chain(after).collect::<Vec<_>>()
    };
    for words in [
        words(&["--"], &[]),
        words(&["--", "echo"], &[]),
        words(&["-c"], &[]),
        words(&["--label"], &["--", "true"]),
        words(&["--cwd"], &["--", "true"]),
        words(&["--env"], &["--", "true"]),
    ] {
        assert_refused(&words, 2, "not_utf8");
    }
    let ground = Ground::new();
    assert_error(
        &with_stdin(call(&ground, &["-c", "-"]), odd().into_vec()),
        2,
        "not_utf8",
    );
    assert_left(&ground, 0);
}

/// A record could not say where it ran.
#[test]
fn a_start_from_a_directory_whose_path_is_not_utf_8_is_refused() {
    let ground = Ground::new();
    let odd = ground
        .home
        .work()
        .join(OsString::from_vec(b"caf\xe9".to_vec()));
    fs::create_dir(&odd).expect("the home can be filled");
    let mut command = call(&ground, &["--", "true"]);
    command.current_dir(&odd);
    assert_error(&capture(command), 2, "not_utf8");
    assert_left(&ground, 0);
}

/// A store has such a path if its owner wants it so.
#[test]
fn a_store_whose_path_is_not_utf_8_works() {
    let ground = Ground::new();
    let odd = ground
        .home
        .path()
        .join(OsString::from_vec(b"store-\xe9".to_vec()));
    let mut command = ground
        .program
        .command(&["run", "--wait", "-c", "echo hi; exit 3"]);
    command.env("OUTLAST_HOME", &odd);
    let output = capture(command);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(3), "hi\n"),
        "{output:#?}"
    );
    assert!(odd.join("runs").is_dir());
}

#[test]
fn a_store_that_others_own_or_can_open_is_refused_with_the_fix() {
    let ground = Ground::new();
    let store = ground.home.store();
    fs::create_dir(&store).expect("the home can be filled");
    for mode in [0o755, 0o770, 0o707, 0o710, 0o704] {
        fs::set_permissions(&store, Permissions::from_mode(mode)).expect("it is ours");
        let output = capture(call(&ground, &["--", "touch", "was-run"]));
        assert_error(&output, 1, "store_open_to_others");
        assert!(output.stdout.contains("chmod 700"), "{output:#?}");
    }
    fs::set_permissions(&store, Permissions::from_mode(0o700)).expect("it is ours");
    // Only root can give a directory away; for anybody else `/` belongs to another.
    let theirs = match chown(&store, Some(65_534), None) {
        Ok(()) => store.as_path(),
        Err(_) => Path::new("/"),
    };
    let mut command = call(&ground, &["--", "touch", "was-run"]);
    command.env("OUTLAST_HOME", theirs);
    assert_error(&capture(command), 1, "store_of_other_user");
    assert_eq!(fs::read_dir(&store).expect("it can be read").count(), 0);
    assert!(!ground.home.work().join("was-run").exists());
    ground.assert_no_process();
}

/// None can be mounted here, so only the kinds are shown. What a store does on one of them
/// stands in the tests of the library.
#[test]
fn the_usual_network_file_systems_are_known() {
    let names = [0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x0102_1997].map(network_name);
    assert_eq!(names, [Some("NFS"), Some("CIFS"), Some("SMB2"), Some("9p")]);
    let (ext4, tmpfs) = (0xEF53, 0x0102_1994);
    assert_eq!([ext4, tmpfs].map(network_name), [None, None]);
}

#[test]
fn a_label_of_ten_thousand_characters_is_cut_and_no_error() {
    let ground = Ground::new();
    let label = "名".repeat(10_000);
    let output = capture(call(&ground, &["--label", &label, "--", "true"]));
    assert_eq!(output.code, Some(0), "{output:#?}");
    let record: Value = serde_json::from_str(&output.stdout).expect("a document");
    assert_eq!(record["label"], format!("{}…", "名".repeat(199)));
}

#[test]
fn a_time_that_is_none_is_refused_and_one_of_400_years_is_clamped_and_said() {
    for (time, code) in [
        ("-1", "negative_duration"),
        ("-1s", "negative_duration"),
        ("abc", "no_duration"),
        ("", "no_duration"),
        ("1y", "no_duration"),
        ("inf", "no_duration"),
    ] {
        assert_refused(&["--timeout", time, "--", "true"], 2, code);
    }
    let ground = Ground::new();
    for years in ["146097d", "99999999999999999999d"] {
        let output = ground
            .program
            .run(&["run", "--timeout", years, "--", "true"]);
        assert_eq!(output.code, Some(0), "{output:#?}");
        assert!(output.stderr.contains("was set to 30 days"), "{output:#?}");
        let record = ground.ended(output.stdout.trim());
        assert_eq!(record["timeout_secs"], 2_592_000.0);
    }
}

#[test]
fn an_id_that_fits_two_runs_or_none_is_refused_and_changes_neither() {
    let ground = Ground::new();
    // Ids begin with one of 32 characters, so that two of 33 begin alike at the latest.
    let mut ids: Vec<String> = Vec::new();
    let prefix = loop {
        let id = ground.start(&["--", "sleep", "300"]);
        let first = id.get(..1).expect("an id has characters").to_owned();
        let is_known = ids.iter().any(|known| known.starts_with(&first));
        ids.push(id);
        if is_known {
            break first;
        }
    };
    for verb in [
        "show", "logs", "events", "wait", "cancel", "send", "rm", "export",
    ] {
        let call = |typed: &str| {
            let more: &[&str] = match verb {
                "send" => &["text"],
                "wait" => &["--for", "1s"],
                _ => &[],
            };
            ground.program.run(&[&[verb, typed], more].concat())
        };
        for (typed, exit, code) in [
            (prefix.as_str(), 1, "ambiguous_run"),
            ("uuu", 3, "no_such_run"),
        ] {
            let output = call(typed);
            // `export` has only documents.
            let said = format!("{}{}", output.stdout, output.stderr);
            assert_eq!(output.code, Some(exit), "{verb}: {output:#?}");
            assert!(
                said.contains(code) && said.contains("hint"),
                "{verb}: {output:#?}"
            );
            if exit == 1 {
                let fitting = ids.iter().filter(|id| id.starts_with(&prefix));
                assert_eq!(fitting.filter(|id| said.contains(*id)).count(), 2, "{said}");
            }
        }
    }
    assert_eq!(ground.count("running"), ids.len());
}
