//! A store for one trial, requests in it, and a look at what it left.

use outlast_lib::{
    CancelQuery, CommandLine, Limits, ListQuery, ProcessRef, Record, Request, RunId, Store,
    WaitQuery,
};
use outlast_testkit::{Home, Output, capture, eventually, eventually_some, invariants};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Longer than anything here takes on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// A store that is gone, with every process of its runs, when the trial ends.
pub(crate) struct Place {
    pub(crate) store: Store,
    pub(crate) home: Home,
}

impl Place {
    /// Returns an empty store with the default limits.
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    /// Returns an empty store.
    pub(crate) fn with(limits: Limits) -> Self {
        let home = Home::new();
        let store = Store::open(&home.store(), limits).expect("an empty store opens");
        Self { store, home }
    }

    /// Returns a request for a shell text in the home.
    pub(crate) fn shell(&self, text: &str) -> Request {
        let command = CommandLine::Shell {
            text: text.to_owned(),
            login: false,
            pipefail: false,
        };
        Request {
            environment: environment(&self.home),
            grace_ms: Some(1_000),
            ..Request::new(command, self.home.path())
        }
    }

    /// Returns a request for a program and its arguments in the home.
    pub(crate) fn direct(&self, words: &[&str]) -> Request {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Request {
            command: CommandLine::Direct(words),
            ..self.shell("")
        }
    }

    /// Starts a shell text.
    #[track_caller]
    pub(crate) fn start(&self, text: &str) -> RunId {
        self.begin(&self.shell(text))
    }

    /// Starts a run.
    #[track_caller]
    pub(crate) fn begin(&self, request: &Request) -> RunId {
        self.store.start(request).expect("the run starts").id
    }

    /// Returns the record of a run.
    #[track_caller]
    pub(crate) fn record(&self, id: &RunId) -> Record {
        self.store.record(id).expect("the run can be read")
    }

    /// Waits until a run has ended and returns its record.
    #[track_caller]
    pub(crate) fn ended(&self, id: &RunId) -> Record {
        let query = WaitQuery {
            timeout_ms: u64::try_from(LIMIT.as_millis()).ok(),
            ..WaitQuery::default()
        };
        let waited = self.store.wait(&[*id], &query).expect("one can wait");
        assert_eq!(waited.ended, [*id], "{:?}", self.record(id));
        self.record(id)
    }

    /// Cancels a run by KILL and checks that nothing of this trial but other runs is left of it.
    #[track_caller]
    pub(crate) fn cancel_now(&self, id: &RunId) {
        let query = CancelQuery {
            grace_ms: Some(0),
            ..CancelQuery::default()
        };
        self.store
            .cancel(id, &query)
            .expect("the run can be cancelled");
    }

    /// Returns all records, and fails when something in the store is damaged.
    #[track_caller]
    pub(crate) fn list(&self) -> Vec<Record> {
        let query = ListQuery {
            limit: usize::MAX,
            ..ListQuery::default()
        };
        let listing = self.store.list(&query).expect("the store can be listed");
        assert_eq!(listing.damaged, []);
        listing.records
    }

    /// Returns the directory of a run that can be seen.
    #[track_caller]
    pub(crate) fn run_dir(&self, id: &RunId) -> PathBuf {
        invariants::find_run(self.store.root(), id.as_str()).expect("the run can be seen")
    }

    /// Returns the output of a run as it stands on disk.
    #[track_caller]
    pub(crate) fn output(&self, id: &RunId) -> String {
        let bytes = fs::read(self.run_dir(id).join("output.log")).expect("the run has a log");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the lines of a run's journal that can be read.
    #[track_caller]
    pub(crate) fn journal(&self, id: &RunId) -> Vec<Value> {
        let bytes = fs::read(self.run_dir(id).join("journal.jsonl")).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect()
    }

    /// Returns the main process of a run that has started.
    #[track_caller]
    pub(crate) fn main_of(&self, id: &RunId) -> ProcessRef {
        let lines = self.journal(id);
        let started = lines.iter().find(|line| line["type"] == "started");
        let main = started.expect("the run has started")["data"]["main"].clone();
        serde_json::from_value(main).expect("it is a process")
    }

    /// Returns the supervisor of a run.
    #[track_caller]
    pub(crate) fn supervisor_of(&self, id: &RunId) -> i32 {
        let dir = self.run_dir(id);
        invariants::supervisors(self.store.root())[&dir]
    }

    /// Returns how many supervisors there are.
    pub(crate) fn supervisors(&self) -> usize {
        invariants::supervisors(self.store.root()).len()
    }

    /// Waits until a run has written `count` lines into the file `name` of the home.
    #[track_caller]
    pub(crate) fn has_lines(&self, name: &str, count: usize) {
        let what = format!("{count} lines in `{name}`");
        eventually(&what, LIMIT, || self.lines(name).len() >= count);
    }

    /// Returns the lines of the file `name` of the home, none if it is not there.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.home.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until a run has written a pid into the file `name` of the home and returns it.
    #[track_caller]
    pub(crate) fn pid_in(&self, name: &str) -> i32 {
        eventually_some(name, LIMIT, || self.lines(name).first()?.parse().ok())
    }

    /// Makes an empty file in the home, for which a run waits.
    #[track_caller]
    pub(crate) fn touch(&self, name: &str) {
        fs::File::create(self.home.path().join(name)).expect("the home can be written");
    }

    /// Checks everything that must hold of the store when nothing happens in it.
    #[track_caller]
    pub(crate) fn is_sound(&self) {
        self.list();
        invariants::assert_sound(self.store.root());
    }

    /// Waits until no process of this trial is alive.
    #[track_caller]
    pub(crate) fn is_deserted(&self) {
        let mut left = Vec::new();
        let what = "every process of the trial is gone";
        eventually(what, LIMIT, || {
            left = processes_in(&self.home);
            left.is_empty()
        });
    }

    /// Returns the command that starts a run in a process of its own.
    ///
    /// Options are those of `caller`.
    pub(crate) fn caller(&self, text: &str, options: &[&str]) -> Command {
        self.caller_by(Path::new(program().get_program()), text, options)
    }

    fn caller_by(&self, program: &Path, text: &str, options: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .arg("__start")
            .arg(self.store.root())
            .arg(text)
            .args(options)
            .env_clear()
            .envs(environment(&self.home))
            .current_dir(self.home.path());
        command
    }

    /// Starts a run in a process of its own and returns what that process said.
    #[track_caller]
    pub(crate) fn start_apart(&self, text: &str, options: &[&str]) -> Said {
        Said::from(capture(self.caller(text, options)))
    }

    /// Starts a run by a copy of this program.
    #[track_caller]
    pub(crate) fn start_apart_by(&self, program: &Path, text: &str, options: &[&str]) -> Said {
        Said::from(capture(self.caller_by(program, text, options)))
    }

    /// Starts runs at once, each in a process of its own.
    #[track_caller]
    pub(crate) fn start_at_once(&self, count: usize, text: &str, options: &[&str]) -> Vec<Said> {
        let callers: Vec<_> = (0..count)
            .map(|_| {
                let command = self.caller(text, options);
                std::thread::spawn(move || Said::from(capture(command)))
            })
            .collect();
        let said = callers
            .into_iter()
            .map(|caller| caller.join().expect("the caller answers"));
        said.collect()
    }
}

/// What a caller in a process of its own said.
#[derive(Debug)]
pub(crate) struct Said {
    /// The signal that ended the caller.
    pub(crate) signal: Option<i32>,
    /// Its answer; null when it did not come to that.
    pub(crate) answer: Value,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let answer = serde_json::from_slice(&output.stdout_bytes).unwrap_or_default();
        assert!(
            output.signal.is_some() || answer != Value::Null,
            "no answer: {output:#?}"
        );
        Self {
            signal: output.signal,
            answer,
        }
    }
}

impl Said {
    /// Returns the run that it spoke of.
    pub(crate) fn id(&self) -> Option<RunId> {
        RunId::parse(self.answer["id"].as_str()?).ok()
    }

    /// Returns the code of its refusal.
    pub(crate) fn error(&self) -> Option<&str> {
        self.answer["error"].as_str()
    }
}

/// Returns this very program.
pub(crate) fn program() -> Command {
    Command::new(std::env::current_exe().expect("a program knows its path"))
}

/// Returns the environment of the runs of a home: a PATH and what marks their processes.
pub(crate) fn environment(home: &Home) -> Vec<(OsString, OsString)> {
    let mark = home.mark();
    let (name, value) = mark.split_once('=').expect("an entry has a name");
    vec![
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        (name.into(), value.into()),
    ]
}

/// Returns the live processes of a home: those that stand in it, or speak of it.
pub(crate) fn processes_in(home: &Home) -> Vec<(i32, String)> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let entries = fs::read_dir("/proc")
        .expect("the trials need /proc")
        .flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| *pid != own && is_alive(*pid))
        .filter_map(|pid| {
            let proc = PathBuf::from(format!("/proc/{pid}"));
            let line = fs::read(proc.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let environment = fs::read(proc.join("environ")).unwrap_or_default();
            let stands_in =
                fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd.starts_with(home.path()));
            let speaks = |text: &[u8]| {
                String::from_utf8_lossy(text).contains(&*home.path().to_string_lossy())
            };
            let is_ours = stands_in || speaks(line.as_bytes()) || speaks(&environment);
            is_ours.then_some((pid, line))
        })
        .collect()
}

/// Returns the live processes of the runs of a home, without their supervisors.
///
/// Who has no words any more has begun to exit: a supervisor that leaves, most of all.
pub(crate) fn trees_in(home: &Home) -> Vec<(i32, String)> {
    let mut processes = processes_in(home);
    let is_of_tree = |line: &str| !line.is_empty() && !line.contains(" __supervise ");
    processes.retain(|(_, line)| is_of_tree(line));
    processes
}

/// Returns whether a process lives; a zombie does not.
pub(crate) fn is_alive(pid: i32) -> bool {
    state_of(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Returns the letter of a process's state.
pub(crate) fn state_of(pid: i32) -> Option<char> {
    fields(pid)?.first()?.chars().next()
}

/// Returns a process as a request names it.
pub(crate) fn reference(pid: u32) -> ProcessRef {
    let pid = i32::try_from(pid).expect("a pid is a small number");
    let fields = fields(pid).expect("the process is there");
    ProcessRef {
        pid,
        start_ticks: fields[19].parse().expect("it is a number"),
    }
}

/// Returns the children of a process that were not reaped, with their states.
pub(crate) fn children_of(parent: i32) -> Vec<(i32, char)> {
    let entries = fs::read_dir("/proc")
        .expect("the trials need /proc")
        .flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        let fields = fields(pid)?;
        let is_child = fields.get(1)?.parse() == Ok(parent);
        is_child.then_some((pid, fields.first()?.chars().next()?))
    })
    .collect()
}

/// Fields of `/proc/PID/stat` after the name.
fn fields(pid: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(')')?;
    Some(after.split_ascii_whitespace().map(str::to_owned).collect())
}

/// Signals a process; one that is gone is fine.
pub(crate) fn signal(pid: i32, signal: Signal) {
    let pid = Pid::from_raw(pid).expect("a pid is a positive number");
    kill_process(pid, signal).ok();
}

/// Kills a process and waits until it is gone.
#[track_caller]
pub(crate) fn kill(pid: i32) {
    signal(pid, Signal::KILL);
    eventually("a killed process is gone", LIMIT, || !is_alive(pid));
}

/// Makes what was left half made in a store look old, as it is when it is collected.
#[track_caller]
pub(crate) fn age(root: &Path) {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
    let long_ago = Timespec {
        tv_sec: 1_000_000_000,
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: long_ago,
        last_modification: long_ago,
    };
    for path in invariants::debris(root) {
        utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW).expect("it is ours");
    }
}
