//! The stage of agent runs: a home, the program in it, and a model that plays a script.

use crate::{
    case_ground::{Ground, SOON},
    mcp_client::Client,
};
use outlast_testkit::{Output, capture, eventually_some, model::ScriptedModel};
use serde_json::{Value, json};
use std::process::Command;

/// Words by which a command is shown to be contained, or why it cannot be here.
const SANDBOX: [&str; 4] = ["--sandbox", "host", "--timeout", "5m"];

/// A home, the program, and a model that it is pointed at.
pub(crate) struct Stage {
    pub(crate) ground: Ground,
    pub(crate) model: ScriptedModel,
}

impl Stage {
    /// Returns an empty home and a model that has nothing to say yet.
    pub(crate) fn new() -> Self {
        Self::on(Ground::new())
    }

    /// The same, on ground that is prepared.
    pub(crate) fn on(ground: Ground) -> Self {
        Self {
            ground,
            model: ScriptedModel::new(),
        }
    }

    /// Returns the program with these arguments, pointed at the model.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.pointed(self.ground.program.command(words))
    }

    /// Points a command at the model.
    pub(crate) fn pointed(&self, mut command: Command) -> Command {
        command
            .env("OPENAI_BASE_URL", format!("{}/v1", self.model.url()))
            .env("OPENAI_API_KEY", "sk-test-key-of-the-stage")
            .env("OUTLAST_MODEL", "compatible/scripted");
        command
    }

    /// Runs the program to its end.
    #[track_caller]
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        capture(self.command(words))
    }

    /// Runs the program and returns its standard output as one document.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = self.run(words);
        let parsed = serde_json::from_str(&output.stdout);
        parsed.unwrap_or_else(|error| panic!("not JSON ({error}): {output:#?}"))
    }

    /// Starts an agent run on the host with more words of `do`, and returns its id.
    #[track_caller]
    pub(crate) fn start(&self, more: &[&str]) -> String {
        let output = self.run(&[&["do"], &SANDBOX[..], more].concat());
        assert_eq!(output.code, Some(0), "{output:#?}");
        output.stdout.trim().to_owned()
    }

    /// Opens a session of MCP whose server is pointed at the model.
    #[track_caller]
    pub(crate) fn client(&self) -> Client {
        self.client_with(&[])
    }

    /// The same with more variables.
    #[track_caller]
    pub(crate) fn client_with(&self, variables: &[(&str, &str)]) -> Client {
        let mut command = self.command(&["mcp"]);
        command.envs(variables.iter().copied());
        Client::open_with(command, "Test-Host").0
    }

    /// Starts a local agent run by MCP and returns its handle.
    #[track_caller]
    pub(crate) fn begin(&self, client: &mut Client, more: Value) -> Value {
        let mut arguments = json!({"task": "look around", "local": true});
        for (name, value) in more.as_object().into_iter().flatten() {
            arguments[name] = value.clone();
        }
        client.fine("assistant_start", arguments)
    }

    /// Polls a run until it has ended and returns the last answer, its events from the first on.
    #[track_caller]
    pub(crate) fn polled_to_end(&self, client: &mut Client, id: &str) -> Value {
        let mut events = Vec::new();
        let mut since = 0;
        eventually_some("the run has ended", SOON * 2, || {
            let polled = client.fine("assistant_poll", json!({"run_id": id, "since_seq": since}));
            since = polled["next_seq"].as_u64().expect("a number");
            events.extend(polled["events"].as_array().expect("a list").clone());
            let is_over = polled["status"] != "running" && polled["more"] == false;
            let mut polled = polled;
            is_over.then(|| {
                polled["events"] = json!(events);
                polled
            })
        })
    }
}

/// Returns the types of events.
pub(crate) fn kinds(events: &Value) -> Vec<&str> {
    let events = events.as_array().expect("a list");
    let kinds = events.iter().map(|event| event["type"].as_str());
    kinds.map(|kind| kind.expect("a type")).collect()
}
