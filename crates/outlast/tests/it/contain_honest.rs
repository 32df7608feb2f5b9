//! Each primitive is taken away in turn, by a filter in front of the program: a run is refused
//! with the step, or told exactly what it lacks; it is never executed bare.

use crate::contain_ground::{Contained, LANDLOCK_LACKS, PYTHON, Who};
use outlast_testkit::{Output, capture};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

pub(crate) const DENY: &str = include_str!("contain_deny.py");

/// A call of the kernel that is not there, or refuses.
struct Denied {
    name: &'static str,
    /// Its number on this kind of processor.
    number: i64,
    errno: i32,
    /// The first argument that it has where it fails; any when negative.
    argument: i64,
    /// Beginning of the step that fails, as root and as a user; none where it does not matter.
    steps: [Option<&'static str>; 2],
}

const EPERM: i32 = 1;
const ENOSPC: i32 = 28;
const ENOSYS: i32 = 38;

const fn denied(
    name: &'static str,
    number: i64,
    errno: i32,
    steps: [Option<&'static str>; 2],
) -> Denied {
    Denied {
        name,
        number,
        errno,
        argument: -1,
        steps,
    }
}

/// Numbers are those of x86-64.
const DENIALS: [Denied; 14] = [
    denied("unshare", 272, EPERM, [Some("namespaces"); 2]),
    denied("unshare", 272, ENOSPC, [Some("namespaces"); 2]),
    denied("openat2", 437, ENOSYS, [Some("open"); 2]),
    denied("open_tree", 428, ENOSYS, [Some("open"); 2]),
    denied(
        "mount_setattr",
        442,
        ENOSYS,
        [Some("idmap"), Some("read-only root")],
    ),
    denied("move_mount", 429, EPERM, [Some("proc"); 2]),
    denied("mount", 165, EPERM, [Some("private root"); 2]),
    denied("setns", 308, EPERM, [Some("users"), None]),
    denied("capset", 126, EPERM, [Some("capabilities"); 2]),
    denied("seccomp", 317, ENOSYS, [Some("seccomp"); 2]),
    denied("close_range", 436, ENOSYS, [Some("descriptors"); 2]),
    denied("memfd_create", 319, ENOSYS, [Some("launcher"); 2]),
    Denied {
        argument: 38,
        ..denied(
            "prctl, no new privileges",
            157,
            EPERM,
            [Some("no new privileges"); 2],
        )
    },
    Denied {
        argument: 1,
        ..denied(
            "prctl, death of the parent",
            157,
            EPERM,
            [Some("parent"); 2],
        )
    },
];

/// Runs the program under a filter.
fn under(ground: &Contained, denied: &Denied, words: &[&str]) -> Output {
    let script = ground.work().join("deny.py");
    let (number, errno) = (denied.number.to_string(), denied.errno.to_string());
    let argument = denied.argument.to_string();
    let program = ground.program().to_str().expect("text");
    let script = script.to_str().expect("text");
    let mut all = vec![script, &number, &errno, &argument, program];
    all.extend(words);
    let mut command = ground.command(Path::new(PYTHON), &all);
    // What bubblewrap holds in its place is a promise of its own.
    command.env("OUTLAST_FAULT", "contain:bwrap");
    capture(command)
}

/// Case SB-01: the step, the system's word and a fix are named, and nothing was executed.
#[test]
fn without_one_of_its_primitives_a_run_is_refused_with_the_step() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("did not run: the numbers of the calls are those of x86-64");
        return;
    }
    for who in Who::all() {
        let ground = Contained::new(who);
        ground.file("deny.py", DENY);
        for denied in &DENIALS {
            let Some(step) = denied.steps[usize::from(who == Who::User)] else {
                continue;
            };
            if who == Who::User && denied.argument == 38 {
                // The filter itself needs it there.
                continue;
            }
            let words = [
                "run",
                "--json",
                "--sandbox",
                "edit",
                "--",
                "touch",
                "was-run",
            ];
            let output = under(&ground, denied, &words);
            let what = format!("{} as {}: {output:#?}", denied.name, who.name());
            assert_eq!(output.code, Some(126), "{what}");
            let document: Value = serde_json::from_str(&output.stdout).expect("a document");
            let error = &document["error"];
            assert_eq!(error["code"], "containment_failed", "{what}");
            let message = error["message"].as_str().unwrap_or_default();
            assert!(message.contains(&format!("`{step}")), "{what}");
            assert!(message.contains("(os error "), "{what}");
            assert_ne!(error["hint"], "", "{what}");
            assert!(!ground.work().join("was-run").exists(), "{what}");
        }
        let runs = ground.json(&["ps", "-a", "--json"]);
        assert_eq!(runs["runs"], json!([]));
    }
}

#[test]
fn without_landlock_a_run_is_told_what_holds_alone() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("did not run: the numbers of the calls are those of x86-64");
        return;
    }
    for who in Who::all() {
        let ground = Contained::new(who);
        ground.file("deny.py", DENY);
        let no_landlock = denied("landlock_create_ruleset", 444, ENOSYS, [None; 2]);
        let words = ["run", "--json", "--sandbox", "edit", "--", "true"];
        let output = under(&ground, &no_landlock, &words);
        assert_eq!(output.code, Some(0), "{output:#?}");
        let record: Value = serde_json::from_str(&output.stdout).expect("a document");
        assert_eq!(
            record["posture"]["fallback_notice"],
            "this kernel has no Landlock: namespaces and seccomp hold alone what it would hold too"
        );
        assert_eq!(record["posture"]["missing"], Value::Null, "{record:#}");
        assert!(output.stderr.contains("no Landlock"), "{output:#?}");

        // With the host's network, abstract sockets are then within reach: that is refused.
        let words = [
            "run",
            "--json",
            "--sandbox",
            "edit",
            "--network",
            "full",
            "--",
            "true",
        ];
        let output = under(&ground, &no_landlock, &words);
        assert_eq!(output.code, Some(126), "{output:#?}");
        assert!(output.stdout.contains("look: unix_sockets"), "{output:#?}");
    }
}

/// Bubblewrap works where our program does not, here as on an older kernel: with all that is held.
#[test]
fn where_our_program_cannot_bubblewrap_contains_a_run_of_a_user() {
    if !cfg!(target_arch = "x86_64") || !Path::new("/usr/bin/bwrap").exists() {
        eprintln!("did not run: there is no bubblewrap, or another kind of processor");
        return;
    }
    let ground = Contained::new(Who::User);
    ground.file("deny.py", DENY);
    ground.file(".claude/settings.json", "{}");
    let text = "echo x > made; (echo y > .claude/settings.json) 2>&1; setsid sleep 3600 & exit 3";
    let words = ["run", "--json", "--sandbox", "edit", "--", "sh", "-c", text];
    let script = ground.work().join("deny.py");
    let script = script.to_str().expect("text");
    let program = ground.program().to_str().expect("text");
    let all = [&[script, "442", "38", "-1", program], &words[..]].concat();
    let output = capture(ground.command(Path::new(PYTHON), &all));
    assert_eq!(output.code, Some(0), "{output:#?}");
    let record: Value = serde_json::from_str(&output.stdout).expect("a document");
    let posture = &record["posture"];
    assert_eq!(posture["backend"], "bwrap", "{posture:#}");
    assert_eq!(posture["missing"], Value::Null, "{posture:#}");
    assert_eq!(posture["protected"], json!([".claude"]));
    let notice = posture["fallback_notice"].as_str().expect("a text");
    let begins =
        "bubblewrap, since step `read-only root` failed: Function not implemented (os error 38)";
    assert!(notice.starts_with(begins), "{notice}");
    let id = record["id"].as_str().expect("an id");
    let waited = capture(ground.outlast(&["wait", id]));
    assert_eq!(waited.code, Some(3), "{waited:#?}");
    assert!(ground.work().join("made").exists());
    let record = ground.json(&["show", "--json", id]);
    assert_eq!(
        record["leftovers"][0]["command"], "sleep 3600",
        "{record:#}"
    );
    assert_eq!(record["leftovers"][1], Value::Null, "{record:#}");
    let done = ground.json(&["cancel", "--json", id]);
    assert_eq!(done["runs"][0]["leftovers_stopped"], 1, "{done}");
}

/// What root mounts where a user has no way to is left writable by bubblewrap, which is no harm
/// where memory covers it; that what the system mounts later is seen is told.
#[test]
fn bubblewrap_is_judged_by_what_can_be_reached_and_what_comes_later_is_told() {
    const MOUNT: &str = "umask 077; mkdir -p $1/m && mount --bind $1 $1/m && shift && exec \"$@\"";
    let is_root = rustix::process::geteuid().is_root();
    if !cfg!(target_arch = "x86_64") || !is_root || !Path::new("/usr/bin/bwrap").exists() {
        eprintln!("did not run: not root, no bubblewrap, or another kind of processor");
        return;
    }
    let later = "what the system mounts later beneath what is shown is shown as well";
    for (propagation, is_told) in [("private", false), ("shared", true)] {
        let ground = Contained::new(Who::User);
        ground.file("deny.py", DENY);
        let script = ground.work().join("deny.py");
        let script = script.to_str().expect("text");
        let program = ground.program().to_str().expect("text");
        let words = ["run", "--json", "--sandbox", "edit", "--", "true"];
        let all = [&[script, "442", "38", "-1", program], &words[..]].concat();
        let inner = ground.command(Path::new(PYTHON), &all);
        let mut outer = Command::new("unshare");
        outer
            .args(["--mount", "--propagation", propagation])
            .args(["sh", "-c", MOUNT, "sh"])
            .arg(ground.home.path().join("shut"))
            .arg(inner.get_program())
            .args(inner.get_args())
            .env_clear()
            .envs(
                inner
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .current_dir(ground.work());
        let output = capture(outer);
        assert_eq!(output.code, Some(0), "{output:#?}");
        let record: Value = serde_json::from_str(&output.stdout).expect("a document");
        let posture = &record["posture"];
        assert_eq!(posture["backend"], "bwrap", "{posture:#}");
        let notice = posture["fallback_notice"].as_str().expect("a text");
        assert_eq!(notice.contains(later), is_told, "{propagation}: {notice}");
    }
}

/// What Landlock alone does not hold has to be accepted by name; then it is told, and why.
#[test]
fn without_namespaces_landlock_alone_is_bound_only_where_what_it_lacks_may_be_missed() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("did not run: the numbers of the calls are those of x86-64");
        return;
    }
    for who in Who::all() {
        let ground = Contained::new(who);
        ground.file("deny.py", DENY);
        let no_namespaces = denied("unshare", 272, EPERM, [None; 2]);
        let words = [
            "run",
            "--json",
            "--sandbox",
            "edit",
            "--",
            "sh",
            "-c",
            "echo x > made; exit 3",
        ];
        let refused = under(&ground, &no_namespaces, &words);
        assert_eq!(refused.code, Some(126), "{refused:#?}");
        assert!(
            refused.stdout.contains("or accept Landlock alone"),
            "{refused:#?}"
        );

        ground.accept(&LANDLOCK_LACKS[..3]);
        let refused = under(&ground, &no_namespaces, &words);
        assert_eq!(refused.code, Some(126), "{refused:#?}");

        ground.accept(&LANDLOCK_LACKS);
        let output = under(&ground, &no_namespaces, &words);
        assert_eq!(output.code, Some(0), "{output:#?}");
        let record: Value = serde_json::from_str(&output.stdout).expect("a document");
        let posture = &record["posture"];
        assert_eq!(posture["backend"], "landlock", "{posture:#}");
        assert_eq!(
            posture["guarantees"],
            json!(["read_boundary", "net_none", "unix_sockets"])
        );
        assert_eq!(posture["missing"], json!(LANDLOCK_LACKS));
        let notice = posture["fallback_notice"].as_str().expect("a text");
        let begins = "Landlock alone, since step `namespaces` failed: Operation not permitted (os error 1); \
                      to have it contained by native: let users make namespaces";
        assert!(notice.starts_with(begins), "{notice}");
        assert!(output.stderr.contains(begins), "{output:#?}");
        let id = record["id"].as_str().expect("an id");
        let waited = capture(ground.outlast(&["wait", id]));
        assert_eq!(waited.code, Some(3), "{waited:#?}");
        assert!(ground.work().join("made").exists());

        // Where namespaces can be had, what may be missed is held all the same.
        let record = ground.json(&["run", "--json", "--sandbox", "edit", "--", "true"]);
        assert_eq!(record["posture"]["backend"], "native");
        assert_eq!(record["posture"]["missing"], Value::Null);
    }
}

/// What a step in the middle leaves behind is nothing: neither a mount nor a process.
#[test]
fn a_step_that_fails_leaves_no_process() {
    if !cfg!(debug_assertions) {
        eprintln!("did not run: only debug builds have points to fail at");
        return;
    }
    for who in Who::all() {
        let ground = Contained::new(who);
        // Bubblewrap could do these in our place, but not for root.
        let of_namespaces = ["init", "proc", "loopback"];
        let of_namespaces = of_namespaces.iter().filter(|_| who == Who::Root);
        let steps = ["policy", "seccomp", "dumpable", "exec"];
        for step in steps.iter().chain(of_namespaces) {
            let words = [
                "run",
                "--json",
                "--sandbox",
                "edit",
                "--",
                "touch",
                "was-run",
            ];
            let mut command = ground.outlast(&words);
            command.env("OUTLAST_FAULT", format!("contain:{step}"));
            let output = capture(command);
            assert_eq!(output.code, Some(126), "{step}: {output:#?}");
            assert!(
                output.stdout.contains(&format!("`{step}`")),
                "{step}: {output:#?}"
            );
            assert!(!ground.work().join("was-run").exists(), "{step}");
        }
        let mark = ground.home.mark();
        assert_eq!(outlast_testkit::processes_with(&mark), Vec::<i32>::new());
    }
}
