//! Case SE-02: the value of a secret is in no view and in no file but the log.
//!
//! The command prints it in two writes, as part of its environment, and hands
//! it to a process that it leaves behind. Every verb that shows something of
//! a run is asked, while it goes on and after.

use crate::case_ground::{Gate, Ground, SOON, kill};
use outlast_testkit::{capture, eventually};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
};

const SECRET: &str = "sk-test-0123456789abcdef";

/// Its second write comes when the gate is opened.
const COMMAND: &str = r#"
    printf sk-test-0123; read -r _ <go; printf "456789abcdef\n"; env
    bash -c 'read -r _ <stay; :' "$API_KEY" &
    echo "last $API_KEY""#;

/// A run that prints its secret, and those who look while it does.
struct Leak {
    ground: Ground,
    id: String,
    gate: Gate,
    _stay: Gate,
    followers: Vec<Child>,
}

impl Leak {
    fn new() -> Self {
        let ground = Ground::new();
        let (gate, stay) = (ground.gate("go"), ground.gate("stay"));
        let started = capture(call(&ground, &["run", "-c", COMMAND]));
        assert_eq!(started.code, Some(0), "{started:#?}");
        let id = started.stdout.trim().to_owned();
        let followers = vec![
            ground.spawn(&["logs", "-f", &id]),
            ground.spawn(&["events", "--jsonl", "-f", &id]),
            ground.spawn(&["wait", "--until-output", "API_KEY=", &id]),
        ];
        Self {
            ground,
            id,
            gate,
            _stay: stay,
            followers,
        }
    }

    /// Ends the run, and returns what those saw who had looked on.
    fn end(&mut self) -> Vec<String> {
        self.ground.prints(&self.id, "sk-test-0123");
        self.gate.open(1);
        self.ground.wait(&self.id);
        let followers = self.followers.drain(..);
        followers
            .map(|follower| follower.wait_with_output().expect("it is our child"))
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .collect()
    }
}

/// Returns a call of the program by somebody who has the secret.
fn call(ground: &Ground, words: &[&str]) -> Command {
    let mut command = ground.program.command(words);
    command
        .env("API_KEY", SECRET)
        .env("PLAIN", "a-value-of-no-weight");
    command
}

/// Returns the files below `dir` that hold the secret.
fn holders(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("it can be read").flatten() {
        let path = entry.path();
        let kind = entry.file_type().expect("it can be looked at");
        if kind.is_dir() {
            found.extend(holders(&path));
        } else if kind.is_file() {
            let bytes = fs::read(&path).expect("it can be read");
            let mut parts = bytes.windows(SECRET.len());
            if parts.any(|part| part == SECRET.as_bytes()) {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    found
}

/// Case SE-02. HTTP and hooks wait until there are some.
#[test]
fn a_secret_is_in_no_view_also_when_it_came_in_two_writes() {
    let mut leak = Leak::new();
    for seen in leak.end() {
        assert!(!seen.contains(SECRET), "a follower: {seen}");
    }
    let id = leak.id.as_str();
    for words in [
        &["logs", id][..],
        &["logs", "--json", id],
        &["logs", "-n", "5", id],
        &["logs", "--grep", "API_KEY", id],
        &["logs", "--since-byte", "4", id],
        &["events", id],
        &["events", "--jsonl", id],
        &["show", id],
        &["show", "--json", id],
        &["show", "--env", id],
        &["wait", id],
        &["wait", "--json", id],
        &["ps"],
        &["ps", "--json"],
        &["export", id],
    ] {
        let output = leak.ground.program.run(words);
        let seen = format!("{}{}", output.stdout, output.stderr);
        assert!(!seen.contains(SECRET), "{words:?}: {seen}");
        // The second write alone stands in the command, which other views show.
        let is_output = words.first() == Some(&"logs");
        assert!(!is_output || !seen.contains("456789abcdef"), "{seen}");
    }
    // The text around it is there.
    assert!(leak.ground.text(id).contains("API_KEY="));
    let left = &leak.ground.record(id)["leftovers"][0]["command"];
    assert!(
        left.as_str().is_some_and(|text| text.contains("masked")),
        "{left}"
    );
}

/// Case SE-02.
#[test]
fn a_secret_is_in_no_file_but_the_log_which_its_owner_alone_can_read() {
    let mut leak = Leak::new();
    leak.end();
    assert_eq!(holders(&leak.ground.home.store()), ["output.log"]);
    let raw = leak.ground.raw(&leak.id);
    assert!(raw.starts_with(SECRET.as_bytes()), "bytes as kept");
    let dir = leak.ground.run_dir(&leak.id);
    let log = fs::metadata(dir.join("output.log")).expect("there is a log");
    assert_eq!(log.permissions().mode() & 0o777, 0o600);
    let spec = fs::read_to_string(dir.join("spec.json")).expect("there is a spec");
    assert!(spec.contains("API_KEY"), "names are kept");
    assert!(!spec.contains("a-value-of-no-weight"), "values are not");
}

/// Case SE-02, of a run that is settled by who reads it.
#[test]
fn what_a_killed_supervisor_left_is_named_without_its_secret() {
    let mut leak = Leak::new();
    leak.end();
    let (ground, id) = (&leak.ground, leak.id.as_str());
    // The command of the first is left behind; that of the second still runs.
    let text = r#"bash -c 'read -r _ <stay; :' "$API_KEY"; :"#;
    let held = capture(call(ground, &["run", "-c", text]));
    let held = held.stdout.trim();
    eventually("it runs", SOON, || ground.processes_of("bash").len() == 2);
    kill(ground.supervisor(id));
    kill(ground.supervisor(held));
    eventually("it is settled", SOON, || {
        ground.record(held)["status"] == "interrupted"
    });
    for id in [id, held] {
        let record = ground.record(id);
        let left = &record["leftovers"][0]["command"];
        assert!(
            left.as_str().is_some_and(|text| !text.contains(SECRET)),
            "{record:#}"
        );
        let events = ground.program.run(&["events", "--jsonl", id]);
        assert!(!events.stdout.contains(SECRET), "{events:#?}");
    }
    assert_eq!(holders(&ground.home.store()), ["output.log"]);
}

/// Case SE-02: the output that `run --wait` passes on is a view, too.
#[test]
fn output_that_is_passed_on_has_its_secret_masked() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let text = r#"printf sk-test-0123; read -r _ <go; printf "456789abcdef\n""#;
    let mut command = call(&ground, &["run", "--wait", "-c", text]);
    command.stdout(Stdio::piped());
    let child = command.spawn().expect("the program can be started");
    eventually("it prints", SOON, || {
        let runs = ground.runs();
        let bytes = runs.first().and_then(|run| run["output"]["bytes"].as_u64());
        bytes == Some(12)
    });
    gate.open(1);
    let output = child.wait_with_output().expect("it is our child");
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        !seen.contains(SECRET) && !seen.contains("456789abcdef"),
        "{seen}"
    );
    assert!(seen.contains("API_KEY masked"), "{seen}");
}

/// Case SE-02: the words of the command are shown too.
#[test]
fn a_secret_given_as_an_argument_is_in_no_view() {
    let ground = Ground::new();
    let words = ["run", "--label", SECRET, "--", "echo", SECRET];
    let started = capture(call(&ground, &words));
    assert_eq!(started.code, Some(0), "{started:#?}");
    let id = started.stdout.trim();
    ground.wait(id);
    let views: [&[&str]; 5] = [
        &["show", id],
        &["show", "--json", id],
        &["ps", "-a"],
        &["ps", "-a", "--json"],
        &["export", id],
    ];
    for view in views {
        let seen = capture(call(&ground, view));
        assert_eq!(seen.code, Some(0), "{seen:#?}");
        assert!(seen.stdout.contains("API_KEY"), "{view:?}: {}", seen.stdout);
        assert!(!seen.stdout.contains(SECRET), "{view:?}: {}", seen.stdout);
    }
    // What was executed was not masked, and what was written is.
    assert_eq!(ground.raw(id), format!("{SECRET}\n").as_bytes());
    assert_eq!(holders(&ground.home.store()), ["output.log"]);
}
