//! Tasks as the extension `io.modelcontextprotocol/tasks` writes them.
//!
//! There is no store of tasks: whoever answers is asked each time.

use super::offer::{RequestError, Task};
use rmcp::{
    RoleServer,
    model::{
        CreateTaskResult, DetailedTask, GetTaskResult, ProtocolVersion, Task as TaskFields,
        TaskStatus,
    },
    service::RequestContext,
};
use serde_json::{Map, Value};

/// Returns whether this request says that it may be answered with a task.
///
/// What was said when a session was opened does not count: the extension is of a revision
/// without sessions.
pub(super) fn takes_task(context: &RequestContext<RoleServer>) -> bool {
    let version = context.meta.protocol_version();
    let declared = context.meta.client_capabilities();
    // Versions are dates, so they compare as text.
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
        && declared.is_some_and(|declared| declared.supports_tasks())
}

/// Returns the answer that hands out a task.
pub(super) fn created(task: Task) -> CreateTaskResult {
    // The result is not part of this answer, so the task is not over for who reads it.
    CreateTaskResult::new(fields(task, TaskStatus::Working))
}

/// Returns the answer that tells where a task is.
pub(super) fn told(task: Task) -> Result<GetTaskResult, RequestError> {
    let mut task = task;
    let detail = std::mem::take(&mut task.detail);
    let status = task.status;
    let fields = serde_json::to_value(fields(task, TaskStatus::Working));
    let Ok(Value::Object(mut fields)) = fields else {
        return Err(RequestError::internal("the task cannot be written"));
    };
    fields.extend(detail);
    fields.insert("status".to_owned(), Value::from(status));
    let task: DetailedTask = read(fields)?;
    Ok(GetTaskResult::new(task))
}

fn fields(task: Task, status: TaskStatus) -> TaskFields {
    let mut fields = TaskFields::new(task.id, status, task.created_at, task.updated_at)
        .with_status_message(task.message)
        .with_poll_interval_ms(task.poll_ms);
    fields.ttl_ms = task.ttl_ms;
    fields
}

/// Reads a value of the protocol that was made here.
pub(super) fn read<T: serde::de::DeserializeOwned>(
    fields: Map<String, Value>,
) -> Result<T, RequestError> {
    serde_json::from_value(Value::Object(fields))
        .map_err(|error| RequestError::internal(format!("the answer cannot be written: {error}")))
}
