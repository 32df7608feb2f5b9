//! A run that may talk to some hosts has one way to them: a proxy that its user names.

use crate::case_ground::write;
use crate::contain_ground::{Contained, PYTHON, Who};
use outlast_testkit::{capture, eventually};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::Duration,
};

const PROXY: &str = include_str!("contain_proxy.py");
/// Asks the way for the name that is its argument, and prints what it hears.
const CLIENT: &str = "import os, socket, sys\n\
    def ask(name):\n\
    \x20   way = socket.create_connection(('127.0.0.1', 3128), 5)\n\
    \x20   way.sendall(f'CONNECT {name}:443 HTTP/1.1\\r\\nHost: {name}\\r\\n\\r\\n'.encode())\n\
    \x20   heard = b''\n\
    \x20   while True:\n\
    \x20       data = way.recv(4096)\n\
    \x20       if not data: break\n\
    \x20       heard += data\n\
    \x20   return heard.split(b'\\r\\n')[0].decode(), heard.split(b'\\r\\n\\r\\n')[-1].decode()\n\
    for name in sys.argv[2:]: print(*ask(name))\n\
    print(os.environ['https_proxy'])\n\
    try:\n\
    \x20   socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2); print('by itself')\n\
    except OSError: print('no other way')\n\
    print(os.path.exists(os.environ['HOME'] + '/proxy'))\n";

const SOON: Duration = Duration::from_secs(30);

/// A proxy, a server behind it, and a configuration that names the proxy.
struct Network {
    ground: Contained,
    proxy: Child,
    port: u16,
}

impl Network {
    fn new(who: Who) -> Self {
        let ground = Contained::new(who);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let port = listener.local_addr().expect("it is bound").port();
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                stream.write_all(b"hello").ok();
            }
        });
        let folder = ground.home.path().join("proxy");
        fs::create_dir(&folder).expect("the home can be filled");
        ground.file("client.py", CLIENT);
        ground.file("../proxy/proxy.py", PROXY);
        let socket = folder.join("socket");
        configure(&ground, &socket);
        let script = folder.join("proxy.py");
        let words = [script.to_str(), socket.to_str()].map(|path| path.expect("text"));
        let mut command =
            ground.command(Path::new(PYTHON), &[words[0], words[1], &port.to_string()]);
        let log = fs::File::create(folder.join("log")).expect("the home can be filled");
        let proxy = command.stdout(log).stdin(Stdio::null()).spawn();
        let proxy = proxy.expect("there is Python");
        eventually("the proxy listens", SOON, || {
            fs::read_to_string(folder.join("log")).is_ok_and(|log| log.contains("ready"))
        });
        Self {
            ground,
            proxy,
            port,
        }
    }

    fn asked_for(&self) -> Vec<String> {
        let log = fs::read_to_string(self.ground.home.path().join("proxy/log"));
        let log = log.expect("the proxy has a log");
        log.lines().skip(1).map(str::to_owned).collect()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.proxy.kill().ok();
        self.proxy.wait().ok();
    }
}

fn configure(ground: &Contained, socket: &Path) {
    let folder = ground.home.path().join(".config/outlast");
    fs::create_dir_all(&folder).expect("the home can be filled");
    let text = format!("[sandbox]\nproxy = \"{}\"\n", socket.display());
    write(&folder.join("config.toml"), &text);
    ground.hand_over();
}

#[test]
fn allowed_hosts_are_reached_and_no_others() {
    for who in Who::all() {
        let network = Network::new(who);
        let port = network.port.to_string();
        let words = format!("{PYTHON} client.py {port} a.example other.example x.b.example");
        let options = [
            "--sandbox",
            "edit",
            "--network",
            "allow:a.example,.b.example",
        ];
        let output = network.ground.run(&options, &words);
        assert_eq!(
            output.stdout,
            "HTTP/1.1 200 OK hello\n\
             HTTP/1.1 403 Forbidden other.example is not among the hosts that this run may talk to\n\n\
             HTTP/1.1 200 OK hello\n\
             http://127.0.0.1:3128\nno other way\nFalse\n",
            "{output:#?}"
        );
        assert_eq!(network.asked_for(), ["a.example:443", "x.b.example:443"]);
        let runs = network.ground.json(&["ps", "-a", "--json"]);
        let run = &runs["runs"][0];
        assert_eq!(run["posture"]["network"], "allow:a.example,.b.example");
        let held = run["posture"]["guarantees"]
            .as_array()
            .expect("a list")
            .clone();
        assert!(held.contains(&json!("net_none")), "{run:#}");
        assert_eq!(run["leftovers"], Value::Null, "{run:#}");
    }
}

/// The helper that leads there is none of the run's own: the run is over when its own are.
#[test]
fn the_way_to_allowed_hosts_ends_with_the_run() {
    for who in Who::all() {
        let network = Network::new(who);
        let options = [
            "--sandbox",
            "edit",
            "--network",
            "allow:a.example",
            "--leftovers",
            "wait",
        ];
        let output = network
            .ground
            .run(&options, "(sleep 0.2; echo late) & echo early");
        assert_eq!(output.stdout, "early\nlate\n", "{output:#?}");
        assert_eq!(output.code, Some(0));
    }
}

/// A proxy that is not there, or does not answer, is the step; nothing is started.
#[test]
fn a_proxy_that_does_not_answer_starts_nothing() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let run = || {
            let words = [
                "run",
                "--json",
                "--sandbox",
                "edit",
                "--network",
                "allow:a.example",
                "--",
            ];
            let output = capture(ground.outlast(&[&words[..], &["touch", "was-run"]].concat()));
            assert_eq!(output.code, Some(126), "{output:#?}");
            let document: Value = serde_json::from_str(&output.stdout).expect("a document");
            document["error"].clone()
        };
        assert_eq!(run()["code"], "proxy_missing");
        let socket: PathBuf = ground.home.path().join("socket");
        configure(&ground, &socket);
        let error = run();
        assert_eq!(error["code"], "containment_failed", "{error}");
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| text.contains("`proxy`")),
            "{error}"
        );
        // A socket that nobody listens on any more.
        drop(std::os::unix::net::UnixListener::bind(&socket).expect("a socket"));
        crate::contain_ground::set_mode(&socket, 0o666);
        let error = run();
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| text.contains("`proxy`")),
            "{error}"
        );
        assert!(
            error["hint"]
                .as_str()
                .is_some_and(|text| text.contains("start the proxy")),
            "{error}"
        );
        assert!(!ground.work().join("was-run").exists());
    }
}
