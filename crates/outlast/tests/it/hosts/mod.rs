//! Real hosts end to end: each starts a run, ends, and a new process of it reads the
//! result; and each is killed in the middle of a run, which lives.
//!
//! A scripted model stands in for theirs. `scripts/test` installs Codex, `scripts/hosts`
//! all of them, and both name the programs in `OUTLAST_CODEX` and so on. A test whose host
//! is not named says in a line that it did not run.

mod claude_code;
mod codex;
mod gemini_cli;
mod opencode;
mod stanzas;

use crate::case_ground::{Ground, OUTLAST, SOON, write};
use outlast_testkit::{
    Output, capture, eventually,
    model::{Asked, Script, ScriptedModel, Turn},
};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::{fs::symlink, process::CommandExt},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// A host has started and asked its model twice; some prepare much at their first start.
const TURN: Duration = Duration::from_secs(150);

/// What the command of the run prints once it is let on.
const RESULT: &str = "all 31 tests pass";

/// What a model must be offered, whatever stands before each name.
const TOOLS: [&str; 9] = [
    "background_run",
    "background_list",
    "background_output",
    "background_wait",
    "background_send",
    "background_cancel",
    "assistant_start",
    "assistant_poll",
    "assistant_cancel",
];

/// What differs between hosts.
struct Kind {
    name: &'static str,
    /// The variable that names the program.
    variable: &'static str,
    /// The stanza that users are given, and where it stands in the home.
    stanza: &'static str,
    place: &'static str,
    /// Writes its configuration: the stanza, and what a scripted model needs.
    prepare: fn(&Host),
    /// Returns the command that makes it take one turn without a terminal.
    turn: fn(&Host, Command) -> Command,
}

/// A host in a home of its own, whose model is scripted.
struct Host {
    kind: &'static Kind,
    ground: Ground,
    model: ScriptedModel,
    program: PathBuf,
}

impl Host {
    /// Prepares the host; says that nothing is run where it is not there.
    fn get(kind: &'static Kind) -> Option<Self> {
        let Some(program) = std::env::var_os(kind.variable).map(PathBuf::from) else {
            println!(
                "{}: did not run, since {} is not set",
                kind.name, kind.variable
            );
            return None;
        };
        let host = Self {
            kind,
            ground: Ground::new(),
            model: ScriptedModel::new(),
            program,
        };
        let bin = host.home("bin");
        fs::create_dir(&bin).expect("the home can be filled");
        symlink(OUTLAST, bin.join("outlast")).expect("the home can be filled");
        Some(host)
    }

    /// Returns the host with a configuration that names the scripted model.
    fn prepared(kind: &'static Kind) -> Option<Self> {
        let host = Self::get(kind)?;
        (kind.prepare)(&host);
        Some(host)
    }

    /// Writes the host's configuration.
    fn configure(&self, text: &str) {
        let place = self.home(self.kind.place);
        let folder = place.parent().expect("it is a file in a directory");
        fs::create_dir_all(folder).expect("the home can be filled");
        write(&place, text);
    }

    /// Returns a path in the home.
    fn home(&self, name: &str) -> PathBuf {
        self.ground.home.path().join(name)
    }

    /// Returns what servers need in their environment to find this home and no other.
    fn variables(&self) -> [(&'static str, String); 2] {
        let home = self.ground.home.path().display().to_string();
        let store = self.ground.home.store().display().to_string();
        [("OUTLAST_HOME", store), ("OUTLAST_TEST_HOME", home)]
    }

    /// Returns a stanza in JSON whose server stands in `list`, with the variables added.
    fn stanza(&self, list: &str, variables: &str) -> Value {
        let mut stanza: Value = serde_json::from_str(self.kind.stanza).expect("it is JSON");
        let own = self
            .variables()
            .map(|(name, value)| (name.to_owned(), json!(value)));
        stanza[list]["outlast"][variables] = Value::Object(own.into_iter().collect());
        stanza
    }

    /// Returns the program, in the home's surroundings, with `outlast` in its path.
    fn command(&self) -> Command {
        let surroundings = self.ground.program.command::<&str>(&[]);
        let mut command = Command::new(&self.program);
        command.env_clear().stdin(Stdio::null());
        for (name, value) in surroundings.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.home("bin").display());
        command
            .env("PATH", path)
            .env("TERM", "dumb")
            .current_dir(self.ground.home.work());
        command
    }

    /// Returns the command that makes it take one turn.
    fn turn(&self) -> Command {
        (self.kind.turn)(self, self.command())
    }

    /// Tells what the host did, for whoever keeps the output.
    fn say(&self, what: &str) {
        println!("{}: {what}", self.kind.name);
    }

    /// Lets the host take one turn with this script, which must be played to its end.
    #[track_caller]
    fn take_turn(&self, script: Script) -> Output {
        self.model.play(script);
        let output = capture(self.turn());
        self.model.assert_played();
        assert_eq!(output.code, Some(0), "{output:#?}");
        self.assert_no_server();
        output
    }

    /// Starts the host in a process group of its own.
    fn spawn(&self) -> Child {
        let log = fs::File::create(self.home("host.log")).expect("the home can be filled");
        let mut command = self.turn();
        command
            .stdout(log.try_clone().expect("a descriptor is left"))
            .stderr(log)
            .process_group(0);
        command.spawn().expect("the host can be started")
    }

    /// Asserts that no server outlives its host.
    #[track_caller]
    fn assert_no_server(&self) {
        eventually("the server has left", SOON, || {
            self.ground.processes().iter().all(|pid| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                !line.ends_with(b"outlast\0mcp\0")
            })
        });
    }

    /// Reads the result of the one run in a new process of the host.
    #[track_caller]
    fn come_back(&self, id: &str) {
        let expected = id.to_owned();
        let script = Script::new()
            .call("outlast/background_list", json!({}))
            .turn_from(move |asked| {
                let list = asked.result().object();
                assert_eq!(list["tasks"][0]["id"], json!(expected), "{list:#}");
                Turn::call(
                    "outlast/background_output",
                    json!({"id": list["tasks"][0]["id"]}),
                )
            })
            .turn_from(|asked| {
                let read = asked.result().object();
                assert_eq!(read["status"], "completed", "{read:#}");
                Turn::text(format!(
                    "It ended {}: {}",
                    read["exit_code"], read["output"]
                ))
            });
        let output = self.take_turn(script);
        assert!(output.stdout.contains("It ended 0"), "{output:#?}");
        assert!(output.stdout.contains(RESULT), "{output:#?}");
    }
}

/// The arguments of the run: it waits for the gate, then prints its result.
fn request() -> Value {
    json!({"command": format!("read -r _ <go; echo {RESULT}"), "label": "tests"})
}

/// Returns the id out of the answer to `background_run`.
fn begun(asked: &Asked) -> Value {
    let answer = asked.result().object();
    assert_eq!(answer["status"], "running", "{answer:#}");
    answer["id"].clone()
}

/// The host lists our server after its own reading of the stanza that users are given.
fn reads_its_stanza(kind: &'static Kind) {
    let Some(host) = Host::get(kind) else { return };
    host.configure(kind.stanza);
    let mut command = host.command();
    command.args(["mcp", "list"]);
    let output = capture(command);
    assert_eq!(output.code, Some(0), "{output:#?}");
    // Gemini CLI lists on its standard error.
    let both = [output.stdout.as_str(), output.stderr.as_str()];
    let words = both.into_iter().flat_map(str::split_whitespace);
    let shown = words.collect::<Vec<_>>().join(" ");
    assert!(shown.contains("outlast mcp"), "{output:#?}");
    host.say("`mcp list` shows the server of the stanza");
}

/// The host starts a run and ends. Another process of it reads what came of the run.
fn starts_ends_and_comes_back(kind: &'static Kind) {
    let Some(host) = Host::prepared(kind) else {
        return;
    };
    let ground = &host.ground;
    let gate = ground.gate("go");
    let script = Script::new()
        .call("outlast/background_run", request())
        .turn_from(|asked| Turn::text(format!("Begun as {}.", begun(asked))));
    let output = host.take_turn(script);
    let run = ground.runs().remove(0);
    let id = run["id"].as_str().expect("an id").to_owned();
    assert_eq!(run["status"], "running");
    assert!(output.stdout.contains(&id), "{output:#?}");
    let origin = &ground.record(&id)["origin"];
    assert!(origin["host"].is_string(), "{origin:#}");
    let offered = host.model.turns()[0].tools();
    for tool in TOOLS {
        assert!(
            offered.iter().any(|name| name.ends_with(tool)),
            "{offered:?}"
        );
    }

    gate.open(1);
    assert_eq!(ground.wait(&id), 0);
    host.come_back(&id);
    assert_eq!(ground.runs().len(), 1);
    let name = offered.iter().find(|name| name.ends_with(TOOLS[0]));
    host.say(&format!(
        "offers its model nine tools, such as `{}`",
        name.expect("looked at")
    ));
    host.say(&format!(
        "started a run and ended; the run records {origin}"
    ));
    host.say("came back as a new process, listed the run and read exit code and output");
}

/// The host is killed, with all of its process group, while its model waits for the run.
fn killed_in_the_middle(kind: &'static Kind) {
    let Some(host) = Host::prepared(kind) else {
        return;
    };
    let ground = &host.ground;
    let gate = ground.gate("go");
    host.model.play(
        Script::new()
            .call("outlast/background_run", request())
            .turn_from(|asked| {
                Turn::call("outlast/background_wait", json!({"ids": [begun(asked)]}))
            }),
    );
    let mut child = host.spawn();
    host.model.wait_for_turn(1, TURN);
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process_group(group.expect("a pid is positive"), Signal::KILL).expect("it is ours");
    child.wait().expect("it is our child");
    host.assert_no_server();

    let run = ground.runs().remove(0);
    let id = run["id"].as_str().expect("an id").to_owned();
    assert_eq!(run["status"], "running");
    eventually("only the run is left", SOON, || {
        ground.processes().len() == 1
    });
    gate.open(1);
    assert_eq!(ground.wait(&id), 0);
    assert_eq!(ground.text(&id), format!("{RESULT}\n"));
    host.model.assert_played();
    host.come_back(&id);
    host.say("killed while its model waited for the run: server gone, run alive");
    host.say("came back as a new process and read how that run ended");
}
