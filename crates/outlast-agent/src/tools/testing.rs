//! A workspace, a store and a toolbox for tests, with hands that work at once in this process.

use super::{Outcome, Plan, Surroundings, Toolbox};
use crate::hand::{self, HandAnswer, HandAsk};
use outlast_journal::worker::{CallEnd, CallEnded, CallProgram};
use outlast_journal::{Limits, RunId, Tier, Timestamp, names};
use outlast_lib::Store;
use outlast_testkit::Home;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// When every run of a bench was born.
const CREATED: &str = "2026-01-02T03:04:05Z";

/// Tools over a workspace of their own.
pub(crate) struct Bench {
    pub(crate) home: Home,
    pub(crate) around: Surroundings,
    pub(crate) tools: Toolbox,
    calls: u32,
}

impl Bench {
    /// Returns a bench for a run that edits.
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// Returns a bench whose surroundings are changed first.
    pub(crate) fn with(change: impl FnOnce(&mut Surroundings)) -> Self {
        let home = Home::new();
        let store = Store::open(&home.store(), Limits::default()).unwrap();
        let mut around = Surroundings {
            workspace: home.work(),
            project: "/project".to_owned(),
            tier: Tier::SandboxEdit,
            is_local: false,
            asks: false,
            store: Arc::new(store),
            run: id(1),
            earlier: Vec::new(),
        };
        make_run(&home.store(), &around.run);
        change(&mut around);
        Self {
            tools: Toolbox::new(around.clone()),
            home,
            around,
            calls: 0,
        }
    }

    /// Returns a path in the workspace.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.work().join(name)
    }

    /// Makes a file, and its directories.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        put(&path, content.as_ref());
        path
    }

    /// Returns what a file holds.
    pub(crate) fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Has a call done to its end.
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> Outcome {
        match self.tools.plan(name, arguments) {
            Plan::Refused { code, why, .. } => Outcome {
                shown: format!("refused {code}: {why}"),
                ..Outcome::default()
            },
            Plan::Own(own) => block_on(self.tools.run("1.0", own)),
            Plan::Hands { program, stdin, .. } => {
                self.calls += 1;
                let call = format!("1.{}", self.calls);
                let (ended, log) = self.hands(&call, &program, stdin.as_deref());
                self.tools.finish(name, arguments, &ended, &log)
            }
        }
    }

    /// Has a call done and returns what was shown; it must have done what it says.
    #[track_caller]
    pub(crate) fn shown(&mut self, name: &str, arguments: &Value) -> String {
        let outcome = self.call(name, arguments);
        assert!(outcome.ok, "{}", outcome.shown);
        outcome.shown
    }

    /// Has a call done that must fail or be refused; returns what was shown.
    #[track_caller]
    pub(crate) fn refused(&mut self, name: &str, arguments: &Value) -> String {
        let outcome = self.call(name, arguments);
        assert!(!outcome.ok, "{}", outcome.shown);
        outcome.shown
    }

    /// Does what a supervisor does for a call.
    pub(crate) fn hands(
        &self,
        call: &str,
        program: &CallProgram,
        stdin: Option<&str>,
    ) -> (CallEnded, PathBuf) {
        let log = run_dir(&self.home.store(), &self.around.run)
            .join(names::CALLS)
            .join(format!("{call}.log"));
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        let exit_code = match program {
            CallProgram::Shell(text) => self.shell(text, &log),
            CallProgram::Hand => {
                let ask = HandAsk::from_line(stdin.unwrap().as_bytes()).unwrap();
                let done = hand::perform(ask, &self.home.work());
                let refused = |refused| (HandAnswer::refused(refused), Vec::new());
                let (answer, body) = done.unwrap_or_else(refused);
                let mut bytes = answer.to_line().into_bytes();
                bytes.extend(body);
                put(&log, &bytes);
                Some(0)
            }
        };
        let ended = CallEnded {
            call: call.to_owned(),
            end: CallEnd::Exited,
            exit_code,
            signal: None,
            is_out_of_memory: false,
            output_bytes: fs::metadata(&log).unwrap().len(),
            elapsed_ms: 1_234,
            failure: None,
        };
        (ended, log)
    }

    fn shell(&self, text: &str, log: &Path) -> Option<i32> {
        let out = File::create(log).unwrap();
        let status = Command::new("bash")
            .args(["-c", text])
            .current_dir(self.home.work())
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .status();
        status.unwrap().code()
    }
}

/// Returns an id that is made of a number.
pub(crate) fn id(number: u8) -> RunId {
    RunId::from_bits([number; 10])
}

/// Returns where a run of a bench lies.
pub(crate) fn run_dir(store: &Path, id: &RunId) -> PathBuf {
    store.join(names::run_dir(id, Timestamp::parse(CREATED).unwrap()))
}

/// Makes a run that has a spec and no more.
pub(crate) fn make_run(store: &Path, id: &RunId) {
    let dir = run_dir(store, id);
    fs::create_dir_all(&dir).unwrap();
    let spec = json!({
        "v": 1, "id": id, "created": CREATED, "argv": ["true"], "command": "true",
        "label": "a run", "cwd": "/", "project": "/project",
        "grace_ms": 5000, "output_bytes_max": 1 << 20,
    });
    put(&dir.join(names::SPEC), spec.to_string().as_bytes());
}

/// Waits for what the worker does itself.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

/// Makes a file, replacing what is there.
pub(crate) fn put(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    File::create(path).unwrap().write_all(bytes).unwrap();
}

/// Returns lines from 1 on, each with its number behind `before`.
pub(crate) fn numbered(count: u32, before: &str) -> String {
    (1..=count).fold(String::new(), |mut text, number| {
        writeln!(text, "{before}{number}").unwrap();
        text
    })
}
