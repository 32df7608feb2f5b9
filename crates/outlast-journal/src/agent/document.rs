//! The result document of an agent run, `car.do/1`.
//!
//! One piece of code for all surfaces, for runs whose worker told how it ended
//! and for those whose worker did not. Fields are added here, never renamed.

mod sandbox;

pub use sandbox::Sandbox;

use super::report::{Receipt, Report, UnknownCall};
use super::{Final, ModelChoice};
use crate::{End, RunId, Spec, State, Status, limits, text};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The schema name of [`Document`].
pub const DOCUMENT_SCHEMA: &str = "car.do/1";

/// What an agent run came to. `error`, `message` and `suggestions` stand in place of `summary`
/// and what follows from it where `status` is `error`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// Always `car.do/1`.
    pub schema: String,
    /// `success`, `max_turns`, `stalled`, `goal_pending`, `blocked`, `budget`, `cancelled` or
    /// `error`.
    pub status: String,
    /// Stable name of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The error's fact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The final message, cut to [`limits::DOCUMENT_SUMMARY_BYTES`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Turns that the model answered, over all runs that this one goes on with.
    pub turns: u64,
    /// Sub-agents that it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegations: Option<u64>,
    /// The model.
    pub model_used: String,
    /// What really ran.
    pub receipts: Receipts,
    /// What the summary claims to have been done and no receipt shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ungrounded_claims: Option<Vec<String>>,
    /// The goal, of a run that had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    /// What its calls might touch, as bound.
    pub sandbox: Sandbox,
    /// Seconds of awake time that this run took.
    pub elapsed_seconds: f64,
    /// What to do about the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestions: Option<Vec<String>>,
    /// The answer that keeps the schema that was asked for.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub answer: Value,
    /// Calls of which nobody knows how they ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_outcomes: Vec<Unknown>,
    /// Runs that this one went on with, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<RunId>,
    /// Tokens.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub usage: BTreeMap<String, u64>,
    /// What the turns cost in US dollars; absent where a turn has no price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Who or what ended it; absent where nothing has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// The run, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// What really ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Receipts {
    /// How much.
    pub total: u64,
    /// How much of it failed.
    pub failed: u64,
    /// How much by tool.
    pub by_tool: BTreeMap<String, u64>,
    /// At most [`limits::RECEIPTS_SHOWN_MAX`] of it, failures first, of each the newest.
    pub sample: Vec<ReceiptShown>,
    /// Receipts that are not in the sample.
    pub sample_omitted: u64,
}

/// One receipt, as shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReceiptShown {
    /// The tool.
    pub tool: String,
    /// Whether it did what it says.
    pub ok: bool,
    /// The call in at most [`limits::BRIEF_CHARS`] characters.
    pub brief: String,
    /// Through what it was done, where not by the worker itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

/// A call of which nobody knows how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// The call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The call in at most [`limits::BRIEF_CHARS`] characters.
    pub brief: String,
}

/// What became of the goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Goal {
    /// The check, as it was asked for.
    pub check: String,
    /// Whether the last check exited with 0.
    pub passed: bool,
    /// Whether a process ran the last check and said so.
    pub grounded: bool,
    /// How often it was checked.
    pub iterations: u64,
    /// Why no other check followed.
    pub halt: String,
}

/// How a run ended, in the words of the document.
struct Verdict {
    status: String,
    error: Option<(String, String, Vec<String>)>,
}

impl Document {
    /// Returns the document of an ended agent run; `None` while it goes on, and of other runs.
    ///
    /// `report` holds the lines of the whole chain of runs that this one goes on with.
    pub fn build(spec: &Spec, state: &State, report: Report) -> Option<Self> {
        let agent = spec.agent.as_deref()?;
        let end = state.end.as_deref()?;
        let report = report.settled(is_stopped(end));
        let last = report.last.as_deref();
        let verdict = verdict(end, last, report.workers);
        let is_error = verdict.error.is_some();
        let bound = state.started.as_ref();
        let bound = bound.and_then(|started| started.posture.as_deref());
        let delegations = report.receipts.iter();
        let delegations = delegations.filter(|one| one.ok && one.tool == DELEGATION);
        let summary = (!is_error).then(|| summary(end, last));
        let (error, message, suggestions) = match verdict.error {
            Some((error, message, suggestions)) => (Some(error), Some(message), Some(suggestions)),
            None => (None, None, None),
        };
        Some(Self {
            schema: DOCUMENT_SCHEMA.to_owned(),
            goal: goal(spec, &report, &verdict.status),
            status: verdict.status,
            error,
            message: message.map(|text| cut(&text)),
            summary,
            turns: report.turns,
            delegations: (!is_error).then(|| delegations.count() as u64),
            model_used: model(&agent.request.model, &report),
            receipts: receipts(&report.receipts),
            ungrounded_claims: (!is_error)
                .then(|| last.map(|last| last.ungrounded_claims.clone()))
                .map(Option::unwrap_or_default),
            sandbox: Sandbox::of(spec, bound.unwrap_or(&spec.posture)),
            elapsed_seconds: seconds(end.elapsed_ms.unwrap_or(0)),
            suggestions,
            answer: last.map(|last| last.answer.clone()).unwrap_or_default(),
            unknown_outcomes: report.unknown.iter().map(unknown).collect(),
            usage: usage(&report),
            cost_usd: report.cost_usd(),
            ended_by: Some(end.ended_by.clone()),
            run_id: Some(spec.id),
            resumed: report.resumed,
        })
    }

    /// Returns the document of what did not come to an end here: a start that was refused, or a
    /// wait that ended before its run.
    pub fn unfinished(error: &str, message: &str, suggestion: &str, sandbox: Sandbox) -> Self {
        Self {
            schema: DOCUMENT_SCHEMA.to_owned(),
            status: "error".to_owned(),
            error: Some(error.to_owned()),
            message: Some(cut(message)),
            summary: None,
            turns: 0,
            delegations: None,
            model_used: String::new(),
            receipts: Receipts::default(),
            ungrounded_claims: None,
            goal: None,
            sandbox,
            elapsed_seconds: 0.0,
            suggestions: Some(vec![suggestion.to_owned()]),
            answer: Value::Null,
            unknown_outcomes: Vec::new(),
            resumed: Vec::new(),
            usage: BTreeMap::new(),
            cost_usd: None,
            ended_by: None,
            run_id: None,
        }
    }

    /// Has every text that was made by a model or a process go through `mask`.
    pub fn mask(&mut self, mask: &dyn Fn(&str) -> String) {
        let of = |text: &mut String| *text = mask(text);
        self.message.as_mut().map(of);
        self.summary.as_mut().map(of);
        self.ungrounded_claims.iter_mut().flatten().for_each(of);
        self.suggestions.iter_mut().flatten().for_each(of);
        let briefs = self.receipts.sample.iter_mut().map(|one| &mut one.brief);
        briefs.for_each(of);
        let briefs = self.unknown_outcomes.iter_mut().map(|one| &mut one.brief);
        briefs.for_each(of);
        if let Some(goal) = &mut self.goal {
            of(&mut goal.check);
        }
        mask_value(&mut self.answer, mask);
    }
}

/// Has every text of a value go through `mask`; names of fields stay.
pub fn mask_value(value: &mut Value, mask: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = mask(text),
        Value::Array(list) => list.iter_mut().for_each(|one| mask_value(one, mask)),
        Value::Object(fields) => fields.values_mut().for_each(|one| mask_value(one, mask)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The tool whose receipts are sub-agents.
const DELEGATION: &str = "background_agent";

/// Returns whether somebody stopped the run, and with it every call.
fn is_stopped(end: &End) -> bool {
    matches!(end.status, Status::Cancelled | Status::TimedOut)
}

fn verdict(end: &End, last: Option<&Final>, workers: u32) -> Verdict {
    let fine = |status: &str| Verdict {
        status: status.to_owned(),
        error: None,
    };
    let failed = |error: &str, message: &str, suggestions: &[&str]| Verdict {
        status: "error".to_owned(),
        error: Some((
            error.to_owned(),
            message.to_owned(),
            suggestions.iter().map(|one| (*one).to_owned()).collect(),
        )),
    };
    match (end.status, last) {
        (Status::Cancelled, _) => fine("cancelled"),
        (Status::TimedOut, _) => failed("timed_out", &end.summary, &TIMED_OUT),
        (Status::Interrupted, _) => failed("interrupted", &end.summary, &INTERRUPTED),
        (_, Some(last)) if last.status == "error" => {
            let error = last.error.as_deref().unwrap_or("worker_error");
            let message = last.message.as_deref().unwrap_or(&last.summary);
            Verdict {
                status: "error".to_owned(),
                error: Some((
                    error.to_owned(),
                    message.to_owned(),
                    last.suggestions.clone(),
                )),
            }
        }
        (_, Some(last)) => fine(&last.status),
        (Status::Completed, None) => fine("success"),
        (Status::Failed | Status::Queued | Status::Running, None) => match &end.failure {
            Some(failure) if failure.code != RUN_TASK_DIED => {
                failed(&failure.code, &failure.message, &COULD_NOT_START)
            }
            Some(failure) => failed(RUN_TASK_DIED, &failure.message, &RUN_TASK_DIED_SAYS),
            None if let Some(limit) = end.ended_by.strip_prefix("limit:") => {
                failed(&format!("{limit}_limit"), &end.summary, &LIMIT)
            }
            None => {
                let workers = workers.max(1);
                let message = format!(
                    "the worker ended without a result ({workers} of them): {}",
                    end.summary
                );
                failed(RUN_TASK_DIED, &message, &RUN_TASK_DIED_SAYS)
            }
        },
    }
}

/// Stable name of the error of a run whose worker died for good.
pub const RUN_TASK_DIED: &str = "run_task_died";

const RUN_TASK_DIED_SAYS: [&str; 2] = [
    "read the end of its log, which may tell why",
    "what it had done stays done: the user can go on from there with `outlast resume`, or start \
     it again with what is left of the task",
];
const TIMED_OUT: [&str; 2] = [
    "what it had done stays done: the user can go on from there with `outlast resume`",
    "start it with a longer time limit, or with a smaller task",
];
const INTERRUPTED: [&str; 2] = [
    "what it had done stays done: the user can go on from there with `outlast resume`",
    "look at the calls in `unknown_outcomes` before doing them again",
];
const COULD_NOT_START: [&str; 1] = ["mend what the message names, and start it again"];
const LIMIT: [&str; 1] = ["start it with a higher limit, or with a smaller task"];

fn summary(end: &End, last: Option<&Final>) -> String {
    let said = last.map(|last| {
        if last.text.trim().is_empty() {
            last.summary.as_str()
        } else {
            last.text.as_str()
        }
    });
    cut(said.unwrap_or(&end.summary))
}

/// Returns a text with what is beyond the bytes of a summary told as counts.
fn cut(text: &str) -> String {
    let (bytes, bytes_max) = (text.len(), limits::DOCUMENT_SUMMARY_BYTES);
    if bytes <= bytes_max {
        return text.to_owned();
    }
    let shown = text::char_floor(text.as_bytes(), bytes_max);
    let elided = bytes - shown;
    let head = text.get(..shown).unwrap_or_default();
    format!("{head}…[truncated: {shown} of {bytes} bytes shown; {elided} elided]…")
}

fn goal(spec: &Spec, report: &Report, status: &str) -> Option<Goal> {
    let check = spec.agent.as_deref()?.request.until.clone()?;
    let seen = report.goal.unwrap_or_default();
    let limit = report
        .last
        .as_deref()
        .and_then(|last| last.ended_by.strip_prefix("limit:"));
    let halt = match (seen.passed, limit) {
        (true, _) => "passed",
        (false, Some(limit)) => limit,
        (false, None) => status,
    };
    Some(Goal {
        check,
        passed: seen.passed,
        grounded: seen.grounded,
        iterations: seen.iterations,
        halt: halt.to_owned(),
    })
}

fn receipts(all: &[Receipt]) -> Receipts {
    let mut by_tool = BTreeMap::new();
    for receipt in all {
        *by_tool.entry(receipt.tool.clone()).or_insert(0) += 1;
    }
    let newest = |ok: bool, most: usize| {
        let these: Vec<&Receipt> = all.iter().filter(|one| one.ok == ok).collect();
        let from = these.len().saturating_sub(most);
        these.get(from..).unwrap_or_default().to_vec()
    };
    let failed = newest(false, limits::RECEIPTS_SHOWN_MAX);
    let fine = newest(true, limits::RECEIPTS_SHOWN_MAX - failed.len());
    let sample = failed.into_iter().chain(fine).map(|receipt| ReceiptShown {
        tool: receipt.tool.clone(),
        ok: receipt.ok,
        brief: brief(&receipt.brief),
        via: receipt.via.clone(),
    });
    let sample: Vec<ReceiptShown> = sample.collect();
    let total = all.len() as u64;
    Receipts {
        total,
        failed: all.iter().filter(|one| !one.ok).count() as u64,
        by_tool,
        sample_omitted: total - sample.len() as u64,
        sample,
    }
}

fn unknown(call: &UnknownCall) -> Unknown {
    Unknown {
        call: call.call.clone(),
        tool: call.tool.clone(),
        brief: brief(&call.brief),
    }
}

/// Returns a call in few words; what does not fit is told as counts.
fn brief(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= limits::BRIEF_CHARS {
        return text.to_owned();
    }
    let mark = |kept: usize| {
        let shown: String = text.chars().take(kept).collect();
        let (of, bytes) = (text.len(), shown.len());
        let elided = of - bytes;
        format!("{shown}…[truncated: {bytes} of {of} bytes shown; {elided} elided]…")
    };
    // The mark grows with its numbers, never by more than a few digits.
    let long = mark(0).chars().count() + COUNT_DIGITS;
    mark(limits::BRIEF_CHARS.saturating_sub(long))
}

/// Digits by which the counts in a mark may be longer than those of an empty text.
const COUNT_DIGITS: usize = 4;

fn usage(report: &Report) -> BTreeMap<String, u64> {
    let mut usage = report.usage.clone();
    if report.turns > 0 {
        usage.insert("tokens".to_owned(), report.tokens);
    }
    usage
}

fn model(choice: &ModelChoice, report: &Report) -> String {
    report.model.clone().unwrap_or_else(|| choice.name.clone())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times are far below 2^53 milliseconds"
)]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

#[cfg(test)]
mod tests;
