//! `outlast ps`: the newest runs, as a table or a document.

use crate::{
    cli::PsArguments,
    failure::{Stop, exit},
    page::list::{self, Notes},
    surface::{Surface, failed},
};
use outlast_lib::{ListQuery, Listing, RunId, Status, Store};
use serde_json::json;

/// Live runs of other projects that are counted; more is said as that many.
const ELSEWHERE_MAX: usize = 1_000;

/// Lists the runs of this project, or of all.
pub(crate) fn ps(surface: &mut Surface, arguments: PsArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let project = if arguments.all {
        None
    } else {
        surface.project()
    };
    let listing = store.list(&ListQuery {
        project: project.clone(),
        session: arguments.session,
        statuses: arguments.status.into_iter().map(Status::from).collect(),
        limit: arguments.limit,
    });
    let listing = listing.map_err(|error| failed(&error))?;
    if arguments.json {
        let document = json!({ "schema": "outlast.runs/1", "runs": listing.records });
        surface.screen.print_json(&document)?;
        say_damage(surface, &listing);
        return Ok(exit::FINE);
    }
    let elsewhere = match project {
        Some(project) => elsewhere(&store, &project),
        None => 0,
    };
    draw(surface, listing, elsewhere)
}

fn draw(surface: &mut Surface, listing: Listing, elsewhere: u64) -> Result<u8, Stop> {
    let all: Vec<RunId> = listing.records.iter().map(|record| record.id).collect();
    let look = surface.screen.look();
    if listing.records.is_empty() {
        surface
            .screen
            .talk("no runs here yet: outlast run -- PROG ARG…");
    } else {
        surface
            .screen
            .print(&list::table(&listing.records, &all, &look))?;
    }
    let damaged = listing.damaged.into_iter();
    let notes = Notes {
        has_more: listing.more,
        elsewhere,
        damaged: damaged
            .map(|damage| (damage.path.display().to_string(), damage.what))
            .collect(),
    };
    for note in list::notes(&listing.records, &all, &notes) {
        surface.screen.talk(&format!("note: {note}"));
    }
    Ok(exit::FINE)
}

/// A document has no place for what could not be read, so it is said beside it.
fn say_damage(surface: &mut Surface, listing: &Listing) {
    for damage in &listing.damaged {
        let path = damage.path.display();
        surface
            .screen
            .talk(&format!("note: set aside: {path}: {}", damage.what));
    }
}

/// Counts the runs of other projects that go on. That they cannot be counted hides nothing here.
fn elsewhere(store: &Store, project: &str) -> u64 {
    let listing = store.list(&ListQuery {
        project: None,
        session: None,
        statuses: vec![Status::Queued, Status::Running],
        limit: ELSEWHERE_MAX,
    });
    let records = listing.map(|listing| listing.records).unwrap_or_default();
    let others = records.iter().filter(|record| record.project != project);
    others.count() as u64
}
