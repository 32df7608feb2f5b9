//! A client for tests: HTTP/1.1 over a plain socket, with the program as a server.
//!
//! It sends what it is told and nothing of its own, so that a test can send
//! what no library would.

use crate::{
    case_ground::{BUSY, Ground, SOON},
    http_schema::assert_described,
};
use outlast_testkit::eventually_some;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

/// A server of its own, which ends with this value.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    /// What it said on stderr until it was ready.
    pub(crate) said: String,
}

/// A request as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// An answer as it came.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// A connection on which requests follow one another.
pub(crate) struct Line {
    reader: BufReader<TcpStream>,
}

impl Server {
    /// Starts a server on a free port.
    #[track_caller]
    pub(crate) fn start(ground: &Ground) -> Self {
        Self::start_with(ground, &[])
    }

    /// Starts a server on a free port with these options too.
    #[track_caller]
    pub(crate) fn start_with(ground: &Ground, options: &[&str]) -> Self {
        let words = [&["serve", "--port", "0"], options].concat();
        Self::spawn(ground.program.command(&words))
    }

    /// Starts a server by this command, which executes `serve --port 0`.
    #[track_caller]
    pub(crate) fn spawn(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let mut url = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("it is a pipe"));
        stdout.read_line(&mut url).expect("it prints its URL");
        let mut said = String::new();
        let mut stderr = BufReader::new(child.stderr.take().expect("it is a pipe"));
        if url.is_empty() {
            stderr.read_to_string(&mut said).expect("it is text");
        }
        let address = url.trim().strip_prefix("http://");
        let address = address.and_then(|address| address.parse::<SocketAddr>().ok());
        let address = address.unwrap_or_else(|| panic!("no URL but {url:?}: {said}"));
        while !said.contains("the token is in") {
            assert!(
                stderr.read_line(&mut said).expect("it is text") > 0,
                "{said}"
            );
        }
        let token = said
            .split('`')
            .nth_back(1)
            .expect("it names the token's file");
        let token = fs::read_to_string(token).expect("it is there");
        Self {
            child,
            address,
            token: token.trim().to_owned(),
            said,
        }
    }

    /// Returns a `GET` of `target` with the token.
    pub(crate) fn get(&self, target: &str) -> Ask {
        Ask::new("GET", target).with("Authorization", &format!("Bearer {}", self.token))
    }

    /// Returns a request with a JSON body and the token.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "so that a call reads as what is sent"
    )]
    pub(crate) fn post(&self, target: &str, body: Value) -> Ask {
        let mut ask = self.get(target).with("Content-Type", "application/json");
        ask.method = "POST".to_owned();
        ask.body = body.to_string().into_bytes();
        ask
    }

    /// Opens a connection.
    #[track_caller]
    pub(crate) fn line(&self) -> Line {
        Line::open(self.address).expect("it listens")
    }

    /// Sends a request on a connection of its own and returns the answer, which must be as the
    /// API is described.
    #[track_caller]
    pub(crate) fn send(&self, ask: &Ask) -> Answer {
        let mut line = self.line();
        line.send(ask);
        let answer = line.answer();
        assert_described(ask, &answer);
        answer
    }

    /// Sends a request, which must be answered with 2xx, and returns the document.
    #[track_caller]
    pub(crate) fn fine(&self, ask: &Ask) -> Value {
        let answer = self.send(ask);
        assert!((200..300).contains(&answer.status), "{answer:#?}");
        answer.json()
    }

    /// Sends a request, which must be refused, and returns status and code.
    #[track_caller]
    pub(crate) fn refused(&self, ask: &Ask) -> (u16, String) {
        self.send(ask).refusal()
    }

    /// Starts a run by the API and returns its id.
    #[track_caller]
    pub(crate) fn run(&self, body: Value) -> String {
        let started = self.fine(&self.post("/api/runs", body));
        started["run"]["id"].as_str().expect("an id").to_owned()
    }

    /// Returns one number of the metrics.
    #[track_caller]
    pub(crate) fn metric(&self, name: &str) -> i64 {
        let page = self.send(&self.get("/metrics")).body;
        let value = page
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.unwrap_or_else(|| panic!("no {name} in {page}"))
    }

    /// Returns the process of the server.
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid is small")
    }

    /// Kills the server and returns once it is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }

    /// Tells the server to stop.
    pub(crate) fn terminate(&self) {
        let pid = Pid::from_raw(self.pid()).expect("a pid is positive");
        kill_process(pid, Signal::TERM).expect("it is our child");
    }

    /// Returns how the server ended.
    #[track_caller]
    pub(crate) fn ended(&mut self, limit: Duration) -> ExitStatus {
        eventually_some("the server has left", limit + BUSY, || {
            self.child.try_wait().expect("it is our child")
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended is as good; none may stay a zombie.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Ask {
    /// Returns a request with a `Host` that is fine and nothing else.
    pub(crate) fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: vec![("Host".to_owned(), "localhost".to_owned())],
            body: Vec::new(),
        }
    }

    /// Returns the request with a header in place of those of that name.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        let mut ask = self.without(name);
        ask.headers.push((name.to_owned(), value.to_owned()));
        ask
    }

    /// Returns the request with one more header, whatever there is.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the request without the headers of that name.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Returns the bytes that go out.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").expect("a string takes everything");
        }
        let is_said = |name: &str| {
            let mut names = self.headers.iter();
            names.any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        if !self.body.is_empty() && !is_said("content-length") && !is_said("transfer-encoding") {
            let length = self.body.len();
            write!(head, "Content-Length: {length}\r\n").expect("a string takes everything");
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }
}

impl Answer {
    /// Returns the document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Returns the last message of a stream of MCP, or the only one.
    #[track_caller]
    pub(crate) fn message(&self) -> Value {
        let is_stream = self.header("content-type").starts_with("text/event-stream");
        if !is_stream {
            return self.json();
        }
        let mut data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"));
        let last = data.rfind(|data| !data.trim().is_empty());
        serde_json::from_str(last.expect("a message")).expect("it is JSON")
    }

    /// Returns a header, empty where there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// Returns status and code of a refusal, which has all of its parts.
    #[track_caller]
    pub(crate) fn refusal(&self) -> (u16, String) {
        assert!(self.status >= 400, "{self:#?}");
        let error = &self.json()["error"];
        let part = |name: &str| {
            let text = error[name].as_str();
            text.unwrap_or_else(|| panic!("no {name}: {self:#?}"))
                .to_owned()
        };
        assert!(
            !part("message").is_empty() && !part("hint").is_empty(),
            "{self:#?}"
        );
        (self.status, part("code"))
    }
}

impl Line {
    /// Opens a connection to a server that may be gone.
    pub(crate) fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(SOON * 2))?;
        Ok(Self {
            reader: BufReader::new(stream),
        })
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, ask: &Ask) {
        self.write(&ask.bytes());
    }

    /// Sends bytes. A server that closed its end is seen where an answer is read.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.reader.get_mut().write_all(bytes).ok();
    }

    /// Returns the socket.
    pub(crate) fn socket(&self) -> &TcpStream {
        self.reader.get_ref()
    }

    /// Returns the next answer.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.try_answer().expect("an answer comes")
    }

    /// Returns the next answer, if one comes before the connection ends.
    pub(crate) fn try_answer(&mut self) -> io::Result<Answer> {
        let mut answer = self.head()?;
        let length = answer.header("content-length").parse::<usize>();
        let mut body = Vec::new();
        if let Ok(length) = length {
            body.resize(length, 0);
            self.reader.read_exact(&mut body)?;
        } else if answer.header("transfer-encoding") == "chunked" {
            while let Some(part) = self.part()? {
                body.extend_from_slice(part.as_bytes());
            }
        }
        answer.body = String::from_utf8(body).map_err(io::Error::other)?;
        Ok(answer)
    }

    /// Returns status and headers of the next answer; the body is still to come.
    pub(crate) fn head(&mut self) -> io::Result<Answer> {
        let first = self.text()?;
        let status = first
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = self.text()?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Ok(Answer {
            status: status.ok_or_else(|| io::Error::other(first))?,
            headers,
            body: String::new(),
        })
    }

    /// Returns the next part of a stream, `None` at its end.
    pub(crate) fn part(&mut self) -> io::Result<Option<String>> {
        let size = self.text()?;
        let size = usize::from_str_radix(&size, 16).map_err(io::Error::other)?;
        let mut part = vec![0; size + 2];
        self.reader.read_exact(&mut part)?;
        part.truncate(size);
        let part = String::from_utf8(part).map_err(io::Error::other)?;
        Ok(Some(part).filter(|_| size > 0))
    }

    fn text(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Returns whether the server has closed the connection, waiting for it.
    pub(crate) fn is_closed_within(&mut self, limit: Duration) -> bool {
        let socket = self.reader.get_ref();
        socket
            .set_read_timeout(Some(limit))
            .expect("it is a socket");
        let mut rest = Vec::new();
        match self.reader.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}

/// A host that speaks MCP of one revision to a server.
pub(crate) struct Mcp<'a> {
    pub(crate) server: &'a Server,
    pub(crate) revision: &'a str,
    /// Whether it says that it knows tasks.
    pub(crate) has_tasks: bool,
}

impl<'a> Mcp<'a> {
    /// Returns a host that knows no tasks.
    pub(crate) fn new(server: &'a Server, revision: &'a str) -> Self {
        Self {
            server,
            revision,
            has_tasks: false,
        }
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "so that a call reads as what is sent"
)]
impl Mcp<'_> {
    /// Returns the request of a method, with all that the revision asks for.
    pub(crate) fn ask(&self, method: &str, params: Value) -> Ask {
        let mut params = params;
        let is_modern = self.revision >= "2026-07-28";
        if is_modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientInfo": {"name": "test-host", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {"extensions": self.extensions()},
            });
        }
        let name = params["name"].as_str().or(params["taskId"].as_str());
        let name = name.map(str::to_owned);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut ask = self
            .server
            .post("/mcp", body)
            .with("Accept", "application/json, text/event-stream")
            .with("User-Agent", "test-agent/1.0");
        if method != "initialize" {
            ask = ask.with("MCP-Protocol-Version", self.revision);
        }
        if is_modern {
            ask = ask.with("Mcp-Method", method);
            if let Some(name) = name {
                ask = ask.with("Mcp-Name", &name);
            }
        }
        ask
    }

    fn extensions(&self) -> Value {
        if self.has_tasks {
            json!({"io.modelcontextprotocol/tasks": {}})
        } else {
            json!({})
        }
    }

    /// Sends a request and returns its result.
    #[track_caller]
    pub(crate) fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.server.send(&self.ask(method, params));
        assert_eq!(answer.status, 200, "{answer:#?}");
        let message = answer.message();
        assert!(message["error"].is_null(), "{message:#}");
        message["result"].clone()
    }

    /// Calls a tool and returns its object.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.result("tools/call", params)["structuredContent"].clone()
    }
}
