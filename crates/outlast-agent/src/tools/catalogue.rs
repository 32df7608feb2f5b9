//! All tools by name: what each needs, what a repeat of it does, and what a model reads of it.

use super::{
    calculate, call_output, change, events, fetch, find, grep, list, notes, read, shell, todo,
};
use outlast_journal::Tier;
use outlast_journal::agent::CallClass;
use serde_json::Value;

/// Which tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ReadFile,
    ListDir,
    FindFiles,
    GrepFiles,
    EditFile,
    WriteFile,
    Shell,
    CallOutput,
    HttpRequest,
    Calculate,
    TodoWrite,
    Remember,
    Recall,
    EventsQuery,
}

/// A tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) kind: Kind,
    pub(super) name: &'static str,
    /// The least tier in which it is done.
    pub(super) tier: Tier,
    pub(super) class: CallClass,
    /// Whether a run that only reads, with nothing bound, may use it.
    pub(super) is_for_local: bool,
    pub(super) description: &'static str,
    pub(super) schema: fn() -> Value,
}

/// Returns the tool of this name.
pub(super) fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Every tool of our own, in the order in which models are told of them.
pub(super) const TOOLS: [Tool; 14] = [
    Tool {
        kind: Kind::ReadFile,
        name: "read_file",
        tier: Tier::ReadOnly,
        class: CallClass::Read,
        is_for_local: true,
        description: "Shows lines of a text file, each behind its number and a tab. Read a file \
            before you change it.",
        schema: read::schema,
    },
    Tool {
        kind: Kind::ListDir,
        name: "list_dir",
        tier: Tier::ReadOnly,
        class: CallClass::Read,
        is_for_local: true,
        description: "Lists one directory; names of directories end in `/`.",
        schema: list::schema,
    },
    Tool {
        kind: Kind::FindFiles,
        name: "find_files",
        tier: Tier::ReadOnly,
        class: CallClass::Read,
        is_for_local: true,
        description: "Lists files whose name or path fits a glob. Leaves out what ignore files \
            name.",
        schema: find::schema,
    },
    Tool {
        kind: Kind::GrepFiles,
        name: "grep_files",
        tier: Tier::ReadOnly,
        class: CallClass::Read,
        is_for_local: true,
        description: "Shows the lines of files that match a regular expression, with their \
            numbers. Leaves out what ignore files name, and binary files.",
        schema: grep::schema,
    },
    Tool {
        kind: Kind::EditFile,
        name: "edit_file",
        tier: Tier::SandboxEdit,
        class: CallClass::Idempotent,
        is_for_local: false,
        description: "Replaces `old` by `new` in a file that you have read. `old` must stand \
            there exactly once, to the blank; or set `replace_all`.",
        schema: change::edit_schema,
    },
    Tool {
        kind: Kind::WriteFile,
        name: "write_file",
        tier: Tier::SandboxEdit,
        class: CallClass::Idempotent,
        is_for_local: false,
        description: "Writes a whole file, and makes its directories. A file that exists must \
            have been read as a whole; to change a part use edit_file.",
        schema: change::write_schema,
    },
    Tool {
        kind: Kind::Shell,
        name: "shell",
        tier: Tier::ReadOnly,
        class: CallClass::Once,
        is_for_local: false,
        description: "Runs a shell text in the workspace, in a fresh process each time, and \
            shows the head and the tail of its output. What it leaves running is stopped at its \
            end. It has no stdin.",
        schema: shell::schema,
    },
    Tool {
        kind: Kind::CallOutput,
        name: "call_output",
        tier: Tier::ReadOnly,
        class: CallClass::Read,
        is_for_local: false,
        description: "Reads on in the output of an earlier shell or http_request call of which \
            only a part was shown, or searches it.",
        schema: call_output::schema,
    },
    Tool {
        kind: Kind::HttpRequest,
        name: "http_request",
        tier: Tier::FullAccess,
        class: CallClass::Once,
        is_for_local: false,
        description: "Makes one HTTP request and shows status, type and body.",
        schema: fetch::schema,
    },
    Tool {
        kind: Kind::Calculate,
        name: "calculate",
        tier: Tier::ReadOnly,
        class: CallClass::Read,
        is_for_local: true,
        description: "Computes an arithmetic expression: + - * / % ^, parentheses, sqrt, abs, \
            min, max, floor, ceil, round, exp, ln, log2, log10, sin, cos, tan, pi, e.",
        schema: calculate::schema,
    },
    Tool {
        kind: Kind::TodoWrite,
        name: "todo_write",
        tier: Tier::ReadOnly,
        class: CallClass::Idempotent,
        is_for_local: true,
        description: "Replaces your list of things to do. Use it for work of several steps, and \
            keep it true.",
        schema: todo::schema,
    },
    Tool {
        kind: Kind::Remember,
        name: "remember",
        tier: Tier::SandboxEdit,
        class: CallClass::Idempotent,
        is_for_local: false,
        description: "Keeps a note about this project for later runs: a fact that took work to \
            find out. No secrets.",
        schema: notes::remember_schema,
    },
    Tool {
        kind: Kind::Recall,
        name: "recall",
        tier: Tier::ReadOnly,
        class: CallClass::Read,
        is_for_local: true,
        description: "Searches the notes of earlier runs about this project by words.",
        schema: notes::recall_schema,
    },
    Tool {
        kind: Kind::EventsQuery,
        name: "events_query",
        tier: Tier::ReadOnly,
        class: CallClass::Read,
        is_for_local: true,
        description: "Shows what happened in this run so far: its events, newest last.",
        schema: events::schema,
    },
];
