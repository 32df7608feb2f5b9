//! An engine that hangs, says half of an answer, or dies: each wait is bounded, the error names
//! the step and the fix, and nothing is started that nobody knows of.
//!
//! The engine is a play of one on a unix socket, so that it hangs where a test says.

use crate::contain_engine_daemon::SOON;
use crate::contain_ground::{Contained, PYTHON, Who};
use crate::contain_honest::DENY;
use outlast_testkit::{Output, capture, eventually};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex, mpsc},
    thread,
};

/// What an engine does about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Answers as an engine does.
    Answer,
    /// Takes it and says nothing.
    Hang,
    /// Says half of an answer.
    Half,
    /// Closes the connection.
    Close,
}

/// What each request is met with: its method and the last part of its path.
type Play = fn(&str) -> Act;

struct Engine {
    path: PathBuf,
    asked: Arc<Mutex<Vec<String>>>,
    /// Connections that are held open, until the test is over.
    _held: mpsc::Sender<()>,
}

impl Engine {
    fn new(ground: &Contained, play: Play) -> Self {
        let path = ground.home.path().join("engine");
        let listener = UnixListener::bind(&path).expect("the home has room");
        crate::contain_ground::set_mode(&path, 0o666);
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (held, over) = mpsc::channel();
        let over = Arc::new(Mutex::new(over));
        let made = Arc::new(Mutex::new(Value::Null));
        let heard = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (heard, made) = (Arc::clone(&heard), Arc::clone(&made));
                let over = Arc::clone(&over);
                thread::spawn(move || serve(stream, play, &heard, &made, &over));
            }
        });
        Self {
            path,
            asked,
            _held: held,
        }
    }

    /// Whether it was asked this.
    fn was_asked(&self, what: &str) -> bool {
        let asked = self.asked.lock().expect("no test panicked");
        asked.iter().any(|one| one == what)
    }
}

fn serve(
    stream: UnixStream,
    play: Play,
    heard: &Mutex<Vec<String>>,
    made: &Mutex<Value>,
    over: &Mutex<mpsc::Receiver<()>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let (name, body) = read(&mut reader)?;
        heard.lock().ok()?.push(name.clone());
        let answer = match name.as_str() {
            "POST create" => {
                *made.lock().ok()? = body;
                json!({"Id": "c0ffee", "Warnings": []})
            }
            "GET version" => json!({"Version": "1", "ApiVersion": "1.41", "Components": []}),
            "GET json" => described(&*made.lock().ok()?),
            "POST wait" => json!({"StatusCode": 0}),
            _ => json!({}),
        };
        let answer = answer.to_string();
        let whole = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.len()
        );
        match play(&name) {
            Act::Close => return None,
            Act::Hang => over.lock().ok()?.recv().ok()?,
            Act::Half => {
                let half = whole.get(..whole.len() - 1)?;
                stream.write_all(half.as_bytes()).ok()?;
                over.lock().ok()?.recv().ok()?;
            }
            Act::Answer if name == "POST attach" => {
                let upgraded = "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";
                stream.write_all(upgraded.as_bytes()).ok()?;
                over.lock().ok()?.recv().ok()?;
            }
            Act::Answer => stream.write_all(whole.as_bytes()).ok()?,
        }
    }
}

/// Reads one request: its method with the last part of its path, and its body.
fn read(reader: &mut BufReader<UnixStream>) -> Option<(String, Value)> {
    let mut line = String::new();
    reader
        .read_line(&mut line)
        .ok()
        .filter(|count| *count > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let path = path.split('?').next()?;
    let name = format!("{method} {}", path.rsplit('/').next()?);
    let mut length = 0;
    loop {
        let mut head = String::new();
        reader.read_line(&mut head).ok()?;
        if head.trim().is_empty() {
            break;
        }
        let (key, value) = head.split_once(':')?;
        if key.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((name, serde_json::from_slice(&body).unwrap_or_default()))
}

/// What an engine says of the container that it was asked to make.
fn described(made: &Value) -> Value {
    let mounts = made["HostConfig"]["Mounts"].as_array();
    let mounts = mounts.into_iter().flatten().map(|mount| {
        json!({
            "Type": "bind", "Source": mount["Source"], "Destination": mount["Target"],
            "RW": mount["ReadOnly"] != json!(true),
        })
    });
    let mounts: Vec<Value> = mounts.collect();
    json!({"Id": "c0ffee", "HostConfig": made["HostConfig"], "Mounts": mounts})
}

const RUN: [&str; 8] = [
    "run", "--json", "--image", "an-image", "--", "touch", "was-run", "now",
];

/// Starts a run where no namespace can be made, so that nothing can stand in for a container.
fn start_alone(ground: &Contained, engine: &Engine) -> Output {
    ground.file("deny.py", DENY);
    let deny = ground.work().join("deny.py");
    let (deny, program) = (deny.to_str().expect("text"), ground.program());
    let program = program.to_str().expect("text");
    // Its number on x86-64 is that of `unshare`.
    let filter = [deny, "272", "1", "-1", program];
    let mut command = ground.command(PYTHON.as_ref(), &[&filter[..], &RUN].concat());
    lead(&mut command, engine);
    capture(command)
}

fn lead(command: &mut Command, engine: &Engine) {
    command.env("DOCKER_HOST", format!("unix://{}", engine.path.display()));
}

mod heavy {
    use super::*;

    /// Case SB-01.
    #[test]
    fn an_engine_that_hangs_before_the_start_is_told_in_time_and_nothing_is_started() {
        let plays: [(&str, Play); 5] = [
            ("no container engine answers", |_| Act::Hang),
            ("no container engine answers", |name| match name {
                "GET version" => Act::Half,
                _ => Act::Answer,
            }),
            ("no container engine answers", |_| Act::Close),
            ("would not make the container", |name| match name {
                "POST create" => Act::Hang,
                _ => Act::Answer,
            }),
            ("would not start the container", |name| match name {
                "POST start" => Act::Hang,
                _ => Act::Answer,
            }),
        ];
        for (told, play) in plays {
            let ground = Contained::new(Who::User);
            let engine = Engine::new(&ground, play);
            let refused = start_alone(&ground, &engine);
            assert_eq!(refused.code, Some(126), "{refused:#?}");
            let document: Value = serde_json::from_str(&refused.stdout).expect("a document");
            let error = &document["error"];
            assert_eq!(error["code"], "containment_failed", "{document:#}");
            let message = error["message"].as_str().expect("a text");
            assert!(message.contains("step `engine`"), "{message}");
            assert!(message.contains(told), "{told}: {message}");
            assert_ne!(error["hint"], "", "{document:#}");
            assert!(!ground.work().join("was-run").exists());
            if engine.was_asked("POST create") {
                let removes = |name: &String| name.starts_with("DELETE");
                let asked = engine.asked.lock().expect("no test panicked").clone();
                assert!(asked.iter().any(removes), "{asked:?}");
            }
        }
    }

    #[test]
    fn native_stands_in_for_an_engine_that_hangs_and_says_why() {
        let ground = Contained::new(Who::User);
        let engine = Engine::new(&ground, |_| Act::Hang);
        let mut command = ground.outlast(&RUN);
        lead(&mut command, &engine);
        let output = capture(command);
        let record: Value = serde_json::from_str(&output.stdout).expect("a document");
        let posture = &record["posture"];
        assert_eq!(posture["backend"], "native", "{record:#}");
        let notice = posture["fallback_notice"].as_str().expect("a notice");
        assert!(notice.contains("no container engine answers"), "{notice}");
    }

    #[test]
    fn an_engine_that_dies_or_hangs_in_the_middle_ends_the_run_as_lost() {
        let plays: [Play; 2] = [
            |name| match name {
                "POST wait" => Act::Close,
                _ => Act::Answer,
            },
            |name| match name {
                "POST wait" | "POST kill" => Act::Hang,
                _ if name.starts_with("DELETE") => Act::Half,
                _ => Act::Answer,
            },
        ];
        for (at, play) in plays.into_iter().enumerate() {
            let ground = Contained::new(Who::User);
            let engine = Engine::new(&ground, play);
            let mut command = ground.outlast(&RUN);
            lead(&mut command, &engine);
            let output = capture(command);
            let record: Value = serde_json::from_str(&output.stdout).expect("a document");
            let id = record["id"].as_str().expect("an id").to_owned();
            assert_eq!(record["posture"]["backend"], "container", "{record:#}");
            if at == 1 {
                let cancelled = capture(ground.outlast(&["cancel", "--grace", "1s", &id]));
                assert_eq!(cancelled.code, Some(0), "{cancelled:#?}");
            }
            let mut last = Value::Null;
            eventually("the run has ended", SOON, || {
                last = ground.json(&["show", "--json", &id]);
                last["ended"] != Value::Null
            });
            let status = ["failed", "cancelled"][at];
            assert_eq!(last["status"], status, "{last:#}");
            assert_eq!(last["failure"]["code"], "engine_lost", "{last:#}");
            assert_eq!(last["exit_code"], Value::Null, "{last:#}");
        }
    }
}
