//! How a call is to be done, what came of it, and why it was not done.

use super::arguments::Arguments;
use super::catalogue::Tool;
use outlast_journal::agent::TodoSet;
use outlast_journal::limits::BRIEF_CHARS;
use outlast_journal::text::{cut_chars, first_line_label};
use outlast_journal::worker::CallProgram;
use outlast_journal::{RunId, Tier};
use serde_json::Value;

/// How a call is to be done.
#[derive(Debug)]
pub enum Plan {
    /// Not at all.
    Refused {
        /// Stable name of the reason.
        code: &'static str,
        /// The reason and the way on, in words for the model.
        why: String,
        /// The tier that it needs, if that is the reason: somebody may be asked.
        needs: Option<Tier>,
    },
    /// By the worker itself.
    Own(OwnCall),
    /// By the hands, contained.
    Hands {
        /// What is executed.
        program: CallProgram,
        /// Text on its stdin.
        stdin: Option<String>,
        /// Time limit in milliseconds.
        timeout_ms: u64,
    },
}

/// A call that the worker does itself, ready to be done.
#[derive(Clone, Debug)]
pub struct OwnCall {
    pub(super) act: OwnAct,
    pub(super) arguments: Arguments,
}

/// Which tool a worker's own call is of.
#[derive(Clone, Debug)]
pub(super) enum OwnAct {
    /// One of our own.
    Tool(&'static Tool),
    /// One of the background capability, by its name.
    Background(String),
}

impl OwnCall {
    pub(super) fn name(&self) -> &str {
        match &self.act {
            OwnAct::Tool(tool) => tool.name,
            OwnAct::Background(name) => name,
        }
    }
}

/// What came of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Whether it did what it says.
    pub ok: bool,
    /// What the model is shown.
    pub shown: String,
    /// The call and what came of it, in at most `BRIEF_CHARS` characters.
    pub brief: String,
    /// File that it wrote: path, hash before and after.
    pub wrote: Option<Value>,
    /// File that it read: path, hash, lines shown.
    pub saw: Option<Value>,
    /// Code of its process.
    pub exit_code: Option<i32>,
    /// Run that it started.
    pub started_run: Option<RunId>,
    /// The model's list, if this replaced it.
    pub todo: Option<TodoSet>,
}

impl Outcome {
    /// Returns the outcome of a call that did what it says.
    pub(super) fn done(shown: String, brief: &str) -> Self {
        Self {
            ok: true,
            shown,
            brief: one_line(brief),
            ..Self::default()
        }
    }

    /// Returns the outcome of a call that was tried and failed.
    pub(super) fn failed(shown: String, brief: &str) -> Self {
        Self {
            ok: false,
            ..Self::done(shown, brief)
        }
    }
}

/// Why a call is not done: a stable name, and words that say how to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: &'static str,
    pub(crate) why: String,
}

impl Refusal {
    /// Returns a refusal.
    pub(crate) fn new(code: &'static str, why: impl Into<String>) -> Self {
        Self {
            code,
            why: why.into(),
        }
    }

    /// Returns the outcome of a call of `tool` that came to this when it was tried.
    pub(super) fn outcome(self, tool: &str) -> Outcome {
        let brief = format!("{tool}: {}", self.code);
        Outcome::failed(
            format!("error: {}\ncode: {}\n", self.why, self.code),
            &brief,
        )
    }
}

impl From<Refusal> for Plan {
    fn from(refusal: Refusal) -> Self {
        Self::Refused {
            code: refusal.code,
            why: refusal.why,
            needs: None,
        }
    }
}

/// Arguments of which one says what a call is about, the most telling first.
const TELLING: [&str; 9] = [
    "command",
    "path",
    "pattern",
    "url",
    "expression",
    "text",
    "query",
    "call",
    "task",
];

/// Returns a call in words.
pub(super) fn brief_of(name: &str, arguments: &Value) -> String {
    let about = TELLING
        .iter()
        .find_map(|telling| arguments.get(telling).and_then(Value::as_str));
    match about {
        // What follows the path of an address may be a key.
        Some(about) if arguments.get("url").is_some() => {
            one_line(&format!("{name} {}", without_query(about)))
        }
        Some(about) => one_line(&format!("{name} {}", first_line_label(about, BRIEF_CHARS))),
        None => one_line(name),
    }
}

/// Returns an address without its query and without the name and password in it.
fn without_query(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match plain.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}/{path}")
        }
        None => plain.to_owned(),
    }
}

fn one_line(text: &str) -> String {
    let flat: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    cut_chars(&flat, BRIEF_CHARS)
}
