//! Documents for programs, field by field in a fixed order, each with its schema.

#![expect(
    clippy::struct_field_names,
    reason = "the names of the fields are those of the documents"
)]

use crate::{
    config::{Config, Setting, agent},
    sandbox,
};
use outlast_lib::{
    Cancelled, Damage, Gap, GcReport, Matched, OutputPage, Record, Reindexed as Made, RunId,
    ShortRecord, Status, Timestamp,
};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};

/// Runs: the answer of `ps` and of `wait`.
#[derive(Serialize)]
pub(crate) struct Runs<'a> {
    schema: &'static str,
    runs: &'a [Record],
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<Match<'a>>,
}

impl<'a> Runs<'a> {
    /// Returns the document of `runs`.
    pub(crate) fn of(runs: &'a [Record]) -> Self {
        Self {
            schema: "outlast.runs/1",
            runs,
            matched: None,
        }
    }

    /// Returns the same document with the line that a wait was for.
    pub(crate) fn with_match(mut self, matched: Option<&'a Matched>) -> Self {
        self.matched = matched.map(|matched| Match {
            id: matched.id,
            line: &matched.line,
            byte: matched.byte,
        });
        self
    }
}

#[derive(Serialize)]
struct Match<'a> {
    id: RunId,
    line: &'a str,
    byte: u64,
}

/// A page of output: the answer of `logs`.
#[derive(Serialize)]
pub(crate) struct Output<'a> {
    schema: &'static str,
    id: RunId,
    output: &'a str,
    from_byte: u64,
    next_byte: u64,
    total_bytes: u64,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<Gap>,
    matches: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    byte: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_number: Option<u64>,
}

impl<'a> Output<'a> {
    /// Returns the document of a page of the output of `id`.
    pub(crate) fn of(id: RunId, page: &'a OutputPage) -> Self {
        let matches = page.matches.iter().map(|found| Line {
            byte: found.byte,
            line_number: found.line_number,
        });
        Self {
            schema: "outlast.output/1",
            id,
            output: &page.text,
            from_byte: page.from_byte,
            next_byte: page.next_byte,
            total_bytes: page.total_bytes,
            truncated: page.truncated,
            gap: page.gap,
            matches: matches.collect(),
        }
    }
}

/// What a cancel did: the answer of `cancel`.
#[derive(Serialize)]
pub(crate) struct CancelledRuns {
    schema: &'static str,
    runs: Vec<CancelledRun>,
}

#[derive(Serialize)]
struct CancelledRun {
    id: RunId,
    was: Status,
    status: Status,
    cancelled: bool,
    leftovers_stopped: u64,
}

impl CancelledRuns {
    /// Returns the document of runs and what became of each.
    pub(crate) fn of(done: &[(RunId, Cancelled)]) -> Self {
        let runs = done.iter().map(|(id, one)| CancelledRun {
            id: *id,
            was: one.was,
            status: one.status,
            cancelled: one.cancelled,
            leftovers_stopped: one.leftovers_stopped,
        });
        Self {
            schema: "outlast.cancelled/1",
            runs: runs.collect(),
        }
    }
}

/// What was sent: the answer of `send`.
#[derive(Serialize)]
pub(crate) struct Sent {
    schema: &'static str,
    id: RunId,
    accepted_bytes: usize,
}

impl Sent {
    /// Returns the document of what the stdin of `id` took.
    pub(crate) fn of(id: RunId, accepted_bytes: usize) -> Self {
        Self {
            schema: "outlast.sent/1",
            id,
            accepted_bytes,
        }
    }
}

/// Asks that are open: the answer of `asks`.
#[derive(Serialize)]
pub(crate) struct Asks<'a> {
    schema: &'static str,
    asks: Vec<OpenAsk<'a>>,
}

#[derive(Serialize)]
struct OpenAsk<'a> {
    id: RunId,
    label: &'a str,
    ask: &'a str,
    tool: &'a str,
    question: &'a str,
    since: Timestamp,
    expires: Timestamp,
    more: u64,
}

impl<'a> Asks<'a> {
    /// Returns the document of what these runs ask.
    pub(crate) fn of(records: &'a [Record]) -> Self {
        let asks = records.iter().filter_map(|record| {
            let asked = record.needs_approval.as_ref()?;
            Some(OpenAsk {
                id: record.id,
                label: &record.label,
                ask: &asked.ask,
                tool: &asked.tool,
                question: &asked.question,
                since: asked.since,
                expires: asked.expires,
                more: asked.more,
            })
        });
        Self {
            schema: "outlast.asks/1",
            asks: asks.collect(),
        }
    }
}

/// What was answered: the answer of `approve` and of `deny`.
#[derive(Serialize)]
pub(crate) struct Answered<'a> {
    schema: &'static str,
    id: RunId,
    ask: &'a str,
    approved: bool,
}

impl<'a> Answered<'a> {
    /// Returns the document of an answer to what `id` asked.
    pub(crate) fn of(id: RunId, ask: &'a str, approved: bool) -> Self {
        Self {
            schema: "outlast.answered/1",
            id,
            ask,
            approved,
        }
    }
}

/// Names of environment variables: the answer of `show --env`.
#[derive(Serialize)]
pub(crate) struct Environment<'a> {
    schema: &'static str,
    id: RunId,
    names: &'a [String],
}

impl<'a> Environment<'a> {
    /// Returns the document of the names of the variables of `id`.
    pub(crate) fn of(id: RunId, names: &'a [String]) -> Self {
        Self {
            schema: "outlast.env/1",
            id,
            names,
        }
    }
}

/// Which runs were removed: the answer of `rm`.
#[derive(Serialize)]
pub(crate) struct Removed<'a> {
    schema: &'static str,
    removed: &'a [RunId],
}

impl<'a> Removed<'a> {
    /// Returns the document of the runs that were removed.
    pub(crate) fn of(removed: &'a [RunId]) -> Self {
        Self {
            schema: "outlast.removed/1",
            removed,
        }
    }
}

/// What was indexed: the answer of `reindex`.
#[derive(Serialize)]
pub(crate) struct Reindexed {
    schema: &'static str,
    runs: u64,
    damaged: Vec<Trouble>,
}

impl Reindexed {
    /// Returns the document of a new index.
    pub(crate) fn of(made: &Made) -> Self {
        Self {
            schema: "outlast.reindexed/1",
            runs: made.runs,
            damaged: Trouble::of(&made.damaged),
        }
    }
}

/// What is configured: the answer of `config`.
#[derive(Serialize)]
pub(crate) struct Configuration<'a> {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    is_there: bool,
    store: String,
    limits: Limits<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    serve: Option<Serve>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<serde_json::Map<String, Value>>,
    sandbox: BTreeMap<&'static str, String>,
    agent: BTreeMap<&'static str, Value>,
}

/// What is configured for `outlast serve`.
#[derive(Serialize)]
struct Serve {
    port: u16,
}

/// Limits by name, in the order in which they are shown.
struct Limits<'a>(&'a [Setting]);

#[derive(Serialize)]
struct Limit<'a> {
    value: &'a Value,
    source: &'static str,
}

impl<'a> Configuration<'a> {
    /// Returns the document of a configuration and of the store that it is for.
    pub(crate) fn of(config: &Config, settings: &'a [Setting], store: &Path) -> Self {
        let path = config.path.as_ref();
        Self {
            schema: "outlast.config/1",
            path: path.map(|path| path.to_string_lossy().into_owned()),
            is_there: config.is_there,
            store: store.to_string_lossy().into_owned(),
            limits: Limits(settings),
            serve: config.serve_port.map(|port| Serve { port }),
            policy: config.rules.as_ref().map(|rules| {
                let settings = rules.settings().into_iter();
                settings
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()
            }),
            sandbox: sandbox::KEYS
                .into_iter()
                .map(|key| (key, config.sandbox.value(key)))
                .collect(),
            agent: agent::KEYS
                .into_iter()
                .map(|key| (key, config.agent.value(key)))
                .filter(|(_, value)| !value.is_null())
                .collect(),
        }
    }
}

impl Serialize for Limits<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|setting| {
            let shown = Limit {
                value: &setting.value,
                source: setting.source(),
            };
            (setting.name, shown)
        }))
    }
}

/// Something that could not be read or removed.
#[derive(Serialize)]
pub(crate) struct Trouble {
    path: String,
    what: String,
}

impl Trouble {
    /// Returns the documents of what was set aside.
    pub(crate) fn of(damages: &[Damage]) -> Vec<Self> {
        let shown = damages.iter().map(|damage| Self {
            path: damage.path.to_string_lossy().into_owned(),
            what: damage.what.clone(),
        });
        shown.collect()
    }
}

/// What was removed: the answer of `gc`.
#[derive(Serialize)]
pub(crate) struct Collected<'a> {
    schema: &'static str,
    dry_run: bool,
    removed: &'a [ShortRecord],
    bytes_freed: u64,
    kept_untold: usize,
    swept: usize,
    containers: usize,
    debris: usize,
    failed: Vec<Trouble>,
}

impl<'a> Collected<'a> {
    /// Returns the document of a report.
    pub(crate) fn of(report: &'a GcReport, dry_run: bool) -> Self {
        Self {
            schema: "outlast.gc/1",
            dry_run,
            removed: &report.removed,
            bytes_freed: report.bytes_freed,
            kept_untold: report.kept_untold,
            swept: report.swept,
            containers: report.containers,
            debris: report.debris,
            failed: Trouble::of(&report.failed),
        }
    }
}
