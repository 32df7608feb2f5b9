//! The tools as a model sees them: names, descriptions, schemas, and what a person sees of a call.

use outlast_journal::{limits, text};
use serde_json::{Map, Value, json};

pub(super) const RUN: &str = "background_run";
pub(super) const AGENT: &str = "background_agent";
pub(super) const LIST: &str = "background_list";
pub(super) const OUTPUT: &str = "background_output";
pub(super) const CANCEL: &str = "background_cancel";

/// Names of the arguments of each tool, in the order of its schema.
pub(super) const RUN_ARGUMENTS: [&str; 8] = [
    "command",
    "label",
    "cwd",
    "timeout_secs",
    "pipefail",
    "leftovers",
    "lifetime",
    "queue",
];
pub(super) const AGENT_ARGUMENTS: [&str; 3] = ["task", "label", "model"];
pub(super) const LIST_ARGUMENTS: [&str; 2] = ["status", "limit"];
pub(super) const OUTPUT_ARGUMENTS: [&str; 6] =
    ["id", "max_bytes", "since_byte", "grep", "context", "lines"];
pub(super) const CANCEL_ARGUMENTS: [&str; 2] = ["id", "now"];

/// A tool, to be offered to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// What the model calls it.
    pub name: &'static str,
    /// What a person reads.
    pub display_name: &'static str,
    /// What the model is told of it.
    pub description: &'static str,
    /// JSON schema of its arguments, an object.
    pub schema: Value,
}

/// Returns the tools that a host offers its model, with or without a spawner, in their order.
pub fn offered(has_spawner: bool) -> Vec<Tool> {
    all(has_spawner).collect()
}

/// Returns the tools in their order.
pub(super) fn all(has_spawner: bool) -> impl Iterator<Item = Tool> {
    let tools = [run(), agent(), list(), output(), cancel()];
    tools
        .into_iter()
        .filter(move |tool| has_spawner || tool.name != AGENT)
}

/// Returns the names of the tools for an error.
pub(super) fn names(has_spawner: bool) -> String {
    let names: Vec<String> = all(has_spawner)
        .map(|tool| format!("`{}`", tool.name))
        .collect();
    names.join(", ")
}

/// Returns what a person is shown while a tool works; `None` for an unknown one.
pub(super) fn narration(tool: &str, arguments: &Value) -> Option<String> {
    let (what, named) = match tool {
        RUN => (
            "Run in background",
            named(arguments, &["label", "command"], limits::NARRATION_CHARS),
        ),
        AGENT => (
            "Run sub-agent in background",
            named(arguments, &["label", "task"], limits::NARRATION_CHARS),
        ),
        LIST => ("List background tasks", None),
        OUTPUT => (
            "Read background output",
            named(arguments, &["id"], limits::NARRATION_ID_CHARS),
        ),
        CANCEL => (
            "Cancel background task",
            named(arguments, &["id"], limits::NARRATION_ID_CHARS),
        ),
        _ => return None,
    };
    Some(match named {
        Some(named) => format!("{what}: {named}"),
        None => what.to_owned(),
    })
}

/// Returns the first of these arguments that says something, cut to one short line.
fn named(arguments: &Value, names: &[&str], chars_max: usize) -> Option<String> {
    let texts = names
        .iter()
        .filter_map(|name| arguments.get(name)?.as_str());
    let mut lines = texts.map(|said| text::first_line_label(said, chars_max));
    lines.find(|line| !line.is_empty())
}

fn schema(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> = properties
        .iter()
        .map(|(name, property)| ((*name).to_owned(), property.clone()))
        .collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    schema
}

fn string(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn words(words: &[&str], description: &str) -> Value {
    json!({"type": "string", "enum": words, "description": description})
}

fn number(minimum: u64, description: &str) -> Value {
    json!({"type": "integer", "minimum": minimum, "description": description})
}

fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

fn run() -> Tool {
    let [
        command,
        label,
        cwd,
        timeout,
        pipefail,
        leftovers,
        lifetime,
        queue,
    ] = RUN_ARGUMENTS;
    Tool {
        name: RUN,
        display_name: "Background shell",
        description: "Start a shell command that runs in the background; returns at once with \
            its id. It goes on when your turn ends and when this program exits, and you are told \
            when it ends: do not wait for it with sleep. For builds, tests, waits for CI, \
            servers; not for quick commands. Do not pipe into tail: all output is kept, and the \
            pipe hides the exit code.",
        schema: schema(
            &[
                (command, string("Run by `bash -c`.")),
                (label, string("Short name. Default: the command.")),
                (cwd, string("Default: the project's directory.")),
                (
                    timeout,
                    number(
                        0,
                        "Time limit of the run. Default 1800; 0 = none (servers).",
                    ),
                ),
                (pipefail, flag("A failing part fails a pipe.")),
                (
                    leftovers,
                    words(
                        &["report", "wait", "stop"],
                        "What to do with processes left at its end. Default report.",
                    ),
                ),
                (
                    lifetime,
                    words(
                        &["detached", "session"],
                        "session: cancelled when this program exits. Default detached.",
                    ),
                ),
                (queue, flag("At the limit, wait for a place; else refused.")),
            ],
            &[command],
        ),
    }
}

fn agent() -> Tool {
    let [task, label, model] = AGENT_ARGUMENTS;
    Tool {
        name: AGENT,
        display_name: "Sub-agent in background",
        description: "Hand a task to an agent of its own that works in the background; returns \
            at once with its id. It knows nothing of this conversation: put all it needs into \
            the task. You are told when it ends; its final message is its output. It can start \
            no agents itself.",
        schema: schema(
            &[
                (
                    task,
                    string("All that it needs to know, and what to give back."),
                ),
                (label, string("Short name. Default: the task.")),
                (
                    model,
                    string("Another model of the same provider. Default: this one."),
                ),
            ],
            &[task],
        ),
    }
}

fn list() -> Tool {
    let [status, limit] = LIST_ARGUMENTS;
    Tool {
        name: LIST,
        display_name: "List background tasks",
        description: "List the background tasks of this session, latest change first. Use it \
            when you lost an id.",
        schema: schema(
            &[
                (
                    status,
                    words(&["running", "ended", "failed"], "Default: all."),
                ),
                (limit, number(1, "Default 20, most 100.")),
            ],
            &[],
        ),
    }
}

fn output() -> Tool {
    let [id, max_bytes, since_byte, grep, context, lines] = OUTPUT_ARGUMENTS;
    Tool {
        name: OUTPUT,
        display_name: "Read background output",
        description: "Read what a background task has printed so far, with its status and exit \
            code; of a sub-agent its final message. By default the newest part. Works while it \
            runs and after it ended.",
        schema: schema(
            &[
                (id, string("Id of the task, its beginning, or its label.")),
                (max_bytes, number(1, "Default 16384, most 32768.")),
                (
                    since_byte,
                    number(0, "Read on from here: next_byte of an earlier answer."),
                ),
                (grep, string("Regular expression: only lines that match.")),
                (context, number(0, "Lines around each match.")),
                (lines, number(1, "Newest lines, or matches, at most.")),
            ],
            &[id],
        ),
    }
}

fn cancel() -> Tool {
    let [id, now] = CANCEL_ARGUMENTS;
    Tool {
        name: CANCEL,
        display_name: "Cancel background task",
        description: "Stop a background task with everything it started; returns when nothing \
            of it is left.",
        schema: schema(
            &[
                (id, string("Id of the task, its beginning, or its label.")),
                (now, flag("Kill at once, without time for an orderly end.")),
            ],
            &[id],
        ),
    }
}
