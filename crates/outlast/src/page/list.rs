//! The table of runs: what a person needs at a glance.

use crate::{
    look::{Look, Paint, clean, columns, cut, pad, pad_left},
    verdict::Verdict,
    words,
};
use outlast_journal::{Record, RunId, Status, shortest_unique};
use outlast_lib::ListQuery;

/// Fewest characters of an id: fewer would clash with the next run.
const PREFIX_MIN: usize = 4;
/// Widest label on a terminal, in columns; the rest is for what the run is doing.
const LABEL_COLUMNS_MAX: usize = 24;
/// Fewest columns that the last column is worth.
const NOW_COLUMNS_MIN: usize = 12;
/// Columns between two columns.
const GAP: &str = "  ";

struct Row {
    run: String,
    verdict: Verdict,
    label: String,
    age: String,
    time: String,
    now: String,
}

/// Returns the table of `records`, one line each below its head.
///
/// Each run is named by the shortest beginning of its id that no other run of
/// `all` has, at least four characters.
pub(crate) fn table(records: &[Record], all: &[RunId], look: &Look) -> String {
    let rows: Vec<Row> = records
        .iter()
        .map(|record| row(record, all, look))
        .collect();
    let widest = |head: &str, cell: &dyn Fn(&Row) -> usize| {
        rows.iter().map(cell).fold(columns(head), usize::max)
    };
    let run = widest("RUN", &|row| columns(&row.run));
    let state = widest("STATE", &|row| columns(&row.verdict.text()));
    let age = widest("AGE", &|row| columns(&row.age));
    let time = widest("TIME", &|row| columns(&row.time));
    let label = label_width(
        widest("LABEL", &|row| columns(&row.label)),
        run + state + age + time,
        look,
    );

    let line = |cells: [&str; 5], now: &str| {
        let [run_cell, state_cell, label_cell, age_cell, time_cell] = cells;
        let cells = [
            pad(run_cell, run),
            state_cell.to_owned(),
            pad(&cut(label_cell, label), label),
            pad_left(age_cell, age),
            pad_left(time_cell, time),
        ];
        let used = run + state + label + age + time + 5 * GAP.len();
        let line = format!("{}{GAP}{}", cells.join(GAP), look.fit(now, used));
        format!("{}\n", line.trim_end())
    };
    let head = line(["RUN", &pad("STATE", state), "LABEL", "AGE", "TIME"], "NOW");
    let mut table = look.paint(Paint::Dim, head.trim_end());
    table.push('\n');
    for row in &rows {
        let verdict = look.paint(row.verdict.paint, &row.verdict.text());
        // Padded by what is seen, not by the bytes that colour it.
        let fill = " ".repeat(state - columns(&row.verdict.text()));
        let cells = [
            &row.run,
            &format!("{verdict}{fill}"),
            &row.label,
            &row.age,
            &row.time,
        ];
        table.push_str(&line(cells.map(String::as_str), &row.now));
    }
    table
}

fn label_width(widest: usize, others: usize, look: &Look) -> usize {
    let Some(width) = look.width else {
        return widest;
    };
    let left = width.saturating_sub(others + 5 * GAP.len() + NOW_COLUMNS_MIN);
    widest
        .min(LABEL_COLUMNS_MAX)
        .min(left.max(columns("LABEL")))
}

fn row(record: &Record, all: &[RunId], look: &Look) -> Row {
    Row {
        run: short_id(&record.id, all),
        verdict: Verdict::of(record),
        label: clean(&record.label),
        age: words::age(since(record, look)),
        time: time(record),
        now: clean(&doing(record, look)),
    }
}

fn since(record: &Record, look: &Look) -> u64 {
    look.now.unix_ms().saturating_sub(record.created.unix_ms())
}

/// Returns the shortest beginning of `id` that names no other run of `all`.
pub(crate) fn short_id(id: &RunId, all: &[RunId]) -> String {
    let length = shortest_unique(id, all.iter().copied(), PREFIX_MIN);
    id.as_str().chars().take(length).collect()
}

fn time(record: &Record) -> String {
    match (record.elapsed_ms, record.status) {
        (Some(ms), _) => words::span(ms),
        (None, Status::Queued) => "–".to_owned(),
        (None, _) if record.started.is_none() => "–".to_owned(),
        (None, _) => "?".to_owned(),
    }
}

fn doing(record: &Record, look: &Look) -> String {
    if let Some(asked) = &record.needs_approval {
        let age = look.now.unix_ms().saturating_sub(asked.since.unix_ms());
        let age = words::age(age);
        return format!("needs approval for {age}: {}", asked.question);
    }
    match (&record.summary, record.status) {
        (_, Status::Queued) => match record.queue_position {
            Some(before) => format!("waits for a place, {before} before it"),
            None => "waits for a place".to_owned(),
        },
        (Some(summary), _) => summary.clone(),
        (None, _) => String::new(),
    }
}

/// Returns what to say of an ended run that left processes behind.
pub(crate) fn left_behind(record: &Record, id: &str) -> Option<String> {
    let left = record.leftovers.len() as u64;
    let is_left = record.status.is_ended() && left > 0;
    let what = words::count(left, "process of it is", "processes of it are");
    is_left.then(|| format!("{id} has ended and {what} still alive: outlast cancel {id}"))
}

/// Returns what to say when there are runs and none of them was asked for.
///
/// `elsewhere` counts those of other projects that would have been listed.
pub(crate) fn none(query: &ListQuery, elsewhere: u64) -> String {
    let project = query
        .project
        .as_ref()
        .map(|_| " of this project".to_owned());
    let session = query.session.as_ref();
    let session = session.map(|session| format!(" of session `{}`", clean(session)));
    let owners: Vec<String> = project.into_iter().chain(session).collect();
    let words = query.statuses.iter().map(ToString::to_string);
    let words: Vec<String> = words.map(|word| word.replace('_', " ")).collect();
    let mut parts = vec!["no runs".to_owned(), owners.join(" and")];
    if !words.is_empty() {
        parts.push(format!(" are {}", words.join(" or ")));
    }
    if elsewhere > 0 {
        parts.push(format!("; {elsewhere} in others: outlast ps -a"));
    }
    parts.concat()
}

/// What stands below the table, or nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// Whether older runs were left out.
    pub(crate) has_more: bool,
    /// Live runs of other projects that were left out.
    pub(crate) elsewhere: u64,
    /// Things that could not be read: path and what is wrong.
    pub(crate) damaged: Vec<(String, String)>,
}

/// Returns the lines to say beside the table, each a sentence with what to do.
pub(crate) fn notes(records: &[Record], all: &[RunId], notes: &Notes) -> Vec<String> {
    let mut lines = Vec::new();
    for record in records {
        if record.needs_approval.is_some() {
            let id = short_id(&record.id, all);
            lines.push(format!(
                "{id} asks: outlast approve {id}, outlast deny {id}"
            ));
        }
        lines.extend(left_behind(record, &short_id(&record.id, all)));
    }
    if notes.has_more {
        lines.push("older runs are not shown: outlast ps -n 200".to_owned());
    }
    if notes.elsewhere > 0 {
        let what = words::count(notes.elsewhere, "run goes", "runs go");
        lines.push(format!("{what} on in other projects: outlast ps -a"));
    }
    for (path, what) in &notes.damaged {
        lines.push(format!("set aside, since {}: {}", clean(what), clean(path)));
    }
    lines
}

#[cfg(test)]
mod tests;
