//! What a host asked of a scripted model, and what its tools had answered.

use std::collections::BTreeMap;

use serde_json::{Deserializer, Value};

use super::{Wire, history, http::Http, wire::Tool};

/// A request to the model.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The form it came in.
    pub wire: Wire,
    /// The path, without a query.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body as it came.
    pub body: Value,
    /// What tools answered so far in this conversation, oldest first.
    pub results: Vec<ToolResult>,
    /// The number of the turn that answered it, `None` for a side question.
    pub turn: Option<usize>,
    pub(super) tools: Vec<Tool>,
}

/// What a tool answered, as the host passed it on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// All text of the result.
    pub text: String,
}

impl Asked {
    /// Reads a request.
    ///
    /// # Errors
    /// Says in words what cannot be read.
    pub(super) fn read(wire: Wire, request: &Http) -> Result<Self, String> {
        if let Some(coding) = request.headers.get("content-encoding") {
            return Err(format!("a body in `{coding}`, which is not read here"));
        }
        let body: Value = serde_json::from_slice(&request.body)
            .map_err(|error| format!("a body that is no JSON: {error}"))?;
        let results = wire.results(&body).into_iter();
        Ok(Self {
            wire,
            path: request.path.clone(),
            headers: request.headers.clone(),
            results: results.map(|text| ToolResult { text }).collect(),
            turn: None,
            tools: wire.tools(&body),
            body,
        })
    }

    /// Returns the names of the tools offered, as the host writes them.
    pub fn tools(&self) -> Vec<String> {
        self.tools.iter().map(Tool::shown).collect()
    }

    /// Returns the newest tool's answer.
    ///
    /// # Panics
    /// Panics when no tool has answered yet.
    #[track_caller]
    pub fn result(&self) -> &ToolResult {
        self.results.last().expect("a tool has answered")
    }

    /// Returns what no provider would take in the conversation, in words; nothing if all is
    /// well.
    pub fn history_faults(&self) -> Vec<String> {
        history::faults(self.wire, &self.body)
    }

    /// Returns whether the host asks something beside its turns: no tool is offered.
    pub(super) fn is_aside(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns what to say to a side question: an empty object where JSON is wanted.
    pub(super) fn aside_text(&self, words: &str) -> String {
        let wants_json = self.wire.wants_json(&self.body);
        if wants_json { "{}" } else { words }.to_owned()
    }

    /// Returns the one tool offered that is `tool`, or ends in it after a prefix.
    ///
    /// `SERVER/TOOL` is only found with `SERVER` in its prefix or group.
    ///
    /// # Errors
    /// Names the tools offered when none or several fit.
    pub(super) fn tool(&self, tool: &str) -> Result<&Tool, String> {
        let (server, tool) = tool.split_once('/').unwrap_or(("", tool));
        let fitting = self.tools.iter().filter(|offered| {
            let group = offered.group.as_deref().unwrap_or_default();
            let prefix = offered.name.strip_suffix(tool);
            prefix.is_some_and(|prefix| {
                let is_whole = prefix.is_empty() || prefix.ends_with(['_', '.', '-', ':']);
                is_whole && format!("{group}.{prefix}").contains(server)
            })
        });
        let fitting: Vec<&Tool> = fitting.collect();
        let exact = fitting.iter().find(|offered| offered.name == tool);
        match (exact, fitting.as_slice()) {
            (Some(only), _) | (None, [only]) => Ok(only),
            (None, _) => Err(format!("no one tool is `{tool}`: {:?}", self.tools())),
        }
    }
}

impl ToolResult {
    /// Returns the first JSON object in the text: hosts put words around it.
    ///
    /// # Panics
    /// Panics with the text when there is none.
    #[track_caller]
    pub fn object(&self) -> Value {
        let starts = self.text.match_indices('{');
        let mut objects = starts.filter_map(|(at, _)| {
            let rest = self.text.get(at..)?;
            let mut values = Deserializer::from_str(rest).into_iter::<Value>();
            values.next()?.ok()
        });
        let object = objects.next();
        assert!(object.is_some(), "no object in {:?}", self.text);
        object.unwrap_or_default()
    }
}
