//! What a server offers, in plain data: the seam between the protocol and what is served by it.
//!
//! All that speaks the protocol is on one side and knows no run; what answers
//! is on the other and knows no protocol crate. Calls come on threads of their
//! own and may block.

use serde_json::{Map, Value, json};
use std::{
    fmt,
    os::fd::BorrowedFd,
    sync::{Arc, Mutex, PoisonError},
};

/// Code of a request whose parameters fit nothing.
pub(crate) const INVALID_PARAMS: i32 = -32602;

/// Code of an address at which there is nothing; later revisions write `INVALID_PARAMS` for it.
pub(crate) const NOT_FOUND: i32 = -32002;

/// Code of a request that failed for a reason of ours.
pub(crate) const INTERNAL_ERROR: i32 = -32603;

/// What answers for a server.
pub(crate) trait Offer: Send + Sync + 'static {
    /// Returns `{"tools": […]}`, the definitions as hosts are given them.
    fn definitions(&self) -> &'static str;

    /// Returns what a host is told at first.
    fn instructions(&self) -> String;

    /// Returns whether it matters in which directories a host works.
    fn wants_roots(&self) -> bool;

    /// Returns whether a call may take long because it waits.
    fn may_wait(&self, call: &Call) -> bool;

    /// Answers a call of a tool.
    ///
    /// # Errors
    ///
    /// Fails where the request itself is wrong. What a tool could not do is a reply.
    fn call(&self, call: Call, listener: &Listener<'_>) -> Result<Reply, RequestError>;

    /// Returns a task as it is now. That counts as reading it.
    ///
    /// # Errors
    ///
    /// Fails when there is none of this id.
    fn task(&self, caller: &Caller, id: &str) -> Result<Task, RequestError>;

    /// Takes answers to what a task asked; those to nothing it asked are passed over.
    ///
    /// # Errors
    ///
    /// Fails when there is no task of this id.
    fn update_task(
        &self,
        caller: &Caller,
        id: &str,
        answers: Map<String, Value>,
    ) -> Result<(), RequestError>;

    /// Asks a task to stop, and does not wait for that. One that has ended stays as it is.
    ///
    /// # Errors
    ///
    /// Fails when there is none of this id, or it cannot be asked.
    fn cancel_task(&self, caller: &Caller, id: &str) -> Result<(), RequestError>;

    /// Returns what can be read now, the newest first; a host may know of more.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be looked through.
    fn resources(&self, caller: &Caller) -> Result<Vec<Resource>, RequestError>;

    /// Returns the forms of what can be read; `uri` is a template.
    fn templates(&self) -> Vec<Resource>;

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// Fails when there is none of this address, or it cannot be read.
    fn read_resource(&self, caller: &Caller, uri: &str) -> Result<Content, RequestError>;

    /// Returns where a resource stands, to be watched from there; `None` where there is none.
    fn mark(&self, uri: &str) -> Option<Mark>;

    /// Calls `changed` each time a resource has changed since `mark`, until it will not change
    /// any more or nobody listens.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be watched any more.
    fn watch(
        &self,
        uri: &str,
        mark: Mark,
        listener: &Listener<'_>,
        changed: &dyn Fn(),
    ) -> Result<(), RequestError>;
}

/// Where a resource stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Grows with each change.
    pub(crate) at: u64,
    /// It will not change any more.
    pub(crate) is_last: bool,
}

/// Something that can be read by its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resource {
    /// Its address.
    pub(crate) uri: String,
    /// A short name.
    pub(crate) name: String,
    /// What it is, in one line.
    pub(crate) description: String,
    /// Type of its content.
    pub(crate) mime: &'static str,
}

/// What was read of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// Its type.
    pub(crate) mime: &'static str,
    /// Text.
    pub(crate) text: String,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Name of the tool, as it came.
    pub(crate) tool: String,
    /// Arguments, as they came.
    pub(crate) arguments: Map<String, Value>,
    /// Who calls.
    pub(crate) caller: Caller,
    /// Whether the caller can be given a task in place of an answer.
    pub(crate) takes_task: bool,
}

/// Who calls, as far as the host says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Name of the host.
    pub(crate) host: Option<String>,
    /// The host's own session.
    pub(crate) session: Option<String>,
    /// The host's own thread.
    pub(crate) thread: Option<String>,
    /// The host's own id of the call, which it repeats when it repeats the call.
    pub(crate) call: Option<String>,
    /// Addresses of the directories that the host works in.
    pub(crate) roots: Arc<[String]>,
}

/// Whoever waits for the answer of one call.
pub(crate) struct Listener<'a> {
    /// Readable once nobody waits any more.
    pub(crate) interrupt: BorrowedFd<'a>,
    /// What is to be done once the answer is written.
    pub(crate) after: &'a After,
}

/// Something that is done on a thread of its own.
pub(crate) type Act = Box<dyn FnOnce() + Send>;

/// What is to be done once an answer is written; not at all where it never is.
#[derive(Clone, Default)]
pub(crate) struct After(Arc<Mutex<Option<Act>>>);

impl After {
    /// Sets what is to be done.
    pub(crate) fn set(&self, act: Act) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(act);
    }

    /// Takes what is to be done.
    pub(super) fn take(&self) -> Option<Act> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("After")
    }
}

/// What a call is answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    /// The result, as the protocol writes that of `tools/call`.
    Result(Map<String, Value>),
    /// A task that goes on.
    Task(Task),
}

/// Returns an object as the result of a call: the same as structured content and as text.
pub(crate) fn result(object: Map<String, Value>, is_error: bool) -> Map<String, Value> {
    let object = Value::Object(object);
    let text = object.to_string();
    let mut result = Map::new();
    let mut put = |name: &str, value| result.insert(name.to_owned(), value);
    put("resultType", json!("complete"));
    put("content", json!([{"type": "text", "text": text}]));
    put("structuredContent", object);
    put("isError", json!(is_error));
    result
}

/// A task at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Task {
    /// Its id.
    pub(crate) id: String,
    /// Its status in the protocol's word: `working`, `input_required`, `completed`, `failed`
    /// or `cancelled`.
    pub(crate) status: &'static str,
    /// What the status brings along, as the protocol writes it: `result` of a completed one,
    /// `error` of a failed one, `inputRequests` of one that asks.
    pub(crate) detail: Map<String, Value>,
    /// One line for people and models.
    pub(crate) message: String,
    /// When it began, RFC 3339.
    pub(crate) created_at: String,
    /// When it last changed, RFC 3339.
    pub(crate) updated_at: String,
    /// How long it is kept, from its beginning, in milliseconds; for ever when absent.
    pub(crate) ttl_ms: Option<u64>,
    /// When it is worth another look, in milliseconds from now.
    pub(crate) poll_ms: u64,
}

/// Why a request is answered with an error of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RequestError {
    /// The protocol's code.
    pub(crate) code: i32,
    /// The fact and the next step.
    pub(crate) message: String,
    /// More, for programs.
    pub(crate) data: Option<Value>,
}

impl RequestError {
    /// Returns the error of a request whose parameters fit nothing.
    pub(crate) fn params(message: impl Into<String>) -> Self {
        Self {
            code: INVALID_PARAMS,
            message: message.into(),
            data: None,
        }
    }

    /// Returns the error of a request for something that is not there.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self {
            code: NOT_FOUND,
            message: message.into(),
            data: None,
        }
    }

    /// Returns the error of a request that failed for a reason of ours.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self {
            code: INTERNAL_ERROR,
            message: message.into(),
            data: None,
        }
    }
}
