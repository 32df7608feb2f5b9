//! The program as it is installed: how it is linked, what shells and manuals get of it, and
//! what it says of the machine.

use crate::case_ground::{Ground, OUTLAST, write};
use outlast_testkit::{Output, capture};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Position of the type in an ELF header, and the type of a program at a fixed address.
const ELF_TYPE: usize = 16;
const ET_EXEC: u8 = 2;
/// The program header that names a loader.
const PT_INTERP: usize = 3;

#[test]
#[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
fn the_program_is_linked_at_a_fixed_address() {
    let elf = fs::read(OUTLAST).expect("the program can be read");
    assert_eq!(elf.get(..4), Some(&b"\x7fELF"[..]));
    assert_eq!(elf[ELF_TYPE], ET_EXEC, "3 would be position-independent");
}

#[test]
#[cfg(all(target_env = "gnu", target_pointer_width = "64"))]
fn the_program_loads_no_shared_library_where_the_compiler_has_the_archives() {
    let asked = Command::new("cc").arg("-print-file-name=libc.a").output();
    let found = String::from_utf8(asked.expect("it linked this").stdout).expect("a path");
    if !Path::new(found.trim()).is_absolute() {
        println!("not run: the C compiler has no libc.a");
        return;
    }
    let elf = fs::read(OUTLAST).expect("the program can be read");
    let number = |at: usize, bytes: usize| {
        let little_endian = elf[at..at + bytes].iter().rev();
        little_endian.fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let (first, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    let kinds: Vec<usize> = (0..count).map(|at| number(first + at * size, 4)).collect();
    assert!(!kinds.contains(&PT_INTERP), "{kinds:?}");
}

#[test]
fn help_is_data_when_asked_for_and_talk_when_not() {
    let ground = Ground::new();
    let help = ground.program.run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.contains("Examples:"));
    let bare = ground.program.run::<&str>(&[]);
    assert_eq!((bare.code, bare.stdout.as_str()), (Some(2), ""));
    assert!(bare.stderr.contains("Usage:"), "{bare:?}");
}

#[test]
fn the_manual_has_a_page_for_the_program_and_for_each_verb() {
    let ground = Ground::new();
    let page = ground.program.run(&["man"]).stdout;
    assert!(page.contains(".TH outlast 1"), "{page}");
    let page = ground.program.run(&["man", "run"]).stdout;
    assert!(
        page.contains(".TH outlast-run 1") && page.contains("\\-\\-timeout"),
        "{page}"
    );
    assert_eq!(ground.program.run(&["man", "fly"]).code, Some(2));
}

fn start(id: &str, letters: usize) -> String {
    id.chars().take(letters).collect()
}

/// Asks as a shell's script does.
fn complete(ground: &Ground, shell: &str, words: &[&str]) -> Output {
    let mut command = ground
        .program
        .command(&[&["--", "outlast"], words].concat());
    command
        .env("OUTLAST_COMPLETE", shell)
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n");
    capture(command)
}

#[test]
fn every_shell_is_offered_the_runs_by_id_and_label() {
    let ground = Ground::new();
    let id = ground.start(&["--label", "build", "--", "true"]);
    ground.wait(&id);
    for shell in ["bash", "zsh", "fish"] {
        let script = ground.program.run(&["completions", shell]);
        assert_eq!(script.code, Some(0), "{script:?}");
        assert!(script.stdout.contains("OUTLAST_COMPLETE"), "{script:?}");
        let verbs = complete(&ground, shell, &["sho"]);
        assert!(verbs.stdout.starts_with("show"), "{verbs:?}");
        let ids = complete(&ground, shell, &["show", &start(&id, 2)]);
        assert!(ids.stdout.starts_with(&start(&id, 4)), "{ids:?}");
        let labels = complete(&ground, shell, &["logs", "bui"]);
        assert!(labels.stdout.starts_with("build"), "{labels:?}");
    }
}

#[test]
fn a_completion_in_a_real_bash_offers_the_id() {
    let ground = Ground::new();
    let id = ground.start(&["--", "true"]);
    ground.wait(&id);
    let text = format!(
        "source <(\"$OUTLAST\" completions bash)\n\
         COMP_WORDS=(outlast show {start}) COMP_CWORD=2 COMP_TYPE=9\n\
         _clap_complete_outlast outlast {start} show\n\
         echo \"${{COMPREPLY[0]}}\"",
        start = start(&id, 3),
    );
    let output = capture(ground.other("bash", &["-c", &text]));
    assert_eq!(output.stdout.trim(), start(&id, 4), "{output:?}");
}

/// Returns whether this machine has `shell`; says in a line when it has not.
fn has(shell: &str) -> bool {
    let is_there = Command::new(shell).args(["-c", "exit 0"]).status().is_ok();
    if !is_there {
        println!("not run: there is no {shell} here");
    }
    is_there
}

#[test]
fn a_completion_in_a_real_zsh_offers_the_id() {
    if !has("zsh") {
        return;
    }
    let ground = Ground::new();
    let id = ground.start(&["--", "true"]);
    ground.wait(&id);
    // What zsh would list is printed instead.
    let text = format!(
        "autoload -U compinit && compinit -u -D\n\
         source <(\"$OUTLAST\" completions zsh)\n\
         _describe() {{ print -l -- ${{(P)@[-1]}} }}\n\
         words=(outlast show {start}) CURRENT=3\n\
         $_comps[outlast]",
        start = start(&id, 3),
    );
    let output = capture(ground.other("zsh", &["-f", "-c", &text]));
    let offered = output.stdout.split(':').next();
    assert_eq!(offered, Some(start(&id, 4).as_str()), "{output:?}");
}

#[test]
fn a_completion_in_a_real_fish_offers_the_id() {
    if !has("fish") {
        return;
    }
    let ground = Ground::new();
    let id = ground.start(&["--", "true"]);
    ground.wait(&id);
    let text = format!(
        "$OUTLAST completions fish | source\ncomplete -C 'outlast show {}'",
        start(&id, 3)
    );
    let output = capture(ground.other("fish", &["--no-config", "-c", &text]));
    let offered = output.stdout.split('\t').next();
    assert_eq!(offered, Some(start(&id, 4).as_str()), "{output:?}");
}

#[test]
fn looking_for_completions_makes_no_store() {
    let ground = Ground::new();
    let output = complete(&ground, "bash", &["show", ""]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(!ground.home.store().exists());
}

#[test]
fn the_doctor_says_what_holds_and_makes_no_store() {
    let ground = Ground::new();
    let before = ground.program.json(&["doctor", "--json"]);
    assert_eq!(before["schema"], "outlast.doctor/1");
    assert!(!ground.home.store().exists());
    let id = ground.shell("true");
    ground.wait(&id);
    let report = ground.program.json(&["doctor", "--json"]);
    assert_eq!(report["ok"], true, "{report:#}");
    let checks = report["checks"].as_array().expect("checks");
    let named: Vec<&str> = checks
        .iter()
        .filter_map(|check| check["name"].as_str())
        .collect();
    for name in [
        "owner",
        "index",
        "space",
        "holes",
        "locks",
        "kernel",
        "proc",
        "unit",
        "namespace",
    ] {
        assert!(named.contains(&name), "{name}: {report:#}");
    }
    let left = fs::read_dir(ground.home.store()).expect("a store");
    let is_trial = |path: &Path| path.to_string_lossy().contains(".doctor");
    assert!(!left.flatten().any(|entry| is_trial(&entry.path())));
}

#[test]
fn the_doctor_fails_where_no_run_could_start() {
    use std::os::unix::fs::PermissionsExt;
    let ground = Ground::new();
    fs::create_dir(ground.home.store()).expect("the home can be filled");
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(ground.home.store(), open).expect("it is ours");
    let output = ground.program.run(&["doctor"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert_eq!(output.stdout.matches("chmod 700").count(), 1, "{output:?}");
}

#[test]
fn the_doctor_names_the_way_out_of_a_damaged_run() {
    let ground = Ground::new();
    let id = ground.shell("true");
    ground.wait(&id);
    write(&ground.run_dir(&id).join("spec.json"), "{");
    fs::remove_file(ground.home.store().join("index.sqlite")).expect("it is ours");
    let report = ground.program.run(&["doctor"]);
    let fix = format!("outlast rm {id}");
    assert!(report.stdout.contains(&fix), "{report:?}");
    assert_eq!(ground.program.run(&["rm", &id]).code, Some(0));
    let report = ground.program.run(&["doctor"]);
    assert!(!report.stdout.contains("set aside"), "{report:?}");
}

#[test]
fn the_doctor_inside_a_run_says_when_runs_started_there_end() {
    let ground = Ground::new();
    let id = ground.shell(&format!("{OUTLAST} doctor"));
    ground.wait(&id);
    let said = ground.text(&id);
    let expected = format!("inside run {id}: runs started here end when that run is cancelled");
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn the_configuration_says_what_holds_and_why() {
    let ground = Ground::with_limits("grace = \"7s\"");
    let document = ground.program.json(&["config", "--json"]);
    assert_eq!(
        document["limits"]["grace"],
        serde_json::json!({"value": 7.0, "source": "file"})
    );
    assert_eq!(document["limits"]["depth"]["source"], "default");
    assert_eq!(
        document["store"],
        ground.home.store().to_str().expect("letters")
    );
    let id = ground.shell("true");
    let spec = &ground.program.json(&["export", &id])["spec"];
    assert_eq!(spec["grace_ms"], 7_000);
}
