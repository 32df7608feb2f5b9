//! The background capability of an embedding host, over real processes.
//!
//! `it __host STORE SESSION start TEXT` is such a host: it starts a command, and
//! prints its answer and every end that it is handed, one JSON line each.
//! `call` in place of `start` takes all the arguments as JSON;
//! `it __host STORE SESSION agent TASK` asks for a sub-agent and leaves.

mod agents;
mod ends;
mod example;
mod restarts;
mod runs;
mod views;

use crate::home::{LIMIT, Place, environment, program};
use libtest_mimic::Trial;
use outlast_lib::background::{Background, BackgroundOptions, SpawnError, Spawned, SubAgent};
use outlast_lib::{Limits, Record, RunId, Store};
use outlast_testkit::eventually;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    agents::register(trials);
    ends::register(trials);
    example::register(trials);
    restarts::register(trials);
    runs::register(trials);
    views::register(trials);
}

const HOST: &str = "__host";

/// A host in this process, for one session.
pub(crate) struct Host {
    pub(crate) place: Place,
    pub(crate) background: Background,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self::with(Place::new(), |_| {})
    }

    /// Returns a host whose options are changed by `change`.
    pub(crate) fn with(place: Place, change: impl FnOnce(&mut BackgroundOptions)) -> Self {
        let background = open(&place, "s", change);
        Self { place, background }
    }

    /// Calls a tool that must not be refused.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        let answer = self.background.call(tool, arguments);
        assert!(!answer.is_error(), "{}", answer.text());
        answer.value()
    }

    /// Calls a tool that must be refused; returns the error.
    #[track_caller]
    pub(crate) fn refused(&self, tool: &str, arguments: &Value) -> Value {
        let answer = self.background.call(tool, arguments);
        assert!(answer.is_error(), "{}", answer.text());
        let value = answer.value();
        assert_eq!(value["ok"], false);
        value["error"].clone()
    }

    /// Starts a command.
    #[track_caller]
    pub(crate) fn run(&self, command: &str) -> RunId {
        id_of(&self.call("background_run", &json!({"command": command})))
    }

    /// Waits until a run has ended, without the capability.
    #[track_caller]
    pub(crate) fn ended(&self, id: &RunId) -> Record {
        self.place.ended(id)
    }

    /// Returns the ids of the ends that are handed out now, with whether they are restored.
    #[track_caller]
    pub(crate) fn drained(&self) -> Vec<(RunId, bool)> {
        let finished = self.background.drain_finished().expect("it can be read");
        finished
            .iter()
            .map(|one| (one.run.id, one.restored))
            .collect()
    }

    /// Waits for an end that wakes.
    #[track_caller]
    pub(crate) fn is_woken(&self, within_ms: u64) -> bool {
        let woken = self.background.wait_for_end(Some(within_ms), None);
        woken.expect("one can wait")
    }
}

/// Opens the capability in the home of a trial.
pub(crate) fn open(
    place: &Place,
    session: &str,
    change: impl FnOnce(&mut BackgroundOptions),
) -> Background {
    let limits = place.store.limits().clone();
    let store = Store::open(place.store.root(), limits).expect("the store opens");
    let mut options = BackgroundOptions {
        environment: environment(&place.home),
        ..BackgroundOptions::default()
    };
    change(&mut options);
    let background = Background::new(Arc::new(store), session, place.home.path(), options);
    background.expect("the session opens")
}

#[track_caller]
pub(crate) fn id_of(answer: &Value) -> RunId {
    let id = answer["id"].as_str().expect("the answer has an id");
    RunId::parse(id).expect("it is an id")
}

/// Returns the waiting limit of a trial in milliseconds.
pub(crate) fn limit_ms() -> u64 {
    u64::try_from(LIMIT.as_millis()).expect("it is short")
}

/// A spawner whose sub-agents are the shell text that is their task, of models `small` and `big`.
pub(crate) fn by_shell(asked: &SubAgent) -> Result<Spawned, SpawnError> {
    let known = ["small", "big"].map(str::to_owned).to_vec();
    if let Some(model) = asked.model.clone().filter(|model| !known.contains(model)) {
        return Err(SpawnError::ModelRefused { model, known });
    }
    Ok(Spawned::Command {
        words: ["sh", "-c", &asked.task].map(str::to_owned).to_vec(),
        env: vec![("ASKED_BY".to_owned(), asked.session.clone())],
        child_session_id: Some("child-7".to_owned()),
    })
}

/// A host in a process of its own; it is killed with the trial.
pub(crate) struct Apart {
    pub(crate) process: Child,
    said: String,
}

impl Apart {
    /// Starts the host, which starts `text`; what it says goes to the file `said` of the home.
    pub(crate) fn start(place: &Place, said: &str, text: &str) -> Self {
        let mut command = host(place, "start", text);
        let file = File::create(place.home.path().join(said)).expect("the home can be written");
        let process = command
            .stdin(Stdio::null())
            .stdout(file)
            .spawn()
            .expect("the host starts");
        Self {
            process,
            said: said.to_owned(),
        }
    }

    /// Waits for the line `at` of what it says.
    #[track_caller]
    pub(crate) fn said(&self, place: &Place, at: usize) -> Value {
        place.has_lines(&self.said, at + 1);
        let mut line = Value::Null;
        eventually("the line is whole", LIMIT, || {
            let lines = place.lines(&self.said);
            line = serde_json::from_str(&lines[at]).unwrap_or_default();
            line != Value::Null
        });
        line
    }

    /// Kills it as an out-of-memory killer would.
    pub(crate) fn kill(mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it is ours");
    }
}

/// Returns the command of a host in a process of its own.
pub(crate) fn host(place: &Place, mode: &str, text: &str) -> Command {
    let mut command = program();
    command
        .arg(HOST)
        .arg(place.store.root())
        .args(["s", mode, text])
        .env_clear()
        .envs(environment(&place.home))
        .current_dir(place.home.path());
    command
}

/// Is the host, if this process was started as one.
pub(crate) fn call() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [HOST, store, session, mode, text] = words.as_slice() else {
        return None;
    };
    let store = Store::open(Path::new(store), Limits::default()).expect("the store opens");
    let options = BackgroundOptions {
        environment: std::env::vars_os().collect(),
        spawner: Some(Arc::new(by_shell)),
        ..BackgroundOptions::default()
    };
    let here = std::env::current_dir().expect("it is there");
    let background = Background::new(Arc::new(store), *session, here, options);
    let background = background.expect("the session opens");
    if *mode == "agent" {
        let answer = background.call("background_agent", &json!({"task": text}));
        say(&answer.value());
        return Some(ExitCode::SUCCESS);
    }
    let arguments = match *mode {
        "call" => serde_json::from_str(text).expect("the text is JSON"),
        _ => json!({"command": text}),
    };
    say(&background.call("background_run", &arguments).value());
    while background.wait_for_end(None, None).expect("one can wait") {
        for one in background.drain_finished().expect("it can be read") {
            say(&json!({"ended": one.run.id.as_str(), "restored": one.restored}));
        }
    }
    None
}

fn say(value: &Value) {
    writeln!(std::io::stdout(), "{value}").expect("somebody reads it");
}
