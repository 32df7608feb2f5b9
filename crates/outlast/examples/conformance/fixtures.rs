//! The tools and resources that the suite calls by name, as far as ours is a server of
//! tools, tasks and resources that are text.

use crate::{
    jobs::{End, Jobs, text_result},
    wire::{Call, Caller, Content, Listener, Mark, Offer, Reply, RequestError, Resource, Task},
};
use outlast_lib::limits;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Map, Value, json};
use std::{sync::OnceLock, time::Duration};

/// Code of a request that needs a capability which the client has not declared.
const MISSING_CAPABILITY: i32 = -32021;

/// One pixel as PNG, and a WAV without samples.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// Each tool by its name.
const TOOLS: [&str; 14] = [
    "greet",
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_progress",
    "test_missing_capability",
];

/// What the suite's fixtures answer.
#[derive(Default)]
pub(crate) struct Fixtures {
    jobs: Jobs,
}

/// Returns a list of blocks as the result of a tool.
fn blocks(content: Value) -> Reply {
    let mut result = text_result("", false);
    result.insert("content".to_owned(), content);
    Reply::Result(result)
}

fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

fn resource(uri: &str, mime: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}})
}

/// Returns a question for a yes or no.
fn question(message: &str) -> Value {
    let confirm = json!({"type": "boolean", "description": "Whether to go on"});
    let schema = json!({"type": "object", "properties": {"confirm": confirm}});
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    json!({"method": "elicitation/create", "params": params})
}

/// Returns the error that names what a client has to declare.
fn missing(capabilities: &Value) -> RequestError {
    RequestError {
        code: MISSING_CAPABILITY,
        message: "the client has not declared what this tool needs".to_owned(),
        data: Some(json!({"requiredCapabilities": capabilities})),
    }
}

/// Waits until three signs of life are due, or nobody listens.
fn wait(listener: &Listener<'_>) {
    let limit = Duration::from_millis(limits::PROGRESS_MS * 3 + 500);
    let limit = Timespec::try_from(limit).expect("it is short");
    let mut watched = [PollFd::new(&listener.interrupt, PollFlags::IN)];
    // However it ended, the call is to be answered now.
    poll(&mut watched, Some(&limit)).ok();
}

impl Fixtures {
    /// Begins a task where the client takes one; else answers what it comes to.
    fn job(&self, call: &Call, lasts: Duration, end: End) -> Reply {
        if call.takes_task {
            return Reply::Task(self.jobs.begin(lasts, end, Map::new()));
        }
        match end {
            End::Text(text) => Reply::Result(text_result(&text, false)),
            End::ToolError(text) | End::Error(text) => Reply::Result(text_result(&text, true)),
        }
    }

    /// Begins a task that asks these questions first.
    fn asking(&self, call: &Call, questions: &[(&str, &str)]) -> Result<Reply, RequestError> {
        let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        if !call.takes_task {
            return Err(missing(&tasks));
        }
        let asks = questions.iter();
        let asks = asks.map(|(key, words)| ((*key).to_owned(), question(words)));
        let end = End::Text("answered".to_owned());
        let task = self.jobs.begin(Duration::ZERO, end, asks.collect());
        Ok(Reply::Task(task))
    }
}

impl Offer for Fixtures {
    fn definitions(&self) -> &'static str {
        static DEFINITIONS: OnceLock<String> = OnceLock::new();
        DEFINITIONS.get_or_init(|| {
            let tools = TOOLS.iter().map(|name| {
                let schema = json!({"type": "object"});
                json!({"name": name, "description": "A fixture", "inputSchema": schema})
            });
            let schema: Value =
                serde_json::from_str(include_str!("schema.json")).expect("the schema is JSON");
            let keywords = json!({
                "name": "json_schema_2020_12_tool", "description": "A fixture",
                "inputSchema": schema,
            });
            let tools: Vec<Value> = tools.chain([keywords]).collect();
            json!({"tools": tools}).to_string()
        })
    }

    fn instructions(&self) -> String {
        "Fixtures of the conformance suite".to_owned()
    }

    fn wants_roots(&self) -> bool {
        false
    }

    fn may_wait(&self, call: &Call) -> bool {
        call.tool == "test_tool_with_progress"
    }

    fn call(&self, call: Call, listener: &Listener<'_>) -> Result<Reply, RequestError> {
        let text = |text: &str| Ok(Reply::Result(text_result(text, false)));
        let given = |name: &str| call.arguments.get(name).and_then(Value::as_str);
        match call.tool.as_str() {
            "greet" => text(&format!("Hello, {}!", given("name").unwrap_or("you"))),
            "slow_compute" => {
                let seconds = call.arguments.get("seconds").and_then(Value::as_u64);
                let lasts = Duration::from_secs(seconds.unwrap_or(0));
                Ok(self.job(&call, lasts, End::Text("computed".to_owned())))
            }
            "failing_job" if !call.takes_task => Err(missing(
                &json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}),
            )),
            "failing_job" => {
                let end = End::ToolError("it failed, as it always does".to_owned());
                Ok(self.job(&call, Duration::from_secs(1), end))
            }
            "protocol_error_job" => {
                let end = End::Error("it broke, as it always does".to_owned());
                Ok(self.job(&call, Duration::from_secs(1), end))
            }
            "confirm_delete" => self.asking(&call, &[("confirm", "Delete the file?")]),
            "multi_input" => self.asking(&call, &[("first", "First?"), ("second", "Second?")]),
            "test_simple_text" => text("This is a simple text response for testing."),
            "test_image_content" => Ok(blocks(json!([image()]))),
            "test_audio_content" => Ok(blocks(
                json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]),
            )),
            "test_embedded_resource" => {
                let words = "This is an embedded resource content.";
                Ok(blocks(json!([resource(
                    "test://embedded-resource",
                    "text/plain",
                    words
                )])))
            }
            "test_multiple_content_types" => {
                let data = r#"{"test":"data","value":123}"#;
                let data = resource("test://mixed-content-resource", "application/json", data);
                let words = json!({"type": "text", "text": "Multiple content types test:"});
                Ok(blocks(json!([words, image(), data])))
            }
            "test_error_handling" => {
                let words = "This tool intentionally returns an error for testing";
                Ok(Reply::Result(text_result(words, true)))
            }
            "test_tool_with_progress" => {
                wait(listener);
                text("done")
            }
            "test_missing_capability" => Err(missing(&json!({"sampling": {}}))),
            other => Err(RequestError::params(format!("unknown tool `{other}`"))),
        }
    }

    fn task(&self, _caller: &Caller, id: &str) -> Result<Task, RequestError> {
        self.jobs.task(id)
    }

    fn update_task(
        &self,
        _caller: &Caller,
        id: &str,
        answers: Map<String, Value>,
    ) -> Result<(), RequestError> {
        self.jobs.update(id, &answers)
    }

    fn cancel_task(&self, _caller: &Caller, id: &str) -> Result<(), RequestError> {
        self.jobs.cancel(id)
    }

    fn resources(&self, _caller: &Caller) -> Result<Vec<Resource>, RequestError> {
        Ok(vec![Resource {
            uri: "test://static-text".to_owned(),
            name: "static-text".to_owned(),
            description: "A fixture".to_owned(),
            mime: "text/plain",
        }])
    }

    fn templates(&self) -> Vec<Resource> {
        vec![Resource {
            uri: "test://template/{id}/data".to_owned(),
            name: "template".to_owned(),
            description: "A fixture".to_owned(),
            mime: "application/json",
        }]
    }

    fn read_resource(&self, _caller: &Caller, uri: &str) -> Result<Content, RequestError> {
        let id = uri.strip_prefix("test://template/");
        if let Some(id) = id.and_then(|rest| rest.strip_suffix("/data")) {
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            return Ok(Content {
                mime: "application/json",
                text: data.to_string(),
            });
        }
        if uri == "test://static-text" {
            return Ok(Content {
                mime: "text/plain",
                text: "This is the content of the static text resource.".to_owned(),
            });
        }
        Err(RequestError {
            data: Some(json!({"uri": uri})),
            ..RequestError::not_found(format!("no resource `{uri}`"))
        })
    }

    fn mark(&self, uri: &str) -> Option<Mark> {
        (uri == "test://static-text" || uri == "test://watched-resource").then_some(Mark {
            at: 0,
            is_last: true,
        })
    }

    fn watch(
        &self,
        _uri: &str,
        _mark: Mark,
        _listener: &Listener<'_>,
        _changed: &dyn Fn(),
    ) -> Result<(), RequestError> {
        Ok(())
    }
}
