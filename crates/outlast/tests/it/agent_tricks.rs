//! Nothing that a model tries with the tools for files gets out of its workspace: links, `..`,
//! absolute paths, directories that turn into links meanwhile, names that others obey.

use crate::{
    agent_proof::{Proof, shell},
    case_ground::{SOON, write},
    contain_ground::Who,
};
use outlast_testkit::{
    eventually,
    model::{Script, Turn},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, path::Path};

/// What the files outside hold.
const BAIT: &str = "bait-outside";

/// A project with links out of it, and files outside that must stay as they are.
fn ground(who: Who) -> Proof {
    let proof = Proof::new(who);
    let home = proof.ground.home.path();
    for folder in ["out", "work/dir", ".ssh"] {
        fs::create_dir(home.join(folder)).expect("the home can be filled");
    }
    for (name, text) in [
        ("out/target", BAIT),
        (".ssh/id_probe", BAIT),
        ("work/dir/target", "inside\n"),
        ("work/plain", "inside\n"),
    ] {
        write(&home.join(name), text);
    }
    let out = home.join("out");
    for (name, target) in [
        ("link-file", out.join("target")),
        ("link-dir", out.clone()),
        ("link-up", "../out/target".into()),
        ("link-of-link", "link-dir/target".into()),
        ("link-root", "/proc/self/root".into()),
        ("link-cwd", "/proc/self/cwd/../out".into()),
        ("link-new", out.join("new")),
        ("dir/link-up", "../../out".into()),
    ] {
        symlink(target, proof.ground.work().join(name)).expect("the project can be filled");
    }
    proof.ground.hand_over();
    proof
}

/// Returns names of the file outside, as a model may write them.
fn names(proof: &Proof) -> Vec<String> {
    let out = proof.ground.home.path().join("out");
    let out = out.display();
    let names = [
        "../out/target",
        "link-file",
        "link-dir/target",
        "link-up",
        "link-of-link",
        "link-cwd/target",
        "dir/link-up/target",
        "dir/../../out/target",
        "./../out/target",
        "link-dir/../out/target",
        "~/out/target",
        "$HOME/out/target",
        "file:///etc/passwd",
    ];
    let mut all: Vec<String> = names.map(str::to_owned).into();
    all.extend([
        format!("{out}/target"),
        format!("/{out}/target"),
        format!("link-root{out}/target"),
        format!("/proc/self/root{out}/target"),
        format!("{}/../out/target", proof.ground.work().display()),
        "/proc/self/cwd/../out/target".to_owned(),
    ]);
    all
}

/// Returns one turn with a call of `tool` for each of the arguments.
fn all_at_once(tool: &str, arguments: impl IntoIterator<Item = Value>) -> Turn {
    let calls = arguments.into_iter();
    calls.fold(Turn::default(), |turn, arguments| {
        turn.and_call(tool, arguments)
    })
}

fn files(folder: &Path) -> Vec<String> {
    let found = fs::read_dir(folder).expect("it can be read").flatten();
    found
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[track_caller]
fn assert_untouched(proof: &Proof) {
    let out = proof.ground.home.path().join("out");
    assert_eq!(files(&out), ["target"]);
    let text = fs::read_to_string(out.join("target")).expect("it is there");
    assert_eq!(text, BAIT);
}

#[track_caller]
fn assert_refused(answer: &str, what: &str) {
    assert!(answer.starts_with("error: "), "{what}: {answer}");
    assert!(answer.contains("\ncode: "), "{what}: {answer}");
    assert!(!answer.contains(BAIT), "{what}: {answer}");
}

#[test]
fn no_file_outside_is_read_by_any_name() {
    for (who, posture) in Who::all().into_iter().flat_map(|who| {
        [
            &["--sandbox", "edit"][..],
            &["--sandbox", "read"],
            &["--local"],
        ]
        .map(move |posture| (who, posture))
    }) {
        let proof = ground(who);
        let mut names = names(&proof);
        names.extend(
            [
                "/etc/passwd",
                "/etc/shadow",
                "/proc/self/environ",
                "link-root/proc/self/environ",
                "link-root/etc/passwd",
                "../store/format.json",
                "../.ssh/id_probe",
                "..",
                "/",
                "plain/../../out/target",
                "target\0",
            ]
            .map(str::to_owned),
        );
        let path = |name: &String| json!({"path": name});
        let within = |name: &String| json!({"path": name, "pattern": "bait|inside|root"});
        let found = |name: &String| json!({"path": name, "pattern": "*"});
        let script = Script::new()
            .turn(all_at_once("read_file", names.iter().map(path)))
            .turn(all_at_once("grep_files", names.iter().map(within)))
            .text("I read.");
        proof.done(posture, script);
        let answers = proof.answers();
        assert_eq!(answers.len(), 2 * names.len());
        for (answer, name) in answers.iter().zip(names.iter().chain(&names)) {
            assert_refused(answer, &format!("{who:?} {posture:?} {name}"));
        }
        let folders = [
            "..",
            "link-dir",
            "dir/link-up",
            "link-root",
            "link-cwd",
            "/",
            "~",
        ];
        let folders = folders.map(str::to_owned);
        let script = Script::new()
            .turn(all_at_once("list_dir", folders.iter().map(path)))
            .turn(all_at_once("find_files", folders.iter().map(found)))
            .call("grep_files", json!({"pattern": BAIT, "with_ignored": true}))
            .call(
                "find_files",
                json!({"pattern": "target", "with_ignored": true}),
            )
            .text("I looked.");
        proof.done(posture, script);
        let answers = proof.answers();
        let (outside, inside) = answers.split_at(2 * folders.len());
        for (answer, folder) in outside.iter().zip(folders.iter().chain(&folders)) {
            assert_refused(answer, &format!("{who:?} {posture:?} {folder}"));
        }
        assert!(!inside[0].contains("out"), "{}", inside[0]);
        assert!(inside[1].contains("dir/target"), "{}", inside[1]);
        assert!(!inside[1].contains("link"), "{}", inside[1]);
    }
}

#[test]
fn no_file_outside_is_written_by_any_name() {
    for (who, tier) in Who::all()
        .into_iter()
        .flat_map(|who| ["edit", "host"].map(move |tier| (who, tier)))
    {
        let proof = ground(who);
        // What no shell is there to read is a name in the workspace.
        let mut names = names(&proof);
        // Nor does `..` go by where a link leads: it takes away the name before it.
        names.retain(|name| !name.starts_with(['~', '$', 'f']) && !name.contains("link-dir/.."));
        let mut new: Vec<String> = names
            .iter()
            .map(|name| name.replace("target", "new"))
            .collect();
        new.extend(
            [
                "link-new",
                "/etc/outlast-probe-agent",
                "link-root/etc/outlast-probe-agent",
            ]
            .map(str::to_owned),
        );
        let written: Vec<&String> = names.iter().chain(&new).collect();
        let write = |name: &&String| json!({"path": name, "content": "x"});
        let edit = |name: &String| json!({"path": name, "old": BAIT, "new": "x"});
        let script = Script::new()
            .turn(all_at_once("write_file", written.iter().map(write)))
            .turn(all_at_once("edit_file", names.iter().map(edit)))
            .text("I tried.");
        proof.done(&["--sandbox", tier], script);
        let answers = proof.answers();
        let all = written.iter().copied().chain(&names);
        for (answer, name) in answers.iter().zip(all) {
            let is_link_away = name.starts_with("link-") && !name.contains('/');
            // On the host such a link is written over or refused; what it leads to stays.
            if !(is_link_away && tier == "host") {
                assert_refused(answer, &format!("{who:?} {tier} {name}"));
            }
        }
        assert_untouched(&proof);
        assert!(!fs::exists("/etc/outlast-probe-agent").expect("it can be looked for"));
    }
}

#[test]
fn a_directory_that_becomes_a_link_leads_no_write_out() {
    for who in Who::all() {
        let proof = ground(who);
        let swap = |step: &str| {
            shell(&format!(
                "mv dir dir-{step} && ln -s ../out dir && ls -ld dir"
            ))
        };
        let script = Script::new()
            .call("read_file", json!({"path": "dir/target"}))
            .call("shell", swap("1"))
            .call("write_file", json!({"path": "dir/target", "content": "x"}))
            .call(
                "edit_file",
                json!({"path": "dir/target", "old": "inside", "new": "x"}),
            )
            .call("read_file", json!({"path": "dir/target"}))
            .call("write_file", json!({"path": "dir/new", "content": "x"}))
            .text("I tried.");
        proof.done(&["--sandbox", "edit"], script);
        let answers = proof.answers();
        assert!(answers[1].contains("../out"), "{}", answers[1]);
        for answer in &answers[2..] {
            assert_refused(answer, &format!("{who:?}"));
        }
        assert_untouched(&proof);
    }
}

/// Others change the directory all the time, faster than a call can look.
#[test]
fn a_directory_that_keeps_turning_into_a_link_leads_nothing_out() {
    const TRIES: usize = 40;
    for (who, tier) in Who::all()
        .into_iter()
        .flat_map(|who| ["edit", "host"].map(move |tier| (who, tier)))
    {
        let proof = ground(who);
        let swapper = "import os\n\
            os.mkdir('real'); open('real/target', 'w').write('inside\\n')\n\
            os.symlink('../out', 'away')\n\
            open('swaps', 'w').close()\n\
            while not os.path.exists('stop'):\n\
            \x20for name in ('real', 'away'):\n\
            \x20 os.rename(name, 'turns'); os.rename('turns', name)\n";
        proof.ground.file("swap.py", swapper);
        let started = proof.run(&["run", "--", "/usr/bin/python3", "swap.py"]);
        let swapping = started.stdout.trim().to_owned();
        eventually("it begins", SOON, || {
            proof.ground.work().join("swaps").exists()
        });
        let tried = |number: usize| match number % 4 {
            0 => (
                "write_file",
                json!({"path": format!("turns/new-{number}"), "content": "x"}),
            ),
            1 => (
                "read_file",
                json!({"path": "turns/target", "offset": 1 + number}),
            ),
            2 => (
                "write_file",
                json!({"path": "turns/target", "content": number.to_string()}),
            ),
            _ => (
                "grep_files",
                json!({"path": "turns", "pattern": format!("bait|{number}")}),
            ),
        };
        let turn = (0..TRIES)
            .map(tried)
            .fold(Turn::default(), |turn, (tool, arguments)| {
                turn.and_call(tool, arguments)
            });
        proof.done(
            &["--sandbox", tier],
            Script::new().turn(turn).text("I tried."),
        );
        write(&proof.ground.work().join("stop"), "");
        let code = proof.run(&["wait", "--for", "30s", &swapping]).code;
        assert!(matches!(code, Some(0 | 1)), "{code:?}");
        for answer in proof.answers() {
            assert!(!answer.contains(BAIT), "{who:?} {tier}: {answer}");
        }
        assert_untouched(&proof);
    }
}

#[test]
fn names_that_other_programs_obey_are_held_and_new_ones_reported() {
    const HELD: [&str; 10] = [
        ".git/hooks/post-checkout",
        ".git/config",
        "nested/.git/hooks/post-checkout",
        "nested/.git/config",
        ".outlast.toml",
        ".mcp.json",
        ".envrc",
        ".claude/settings.json",
        ".vscode/tasks.json",
        ".husky/pre-push",
    ];
    for who in Who::all() {
        let proof = Proof::new(who);
        for name in HELD {
            proof.ground.file(name, "as it was\n");
        }
        let read = |name: &str| json!({"path": name});
        let write = |name: &str| json!({"path": name, "content": "x\n"});
        let edit = |name: &str| json!({"path": name, "old": "as it was", "new": "y"});
        let beside = [
            ".git/hooks/new",
            ".claude/new",
            ".husky/new",
            ".vscode/new",
            "nested/.git/hooks/new",
        ];
        let script = Script::new()
            .turn(all_at_once("read_file", HELD.map(read)))
            .turn(all_at_once("write_file", HELD.map(write)))
            .turn(all_at_once("edit_file", HELD.map(edit)))
            .turn(all_at_once("write_file", beside.map(write)))
            .call(
                "shell",
                shell("mv .claude other; rm -rf .git nested .mcp.json; ln -sfn /tmp .envrc; ls -a"),
            )
            .call("write_file", write(".codex/config.toml"))
            .text("I tried.");
        let document = proof.done(&["--sandbox", "edit"], script);
        let answers = proof.answers();
        for (answer, number) in answers.iter().zip(0..3 * HELD.len() + beside.len()) {
            if number >= HELD.len() {
                assert_refused(answer, &format!("{who:?} {number}"));
            }
        }
        for name in HELD {
            assert_eq!(proof.read(name), "as it was\n", "{who:?} {name}");
        }
        for name in beside {
            assert!(!proof.ground.work().join(name).exists(), "{who:?} {name}");
        }
        let appeared = document["sandbox"]["appeared"].to_string();
        assert!(appeared.contains(".codex"), "{document:#}");
    }
}

/// A store that lies where a run may read shows nothing of itself, nor takes anything.
#[test]
fn the_store_is_shown_by_no_tool_also_where_it_lies_in_the_workspace() {
    for who in Who::all() {
        let proof = Proof::new(who);
        let home = proof.ground.home.path().to_owned();
        symlink("store", home.join("by-link")).expect("the home can be filled");
        let cwd = home.to_str().expect("text");
        for posture in ["--local", "--sandbox=host"] {
            let names = [
                "store/format.json",
                "store/key",
                "by-link/key",
                "store",
                "./work/../store/births",
            ];
            let mut turn = all_at_once("read_file", names.map(|name| json!({"path": name})));
            turn = turn
                .and_call("list_dir", json!({"path": "store"}))
                .and_call("list_dir", json!({"path": "store/runs"}))
                .and_call(
                    "grep_files",
                    json!({"pattern": ".", "path": "store", "with_ignored": true}),
                );
            if posture != "--local" {
                turn = turn
                    .and_call("write_file", json!({"path": "store/new", "content": "x"}))
                    .and_call("write_file", json!({"path": "by-link/new", "content": "x"}));
            }
            let script = Script::new().turn(turn).call(
                "find_files",
                json!({"pattern": "**/*.jsonl", "with_ignored": true}),
            );
            proof.done(&[posture, "--cwd", cwd], script.text("I looked."));
            let answers = proof.answers();
            let (last, before) = answers.split_last().expect("answers");
            for answer in before {
                assert_refused(answer, &format!("{who:?} {posture}"));
            }
            assert!(!last.contains("journal.jsonl"), "{last}");
            assert!(!home.join("store/new").exists());
        }
    }
}
