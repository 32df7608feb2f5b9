//! The bait around a project: files, sockets, ports and a process, to be got at by a probe.

use crate::case_ground::write;
use crate::contain_ground::{Contained, PYTHON, Who, set_mode};
use outlast_testkit::{Output, capture};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    net::{TcpListener, UdpSocket},
    os::linux::net::SocketAddrExt,
    os::unix::fs::chown,
    os::unix::net::{SocketAddr, UnixListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

const PROBE: &str = include_str!("contain_probe.py");

/// The bait around one project; what listens ends with it.
pub(crate) struct Bait {
    pub(crate) ground: Contained,
    out: PathBuf,
    tag: String,
    shared_file: PathBuf,
    sockets: [PathBuf; 3],
    sleeper: Child,
    ports: [u16; 3],
}

impl Bait {
    pub(crate) fn new(who: Who) -> Self {
        let ground = Contained::new(who);
        let tag = ground.home.path().file_name().expect("a name");
        let tag = tag.to_string_lossy().into_owned();
        let out = ground.home.path().join("out");
        fs::create_dir(&out).expect("the home can be filled");
        fill(&ground);
        let shared_file = PathBuf::from(format!("/var/tmp/{tag}"));
        write(&shared_file, "bait");
        set_mode(&shared_file, 0o644);
        let sockets = [
            out.join("socket"),
            PathBuf::from(format!("/tmp/{tag}.socket")),
            PathBuf::from(format!("/run/{tag}.socket")),
        ];
        for path in &sockets {
            // A user may not make one in /run, and then has no bait there.
            if let Ok(listener) = UnixListener::bind(path) {
                answer(listener.incoming_owned());
                set_mode(path, 0o777);
            }
        }
        let name = SocketAddr::from_abstract_name(&tag).expect("a name");
        answer(
            UnixListener::bind_addr(&name)
                .expect("a socket")
                .incoming_owned(),
        );
        let ports = listen();
        ground.hand_over();
        add_set_user(&ground);
        let sleeper = sleeper(&ground);
        Self {
            ground,
            out,
            tag,
            shared_file,
            sockets,
            sleeper,
            ports,
        }
    }

    fn told(&self, is_bare: bool) -> Value {
        let [tcp, tcp6, udp] = self.ports;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        json!({
            "work": text(&self.ground.work()),
            "out": text(&self.out),
            "home": text(self.ground.home.path()),
            "tag": self.tag,
            "is_bare": is_bare,
            "mounts": fs::read_link("/proc/self/ns/mnt").expect("the tests need /proc"),
            "shared_file": text(&self.shared_file),
            "process": self.sleeper.id(),
            "owner": if rustix::process::geteuid().is_root() { "0" } else { "none" },
            "tcp": tcp, "tcp6": tcp6, "udp": udp,
            "socket_out": text(&self.sockets[0]),
            "socket_tmp": text(&self.sockets[1]),
            "socket_run": text(&self.sockets[2]),
            "socket_abstract": self.tag,
        })
    }

    /// Has the probe run inside by who can run a shell text there, and returns the outcomes that
    /// the answer of `act` tells.
    pub(crate) fn probe_by(&self, act: impl FnOnce(&str) -> Output) -> BTreeMap<String, String> {
        let bait = self.told(false).to_string();
        let probe = self.ground.work().join("probe.py");
        let output = act(&format!("{PYTHON} {} '{bait}'", probe.display()));
        let mut outcomes = read(&output);
        self.look(&mut outcomes);
        outcomes
    }

    /// Returns the search path that has a toolchain of the home in it.
    pub(crate) fn path(&self) -> String {
        format!(
            "{}/.cargo/bin:/usr/bin:/bin",
            self.ground.home.path().display()
        )
    }

    /// Returns the folder outside of the project.
    pub(crate) fn out(&self) -> &Path {
        &self.out
    }

    /// Runs the probe with a descriptor of the outside left open, under these words if any.
    pub(crate) fn probe(&self, words: &[&str]) -> BTreeMap<String, String> {
        let out = self.out.to_str().expect("text");
        let bait = self.told(words.is_empty()).to_string();
        let probe = self.ground.work().join("probe.py");
        let text = "exec 9<\"$0\"; exec \"$@\"";
        let mut all = vec!["-c", text, out];
        all.extend(words);
        let probe = probe.to_str().expect("text");
        all.extend([PYTHON, probe, &bait]);
        // What root does bare to its mounts, it does to mounts of its own.
        let mut program = "/bin/sh";
        if words.is_empty() && self.ground.who == Who::Root {
            program = "/usr/bin/unshare";
            all.splice(0..0, ["--mount", "--propagation", "private", "/bin/sh"]);
        }
        let mut command = self.ground.command(Path::new(program), &all);
        command.env("PATH", self.path());
        let output = capture(command);
        let mut outcomes = read(&output);
        self.look(&mut outcomes);
        outcomes
    }

    /// Looks on the host at what an attempt alone could not tell, and takes it away.
    fn look(&self, outcomes: &mut BTreeMap<String, String>) {
        let home = self.ground.home.path();
        let tag = &self.tag;
        for (name, path) in [
            (
                "write: a file of the home",
                home.join(format!("home-{tag}")),
            ),
            (
                "write: a file of /tmp",
                format!("/tmp/outlast-probe-{tag}").into(),
            ),
            (
                "write: a file of /dev/shm",
                format!("/dev/shm/outlast-probe-{tag}").into(),
            ),
        ] {
            if outcomes.get(name).is_some_and(|told| told == "done") {
                let outcome = if path.exists() { "out" } else { "private" };
                outcomes.insert(name.to_owned(), outcome.to_owned());
            }
            fs::remove_file(&path).ok();
        }
        for path in [
            format!("/etc/outlast-probe-{tag}"),
            format!("/outlast-probe-{tag}"),
        ] {
            fs::remove_file(path).ok();
        }
    }
}

impl Drop for Bait {
    fn drop(&mut self) {
        self.sleeper.kill().ok();
        self.sleeper.wait().ok();
        for path in self.sockets.iter().chain([&self.shared_file]) {
            fs::remove_file(path).ok();
        }
    }
}

/// Fills a home and a project with what is to be kept.
fn fill(ground: &Contained) {
    let work = ground.work();
    for name in [".git/hooks", "nested/.git/hooks"] {
        fs::create_dir_all(work.join(name)).expect("the project can be filled");
    }
    for (name, text) in [
        (".git/config", ""),
        (".claude/settings.json", "{}"),
        (".vscode/tasks.json", "{}"),
        (".mcp.json", "{}"),
        (".envrc", ""),
        (".husky/pre-push", ""),
        ("probe.py", PROBE),
        ("../out/target", "target"),
        ("../out/to-move", "target"),
        ("../out/readable", "bait"),
        ("../.ssh/id_probe", "bait"),
        ("../.cargo/bin/tool", ""),
        ("../.cargo/credentials.toml", "bait"),
        ("../kept/bait", "bait"),
    ] {
        let path = work.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the home can be filled");
        write(&path, text);
    }
}

/// Puts a program into the project that takes the rights of root, where we may make one.
pub(crate) fn add_set_user(ground: &Contained) {
    let as_owner = ground.work().join("as-owner");
    fs::copy("/usr/bin/id", &as_owner).expect("there is `id`");
    if rustix::process::geteuid().is_root() {
        chown(&as_owner, Some(0), Some(0)).expect("root may");
    }
    set_mode(&as_owner, 0o4755);
}

trait IncomingOwned {
    fn incoming_owned(self) -> Box<dyn Iterator<Item = Box<dyn Write>> + Send>;
}

impl IncomingOwned for UnixListener {
    fn incoming_owned(self) -> Box<dyn Iterator<Item = Box<dyn Write>> + Send> {
        Box::new(std::iter::from_fn(move || {
            let (stream, _) = self.accept().ok()?;
            Some(Box::new(stream) as Box<dyn Write>)
        }))
    }
}

/// Answers whoever comes, on a thread that ends with the tests.
fn answer(incoming: Box<dyn Iterator<Item = Box<dyn Write>> + Send>) {
    thread::spawn(move || {
        for mut stream in incoming {
            stream.write_all(b"bait").ok();
        }
    });
}

fn listen() -> [u16; 3] {
    let tcp = |address: &str| {
        let Ok(listener) = TcpListener::bind((address, 0)) else {
            return 1;
        };
        let port = listener.local_addr().expect("it is bound").port();
        answer(Box::new(std::iter::from_fn(move || {
            let (stream, _) = listener.accept().ok()?;
            Some(Box::new(stream) as Box<dyn Write>)
        })));
        port
    };
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let udp_port = udp.local_addr().expect("it is bound").port();
    thread::spawn(move || {
        let mut buffer = [0; 128];
        while let Ok((_, from)) = udp.recv_from(&mut buffer) {
            udp.send_to(b"bait", from).ok();
        }
    });
    [tcp("127.0.0.1"), tcp("::1"), udp_port]
}

/// A process outside, of the same user, with bait in its environment.
fn sleeper(ground: &Contained) -> Child {
    let mut command: Command = ground.command(Path::new("/bin/sleep"), &["600"]);
    command
        .env("OUTLAST_BAIT", "bait")
        .stdin(Stdio::null())
        .spawn()
        .expect("there is `sleep`")
}

#[track_caller]
fn read(output: &Output) -> BTreeMap<String, String> {
    let line = output.stdout.lines().last().unwrap_or_default();
    let document: Result<Map<String, Value>, _> = serde_json::from_str(line);
    let document = document.unwrap_or_else(|_| panic!("no outcomes: {output:#?}"));
    let outcomes = document.into_iter().map(|(name, told)| {
        let told = told.as_str().unwrap_or_default().to_owned();
        (name, told)
    });
    outcomes.collect()
}
