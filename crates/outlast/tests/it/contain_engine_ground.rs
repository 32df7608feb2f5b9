//! A project whose runs are in containers of an engine of its own.

use crate::contain_engine_daemon::{Engine, IMAGE, Kind, SOON};
use crate::contain_ground::{Contained, Who};
use outlast_testkit::{Output, capture, eventually};
use rustix::process::Signal;
use serde_json::Value;
use std::process::Command;

/// An engine and a project.
pub(crate) struct Ground {
    pub(crate) engine: Engine,
    pub(crate) contained: Contained,
}

impl Ground {
    /// Starts docker with one image; `None`, and a line that says so, where there can be none.
    pub(crate) fn new() -> Option<Self> {
        Self::of(Kind::Docker)
    }

    /// The same, of either engine.
    pub(crate) fn of(kind: Kind) -> Option<Self> {
        let engine = Engine::new(kind)?;
        engine.load_busybox();
        Some(Self {
            engine,
            contained: Contained::new(match kind {
                Kind::Docker | Kind::Podman => Who::Root,
                Kind::PodmanOfUser => Who::User,
            }),
        })
    }

    /// Starts the engine again.
    pub(crate) fn start(&mut self) {
        self.engine.start();
    }

    /// Ends the engine, and waits for that.
    pub(crate) fn stop(&mut self, signal: Signal) {
        self.engine.stop(signal);
    }

    /// Returns the containers that there are, running or not.
    pub(crate) fn containers(&self) -> Vec<Value> {
        self.engine.containers()
    }

    /// Returns the program with these words, led to the engine.
    pub(crate) fn outlast(&self, words: &[&str]) -> Command {
        let mut command = self.contained.outlast(words);
        command.env("DOCKER_HOST", self.engine.address());
        command
    }

    /// Runs a shell text in the image, waits for it and returns its output and record.
    pub(crate) fn run(&self, options: &[&str], text: &str) -> (Output, Value) {
        let words = [&["run", "--wait", "--image", IMAGE], options, &["-c", text]].concat();
        let output = capture(self.outlast(&words));
        let newest = self.contained.json(&["ps", "--json", "--all"]);
        let id = newest["runs"][0]["id"]
            .as_str()
            .unwrap_or_else(|| panic!("{output:#?}"));
        let record = self.contained.json(&["show", "--json", id]);
        (output, record)
    }

    /// Starts a shell text in the image, and returns its id.
    pub(crate) fn begin(&self, options: &[&str], text: &str) -> String {
        let words = [&["run", "--json", "--image", IMAGE], options, &["-c", text]].concat();
        let output = capture(self.outlast(&words));
        let record: Value = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|_| panic!("no document: {output:#?}"));
        record["id"]
            .as_str()
            .unwrap_or_else(|| panic!("no id: {output:#?}"))
            .to_owned()
    }

    /// Returns the record of a run once it has ended.
    pub(crate) fn ended(&self, id: &str) -> Value {
        let mut last = Value::Null;
        eventually("the run has ended", SOON, || {
            last = self.contained.json(&["show", "--json", id]);
            last["ended"] != Value::Null
        });
        last
    }

    /// Waits until a file of the project is there.
    pub(crate) fn wait_for(&self, name: &str) {
        let path = self.contained.work().join(name);
        eventually("the command has written", SOON, || path.exists());
    }
}
