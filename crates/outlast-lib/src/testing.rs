//! Runs made by hand, for the tests of whatever reads them.

use crate::{Access, Store};
use outlast_journal::{
    Claimed, End, Fact, Leftover, Limits, Line, ProcessRef, RunId, Seq, Spec, Started, Status,
    Timestamp, names,
};
use outlast_supervisor::{clock, fsio, lock, process};
use outlast_testkit::Home;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A store of its own.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) home: Home,
    salt: u32,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let home = Home::new();
        let store = Store::open(&home.store(), Limits::default()).unwrap();
        let salt = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { store, home, salt }
    }

    /// Returns the id that is made of `number`; no other test has it.
    pub(crate) fn id(&self, number: u16) -> RunId {
        let mut bits = [0; 10];
        bits[..4].copy_from_slice(&std::process::id().to_be_bytes());
        bits[4..8].copy_from_slice(&self.salt.to_be_bytes());
        bits[8..].copy_from_slice(&number.to_be_bytes());
        RunId::from_bits(bits)
    }

    /// The same store as one who may only read sees it.
    pub(crate) fn read_only(&self) -> Store {
        Store::with_access(self.store.root(), Access::ReadOnly)
    }

    /// Begins a run whose id is made of `number`.
    pub(crate) fn run(&self, number: u16) -> Maker<'_> {
        let created = clock::now();
        let json = serde_json::json!({
            "v": 1, "id": self.id(number), "created": created, "argv": ["true"], "command": "true",
            "label": format!("run {number}"), "cwd": "/", "project": "/project",
            "grace_ms": 5000, "output_bytes_max": 1 << 20,
        });
        Maker {
            store: &self.store,
            spec: Spec::from_json(json.to_string().as_bytes()).unwrap(),
            journal: Vec::new(),
            next: 0,
            born: true,
        }
    }

    /// Makes a run that ended.
    pub(crate) fn ended(&self, number: u16) -> Run {
        self.run(number)
            .claimed()
            .started()
            .ended(Status::Completed)
            .make()
    }

    /// Makes a run whose lock is held, as by a supervisor.
    pub(crate) fn live(&self, number: u16) -> (Run, File) {
        let run = self.run(number).claimed().started().make();
        let lock = run.hold();
        (run, lock)
    }

    /// A command that belongs to this test and to no run.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mark = self.home.mark();
        let (name, value) = mark.split_once('=').unwrap();
        let mut command = Command::new(program);
        command.env(name, value).env_remove(names::RUN_VARIABLE);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// A process that sleeps for longer than any test and carries the cookie of `id`.
    pub(crate) fn process_of(&self, id: &RunId) -> Process {
        let mut sleep = self.command("sleep");
        Process::spawn(sleep.arg("600").env(names::RUN_VARIABLE, id.as_str()))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.store.root().join(name)
    }
}

/// A run in the making.
pub(crate) struct Maker<'a> {
    store: &'a Store,
    pub(crate) spec: Spec,
    journal: Vec<u8>,
    next: u64,
    born: bool,
}

/// A run.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) dir: PathBuf,
}

impl Maker<'_> {
    pub(crate) fn spec(mut self, change: impl FnOnce(&mut Spec)) -> Self {
        change(&mut self.spec);
        self
    }

    pub(crate) fn label(self, label: &str) -> Self {
        self.spec(|spec| label.clone_into(&mut spec.label))
    }

    pub(crate) fn project(self, project: &str) -> Self {
        self.spec(|spec| project.clone_into(&mut spec.project))
    }

    pub(crate) fn session(self, session: &str) -> Self {
        self.spec(|spec| spec.session = Some(session.to_owned()))
    }

    /// Whose birth is not listed.
    pub(crate) fn unlisted(mut self) -> Self {
        self.born = false;
        self
    }

    pub(crate) fn fact_at(mut self, fact: &Fact, at: Timestamp) -> Self {
        let line = Line::new(fact, Seq(self.next), at);
        self.next += u64::from(fact.is_event());
        self.journal.extend(line.to_bytes());
        self
    }

    pub(crate) fn fact(self, fact: &Fact) -> Self {
        let now = clock::now();
        self.fact_at(fact, now)
    }

    /// Taken by a supervisor of this boot that is gone.
    pub(crate) fn claimed(self) -> Self {
        self.claimed_as(&process::boot_id(), process::pid_namespace())
    }

    pub(crate) fn claimed_as(self, boot_id: &str, pid_namespace: u64) -> Self {
        self.fact(&Fact::Claimed(Claimed {
            supervisor: nobody(),
            boot_id: boot_id.to_owned(),
            pid_namespace,
            version: String::new(),
        }))
    }

    pub(crate) fn started(self) -> Self {
        self.started_as(nobody())
    }

    pub(crate) fn started_as(self, main: ProcessRef) -> Self {
        self.fact(&Fact::Started(Started {
            main,
            queued_ms: None,
            monotonic_ms: Some(clock::monotonic_ms()),
            posture: None,
        }))
    }

    pub(crate) fn ended(self, status: Status) -> Self {
        let now = clock::now();
        self.ended_at(status, now)
    }

    pub(crate) fn ended_at(self, status: Status, at: Timestamp) -> Self {
        let end = End::new(status, "self", format!("it is {status}"));
        self.fact_at(&Fact::Ended(Box::new(end)), at)
    }

    pub(crate) fn ended_with_leftover(self, process: ProcessRef) -> Self {
        let mut end = End::new(Status::Completed, "self", "completed (exit 0)".to_owned());
        end.leftovers = vec![Leftover {
            process,
            command: "sleep 600".to_owned(),
        }];
        self.fact(&Fact::Ended(Box::new(end)))
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.journal.extend_from_slice(bytes);
        self
    }

    pub(crate) fn make(self) -> Run {
        let id = self.spec.id;
        let dir = self
            .store
            .root()
            .join(names::run_dir(&id, self.spec.created));
        fsio::make_private_dirs(&dir).unwrap();
        put(&dir.join(names::SPEC), self.spec.to_json().as_bytes());
        put(&dir.join(names::JOURNAL), &self.journal);
        put(&dir.join(names::LOCK), b"");
        if self.born {
            list_birth(self.store, &id);
        }
        Run { id, dir }
    }
}

impl Run {
    pub(crate) fn journal(&self) -> Vec<u8> {
        fs::read(self.dir.join(names::JOURNAL)).unwrap()
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        put(&self.dir.join(name), bytes);
    }

    pub(crate) fn hold(&self) -> File {
        hold(&self.dir.join(names::LOCK))
    }
}

/// Takes the lock of a file until the returned file is dropped.
pub(crate) fn hold(path: &Path) -> File {
    let file = fsio::open_private(path).unwrap();
    assert!(lock::try_lock(&file).unwrap(), "{}", path.display());
    file
}

pub(crate) fn put(path: &Path, bytes: &[u8]) {
    fsio::write_atomic(path, bytes).unwrap();
}

pub(crate) fn list_birth(store: &Store, id: &RunId) {
    let mut births = fsio::open_append(&store.root().join(names::BIRTHS)).unwrap();
    births.write_all(format!("{id}\n").as_bytes()).unwrap();
}

/// A process that does not exist.
pub(crate) fn nobody() -> ProcessRef {
    ProcessRef {
        pid: i32::MAX,
        start_ticks: 1,
    }
}

/// A process that ends with the test; what it leaves ends with the test's home.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    pub(crate) fn reference(&self) -> ProcessRef {
        let pid = i32::try_from(self.0.id()).unwrap();
        process::current(pid).unwrap()
    }

    pub(crate) fn is_alive(&self) -> bool {
        process::is_alive(self.reference())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
