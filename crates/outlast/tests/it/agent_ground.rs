//! The ground that agent runs stand on: a home, the program, and a model that plays a script.

use crate::case_ground::{Ground, SOON, command_line};
use outlast_testkit::model::ScriptedModel;
use outlast_testkit::{Output, capture, eventually, eventually_some};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// The key that the model gets. It must stand nowhere.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// A home with a model.
pub(crate) struct Agents {
    pub(crate) ground: Ground,
    pub(crate) model: ScriptedModel,
}

impl Agents {
    pub(crate) fn new() -> Self {
        Self {
            ground: Ground::new(),
            model: ScriptedModel::new(),
        }
    }

    /// Returns the program with the model in its environment.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.ground.program.command(words);
        command
            .env("OPENAI_API_KEY", KEY)
            .env("OPENAI_BASE_URL", format!("{}/v1", self.model.url()))
            .env("OUTLAST_MODEL", "scripted");
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        capture(self.command(words))
    }

    /// Starts an agent run with these options and returns its id.
    #[track_caller]
    pub(crate) fn start(&self, options: &[&str], task: &str) -> String {
        let output = self.run(&[&["do"], options, &[task]].concat());
        assert_eq!(output.code, Some(0), "{output:#?}");
        output.stdout.trim().to_owned()
    }

    /// Runs a task to its end and returns the document.
    #[track_caller]
    pub(crate) fn document(&self, options: &[&str], task: &str) -> Value {
        let output = self.run(&[&["do", "--json"], options, &[task]].concat());
        let document = serde_json::from_str(&output.stdout);
        document.unwrap_or_else(|error| panic!("no document ({error}): {output:#?}"))
    }

    /// Returns the lines of a run's journal of this kind, their data.
    pub(crate) fn facts(&self, id: &str, kind: &str) -> Vec<Value> {
        let facts = self.journal(id).into_iter();
        let facts = facts.filter(|line| line["type"] == kind);
        facts.map(|line| line["data"].clone()).collect()
    }

    pub(crate) fn journal(&self, id: &str) -> Vec<Value> {
        let journal = self.ground.run_dir(id).join("journal.jsonl");
        let journal = fs::read_to_string(journal).unwrap_or_default();
        let lines = journal.lines();
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Waits until the journal of a run has a line of this kind.
    #[track_caller]
    pub(crate) fn comes(&self, id: &str, kind: &str) {
        let what = format!("a line `{kind}` of {id}");
        eventually(&what, SOON, || !self.facts(id, kind).is_empty());
    }

    /// Returns the worker of a run that goes on.
    #[track_caller]
    pub(crate) fn worker(&self, id: &str) -> i32 {
        eventually_some("a worker", SOON, || {
            let mut all = self.ground.processes().into_iter();
            all.find(|pid| {
                let words = command_line(*pid);
                words
                    .windows(2)
                    .any(|pair| pair[0] == "__work" && pair[1] == id)
            })
        })
    }

    /// Returns the lines of a file that calls wrote.
    pub(crate) fn effects(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.ground.home.work().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Writes the table of agents into the configuration.
    pub(crate) fn configure(&self, table: &str) {
        let folder = self.ground.home.path().join(".config/outlast");
        fs::create_dir_all(&folder).expect("the home can be filled");
        let text = format!("[agent]\n{table}\n");
        crate::case_ground::write(&folder.join("config.toml"), &text);
    }
}

/// Returns the arguments of a shell call.
pub(crate) fn shell(command: &str) -> Value {
    json!({"command": command})
}
