//! A worker that follows a script: this program is its own, so that trials need no model.
//!
//! The task is the script, one step a line, in the order of its lines. What
//! stands in the journal already is not done again. A line that begins with `&`
//! does not wait for its call.

use outlast_journal::agent::{
    AgentRequest, Asked, CallResult, Final, Input, ModelTurn, TodoSet, Work,
};
use outlast_journal::worker::{CallAsk, CallEnded, CallProgram, Heard, Said};
use outlast_journal::{Fact, Line, Spec, Timestamp};
use outlast_lib::CommandLine;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

/// Returns the command of a run whose worker follows `script`.
pub(crate) fn script(script: &str) -> CommandLine {
    CommandLine::Agent(Box::new(AgentRequest {
        task: script.to_owned(),
        ..AgentRequest::default()
    }))
}

/// Works, if this process was started as a worker; is a hand, if it was started as one.
pub(crate) fn work() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["__work", _, dir] => Some(Worker::begin(Path::new(dir)).run()),
        ["__hand"] => {
            let text = std::io::read_to_string(std::io::stdin()).expect("there is a stdin");
            writeln!(std::io::stdout(), "hand: {text}").expect("somebody reads");
            Some(ExitCode::SUCCESS)
        }
        _ => {
            outlast_lib::note_worker();
            None
        }
    }
}

struct Worker {
    script: Vec<String>,
    stream: UnixStream,
    reader: BufReader<UnixStream>,
    told: u64,
    /// Lines that were done before.
    done: usize,
    inputs: BTreeMap<u64, Input>,
    /// Asks that were told, and answers to them.
    answered: Vec<(String, bool)>,
    is_cancelling: bool,
    ended: Vec<CallEnded>,
    unknown: Vec<String>,
}

impl Worker {
    fn begin(dir: &Path) -> Self {
        let spec = fs::read(dir.join("spec.json")).expect("the run has a spec");
        let spec = Spec::from_json(&spec).expect("it is one");
        let stream = outlast_lib::worker_channel().expect("the supervisor hands it down");
        let reader = BufReader::new(stream.try_clone().expect("it can be copied"));
        let task = spec.agent.expect("it is an agent run").request.task;
        let mut this = Self {
            script: task.lines().map(str::to_owned).collect(),
            stream,
            reader,
            told: 0,
            done: 0,
            inputs: BTreeMap::new(),
            answered: Vec::new(),
            is_cancelling: false,
            ended: Vec::new(),
            unknown: Vec::new(),
        };
        if this.script.first().is_some_and(|line| line == "silent") {
            sleep_for_ever();
        }
        this.say(&Said::hello());
        this.hear_until(|heard| matches!(heard, Heard::Welcome { .. }));
        this.fold(dir);
        this
    }

    fn fold(&mut self, dir: &Path) {
        let journal = fs::read(dir.join("journal.jsonl")).expect("the run has a journal");
        let mut taken: Vec<u64> = Vec::new();
        for line in journal.split(|byte| *byte == b'\n') {
            let Ok(line) = Line::from_bytes(line) else {
                continue;
            };
            if let Ok(Fact::Answered(answered)) = line.fact() {
                self.answered.push((answered.ask, answered.is_approved));
            }
            match Work::read(&line.kind, line.message.as_deref(), &line.data) {
                Some(Work::CallResult(result)) => {
                    self.done += 1;
                    let shown: Value = serde_json::from_str(&result.shown).unwrap_or_default();
                    taken.extend(shown["number"].as_u64());
                }
                Some(Work::Input(input)) => {
                    self.inputs.insert(input.number, input);
                }
                _ => {}
            }
        }
        self.inputs.retain(|number, _| !taken.contains(number));
    }

    fn run(mut self) -> ExitCode {
        for at in self.done..self.script.len() {
            let line = self.script[at].clone();
            if self.is_cancelling {
                break;
            }
            self.step(at, &line);
        }
        let status = if self.is_cancelling {
            "cancelled"
        } else {
            "success"
        };
        self.conclude(status);
        ExitCode::SUCCESS
    }

    fn step(&mut self, at: usize, line: &str) {
        let call = format!("{}.1", at + 1);
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let shown = match word {
            "sh" => self.call(&call, CallProgram::Shell(rest.to_owned()), None),
            "brief" => {
                let (ms, text) = rest.split_once(' ').expect("brief MS TEXT");
                let program = CallProgram::Shell(text.to_owned());
                self.call_for(&call, program, None, ms.parse().expect("a number"))
            }
            "hand" => self.call(&call, CallProgram::Hand, Some(rest.to_owned())),
            "as" => {
                let (id, text) = rest.split_once(' ').expect("as ID TEXT");
                self.call(id, CallProgram::Shell(text.to_owned()), None)
            }
            "again" => {
                let (id, text) = rest.split_once(' ').expect("again ID TEXT");
                self.call(id, CallProgram::Shell(text.to_owned()), None);
                self.call(id, CallProgram::Shell(text.to_owned()), None)
            }
            "pair" => self.pair(&call, rest),
            "open" => {
                self.ask(
                    &call,
                    CallProgram::Shell(rest.to_owned()),
                    None,
                    600_000,
                    false,
                );
                json!(null)
            }
            "host" => self.on_host(&call, rest),
            "input" => self.input(),
            "turn" => self.turn(at, rest.parse().expect("a number")),
            "die" => {
                self.result(&call, &json!("dies"));
                std::process::abort()
            }
            "exit" => std::process::exit(rest.parse().expect("a code")),
            "garbage" => {
                self.result(&call, &json!("sends garbage"));
                self.stream.write_all(b"what is this?\n").ok();
                self.park()
            }
            "flood" => self.flood(rest.parse().expect("a number")),
            "deaf" => self.deaf(&call),
            "park" => self.park(),
            "end" => {
                self.conclude(rest);
                self.park()
            }
            _ => json!(format!("no step: {line}")),
        };
        self.result(&call, &shown);
    }

    fn park(&mut self) -> ! {
        loop {
            self.hear_until(|_| false);
        }
    }

    fn call(&mut self, call: &str, program: CallProgram, stdin: Option<String>) -> Value {
        self.call_for(call, program, stdin, 600_000)
    }

    fn call_for(
        &mut self,
        call: &str,
        program: CallProgram,
        stdin: Option<String>,
        timeout_ms: u64,
    ) -> Value {
        self.ask(call, program, stdin, timeout_ms, false);
        self.end_of(call)
    }

    fn ask(
        &mut self,
        call: &str,
        program: CallProgram,
        stdin: Option<String>,
        timeout_ms: u64,
        is_on_host: bool,
    ) {
        self.say(&Said::Call(CallAsk {
            call: call.to_owned(),
            program,
            stdin,
            timeout_ms,
            grace_ms: 500,
            is_on_host,
        }));
    }

    fn end_of(&mut self, call: &str) -> Value {
        loop {
            if let Some(at) = self.ended.iter().position(|ended| ended.call == call) {
                return json!(self.ended.remove(at));
            }
            if let Some(at) = self.unknown.iter().position(|unknown| unknown == call) {
                self.unknown.remove(at);
                return json!("unknown");
            }
            self.hear();
        }
    }

    /// Runs two calls at once.
    fn pair(&mut self, call: &str, text: &str) -> Value {
        let second = format!("{call}.2");
        let program = |number: u8| CallProgram::Shell(format!("N={number}; {text}"));
        self.ask(call, program(1), None, 600_000, false);
        self.ask(&second, program(2), None, 600_000, false);
        json!([self.end_of(call), self.end_of(&second)])
    }

    /// Asks whether a call may run on the host, and runs it whatever the answer is.
    fn on_host(&mut self, call: &str, text: &str) -> Value {
        self.tell(&Work::Ask(Asked {
            ask: call.to_owned(),
            tool: "shell".to_owned(),
            question: text.to_owned(),
            expires: Timestamp(u64::from(u32::MAX) * 1_000),
        }));
        while !self.answered.iter().any(|(ask, _)| ask == call) {
            if self.is_cancelling {
                return json!("cancelled");
            }
            self.hear();
        }
        let program = CallProgram::Shell(text.to_owned());
        self.ask(call, program, None, 600_000, true);
        self.end_of(call)
    }

    fn input(&mut self) -> Value {
        loop {
            if let Some((_, input)) = self.inputs.pop_first() {
                return json!(input);
            }
            self.hear();
        }
    }

    /// Tells of a turn of a model that used so many tokens, each a dollar.
    fn turn(&mut self, at: usize, tokens: u64) -> Value {
        self.tell(&Work::ModelTurn(Box::new(ModelTurn {
            turn: at as u64,
            message: json!("hm"),
            usage: Value::Null,
            tokens,
            cost_micros: Some(tokens * 1_000_000),
            stop: String::new(),
            model: String::new(),
        })));
        json!(tokens)
    }

    /// Tells facts without end until it is cancelled.
    fn flood(&mut self, bytes: usize) -> Value {
        let text = "x".repeat(bytes);
        while !self.is_cancelling {
            self.tell(&Work::Text(text.clone()));
        }
        json!("flooded")
    }

    /// Tells facts and never reads what it is told.
    fn deaf(&mut self, call: &str) -> Value {
        self.result(call, &json!("does not read"));
        loop {
            self.told += 1;
            let fact = said(self.told, &Work::TodoSet(TodoSet::default()));
            if self.stream.write_all(&fact.to_bytes()).is_err() {
                std::process::exit(1);
            }
        }
    }

    fn result(&mut self, call: &str, shown: &Value) {
        self.tell(&Work::CallResult(Box::new(CallResult {
            call: call.to_owned(),
            tool: "shell".to_owned(),
            ok: true,
            is_refused: false,
            is_unknown: shown == "unknown",
            shown: shown.to_string(),
            brief: String::new(),
            via: None,
            wrote: None,
            saw: None,
        })));
    }

    fn conclude(&mut self, status: &str) {
        self.tell(&Work::Final(Box::new(Final {
            status: status.to_owned(),
            summary: format!("the script ended as {status}"),
            text: String::new(),
            answer: Value::Null,
            ungrounded_claims: Vec::new(),
            ended_by: "self".to_owned(),
            error: (status == "error").then(|| "provider_error".to_owned()),
            message: None,
            suggestions: Vec::new(),
        })));
    }

    /// Tells a fact and waits until it stands.
    fn tell(&mut self, work: &Work) {
        self.told += 1;
        let n = self.told;
        self.say(&said(n, work));
        self.hear_until(|heard| {
            matches!(heard, Heard::Wrote { n: wrote } | Heard::NotWritten { n: wrote, .. } if *wrote == n)
        });
    }

    fn say(&mut self, said: &Said) {
        if self.stream.write_all(&said.to_bytes()).is_err() {
            // The supervisor is gone.
            std::process::exit(1);
        }
    }

    fn hear_until(&mut self, is_it: impl Fn(&Heard) -> bool) {
        while !is_it(&self.hear()) {}
    }

    fn hear(&mut self) -> Heard {
        let mut line = Vec::new();
        let read = self.reader.read_until(b'\n', &mut line);
        if read.unwrap_or(0) == 0 {
            std::process::exit(1);
        }
        let heard = Heard::from_bytes(&line).expect("a supervisor says what one says");
        match &heard {
            Heard::Welcome { is_cancelling, .. } => self.is_cancelling = *is_cancelling,
            Heard::Cancel { .. } => self.is_cancelling = true,
            Heard::CallEnded(ended) => self.ended.push(ended.clone()),
            Heard::CallUnknown { call } => self.unknown.push(call.clone()),
            Heard::Answered(answered) => {
                let answer = (answered.ask.clone(), answered.is_approved);
                self.answered.push(answer);
            }
            Heard::Input(input) => {
                self.inputs.insert(input.number, input.clone());
            }
            Heard::Wrote { .. } | Heard::NotWritten { .. } | _ => {}
        }
        heard
    }
}

fn sleep_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

fn said(n: u64, work: &Work) -> Said {
    Said::Fact {
        n,
        kind: work.kind().to_owned(),
        message: work.message(),
        data: work.data(),
    }
}
