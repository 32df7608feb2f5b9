//! Nothing that we know of gets out of an agent run: the model asks for every escape of the
//! suite by a shell call, as root and as a user.
//!
//! That each of them succeeds on a bare host is shown by `contain_escape`.

use crate::{
    agent_proof::{Proof, document, shell},
    contain_bait::Bait,
    contain_escape::{REPORTED, USE},
    contain_ground::Who,
};
use outlast_testkit::{
    Output, capture,
    model::{Script, ScriptedModel},
};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

/// So many attempts there are at least.
const ATTEMPTS_MIN: usize = 60;

/// What a probe came to, and what was told of the run.
struct Probed {
    outcomes: BTreeMap<String, String>,
    document: Value,
}

/// Has a model run the probe in a shell call of this tier.
fn probe(who: Who, tier: &str) -> Probed {
    let bait = Bait::new(who);
    let model = ScriptedModel::new();
    let mut told = Value::Null;
    let outcomes = bait.probe_by(|text| {
        let script = Script::new().call("shell", shell(text));
        model.play(script.text("I tried."));
        // Whoever starts the run has a descriptor of the outside open.
        let program = bait.ground.program().to_str().expect("text");
        let out = bait.out().to_str().expect("text");
        let words = ["-c", "exec 9<\"$0\"; exec \"$@\"", out, program];
        let asked = ["do", "--json", "--sandbox", tier, "Get out."];
        let words = [&words[..], &asked].concat();
        let mut command = bait.ground.command(Path::new("/bin/sh"), &words);
        Proof::equip(&model, &mut command);
        command.env("PATH", bait.path());
        let output = capture(command);
        told = document(&output);
        assert_eq!(told["status"], "success", "{told:#}");
        Output {
            stdout: only_log(&bait.ground.home.store()),
            ..output
        }
    });
    model.assert_played();
    Probed {
        outcomes,
        document: told,
    }
}

/// Returns the output of the one call of the store.
fn only_log(store: &Path) -> String {
    let mut folders = vec![store.join("runs")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it is ours").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.parent().is_some_and(|dir| dir.ends_with("calls"))
                && path.extension().is_some_and(|end| end == "log")
            {
                found.push(path);
            }
        }
    }
    assert_eq!(found.len(), 1, "{found:?}");
    let bytes = fs::read(&found[0]).expect("it is ours");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the attempts that got out, but for those that this posture lets out.
fn out<'a>(probed: &'a Probed, may: &[&str]) -> Vec<&'a String> {
    let outcomes = probed.outcomes.iter();
    let out = outcomes.filter(|(name, told)| {
        *told == "out" && !name.starts_with(USE) && !may.contains(&name.as_str())
    });
    out.map(|(name, _)| name).collect()
}

#[track_caller]
fn assert_held(who: Who, probed: &Probed, may: &[&str]) {
    let count = probed.outcomes.len();
    assert!(count >= ATTEMPTS_MIN, "{who:?}: {count} attempts");
    let out = out(probed, may);
    assert!(out.is_empty(), "{who:?}: {out:#?}");
    let mut uses = probed
        .outcomes
        .iter()
        .filter(|(name, _)| name.starts_with(USE));
    assert!(
        uses.all(|(_, told)| told == "out"),
        "{:#?}",
        probed.outcomes
    );
}

#[test]
fn no_shell_call_of_a_model_gets_out_of_an_editing_sandbox() {
    for who in Who::all() {
        let probed = probe(who, "edit");
        assert_held(who, &probed, &REPORTED);
        let appeared = &probed.document["sandbox"]["appeared"];
        assert!(
            appeared.to_string().contains(".codex"),
            "{:#}",
            probed.document
        );
    }
}

#[test]
fn no_shell_call_of_a_model_changes_what_it_may_only_read() {
    for who in Who::all() {
        assert_held(who, &probe(who, "read"), &[]);
    }
}
