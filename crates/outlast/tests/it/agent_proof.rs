//! The ground that proofs of agent runs stand on: a project of root or of an ordinary user, and
//! a model that plays a script there.

use crate::contain_ground::{Contained, Who};
use outlast_testkit::{
    Output, capture,
    invariants::supervisors,
    model::{Script, ScriptedModel},
    processes_with,
};
use serde_json::{Value, json};
use std::{ffi::OsStr, fs, path::PathBuf, process::Command};

/// The key of the model. It must stand nowhere.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// A project with a model.
pub(crate) struct Proof {
    pub(crate) ground: Contained,
    pub(crate) model: ScriptedModel,
}

impl Proof {
    pub(crate) fn new(who: Who) -> Self {
        Self::on(Contained::new(who))
    }

    pub(crate) fn on(ground: Contained) -> Self {
        let model = ScriptedModel::new();
        Self { ground, model }
    }

    /// Adds a model to a command's environment.
    pub(crate) fn equip(model: &ScriptedModel, command: &mut Command) {
        command
            .env("OPENAI_API_KEY", KEY)
            .env("OPENAI_BASE_URL", format!("{}/v1", model.url()))
            .env("OUTLAST_MODEL", "compatible/scripted");
    }

    /// Returns the program with these words and the model in its environment.
    pub(crate) fn outlast(&self, words: &[&str]) -> Command {
        let mut command = self.ground.outlast(words);
        Self::equip(&self.model, &mut command);
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        capture(self.outlast(words))
    }

    /// Starts an agent run with these options and returns its id.
    #[track_caller]
    pub(crate) fn start(&self, options: &[&str], task: &str) -> String {
        let output = self.run(&[&["do"], options, &[task]].concat());
        assert_eq!(output.code, Some(0), "{output:#?}");
        output.stdout.trim().to_owned()
    }

    /// Has a run play a script to its end, which must be a success; returns the document.
    #[track_caller]
    pub(crate) fn done(&self, options: &[&str], script: Script) -> Value {
        self.model.play(script);
        let words = [&["do", "--json"], options, &["Do the task."]].concat();
        let document = document(&self.run(&words));
        self.model.assert_played();
        self.model.assert_histories();
        assert_eq!(document["status"], "success", "{document:#}");
        document
    }

    /// Returns what the tools answered in the last conversation, in order.
    #[track_caller]
    pub(crate) fn answers(&self) -> Vec<String> {
        let turns = self.model.turns();
        let results = &turns.last().expect("the model was asked").results;
        results.iter().map(|result| result.text.clone()).collect()
    }

    /// Returns the directory of a run.
    #[track_caller]
    pub(crate) fn run_dir_of(&self, id: &str) -> PathBuf {
        let months = fs::read_dir(self.ground.home.store().join("runs")).expect("there are runs");
        let dirs = months.flatten().map(|month| month.path().join(id));
        dirs.into_iter()
            .find(|dir| dir.is_dir())
            .expect("the run is there")
    }

    /// Returns the data of the lines of a run's journal that are of this kind.
    pub(crate) fn facts(&self, id: &str, kind: &str) -> Vec<Value> {
        let journal = fs::read_to_string(self.run_dir_of(id).join("journal.jsonl"));
        let journal = journal.unwrap_or_default();
        let lines = journal
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let facts = lines.filter(|line: &Value| line["type"] == kind);
        facts.map(|line| line["data"].clone()).collect()
    }

    /// Returns the worker of this home, if one lives.
    pub(crate) fn worker(&self) -> Option<i32> {
        let mut all = processes_with(&self.ground.home.mark()).into_iter();
        all.find(|pid| words_of(*pid).get(1).is_some_and(|word| word == "__work"))
    }

    /// Returns the supervisor of this home, if one lives.
    pub(crate) fn supervisor(&self) -> Option<i32> {
        let all = supervisors(&self.ground.home.store());
        all.into_values().next()
    }

    /// Returns a file of the project as text.
    pub(crate) fn read(&self, name: impl AsRef<OsStr>) -> String {
        let path = self.ground.work().join(PathBuf::from(name.as_ref()));
        fs::read_to_string(path).unwrap_or_default()
    }
}

/// Returns the words of a process.
pub(crate) fn words_of(pid: i32) -> Vec<String> {
    let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split('\0').map(str::to_owned).collect()
}

/// Returns the document that was printed.
#[track_caller]
pub(crate) fn document(output: &Output) -> Value {
    let document = serde_json::from_str(&output.stdout);
    document.unwrap_or_else(|error| panic!("no document ({error}): {output:#?}"))
}

/// Returns the arguments of a shell call.
pub(crate) fn shell(command: &str) -> Value {
    json!({"command": command})
}
