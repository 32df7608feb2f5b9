//! `outlast asks`, `approve` and `deny`: what agent runs wait to be told, and the telling.

use crate::{
    cli::{AnswerArguments, AsksArguments},
    document::{Answered, Asks},
    failure::{Failure, Stop, exit},
    look::{Paint, clean, pad, pad_left},
    page::list::short_id,
    screen::talk,
    surface::{Surface, failed, find, here},
    words,
};
use outlast_lib::{AnswerError, ListQuery, Record, RunId, Status};
use std::fmt::Write;

/// Who answers at the command line.
const BY: &str = "cli";

/// Runs that are looked through for asks.
const RUNS_MAX: usize = 1_000;

/// Lists the asks that are open, the oldest first.
pub(crate) fn asks(surface: &mut Surface, arguments: &AsksArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let query = ListQuery {
        project: if arguments.all { None } else { here() },
        statuses: vec![Status::Running],
        limit: RUNS_MAX,
        ..ListQuery::default()
    };
    let listing = store.list(&query).map_err(|error| failed(&error))?;
    let mut asking: Vec<Record> = listing.records;
    asking.retain(|record| record.needs_approval.is_some());
    asking.sort_by_key(|record| record.needs_approval.as_ref().map(|asked| asked.since));
    if arguments.json {
        surface.screen.print_json(&Asks::of(&asking))?;
        return Ok(exit::FINE);
    }
    if asking.is_empty() {
        talk("nothing is asked");
        return Ok(exit::FINE);
    }
    let all: Vec<RunId> = asking.iter().map(|record| record.id).collect();
    let look = surface.screen.look();
    let mut page = String::new();
    for record in &asking {
        let Some(asked) = &record.needs_approval else {
            continue;
        };
        let id = short_id(&record.id, &all);
        let age = look.now.unix_ms().saturating_sub(asked.since.unix_ms());
        let label = clean(&record.label);
        let tool = clean(&asked.tool);
        let (id, label) = (look.paint(Paint::Bold, &id), look.paint(Paint::Dim, &label));
        let age = look.paint(Paint::Dim, &pad_left(&words::age(age), 4));
        writeln!(page, "{id}  {age}  {tool}  {label}").ok();
        for line in asked.question.lines() {
            let line = format!("{}{}", pad("", 6), clean(line));
            page.push_str(&look.fit(&line, 0));
            page.push('\n');
        }
        if asked.more > 0 {
            let more = words::count(asked.more, "more ask", "more asks");
            writeln!(page, "      and {more} of this run").ok();
        }
    }
    surface.screen.print(&page)?;
    talk("hint: outlast approve ID, outlast deny ID ['why']");
    Ok(exit::FINE)
}

/// Answers the oldest ask of a run, or the one that is named.
pub(crate) fn answer(
    surface: &mut Surface,
    arguments: &AnswerArguments,
    is_approved: bool,
) -> Result<u8, Stop> {
    let store = surface.open()?;
    let id = find(&store, &arguments.id)?;
    let (ask, text) = (arguments.ask.as_deref(), arguments.text.as_deref());
    let ask = store.answer(&id, ask, is_approved, text, BY);
    let ask = ask.map_err(|error| answer_failure(&error))?;
    if arguments.json {
        let document = Answered::of(id, &ask, is_approved);
        surface.screen.print_json(&document)?;
        return Ok(exit::FINE);
    }
    let word = if is_approved { "approved" } else { "denied" };
    talk(&format!("{word} {ask} of {id}"));
    Ok(exit::FINE)
}

fn answer_failure(error: &AnswerError) -> Failure {
    let is_none = matches!(
        error,
        AnswerError::Read(outlast_lib::ReadError::NotFound { .. })
    );
    Failure::new(error, if is_none { exit::NO_RUN } else { exit::ERROR })
}
