//! Agent runs as hosts have them: sessions of MCP whose server is pointed at the scripted model.

use crate::{agent_ground::Agents, case_ground::SOON, mcp_client::Client};
use outlast_testkit::eventually_some;
use serde_json::{Value, json};

impl Agents {
    /// Runs the program and returns its standard output as one document.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = self.run(words);
        let parsed = serde_json::from_str(&output.stdout);
        parsed.unwrap_or_else(|error| panic!("not JSON ({error}): {output:#?}"))
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
    pub(crate) fn begin(client: &mut Client, more: &Value) -> Value {
        let mut arguments = json!({"task": "look around", "local": true});
        for (name, value) in more.as_object().into_iter().flatten() {
            arguments[name] = value.clone();
        }
        client.fine("assistant_start", arguments)
    }

    /// Polls a run until it has ended and returns the last answer, its events from the first on.
    #[track_caller]
    pub(crate) fn polled_to_end(client: &mut Client, id: &str) -> Value {
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
