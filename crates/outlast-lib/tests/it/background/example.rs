//! The example host does what the guide says of it, from the first line to the last.

use crate::home::{LIMIT, Place, environment};
use libtest_mimic::{Completion, Failed, Trial};
use outlast_lib::Status;
use outlast_testkit::eventually_some;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        the_example_host_answers_wakes_leaves_and_is_told_what_it_missed,
    );
}

const NOT_BUILT: &str = "did not run: `cargo build --examples` was not called";

/// Returns the example, which cargo builds beside the tests.
fn example() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let path = own.parent()?.parent()?.join("examples/host");
    path.exists().then_some(path)
}

/// The example in a process of its own, whose output goes to the file `said`.
struct Talk<'a> {
    place: &'a Place,
    said: &'static str,
    process: Child,
    stdin: ChildStdin,
}

impl<'a> Talk<'a> {
    fn begin(place: &'a Place, said: &'static str) -> Option<Self> {
        let mut process = Command::new(example()?)
            .arg(place.store.root())
            .args(["s", "/bin/echo"])
            .env_clear()
            .envs(environment(&place.home))
            .current_dir(place.home.path())
            .stdin(Stdio::piped())
            .stdout(File::create(place.home.path().join(said)).ok()?)
            .spawn()
            .expect("it is a program");
        let stdin = process.stdin.take().expect("it is piped");
        Some(Self {
            place,
            said,
            process,
            stdin,
        })
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("it listens");
    }

    fn call(&mut self, tool: &str, arguments: &Value) {
        self.tell(&json!({"tool": tool, "arguments": arguments}).to_string());
    }

    /// Waits for line `at` of those that have `key`.
    fn hear(&self, key: &str, at: usize) -> Value {
        let of = |line: &String| serde_json::from_str::<Value>(line).ok()?.get(key).cloned();
        eventually_some(key, LIMIT, || {
            let lines = self.place.lines(self.said);
            lines.iter().filter_map(of).nth(at)
        })
    }

    fn leave(mut self) -> bool {
        drop(self.stdin);
        self.process.wait().expect("it leaves").success()
    }
}

fn the_example_host_answers_wakes_leaves_and_is_told_what_it_missed() -> Result<Completion, Failed>
{
    let place = Place::new();
    let Some(mut host) = Talk::begin(&place, "first") else {
        return Ok(Completion::ignored_with(NOT_BUILT));
    };
    assert_eq!(host.hear("tool", 4), "background_cancel");
    assert_eq!(host.hear("block", 0), Value::Null);
    host.call("background_agent", &json!({"task": "look around"}));
    let agent = host.hear("answer", 0)["id"].clone();
    let prompt = host.hear("prompt", 0);
    let prompt = prompt.as_str().ok_or("a prompt is a text")?;
    assert!(
        prompt.contains(agent.as_str().unwrap_or("no id")),
        "{prompt}"
    );
    host.call("background_output", &json!({"id": agent}));
    let log = host.hear("answer", 1)["output"].clone();
    assert_eq!(log, "[sub-agent finished · success: true]\nlook around\n");
    let held = "while [ ! -e go ]; do sleep 0.02; done; echo built";
    host.call("background_run", &json!({"command": held}));
    let id = super::id_of(&host.hear("answer", 2));
    host.tell("/background");
    let shown = host.hear("shown", 0);
    assert!(
        shown
            .as_str()
            .is_some_and(|text| text.starts_with("2 background task(s), 1 ru"))
    );
    assert!(host.leave());

    assert_eq!(place.record(&id).status, Status::Running);
    place.touch("go");
    place.ended(&id);
    let host = Talk::begin(&place, "second").ok_or(NOT_BUILT)?;
    let block = host.hear("block", 0);
    assert!(
        block
            .as_str()
            .is_some_and(|text| text.contains("while you were away")),
        "{block}"
    );
    assert!(host.leave());
    let lines = place.lines("second");
    assert!(
        lines.iter().all(|line| !line.contains("\"prompt\"")),
        "{lines:?}"
    );
    place.is_sound();
    Ok(Completion::Completed)
}
