//! A container engine of one test: started in its own directory, ended by its number.
//!
//! It needs root, `dockerd` and a static `busybox`. Without them the tests say
//! in a line that they did not run.

use crate::contain_ground::{Contained, Who};
use outlast_testkit::{Output, capture, eventually};
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
/// The image that is in every engine here.
pub(crate) const IMAGE: &str = "localhost/outlast-test:latest";

/// An engine and a project.
pub(crate) struct Ground {
    pub(crate) contained: Contained,
    dir: PathBuf,
    engine: Option<Child>,
}

impl Ground {
    /// Starts an engine with one image; `None`, and a line that says so, where there can be none.
    pub(crate) fn new() -> Option<Self> {
        let is_root = rustix::process::geteuid().is_root();
        let is_there = Path::new("/usr/sbin/dockerd").exists() && Path::new(BUSYBOX).exists();
        if !is_root || !is_there {
            eprintln!("did not run: it needs root, dockerd and a static busybox");
            return None;
        }
        let contained = Contained::new(Who::Root);
        let dir = contained.home.path().join("engine");
        fs::create_dir(&dir).expect("the home can be filled");
        let mut ground = Self {
            contained,
            dir,
            engine: None,
        };
        ground.start();
        ground.load();
        Some(ground)
    }

    /// Starts the engine, and waits until it answers.
    pub(crate) fn start(&mut self) {
        let path = |name: &str| self.dir.join(name).display().to_string();
        let log = fs::File::create(path("log")).expect("the home can be filled");
        let engine = Command::new("/usr/sbin/dockerd")
            .args(["--iptables=false", "--ip6tables=false", "--bridge=none"])
            .args(["--ip-forward=false", "--ip-masq=false"])
            .args(["--data-root", &path("data"), "--exec-root", &path("exec")])
            .args(["--pidfile", &path("pid"), "-H", &self.address()])
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a descriptor"))
            .stderr(log)
            .spawn()
            .expect("dockerd is there");
        self.engine = Some(engine);
        eventually("the engine answers", SOON, || {
            self.ask("GET", "/_ping", b"")
                .is_some_and(|answer| answer.ends_with("OK"))
        });
    }

    /// Ends the engine, and waits for that.
    pub(crate) fn stop(&mut self, signal: Signal) {
        let Some(mut engine) = self.engine.take() else {
            return;
        };
        kill_process(Pid::from_child(&engine), signal).expect("it is ours");
        engine.wait().expect("it is ours");
        // It leaves what it has mounted for containers with the host's network.
        let mounts = fs::read_to_string("/proc/self/mounts").expect("Linux has it");
        let below = self.dir.display().to_string();
        let places = mounts.lines().filter_map(|line| line.split(' ').nth(1));
        for place in places.filter(|place| place.starts_with(&below)) {
            let unmounted = Command::new("umount").args(["-l", place]).status();
            assert!(unmounted.expect("umount is there").success(), "{place}");
        }
    }

    fn socket(&self) -> PathBuf {
        self.dir.join("sock")
    }

    /// Returns what `DOCKER_HOST` is.
    pub(crate) fn address(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Asks the engine something, and returns its whole answer.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &[u8]) -> Option<String> {
        let mut socket = UnixStream::connect(self.socket()).ok()?;
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

    fn load(&self) {
        let root = self.dir.join("root");
        for name in ["bin", "tmp", "etc"] {
            fs::create_dir_all(root.join(name)).expect("the home can be filled");
        }
        fs::copy(BUSYBOX, root.join("bin/busybox")).expect("it is there");
        let listed = Command::new(BUSYBOX)
            .arg("--list")
            .output()
            .expect("it is there");
        for name in String::from_utf8_lossy(&listed.stdout).lines() {
            if name != "busybox" {
                symlink("busybox", root.join("bin").join(name)).expect("the home can be filled");
            }
        }
        let tar = Command::new("tar")
            .arg("-C")
            .arg(&root)
            .args(["-c", "."])
            .output();
        let tar = tar.expect("tar is there").stdout;
        let path = "/images/create?fromSrc=-&repo=localhost/outlast-test&tag=latest";
        let answer = self.ask("POST", path, &tar).expect("the engine answers");
        assert!(answer.contains("sha256:"), "{answer}");
    }

    /// Returns the containers that there are, running or not.
    pub(crate) fn containers(&self) -> Vec<Value> {
        let answer = self.ask("GET", "/containers/json?all=true", b"");
        let answer = answer.expect("the engine answers");
        let body = answer.split("\r\n\r\n").nth(1).expect("a body");
        serde_json::from_str(body).expect("a list")
    }

    /// Returns the program with these words, led to the engine.
    pub(crate) fn outlast(&self, words: &[&str]) -> Command {
        let mut command = self.contained.outlast(words);
        command.env("DOCKER_HOST", self.address());
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
        record["id"].as_str().expect("an id").to_owned()
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

impl Drop for Ground {
    fn drop(&mut self) {
        self.stop(Signal::TERM);
    }
}
