//! What a shell offers when a word is begun: verbs, options, and runs.

use crate::{
    cli::Cli, page::list::short_id, surface::here, surroundings::Surroundings, verdict::Verdict,
};
use clap::CommandFactory;
use clap_complete::{CompleteEnv, engine::CompletionCandidate};
use outlast_lib::{Limits, ListQuery, Record, RunId, Status, Store};
use std::{env, ffi::OsStr};

/// Variable by which the shell's script asks this program.
pub(crate) const VARIABLE: &str = "OUTLAST_COMPLETE";
/// Runs that are offered, newest: more cannot be looked through.
const RUNS_MAX: usize = 100;

/// Answers a shell that asks for completions; false when none does.
pub(crate) fn answer() -> bool {
    if env::var_os(VARIABLE).is_none() {
        return false;
    }
    let complete = CompleteEnv::with_factory(Cli::command).var(VARIABLE);
    // A shell that gets nothing falls back to file names, which is all there is to do.
    complete
        .try_complete(env::args_os(), env::current_dir().ok().as_deref())
        .unwrap_or(true)
}

/// Returns the runs that begin with `current`.
pub(crate) fn ids(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, &[])
}

/// Returns the runs that begin with `current` and have not ended.
pub(crate) fn live_ids(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, &[Status::Queued, Status::Running])
}

/// Returns the runs that begin with `current` and have ended.
pub(crate) fn ended_ids(current: &OsStr) -> Vec<CompletionCandidate> {
    let ended: Vec<Status> = Status::ALL
        .into_iter()
        .filter(|status| status.is_ended())
        .collect();
    candidates(current, &ended)
}

fn candidates(current: &OsStr, statuses: &[Status]) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let of_project = offers(&records(here(), statuses), current);
    if of_project.is_empty() {
        return offers(&records(None, statuses), current);
    }
    of_project
}

fn records(project: Option<String>, statuses: &[Status]) -> Vec<Record> {
    let root = Surroundings::read().store().ok();
    // Looking must not make a store.
    let root = root.filter(|root| root.is_dir());
    let store = root.and_then(|root| Store::open(&root, Limits::default()).ok());
    let query = ListQuery {
        project,
        session: None,
        statuses: statuses.to_vec(),
        limit: RUNS_MAX,
    };
    store
        .and_then(|store| store.list(&query).ok())
        .map(|listing| listing.records)
        .unwrap_or_default()
}

/// Returns the ids, as short as they may be, and the labels that begin with `current`.
fn offers(records: &[Record], current: &str) -> Vec<CompletionCandidate> {
    let all: Vec<RunId> = records.iter().map(|record| record.id).collect();
    let typed = RunId::normalise_prefix(current).unwrap_or_default();
    let by_id = records
        .iter()
        .filter(|record| {
            record.id.as_str().starts_with(&typed) && typed.is_empty() == current.is_empty()
        })
        .map(|record| {
            // At least as long as what is typed, or the shell would take it back.
            let short = short_id(&record.id, &all);
            let whole = record.id.as_str();
            let shown = whole.get(..short.len().max(typed.len())).unwrap_or(whole);
            let help = format!("{}  {}", Verdict::of(record).text(), record.label);
            CompletionCandidate::new(shown).help(Some(help.into()))
        });
    let by_label = records
        .iter()
        .filter(|record| !current.is_empty() && record.label.starts_with(current))
        .filter(|record| is_word(&record.label))
        .map(|record| {
            let help = format!("{}  {}", Verdict::of(record).text(), record.id);
            CompletionCandidate::new(&record.label).help(Some(help.into()))
        });
    by_id.chain(by_label).collect()
}

/// Returns whether a shell takes `label` for one word as it stands: bash inserts it unquoted.
fn is_word(label: &str) -> bool {
    let is_plain =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/');
    label.chars().all(is_plain)
}

#[cfg(test)]
mod tests;
