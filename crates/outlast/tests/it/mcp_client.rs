//! A host for tests: speaks JSON-RPC, line by line, with the program as a server on stdio.

use crate::case_ground::{Ground, SOON};
use outlast_testkit::eventually_some;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

/// A session with a server of its own.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
}

/// What a tool answered.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The object.
    pub(crate) object: Value,
    /// The same as it came in the text block.
    pub(crate) text: String,
    /// Whether it is a refusal.
    pub(crate) is_error: bool,
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "so that a call reads as the name of the tool and its arguments"
)]
impl Client {
    /// Starts a server and opens a session, as most hosts do.
    #[track_caller]
    pub(crate) fn open(ground: &Ground) -> Self {
        Self::open_with(ground.program.command(&["mcp"]), "test-host").0
    }

    /// Starts this server as this host; returns what it said to the first request too.
    #[track_caller]
    pub(crate) fn open_with(command: Command, host: &str) -> (Self, Value) {
        let mut client = Self::start(command);
        let opened = client.initialize("2025-06-18", host);
        (client, opened)
    }

    /// Starts a server and says nothing yet.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let stdout = child.stdout.take().expect("it is a pipe");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            next_id: 0,
        }
    }

    /// Opens the session and returns the answer's result.
    #[track_caller]
    pub(crate) fn initialize(&mut self, version: &str, host: &str) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": host, "version": "1"},
        });
        let opened = self.request("initialize", params)["result"].clone();
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        opened
    }

    /// Writes a line.
    pub(crate) fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("the session is open");
        // A server that left closes its end; the test sees that where it waits.
        writeln!(stdin, "{line}").ok();
    }

    /// Writes a line of any bytes; one that would be several is.
    pub(crate) fn write_bytes(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the session is open");
        stdin.write_all(line).ok();
        stdin.write_all(b"\n").ok();
    }

    /// Sends a request and does not wait for its answer.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&request.to_string());
        id
    }

    /// Sends a request and returns the whole answer.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Returns the answer to a request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.message().expect("the server answers");
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Returns the next message, `None` when there will be none.
    #[track_caller]
    pub(crate) fn message(&self) -> Option<Value> {
        let line = self.lines.recv_timeout(SOON * 3).ok()?;
        Some(serde_json::from_str(&line).expect("each line is a message"))
    }

    /// Sends a request of the revision without sessions and returns the whole answer.
    #[track_caller]
    pub(crate) fn modern(&mut self, extensions: &Value, method: &str, params: Value) -> Value {
        let id = self.send_modern(extensions, method, params);
        self.answer(id)
    }

    /// Sends a request of the revision without sessions, of a client with these extensions.
    pub(crate) fn send_modern(&mut self, extensions: &Value, method: &str, params: Value) -> u64 {
        let mut params = params;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test-host", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"extensions": extensions},
        });
        let fields = meta.as_object().expect("an object").clone();
        let given = params["_meta"].as_object().cloned().unwrap_or_default();
        params["_meta"] = fields.into_iter().chain(given).collect();
        self.send(method, params)
    }

    /// Calls a tool.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        let id = self.begin(tool, arguments);
        self.reply(id)
    }

    /// Calls a tool and does not wait for its answer.
    pub(crate) fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool with arguments that are written as they are, and returns the whole answer.
    #[track_caller]
    pub(crate) fn call_raw(&mut self, tool: &str, arguments: &str) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.write(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        ));
        self.answer(id)
    }

    /// Returns what a tool answered: the same object in both places.
    #[track_caller]
    pub(crate) fn reply(&mut self, id: u64) -> Reply {
        let answer = self.answer(id);
        let result = &answer["result"];
        let object = result["structuredContent"].clone();
        let blocks = result["content"].as_array().expect("blocks of content");
        assert_eq!(blocks.len(), 1, "{answer:#}");
        let text = blocks[0]["text"].as_str().expect("a text").to_owned();
        let parsed: Value = serde_json::from_str(&text).expect("the text is JSON");
        assert_eq!(parsed, object);
        // Who reads it has tools and no command line; a person may be told of one.
        assert!(
            !text.contains("`outlast ") || text.contains("the user"),
            "{text}"
        );
        Reply {
            object,
            text,
            is_error: result["isError"] == true,
        }
    }

    /// Calls a tool, which must not refuse, and returns the object.
    #[track_caller]
    pub(crate) fn fine(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments);
        assert!(!reply.is_error, "{reply:#?}");
        assert_eq!(reply.object["ok"], true);
        reply.object
    }

    /// Starts a run and returns its id.
    #[track_caller]
    pub(crate) fn run(&mut self, arguments: Value) -> String {
        let begun = self.fine("background_run", arguments);
        begun["id"].as_str().expect("an id").to_owned()
    }

    /// Calls a tool, which must refuse, and returns code and message.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> (String, String) {
        let reply = self.call(tool, arguments);
        assert!(reply.is_error, "{reply:#?}");
        assert_eq!(reply.object["ok"], false);
        let error = &reply.object["error"];
        let part = |name: &str| error[name].as_str().expect("a text").to_owned();
        assert!(!part("hint").is_empty(), "{reply:#?}");
        (part("code"), part("message"))
    }

    /// Returns the process of the server.
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid is small")
    }

    /// Closes the server's stdin.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// Kills the server and returns once it is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }

    /// Returns how the server ended.
    #[track_caller]
    pub(crate) fn ended(&mut self, limit: Duration) -> ExitStatus {
        eventually_some("the server has left", limit, || {
            self.child.try_wait().expect("it is our child")
        })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close();
        // One that has ended is as good; none may stay a zombie.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
