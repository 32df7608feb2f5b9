//! The ground that cases stand on: a home, the program in it, and a look at its runs.
//!
//! A case acts through the program as a shell would. What the program cannot
//! show, such as processes and files, is looked at here.

use jiff::Timestamp;
use outlast_testkit::{
    Home, Output, Program, capture, eventually, eventually_some, processes_with,
};
use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    process::{Pid, Signal, kill_process},
};
use serde_json::Value;
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// The program under test.
pub(crate) const OUTLAST: &str = env!("CARGO_BIN_EXE_outlast");

/// By then everything is done that takes no time of its own, on a machine however busy.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// Added to each time that a case allows: other tests run beside it on few processors.
pub(crate) const BUSY: Duration = Duration::from_secs(8);

/// A home with the program in it. What it runs ends with it.
pub(crate) struct Ground {
    pub(crate) home: Home,
    pub(crate) program: Program,
}

impl Ground {
    /// Returns an empty home.
    pub(crate) fn new() -> Self {
        let home = Home::new();
        let program = Program::new(OUTLAST, &home);
        Self { home, program }
    }

    /// Returns an empty home whose configuration sets these limits.
    pub(crate) fn with_limits(limits: &str) -> Self {
        let ground = Self::new();
        let folder = ground.home.path().join(".config/outlast");
        fs::create_dir_all(&folder).expect("the home can be filled");
        write(
            &folder.join("config.toml"),
            &format!("[limits]\n{limits}\n"),
        );
        ground
    }

    /// Starts a run with these words of `run` and returns its id.
    #[track_caller]
    pub(crate) fn start<A: AsRef<OsStr>>(&self, words: &[A]) -> String {
        let mut command = self.program.command(&["run"]);
        command.args(words);
        let output = capture(command);
        assert_eq!(output.code, Some(0), "{output:#?}");
        output.stdout.trim().to_owned()
    }

    /// Starts a shell text and returns the id of the run.
    #[track_caller]
    pub(crate) fn shell(&self, text: &str) -> String {
        self.shell_with(&[], text)
    }

    /// Starts a shell text with options.
    #[track_caller]
    pub(crate) fn shell_with(&self, options: &[&str], text: &str) -> String {
        self.start(&[options, &["-c", text]].concat())
    }

    /// Runs another program as the test's own child, in the same surroundings.
    pub(crate) fn other<A: AsRef<OsStr>>(&self, program: &str, words: &[A]) -> Command {
        let surroundings = self.program.command::<&str>(&[]);
        let mut command = Command::new(program);
        command.args(words).env_clear().stdin(Stdio::null());
        for (name, value) in surroundings.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command
            .env("OUTLAST", OUTLAST)
            .current_dir(self.home.work());
        command
    }

    /// Starts the program and does not wait for it.
    pub(crate) fn spawn(&self, words: &[&str]) -> Child {
        let mut command = self.program.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program can be started")
    }

    /// Waits for the end of a run and returns the code of the wait.
    #[track_caller]
    pub(crate) fn wait(&self, id: &str) -> i32 {
        let output = self.program.run(&["wait", "--for", "60s", id]);
        let code = output.code.expect("no signal ends a wait");
        assert_ne!(code, 75, "it goes on: {output:#?}");
        code
    }

    /// Returns the record of a run.
    #[track_caller]
    pub(crate) fn record(&self, id: &str) -> Value {
        self.program.json(&["show", "--json", id])
    }

    /// Waits for the end of a run and returns its record.
    #[track_caller]
    pub(crate) fn ended(&self, id: &str) -> Value {
        self.wait(id);
        self.record(id)
    }

    /// Cancels a run; returns when the program does.
    #[track_caller]
    pub(crate) fn cancel(&self, id: &str) {
        let output = self.program.run(&["cancel", "--now", id]);
        assert_eq!(output.code, Some(0), "{output:#?}");
    }

    /// Returns the kept bytes of a run.
    #[track_caller]
    pub(crate) fn raw(&self, id: &str) -> Vec<u8> {
        let output = self.program.run(&["logs", "--raw", id]);
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
        output.stdout_bytes
    }

    /// Returns the output of a run as text.
    #[track_caller]
    pub(crate) fn text(&self, id: &str) -> String {
        let output = self.program.run(&["logs", id]);
        assert_eq!(output.code, Some(0), "{output:#?}");
        output.stdout
    }

    /// Waits until a run that goes on has printed `text`.
    #[track_caller]
    pub(crate) fn prints(&self, id: &str, text: &str) {
        let what = format!("{id} prints {text:?}");
        eventually(&what, SOON, || self.text(id).contains(text));
    }

    /// Returns every run of the store, newest first.
    #[track_caller]
    pub(crate) fn runs(&self) -> Vec<Value> {
        let document = self.program.json(&["ps", "--all", "--json", "-n", "2000"]);
        document["runs"].as_array().expect("a list of runs").clone()
    }

    /// Counts the runs of the store in this state.
    #[track_caller]
    pub(crate) fn count(&self, status: &str) -> usize {
        let runs = self.runs();
        runs.iter().filter(|run| run["status"] == status).count()
    }

    /// Returns the types of a run's events, in order.
    #[track_caller]
    pub(crate) fn event_types(&self, id: &str) -> Vec<String> {
        let events = lines(&self.program.run(&["events", "--jsonl", id]));
        let kinds = events.iter().filter_map(|event| event["type"].as_str());
        kinds.map(str::to_owned).collect()
    }

    /// Returns the directory of a run.
    #[track_caller]
    pub(crate) fn run_dir(&self, id: &str) -> PathBuf {
        let mut dirs = self.run_dirs().into_iter();
        dirs.find(|dir| dir.ends_with(id))
            .expect("the run has a directory")
    }

    /// Returns what lies where runs do, hidden or not.
    pub(crate) fn run_dirs(&self) -> Vec<PathBuf> {
        let months = children(&self.home.store().join("runs"));
        months.iter().flat_map(|month| children(month)).collect()
    }

    /// Returns the live processes of this home, supervisors apart.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let mut found = processes_with(&self.home.mark());
        found.extend(pids().into_iter().filter(|pid| {
            let dir = fs::read_link(format!("/proc/{pid}/cwd"));
            dir.is_ok_and(|dir| dir.starts_with(self.home.path()))
        }));
        found.sort_unstable();
        found.dedup();
        // Who has no words any more has begun to exit: a supervisor that leaves, most of all.
        let has_words = |pid: i32| command_line(pid).iter().any(|word| !word.is_empty());
        found.retain(|pid| has_words(*pid) && !self.is_supervisor(*pid));
        found
    }

    /// Returns the live processes of this home whose first word is `program`.
    pub(crate) fn processes_of(&self, program: &str) -> Vec<i32> {
        let mut found = self.processes();
        found.retain(|pid| {
            command_line(*pid)
                .first()
                .is_some_and(|word| word == program)
        });
        found
    }

    /// Returns the supervisors of this home.
    pub(crate) fn supervisors(&self) -> Vec<i32> {
        let pids = pids().into_iter();
        pids.filter(|pid| self.is_supervisor(*pid)).collect()
    }

    /// Returns the supervisor of a run that goes on.
    #[track_caller]
    pub(crate) fn supervisor(&self, id: &str) -> i32 {
        eventually_some("the run has a supervisor", SOON, || {
            let mut all = self.supervisors().into_iter();
            all.find(|pid| command_line(*pid).iter().any(|word| word.ends_with(id)))
        })
    }

    fn is_supervisor(&self, pid: i32) -> bool {
        let words = command_line(pid);
        words.windows(2).any(|pair| {
            pair[0] == "__supervise" && Path::new(&pair[1]).starts_with(self.home.path())
        })
    }

    /// Asserts that no process of this home is left but `server`.
    #[track_caller]
    pub(crate) fn assert_no_process_but(&self, server: i32) {
        let mut left = self.processes();
        left.retain(|pid| *pid != server);
        assert!(left.is_empty(), "processes are left: {left:?}");
    }

    /// Makes a gate, at which a command waits with `read -r _ <NAME`.
    pub(crate) fn gate(&self, name: &str) -> Gate {
        let path = self.home.work().join(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .expect("a pipe can be made in the home");
        // Open at both ends: nobody who opens it waits for the other side.
        let file = File::options().read(true).write(true).open(&path);
        Gate {
            file: file.expect("it was just made"),
        }
    }

    /// Writes a script into the work directory.
    pub(crate) fn script(&self, name: &str, text: &str) {
        let path = self.home.work().join(name);
        write(&path, text);
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("it is ours");
    }

    /// Returns the content of a file in the work directory, empty when there is none.
    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.home.work().join(name)).unwrap_or_default()
    }

    /// Asserts that no process of this home is left now, and that supervisors leave.
    #[track_caller]
    pub(crate) fn assert_no_process(&self) {
        let left = self.processes();
        assert!(left.is_empty(), "processes are left: {left:?}");
        eventually("supervisors leave", SOON, || self.supervisors().is_empty());
    }
}

/// A place where commands of a run wait until the test lets them on.
pub(crate) struct Gate {
    file: File,
}

impl Gate {
    /// Lets `count` commands through, those that come later too.
    pub(crate) fn open(&self, count: usize) {
        let mut file = &self.file;
        file.write_all("\n".repeat(count).as_bytes())
            .expect("a pipe has room for lines");
    }

    /// Writes a line for who reads at the gate.
    pub(crate) fn write(&self, line: &str) {
        let mut file = &self.file;
        writeln!(file, "{line}").expect("a pipe has room for a line");
    }
}

/// Writes a file of a test.
pub(crate) fn write(path: &Path, text: &str) {
    let mut file = File::create(path).expect("the home can be filled");
    file.write_all(text.as_bytes())
        .expect("the home can be filled");
}

/// Returns the documents of an answer with one a line.
#[track_caller]
pub(crate) fn lines(output: &Output) -> Vec<Value> {
    let lines = output.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("each line is a document"))
        .collect()
}

/// Sends KILL to a process of the home.
pub(crate) fn kill(pid: i32) {
    let pid = Pid::from_raw(pid).expect("a pid is positive");
    // It may have ended by itself, which is as good.
    kill_process(pid, Signal::KILL).ok();
}

/// Returns whether a process is there; a zombie is not.
pub(crate) fn is_alive(pid: i32) -> bool {
    stat(pid).is_some_and(|(state, _)| !matches!(state, 'Z' | 'X'))
}

/// Returns the children of a process, zombies included.
pub(crate) fn children_of(parent: i32) -> Vec<i32> {
    let pids = pids().into_iter();
    pids.filter(|pid| stat(*pid).is_some_and(|(_, of)| of == parent))
        .collect()
}

/// Returns state and parent of a process.
fn stat(pid: i32) -> Option<(char, i32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Returns the number that a line of `/proc/PID/status` says.
pub(crate) fn status_number(pid: i32, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the words that a process was started with.
pub(crate) fn command_line(pid: i32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0);
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("the tests need /proc");
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

fn children(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}

/// Asserts that what began at `begun` took no longer than a case allows.
#[track_caller]
pub(crate) fn assert_within(limit_ms: u64, begun: Instant) {
    let (took, limit) = (begun.elapsed(), Duration::from_millis(limit_ms));
    assert!(
        took <= limit + BUSY,
        "it took {took:?}, and {limit:?} are allowed"
    );
}

/// Returns the milliseconds between two times of a record.
#[track_caller]
pub(crate) fn span_ms(from: &Value, to: &Value) -> i64 {
    moment(to).as_millisecond() - moment(from).as_millisecond()
}

#[track_caller]
fn moment(text: &Value) -> Timestamp {
    let text = text.as_str().expect("the record has this time");
    text.parse().expect("times are RFC 3339")
}
