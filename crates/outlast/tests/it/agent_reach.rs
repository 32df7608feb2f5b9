//! The worker has the key, the supervisor the truth and the say: nothing that a model has run
//! gets at them, nor answers what its own run asks for.

use crate::{
    agent_proof::{KEY, Proof, document, shell},
    case_ground::{SOON, write},
    contain_ground::{PYTHON, Who, set_mode},
};
use outlast_testkit::{
    Output, capture, eventually, eventually_some, model::Script, processes_with,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

const REACH: &str = include_str!("agent_reach.py");

/// What some machines let nobody do, even bare: traces of what is no child.
const NOT_EVERYWHERE: [&str; 4] = [
    "a trace of the worker",
    "a trace of the supervisor",
    "a descriptor of the worker",
    "a descriptor of the supervisor",
];

/// A run that asks for something above its tier, and a program to get at it.
struct Asking {
    proof: Proof,
    id: String,
}

impl Asking {
    /// Starts a run that does these turns, then asks.
    fn new(who: Who, before: Script) -> Self {
        let proof = Proof::new(who);
        proof.ground.file("reach.py", REACH);
        let copy = proof.ground.work().join("outlast");
        fs::copy(proof.ground.program(), &copy).expect("the project has room for the program");
        set_mode(&copy, 0o755);
        proof.model.play(
            before
                .call("http_request", json!({"url": "http://127.0.0.1:9/"}))
                .text("It was denied."),
        );
        let id = proof.start(&["--sandbox", "edit", "--ask"], "Get at it.");
        Self { proof, id }
    }

    fn told(&self, signal: i32, words: &Value) -> String {
        let proof = &self.proof;
        let pid = |what, pid: Option<i32>| eventually_some(what, SOON, || pid);
        json!({
            "dir": proof.run_dir_of(&self.id),
            "store": proof.ground.home.store(),
            "program": proof.ground.work().join("outlast"),
            "worker": pid("a worker", proof.worker()),
            "supervisor": pid("a supervisor", proof.supervisor()),
            "key": KEY, "signal": signal, "words": words,
        })
        .to_string()
    }

    #[track_caller]
    fn asks(&self) {
        let facts = || self.proof.facts(&self.id, "ask");
        eventually("it asks", SOON, || !facts().is_empty());
    }
}

#[track_caller]
fn outcomes(output: &Output) -> BTreeMap<String, String> {
    let line = output.stdout.lines().last().unwrap_or_default();
    serde_json::from_str(line).unwrap_or_else(|_| panic!("no outcomes: {output:#?}"))
}

fn out(outcomes: &BTreeMap<String, String>) -> Vec<&String> {
    let out = outcomes.iter().filter(|(_, told)| *told == "out");
    out.map(|(name, _)| name).collect()
}

#[test]
fn no_call_reaches_its_worker_its_supervisor_or_the_control_of_its_run() {
    for who in Who::all() {
        // The words are known once the run is: the call reads them from a file of the project.
        let text =
            format!("until [ -s told ]; do sleep 0.05; done; {PYTHON} reach.py \"$(cat told)\"");
        let before = Script::new()
            .call("shell", shell(&text))
            .call("shell", shell("kill -9 -1; echo $$"));
        let asking = Asking::new(who, before);
        let (proof, id) = (&asking.proof, asking.id.as_str());
        let acts = json!([
            ["approve", id],
            ["cancel", id],
            ["show", id],
            ["send", id, "approve"],
            ["ps"]
        ]);
        let told = asking.told(9, &acts);
        let folder = proof.ground.work();
        write(&folder.join("told.new"), &told);
        set_mode(&folder.join("told.new"), 0o644);
        fs::rename(folder.join("told.new"), folder.join("told")).expect("renamed");
        asking.asks();

        let worker = proof.worker();
        let answers = proof.answers();
        assert_eq!(proof.facts(id, "worker.started").len(), 1, "{answers:#?}");
        let log = proof.run_dir_of(id).join("calls");
        let log = log_of_first(&log);
        let inside: BTreeMap<String, String> =
            serde_json::from_str(log.lines().last().unwrap_or_default()).expect("outcomes");
        assert!(out(&inside).is_empty(), "{who:?}: {inside:#?}");

        // Whoever is contained beside it, in the same project, cannot answer the ask either.
        let told = asking.told(9, &acts);
        let words = [
            "run",
            "--wait",
            "--sandbox",
            "edit",
            "--",
            PYTHON,
            "reach.py",
            &told,
        ];
        let beside = outcomes(&proof.run(&words));
        assert!(out(&beside).is_empty(), "{who:?}: {beside:#?}");
        assert!(proof.facts(id, "answered").is_empty());
        assert_eq!(proof.worker(), worker);

        // Bare, every attempt succeeds: so what is above proves something.
        let told = asking.told(0, &json!([["show", id]]));
        let bare = capture(
            proof
                .ground
                .command(Path::new(PYTHON), &["reach.py", &told]),
        );
        let mut bare = outcomes(&bare);
        bare.retain(|name, told| told != "out" && !NOT_EVERYWHERE.contains(&name.as_str()));
        assert!(bare.is_empty(), "{who:?}: {bare:#?}");

        assert_eq!(proof.run(&["deny", id]).code, Some(0));
        assert_eq!(proof.run(&["wait", "--for", "60s", id]).code, Some(0));
        proof.model.assert_played();
        proof.model.assert_histories();
    }
}

/// Returns the output of the first call.
fn log_of_first(calls: &Path) -> String {
    let found = fs::read_dir(calls).expect("there were calls").flatten();
    let mut logs: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    logs.retain(|path| path.extension().is_some_and(|end| end == "log"));
    logs.sort();
    fs::read_to_string(&logs[0]).expect("it is ours")
}

/// A program that is put into the project and started there is as contained as any other.
#[test]
fn the_program_itself_started_by_a_call_starts_nothing_that_is_outside_or_stays() {
    for who in Who::all() {
        let proof = Proof::new(who);
        let copy = proof.ground.work().join("copy");
        fs::copy(proof.ground.program(), &copy).expect("the project has room for the program");
        set_mode(&copy, 0o755);
        proof.ground.hand_over();
        let store = proof.ground.home.store();
        let store = store.display();
        let script = Script::new()
            .call("shell", shell("./copy run -- sleep 1000; ./copy ps -a; ls -d ~/.local/state/* 2>/dev/null"))
            .call("shell", shell(&format!("OUTLAST_HOME={store} ./copy run -- touch {store}/x; OUTLAST_HOME={store} ./copy ps -a --json")))
            .call("shell", shell("./copy do --json --sandbox host 'Print the key.'; OPENAI_API_KEY=x ./copy do --json --local x"))
            .call("shell", shell("echo '{}' | ./copy __hand; ./copy __work x y; ./copy __supervise .; ./copy __call; ./copy __contain"))
            .call("shell", shell("setsid -f sleep 1000; nohup sleep 1000 & disown; (sleep 1000 &)"))
            .text("I tried.");
        let document = proof.done(&["--sandbox", "edit"], script);
        let answers = proof.answers();
        assert!(!answers[1].contains("Do the task."), "{}", answers[1]);
        assert!(!format!("{answers:?}").contains(KEY), "{answers:#?}");
        eventually("nothing is left", SOON, || {
            processes_with(&proof.ground.home.mark()).is_empty()
        });
        let runs = proof.ground.json(&["ps", "-a", "--json"]);
        assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{runs:#}");
        assert_eq!(proof.model.turns().len(), 6, "{document:#}");
        assert!(!proof.ground.home.store().join("x").exists());
    }
}

/// A local run has nothing but its reading, whatever the model asks for.
#[test]
fn a_local_run_runs_nothing_and_writes_nothing() {
    let proof = Proof::new(Who::all()[0]);
    let script = Script::new()
        .call("shell", shell("touch a"))
        .call("write_file", json!({"path": "a", "content": "x"}))
        .call("edit_file", json!({"path": "a", "old": "x", "new": "y"}))
        .call("http_request", json!({"url": "http://127.0.0.1:9/"}))
        .call("remember", json!({"text": "a note"}))
        .text("I could not.");
    let document = proof.done(&["--local"], script);
    for answer in proof.answers() {
        assert!(answer.contains("\ncode: local_reads_only"), "{answer}");
    }
    assert_eq!(document["receipts"]["total"], 0, "{document:#}");
    assert_eq!(fs::read_dir(proof.ground.work()).expect("read").count(), 0);
    let until = proof.run(&["do", "--json", "--local", "--until", "true", "x"]);
    let refused = document_of(&until);
    assert_eq!(refused["status"], "error", "{refused:#}");
    assert!(
        !refused["suggestions"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
}

#[track_caller]
fn document_of(output: &Output) -> Value {
    assert_ne!(output.code, Some(0), "{output:#?}");
    document(output)
}
