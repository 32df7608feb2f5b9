//! A supervisor for one worker: it keeps a journal and runs calls, and dies with its worker's
//! socket where a test wants a worker to be killed.

use crate::log::Log;
use crate::work;
use outlast_journal::agent::{Final, Input, Told, Work};
use outlast_journal::worker::{
    Answered, CallAsk, CallClaimed, CallEnd, CallEnded, CallProgram, Heard, Said,
};
use outlast_journal::{Fact, Limits, Line, Seq, Spec, StopCause, Timestamp, limits, names};
use outlast_testkit::Home;
use outlast_testkit::model::ScriptedModel;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// A call with this in it runs into its time limit at once.
pub(super) const NEVER_ENDS: &str = "sleep infinity";

/// The id of every run here.
const RUN: &str = "0123456789abcdef";

/// One run and its supervisor.
pub(super) struct Boss {
    home: Home,
    pub(super) model: ScriptedModel,
    agent: Value,
    containment: Option<Value>,
    /// Lines after which the worker is cut off, one for each worker until none is left.
    pub(super) deaths: RefCell<Vec<usize>>,
    /// What the supervisor does beside, by the kind of fact that it was just told.
    pub(super) acts: Vec<(&'static str, Act)>,
    shared: Arc<Mutex<Shared>>,
    log: RefCell<Vec<u8>>,
}

/// Something that happens to a run from outside, once.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Cancel,
    Input(&'static str),
    Answer(bool),
}

#[derive(Default)]
struct Shared {
    next_seq: u64,
    ends: HashMap<String, CallEnded>,
    /// Shell texts in the order in which they were executed.
    executed: Vec<String>,
    is_cancelling: bool,
    inputs: u64,
    lines: usize,
}

impl Boss {
    /// Returns a run of a task at full access.
    pub(super) fn new() -> Self {
        Self::with(&json!({}))
    }

    /// Returns a run with these members of its request.
    pub(super) fn with(request: &Value) -> Self {
        let home = Home::new();
        let model = ScriptedModel::new();
        let mut asked = json!({
            "task": "Look around.",
            "model": {"provider": "compatible", "name": "scripted",
                "base_url": format!("{}/v1/", model.url())},
        });
        for (name, value) in request.as_object().expect("members") {
            asked[name] = value.clone();
        }
        Self {
            home,
            model,
            agent: json!({"request": asked, "turns_max": 50}),
            containment: None,
            deaths: RefCell::new(Vec::new()),
            acts: Vec::new(),
            shared: Arc::default(),
            log: RefCell::default(),
        }
    }

    /// Sets how many tokens the model's window holds.
    pub(super) fn window(&mut self, tokens: u64) {
        self.agent["request"]["model"]["context_tokens"] = tokens.into();
    }

    /// Sets the most turns.
    pub(super) fn turns_max(mut self, turns: u64) -> Self {
        self.agent["turns_max"] = turns.into();
        self
    }

    /// Binds the calls to a tier, in words only.
    pub(super) fn contained(mut self, tier: &str) -> Self {
        self.containment = Some(json!({"tier": tier}));
        self
    }

    /// Returns the conversations that were sent, each once, without the system's part.
    pub(super) fn conversations(&self) -> Vec<String> {
        let home = self.home.path().display().to_string();
        let sent = self.model.turns().into_iter().map(|asked| {
            let messages = asked.body["messages"].as_array().expect("messages").clone();
            let said = messages.iter().filter(|one| one["role"] != "system");
            let said: Vec<String> = said.map(Value::to_string).collect();
            // The model's ids tell which of its answers it was; an answer that was lost had one.
            let ids = regex::Regex::new("call_[0-9]+_").expect("a pattern");
            let said = said.join("\n").replace(&home, "HOME");
            ids.replace_all(&said, "call_").into_owned()
        });
        let mut sent: Vec<String> = sent.collect();
        sent.dedup();
        sent
    }

    fn dir(&self) -> PathBuf {
        let month = self.home.store().join(names::RUNS).join("2026-01");
        month.join(RUN)
    }

    fn spec(&self) -> Spec {
        let cwd = self.home.work();
        let mut spec = json!({
            "v": 1, "id": RUN, "created": "2026-01-01T00:00:00.000Z", "argv": [],
            "command": "", "label": "test", "cwd": cwd, "project": cwd, "grace_ms": 5000,
            "output_bytes_max": 1 << 20, "agent": self.agent,
        });
        if let Some(containment) = &self.containment {
            spec["containment"] = containment.clone();
        }
        Spec::from_json(spec.to_string().as_bytes()).expect("a spec")
    }

    /// Lets one worker after the other work until the end is told, and returns it.
    pub(super) fn work(&self) -> Final {
        for _ in 0..40 {
            self.one_worker();
            if let Some(end) = self.end() {
                return end;
            }
        }
        panic!("no end in 40 workers: {:#?}", self.kinds());
    }

    /// Lets one worker work until it leaves or is cut off.
    fn one_worker(&self) {
        outlast_lib::Store::open(&self.home.store(), Limits::default()).expect("a store");
        fs::create_dir_all(self.dir().join(names::CALLS)).expect("a run");
        let spec = self.spec();
        fs::File::create(self.dir().join(names::SPEC))
            .and_then(|mut file| file.write_all(spec.to_json().as_bytes()))
            .expect("a spec");
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let lines = self.deaths.borrow_mut().pop();
        let desk = Desk {
            shared: Arc::clone(&self.shared),
            dir: self.dir(),
            cwd: self.home.work(),
            acts: self.acts.clone(),
            lines_left: lines,
        };
        let desk = thread::spawn(move || desk.serve(&ours));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let mut out = self.log.borrow_mut();
        runtime.block_on(async {
            let log = Log::new(&mut *out);
            let begun = work::begin(&spec, &self.dir(), Limits::default(), theirs, log).await;
            if let Ok(mut worker) = begun {
                worker.work().await.ok();
            }
        });
        desk.join().expect("the desk holds");
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let journal = fs::read(self.dir().join(names::JOURNAL)).unwrap_or_default();
        let lines = journal
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        lines
            .map(|line| Line::from_bytes(line).expect("a line"))
            .collect()
    }

    /// Returns the kinds of the journal's lines. That a reader finds no lock, and so settles the
    /// run, is nothing here.
    pub(super) fn kinds(&self) -> Vec<String> {
        let kinds = self.lines().into_iter().map(|line| line.kind);
        kinds.filter(|kind| kind != "failed").collect()
    }

    pub(super) fn facts(&self) -> Vec<Work> {
        let lines = self.lines();
        let facts = lines
            .iter()
            .filter_map(|line| Work::read(&line.kind, line.message.as_deref(), &line.data));
        facts.collect()
    }

    fn end(&self) -> Option<Final> {
        self.facts().into_iter().find_map(|fact| {
            if let Work::Final(end) = fact {
                Some(*end)
            } else {
                None
            }
        })
    }

    pub(super) fn executed(&self) -> Vec<String> {
        self.shared.lock().expect("held").executed.clone()
    }

    /// Returns how many lines workers said so far.
    pub(super) fn lines_said(&self) -> usize {
        self.shared.lock().expect("held").lines
    }

    pub(super) fn log(&self) -> String {
        String::from_utf8(self.log.borrow().clone()).expect("text")
    }
}

/// The supervisor's side of one socket.
struct Desk {
    shared: Arc<Mutex<Shared>>,
    dir: PathBuf,
    cwd: PathBuf,
    acts: Vec<(&'static str, Act)>,
    lines_left: Option<usize>,
}

impl Desk {
    fn serve(mut self, socket: &UnixStream) {
        let mut reader = BufReader::new(socket);
        let mut line = Vec::new();
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(left) = &mut self.lines_left {
                if *left == 0 {
                    return;
                }
                *left -= 1;
            }
            let said = Said::from_bytes(line.trim_ascii_end()).expect("understood");
            let shared = Arc::clone(&self.shared);
            let mut shared = shared.lock().expect("held");
            shared.lines += 1;
            let heard = self.answer(&mut shared, said);
            for heard in heard {
                // A worker that is gone hears nothing.
                let mut socket = socket;
                socket.write_all(&heard.to_bytes()).ok();
            }
        }
    }

    fn answer(&mut self, shared: &mut Shared, said: Said) -> Vec<Heard> {
        match said {
            Said::Hello { .. } => vec![Heard::Welcome {
                v: 1,
                is_cancelling: shared.is_cancelling,
                running: Vec::new(),
            }],
            Said::Fact {
                n,
                kind,
                message,
                data,
            } => {
                assert!(data.to_string().len() < limits::WORKER_LINE_BYTES_MAX);
                let told = Told {
                    kind: kind.clone(),
                    message,
                    data,
                };
                assert!(told.is_of_worker(), "{kind}");
                self.append(shared, &Fact::Told(told.clone()));
                let mut heard = vec![Heard::Wrote { n }];
                heard.extend(self.act(shared, &told));
                heard
            }
            Said::Call(ask) => vec![Heard::CallEnded(self.call(shared, ask))],
            Said::AskExpired { ask } => vec![self.answered(shared, ask, false, "timeout")],
            Said::EndCall { .. } => Vec::new(),
            _ => panic!("a later word"),
        }
    }

    fn act(&mut self, shared: &mut Shared, told: &Told) -> Vec<Heard> {
        let at = self.acts.iter().position(|(kind, _)| *kind == told.kind);
        let Some(at) = at else {
            return Vec::new();
        };
        let (kind, act) = self.acts[at].clone();
        // What repeats is answered each time, everything else happens once.
        if !matches!(act, Act::Answer(_)) {
            if shared.inputs > 0 || shared.is_cancelling {
                return Vec::new();
            }
            self.acts.retain(|(other, _)| *other != kind);
        }
        match act {
            Act::Cancel => {
                shared.is_cancelling = true;
                vec![Heard::Cancel {
                    cause: StopCause::Cancel,
                    by: None,
                }]
            }
            Act::Input(text) => {
                shared.inputs += 1;
                let input = Input {
                    number: shared.inputs,
                    text: text.to_owned(),
                    by: Some("cli".to_owned()),
                };
                let told = Told {
                    kind: "input".to_owned(),
                    message: None,
                    data: Work::Input(input.clone()).data(),
                };
                self.append(shared, &Fact::Told(told));
                vec![Heard::Input(input)]
            }
            Act::Answer(is_approved) => {
                let ask = told.data["ask"].as_str().expect("an ask").to_owned();
                vec![self.answered(shared, ask, is_approved, "cli")]
            }
        }
    }

    fn answered(&self, shared: &mut Shared, ask: String, is_approved: bool, by: &str) -> Heard {
        let answered = Answered {
            ask,
            is_approved,
            text: None,
            by: by.to_owned(),
        };
        self.append(shared, &Fact::Answered(answered.clone()));
        Heard::Answered(answered)
    }

    fn call(&self, shared: &mut Shared, ask: CallAsk) -> CallEnded {
        assert!(CallAsk::is_id(&ask.call), "{}", ask.call);
        if let Some(ended) = shared.ends.get(&ask.call) {
            return ended.clone();
        }
        let claimed = CallClaimed {
            call: ask.call.clone(),
        };
        self.append(shared, &Fact::CallClaimed(claimed));
        let CallProgram::Shell(text) = &ask.program else {
            panic!("the hand is not here");
        };
        shared.executed.push(text.clone());
        if text.contains(NEVER_ENDS) {
            let ended = CallEnded::new(&ask.call, CallEnd::TimedOut);
            self.append(shared, &Fact::CallEnded(Box::new(ended.clone())));
            shared.ends.insert(ask.call, ended.clone());
            return ended;
        }
        let log = self.dir.join(names::CALLS).join(names::call_log(&ask.call));
        let out = fs::File::create(log).expect("a log");
        let status = Command::new("bash")
            .args(["-c", text])
            .current_dir(&self.cwd)
            .stdin(Stdio::null())
            .stdout(out.try_clone().expect("a log"))
            .stderr(out)
            .status()
            .expect("a shell");
        let ended = CallEnded {
            exit_code: status.code(),
            elapsed_ms: 7,
            ..CallEnded::new(&ask.call, CallEnd::Exited)
        };
        self.append(shared, &Fact::CallEnded(Box::new(ended.clone())));
        shared.ends.insert(ask.call, ended.clone());
        ended
    }

    fn append(&self, shared: &mut Shared, fact: &Fact) {
        append(&self.dir, &mut shared.next_seq, fact);
    }
}

fn append(dir: &Path, next_seq: &mut u64, fact: &Fact) {
    let line = Line::new(fact, Seq(*next_seq), Timestamp(1_767_225_600_000));
    *next_seq += u64::from(fact.is_event());
    let journal = OpenOptions::new()
        .append(true)
        .create(true)
        .open(dir.join(names::JOURNAL));
    let mut journal = journal.expect("a journal");
    journal.write_all(&line.to_bytes()).expect("written");
}
