//! What looks and changes nothing: list, output, `/background`, the prompt block.

use super::answer::Answer;
use super::arguments::{ArgumentError, Arguments, clamp};
use super::{Background, LIVE, tools};
use crate::{
    Advice, FindError, ListQuery, OutputFrom, OutputPage, OutputQuery, ReadError, Record, RunId,
    ShortRecord, Status,
};
use outlast_journal::{limits, text};
use serde_json::Value;
use std::collections::HashSet;
use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;

/// Gives the tasks that a host itself has in the background. Its failure is shown, not fatal.
pub type HostTasks = Arc<dyn Fn() -> Result<Vec<HostTask>, Box<dyn Error>> + Send + Sync>;

/// A task of the host's own, as a line of `/background`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTask {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: String,
    /// Where it is in its life, in a word.
    pub status: String,
    /// Whether it counts as running.
    pub is_running: bool,
    /// Its exit code, if there is one.
    pub exit_code: Option<i32>,
    /// What it is called.
    pub label: String,
    /// One line about it.
    pub summary: Option<String>,
    /// Session that it has itself.
    pub session: Option<String>,
}

/// Why a command of a person was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// It is no command of this capability.
    #[error("there is no command `{name}`")]
    Unknown {
        /// What was typed.
        name: String,
    },
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Advice for CommandError {
    fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown_command",
            Self::Read(error) => error.code(),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Unknown { .. } => "type `/background`".to_owned(),
            Self::Read(error) => error.hint(),
        }
    }
}

/// What `background_list` calls `ended`.
const ENDED: [Status; 5] = [
    Status::Completed,
    Status::Failed,
    Status::Cancelled,
    Status::TimedOut,
    Status::Interrupted,
];

/// What it calls `failed`: what did not end as it was meant to.
const FAILED: [Status; 3] = [Status::Failed, Status::TimedOut, Status::Interrupted];

impl Background {
    /// Lists the runs of the session.
    pub(super) fn list(&self, arguments: &Value) -> Answer {
        let mut notices = Vec::new();
        let query = match self.list_query(arguments, &mut notices) {
            Ok(query) => query,
            Err(error) => return Answer::refused(&error),
        };
        let listing = match self.store.list(&query) {
            Ok(listing) => listing,
            Err(error) => return Answer::refused(&error),
        };
        let short = listing.records.iter().map(|record| {
            serde_json::to_value(record.short()).expect("a record has only string keys")
        });
        let tasks: Vec<Value> = short.collect();
        let message = match (tasks.is_empty(), listing.more) {
            (true, _) => "No such task in this session.",
            (false, true) => "There are more: ask with `status`, or a higher `limit`.",
            (false, false) => "background_output reads one by its id.",
        };
        Answer::fine()
            .with("count", tasks.len())
            .with("tasks", tasks)
            .with_some("more", listing.more.then_some(true))
            .with_notices(notices)
            .with("message", message)
    }

    fn list_query(
        &self,
        arguments: &Value,
        notices: &mut Vec<String>,
    ) -> Result<ListQuery, ArgumentError> {
        let mut from = Arguments::new(arguments, &tools::LIST_ARGUMENTS)?;
        let states = [
            ("running", &LIVE[..]),
            ("ended", &ENDED[..]),
            ("failed", &FAILED[..]),
        ];
        let statuses = from.word("status", &states)?.unwrap_or_default();
        let limit = from.number("limit")?.unwrap_or(limits::TOOL_LIST_RUNS);
        let limit = clamp(notices, "limit", limit, 1, limits::TOOL_LIST_RUNS_MAX);
        Ok(ListQuery {
            session: Some(self.session.clone()),
            statuses: statuses.to_vec(),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            ..ListQuery::default()
        })
    }

    /// Gives a part of the output of a run.
    pub(super) fn output(&self, arguments: &Value) -> Answer {
        let mut notices = Vec::new();
        let (typed, query) = match output_query(arguments, &mut notices) {
            Ok(asked) => asked,
            Err(error) => return Answer::refused(&error),
        };
        let id = match self.find(&typed) {
            Ok(Ok(id)) => id,
            Ok(Err(message)) => {
                return Answer::fine()
                    .with("id", typed)
                    .with("found", false)
                    .with("message", message);
            }
            Err(answer) => return answer,
        };
        // The state first: of an ended run, all of the output is there then.
        let record = match self.store.record(&id) {
            Ok(record) => record,
            Err(error) => return Answer::refused(&error),
        };
        let page = match self.store.log(&record, &query) {
            Ok(page) => page,
            Err(error) => return Answer::refused(&error),
        };
        if record.status.is_ended() {
            self.told(&[id]);
        }
        let message = page_message(&record, &query, &page);
        let gap = page
            .gap
            .map(|gap| serde_json::to_value(gap).unwrap_or_default());
        Answer::fine()
            .about(&record)
            .with("output", page.text)
            .with("from_byte", page.from_byte)
            .with("next_byte", page.next_byte)
            .with("total_bytes", page.total_bytes)
            .with("truncated", page.truncated)
            .with_some("gap", gap)
            .with_some("child_session_id", record.child_session_id)
            .with_notices(notices)
            .with("message", message)
    }

    /// Finds the run of this session that a model means; else says why there is none.
    pub(super) fn find(&self, typed: &str) -> Result<Result<RunId, String>, Answer> {
        let typed = typed.trim();
        let is_own = |id: &RunId| {
            let spec = self.store.spec(id).ok();
            spec.is_some_and(|spec| spec.session.as_ref() == Some(&self.session))
        };
        let found = self.store.find(typed, None);
        if let Ok(id) = &found
            && is_own(id)
        {
            return Ok(Ok(*id));
        }
        // What is meant in all of the store may be another thing than in this session.
        let own = self
            .labelled(typed)
            .map_err(|error| Answer::refused(&error))?;
        match (own.as_slice(), found) {
            ([id], _) => Ok(Ok(*id)),
            ([], Ok(id)) => Ok(Err(format!(
                "{id} belongs to another session, whose tasks are not touched from here."
            ))),
            ([], Err(FindError::NotFound { .. })) => Ok(Err(
                "There is no such task in this session. background_list has the ids.".to_owned(),
            )),
            ([], Err(error)) => Err(Answer::refused(&error)),
            (several, _) => {
                let candidates = several.iter().map(|id| (*id, typed.to_owned()));
                Err(Answer::refused(&FindError::Ambiguous {
                    typed: typed.to_owned(),
                    candidates: candidates.collect(),
                }))
            }
        }
    }

    /// Returns the runs of the session with this label: those that have not ended before others.
    fn labelled(&self, label: &str) -> Result<Vec<RunId>, ReadError> {
        let query = ListQuery {
            session: Some(self.session.clone()),
            limit: usize::MAX,
            ..ListQuery::default()
        };
        let mut records = self.store.list(&query)?.records;
        records.retain(|record| record.label == label);
        let is_any_live = records.iter().any(|record| !record.status.is_ended());
        records.retain(|record| !is_any_live || !record.status.is_ended());
        records.truncate(limits::FIND_CANDIDATES_MAX);
        Ok(records.iter().map(|record| record.id).collect())
    }

    /// Returns the text for a command that a person typed; `/background` is the only one.
    ///
    /// # Errors
    ///
    /// Fails for any other command, and when the store cannot be read.
    pub fn command(&self, typed: &str) -> Result<String, CommandError> {
        let typed = typed.trim();
        if typed.strip_prefix('/').unwrap_or(typed) != "background" {
            let name = super::arguments::shown(typed);
            return Err(CommandError::Unknown { name });
        }
        let (records, counts) = self.newest(limits::COMMAND_RUNS)?;
        let mut lines: Vec<String> = records.iter().map(|record| line(&record.short())).collect();
        let shown = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        if counts.total > shown {
            lines.push(format!("  …and {} more", counts.total - shown));
        }
        let (mut total, mut running) = (counts.total, counts.running);
        match self.options.host_tasks.as_ref().map(|list| list()) {
            None => {}
            Some(Ok(tasks)) => {
                total += u64::try_from(tasks.len()).unwrap_or(0);
                let run = tasks.iter().filter(|task| task.is_running).count();
                running += u64::try_from(run).unwrap_or(0);
                lines.extend(tasks.iter().map(host_line));
            }
            Some(Err(error)) => {
                let error = text::first_line_label(&error.to_string(), limits::SUMMARY_CHARS);
                lines.push(format!(
                    "  (the host's own tasks could not be listed: {error})"
                ));
            }
        }
        let head = match total {
            0 => "No background tasks in this session.".to_owned(),
            total => format!("{total} background task(s), {running} running:"),
        };
        lines.insert(0, head);
        Ok(lines.join("\n"))
    }

    /// Returns the block for the prompt of the model; `None` when the session has no runs.
    ///
    /// It changes with every run: put it where the changing part of the prompt stands.
    ///
    /// # Errors
    ///
    /// Fails when the store cannot be read.
    pub fn prompt_block(&self) -> Result<Option<String>, ReadError> {
        let (records, counts) = self.newest(limits::PROMPT_RUNS)?;
        if counts.total == 0 {
            return Ok(None);
        }
        let unread = self.unread()?.into_iter();
        let restored: HashSet<RunId> = unread
            .filter(|finished| finished.restored)
            .map(|finished| finished.run.id)
            .collect();
        let mut block = format!("<background_tasks>\n{BLOCK_HEAD}");
        if self.has_spawner() {
            block.push_str(BLOCK_SUB_AGENTS);
        }
        let (total, running) = (counts.total, counts.running);
        writeln!(
            block,
            "{total} task(s), {running} running (most recent first):"
        )
        .ok();
        for record in &records {
            let mark = if restored.contains(&record.id) {
                RESTORED
            } else {
                ""
            };
            // A program may have printed the end of this block.
            let line = line(&record.short()).replace("background_tasks>", "background_tasks›");
            writeln!(block, "{line}{mark}").ok();
        }
        let shown = u64::try_from(records.len()).unwrap_or(u64::MAX);
        if total > shown {
            let more = total - shown;
            writeln!(block, "  …and {more} more: background_list has them.").ok();
        }
        block.push_str("</background_tasks>");
        Ok(Some(block))
    }

    /// Returns one line that shows a person what the prompt block is about.
    ///
    /// # Errors
    ///
    /// Fails when the store cannot be read.
    pub fn preview(&self) -> Result<String, ReadError> {
        let counts = self.counts()?;
        Ok(match counts.total {
            0 => "No background tasks".to_owned(),
            total => format!("{total} background task(s), {} running", counts.running),
        })
    }

    fn newest(&self, limit: usize) -> Result<(Vec<Record>, crate::Counts), ReadError> {
        let query = ListQuery {
            session: Some(self.session.clone()),
            limit,
            ..ListQuery::default()
        };
        let records = self.store.list(&query)?.records;
        Ok((records, self.store.counts(Some(&self.session))?))
    }
}

const BLOCK_HEAD: &str = "\
Tasks that you started in the background of this session. They go on while you work and after \
your turn, and you are told when one ends: do not wait with sleep or by asking again.
background_run starts a command, background_list lists all tasks, background_output reads what \
one printed, background_cancel stops one. The result of a finished task is ready to read now.
";

const BLOCK_SUB_AGENTS: &str = "\
background_agent hands a task to a sub-agent; its output is the sub-agent's final message.
";

/// What follows the line of a run that ended before the host came up, and was not read.
const RESTORED: &str = " (ended while you were away; not read yet)";

/// Returns the line of a run.
pub(super) fn line(run: &ShortRecord) -> String {
    let kind = match run.kind {
        crate::Kind::Command => "command",
        crate::Kind::Agent => "agent",
    };
    written(&Line {
        id: run.id.as_str(),
        kind,
        status: run.status.as_str(),
        exit_code: run.exit_code,
        label: &run.label,
        summary: run.summary.as_deref(),
        session: run.child_session_id.as_deref(),
    })
}

fn host_line(task: &HostTask) -> String {
    let clean = |said: &str| text::first_line_label(said, limits::SUMMARY_CHARS);
    written(&Line {
        id: &clean(&task.id),
        kind: &clean(&task.kind),
        status: &clean(&task.status),
        exit_code: task.exit_code,
        label: &clean(&task.label),
        summary: task.summary.as_deref().map(clean).as_deref(),
        session: task.session.as_deref().map(clean).as_deref(),
    })
}

struct Line<'a> {
    id: &'a str,
    kind: &'a str,
    status: &'a str,
    exit_code: Option<i32>,
    label: &'a str,
    summary: Option<&'a str>,
    session: Option<&'a str>,
}

fn written(line: &Line<'_>) -> String {
    let exit = line
        .exit_code
        .map_or_else(|| "-".to_owned(), |code| code.to_string());
    let (id, kind, status, label) = (line.id, line.kind, line.status, line.label);
    let mut written = format!("  [{id}] {kind} {status} exit={exit}: {label}");
    if let Some(summary) = line.summary {
        write!(written, " — {summary}").ok();
    }
    if let Some(session) = line.session {
        write!(written, " (session {session})").ok();
    }
    written
}

fn output_query(
    arguments: &Value,
    notices: &mut Vec<String>,
) -> Result<(String, OutputQuery), ArgumentError> {
    let mut from = Arguments::new(arguments, &tools::OUTPUT_ARGUMENTS)?;
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let typed = from.needed_text("id")?;
    let mut query = OutputQuery::default();
    if let Some(asked) = from.number("max_bytes")? {
        let most = limits::TOOL_OUTPUT_BYTES_MAX as u64;
        // Zero is refused by the library, in words that name the field.
        query.bytes_max = size(clamp(notices, "max_bytes", asked, 0, most));
    }
    if let Some(byte) = from.number("since_byte")? {
        query.from = OutputFrom::Byte(byte);
    }
    query.grep = from.text("grep")?;
    if let Some(asked) = from.number("context")? {
        let most = limits::TOOL_CONTEXT_LINES_MAX;
        query.context = size(clamp(notices, "context", asked, 0, most));
    }
    if let Some(asked) = from.number("lines")? {
        query.lines = Some(size(clamp(notices, "lines", asked, 1, u64::MAX)));
    }
    Ok((typed, query))
}

fn page_message(record: &Record, query: &OutputQuery, page: &OutputPage) -> String {
    let state = match record.status {
        Status::Queued => "Waits for a place; no output yet.".to_owned(),
        Status::Running => "Still running: you will be told when it ends.".to_owned(),
        Status::Completed
        | Status::Failed
        | Status::Cancelled
        | Status::TimedOut
        | Status::Interrupted => format!("Ended: {}.", record.status),
    };
    let cut = page.way_on(query);
    format!("{state}{cut}")
}

#[cfg(test)]
mod tests;
