//! A container engine of one test, docker or podman: started in its own directory, ended by its
//! number.
//!
//! It needs root, the engine's program and a static `busybox`. Without them,
//! or where the engine does not come up, a line says that the test did not run.

use crate::case_ground::write;
use crate::contain_ground::{as_user, give};
use outlast_testkit::{Home, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{
    fs,
    io::{Read, Write},
    os::unix::{fs::symlink, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// By then an engine does what it is asked, on a machine however busy.
pub(crate) const SOON: Duration = Duration::from_mins(1);
const BUSYBOX: &str = "/bin/busybox";
/// An image with the programs of busybox.
pub(crate) const IMAGE: &str = "localhost/outlast-test:latest";
/// An image with this machine's Python, `sh` and `id`.
pub(crate) const PYTHON_IMAGE: &str = "localhost/outlast-python:latest";

/// Podman asks for more open files than some machines give to root.
const PODMAN_CONF: &str =
    "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n";

/// A user without numbers of its own to give away owns every file.
const PODMAN_STORAGE: &str = "[storage]\ndriver = \"vfs\"\n\
    [storage.options]\nignore_chown_errors = \"true\"\n\
    [storage.options.vfs]\nignore_chown_errors = \"true\"\n";

/// Which engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Docker,
    Podman,
    /// Podman of an ordinary user.
    PodmanOfUser,
}

impl Kind {
    fn program(self) -> &'static str {
        match self {
            Self::Docker => "/usr/sbin/dockerd",
            Self::Podman | Self::PodmanOfUser => "/usr/bin/podman",
        }
    }

    fn words(self, dir: &Path, address: &str) -> Vec<String> {
        let path = |name: &str| dir.join(name).display().to_string();
        match self {
            Self::Docker => vec![
                "--iptables=false".to_owned(),
                "--ip6tables=false".to_owned(),
                "--bridge=none".to_owned(),
                "--ip-forward=false".to_owned(),
                "--ip-masq=false".to_owned(),
                format!("--data-root={}", path("data")),
                format!("--exec-root={}", path("exec")),
                format!("--pidfile={}", path("pid")),
                format!("--host={address}"),
            ],
            Self::Podman | Self::PodmanOfUser => vec![
                format!("--root={}", path("data")),
                format!("--runroot={}", path("exec")),
                format!("--tmpdir={}", path("tmp")),
                "--storage-driver=vfs".to_owned(),
                "--cgroup-manager=cgroupfs".to_owned(),
                "--events-backend=file".to_owned(),
                "system".to_owned(),
                "service".to_owned(),
                "--time=0".to_owned(),
                address.to_owned(),
            ],
        }
    }
}

/// An engine that answers.
pub(crate) struct Engine {
    kind: Kind,
    process: Option<Child>,
    home: Home,
}

impl Engine {
    /// Starts an engine without an image; `None`, and a line that says so, where there can be none.
    pub(crate) fn new(kind: Kind) -> Option<Self> {
        let program = kind.program();
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || !Path::new(program).exists() || !Path::new(BUSYBOX).exists() {
            eprintln!("did not run: it needs root, {program} and a static busybox");
            return None;
        }
        let mut engine = Self {
            kind,
            process: None,
            home: Home::new(),
        };
        if let Err(told) = engine.try_start() {
            eprintln!("did not run: {program} does not start here: {told}");
            return None;
        }
        Some(engine)
    }

    /// Starts the engine again.
    pub(crate) fn start(&mut self) {
        self.try_start().expect("it started before");
    }

    /// Waits until it answers, or has ended: then the end of its log is the error.
    fn try_start(&mut self) -> Result<(), String> {
        let dir = self.home.path();
        let conf = dir.join("containers.conf");
        write(&conf, PODMAN_CONF);
        let (socket, log_path) = (self.socket(), dir.join("log"));
        let log = fs::File::create(&log_path).expect("the home can be filled");
        let storage = dir.join("storage.conf");
        write(&storage, PODMAN_STORAGE);
        let mut engine = Command::new(self.kind.program());
        if self.kind == Kind::PodmanOfUser {
            give(dir);
            engine = as_user(Path::new(self.kind.program()));
            engine.env("HOME", dir).env("XDG_RUNTIME_DIR", dir);
            engine.env("CONTAINERS_STORAGE_CONF", storage);
        }
        let process = engine
            .args(self.kind.words(dir, &self.address()))
            .env("CONTAINERS_CONF", conf)
            // Where images are unpacked; the one of the tests need not be open to this user.
            .env("TMPDIR", dir)
            // What it leaves behind ends with the home.
            .env("OUTLAST_TEST_HOME", dir)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a descriptor"))
            .stderr(log)
            .spawn()
            .expect("it is there");
        let process = self.process.insert(process);
        let mut has_ended = false;
        eventually("the engine answers", SOON, || {
            has_ended = process.try_wait().is_ok_and(|ended| ended.is_some());
            let answer = ask(&socket, "GET", "/_ping", b"");
            has_ended || answer.is_some_and(|answer| answer.ends_with("OK"))
        });
        if !has_ended {
            return Ok(());
        }
        self.process = None;
        let log = fs::read_to_string(log_path).unwrap_or_default();
        Err(log.lines().last().unwrap_or_default().to_owned())
    }

    /// Ends the engine, and waits for that.
    pub(crate) fn stop(&mut self, signal: Signal) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        kill_process(Pid::from_child(&process), signal).expect("it is ours");
        process.wait().expect("it is ours");
        self.end_pause();
        // It leaves what it has mounted for containers with the host's network.
        let mounts = fs::read_to_string("/proc/self/mounts").expect("Linux has it");
        let below = self.home.path().display().to_string();
        let places = mounts.lines().filter_map(|line| line.split(' ').nth(1));
        let mut places: Vec<&str> = places.filter(|place| place.starts_with(&below)).collect();
        places.reverse();
        for place in places {
            let unmounted = Command::new("umount").args(["-l", place]).status();
            assert!(unmounted.expect("umount is there").success(), "{place}");
        }
    }

    /// Ends the process with which a podman of a user keeps its namespace.
    fn end_pause(&self) {
        for name in ["tmp/pause.pid", "libpod/tmp/pause.pid"] {
            let told = fs::read_to_string(self.home.path().join(name)).unwrap_or_default();
            let pid = told.trim().parse().ok().and_then(Pid::from_raw);
            if let Some(pid) = pid {
                kill_process(pid, Signal::KILL).ok();
            }
        }
    }

    /// Returns the path of its socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.home.path().join("sock")
    }

    /// Returns the directory that it is in, and nothing else.
    pub(crate) fn dir(&self) -> &Path {
        self.home.path()
    }

    /// Returns what `DOCKER_HOST` is.
    pub(crate) fn address(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Asks the engine something, and returns its whole answer.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &[u8]) -> Option<String> {
        ask(&self.socket(), method, path, body)
    }

    /// Gives it the image with busybox.
    pub(crate) fn load_busybox(&self) {
        let root = self.home.path().join("root");
        for name in ["bin", "tmp", "etc"] {
            fs::create_dir_all(root.join(name)).expect("the home can be filled");
        }
        fs::copy(BUSYBOX, root.join("bin/busybox")).expect("it is there");
        let listed = printed(Command::new(BUSYBOX).arg("--list"));
        for name in String::from_utf8_lossy(&listed).lines() {
            if name != "busybox" {
                symlink("busybox", root.join("bin").join(name)).expect("the home can be filled");
            }
        }
        let root = root.display().to_string();
        self.load(IMAGE, &["-C", &root, "-c", "."]);
    }

    /// Gives it the image with Python.
    pub(crate) fn load_python(&self) {
        let python = fs::canonicalize("/usr/bin/python3").expect("the tests need it");
        let name = python.file_name().expect("a name").to_string_lossy();
        let folder = format!("/usr/lib/{name}");
        let modules = fs::read_dir(format!("{folder}/lib-dynload")).expect("Python has it");
        let modules = modules.flatten().map(|entry| entry.path());
        let programs = ["/usr/bin/python3", "/bin/sh", "/usr/bin/id"].map(PathBuf::from);
        let mut paths = vec![folder];
        for path in modules.chain(programs.clone()) {
            let told = printed(Command::new("ldd").arg(&path));
            let told = String::from_utf8_lossy(&told);
            let words = told.split_whitespace().filter(|word| word.starts_with('/'));
            paths.extend(words.map(|word| word.trim_end_matches(':').to_owned()));
        }
        paths.extend(programs.map(|path| path.display().to_string()));
        paths.sort_unstable();
        paths.dedup();
        let paths: Vec<&str> = paths
            .iter()
            .map(|path| path.trim_start_matches('/'))
            .collect();
        let options = [
            "--hard-dereference",
            "--exclude=test",
            "--exclude=config-*",
            "--exclude=*-packages",
        ];
        // What is a link on this machine is a file there.
        let words = [&options[..], &["-h", "-C", "/", "-c"], &paths].concat();
        self.load(PYTHON_IMAGE, &words);
    }

    fn load(&self, image: &str, words: &[&str]) {
        let tar = printed(Command::new("tar").args(words));
        let (name, tag) = image.rsplit_once(':').expect("a name and a tag");
        let path = format!("/images/create?fromSrc=-&repo={name}&tag={tag}");
        let answer = self.ask("POST", &path, &tar).expect("the engine answers");
        assert!(answer.contains("200 OK"), "{answer}");
    }

    /// Returns the containers that there are, running or not.
    pub(crate) fn containers(&self) -> Vec<Value> {
        let answer = self.ask("GET", "/containers/json?all=true", b"");
        let answer = answer.expect("the engine answers");
        let body = answer.split("\r\n\r\n").nth(1).expect("a body");
        serde_json::from_str(body).expect("a list")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop(Signal::TERM);
    }
}

fn ask(socket: &Path, method: &str, path: &str, body: &[u8]) -> Option<String> {
    let mut socket = UnixStream::connect(socket).ok()?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: d\r\nContent-Type: application/x-tar\r\nContent-Length: {length}\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).ok()?;
    socket.write_all(body).ok()?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).ok()?;
    Some(answer)
}

fn printed(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("the program is there");
    output.stdout
}
