//! `outlast ps`: the newest runs, as a table or a document.

use crate::{
    cli::PsArguments,
    document::Runs,
    failure::{Stop, exit},
    page::list::{self, Notes},
    screen::talk,
    surface::{Surface, failed, here},
};
use outlast_lib::{ListQuery, Listing, RunId, Status, Store};

/// Runs that are looked through for those of other projects; of more, fewer are counted.
const ELSEWHERE_MAX: usize = 1_000;

/// Lists the runs of this project, or of all.
pub(crate) fn ps(surface: &mut Surface, arguments: PsArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let query = ListQuery {
        project: if arguments.all { None } else { here() },
        session: arguments.session,
        statuses: arguments.status.into_iter().map(Status::from).collect(),
        limit: arguments.limit,
    };
    let listing = store.list(&query).map_err(|error| failed(&error))?;
    if arguments.json {
        surface.screen.print_json(&Runs::of(&listing.records))?;
        say_damage(&listing);
        return Ok(exit::FINE);
    }
    let mut goes_on_elsewhere = 0;
    if listing.records.is_empty() && !listing.more {
        talk(&nothing(&store, &query));
    } else {
        goes_on_elsewhere = elsewhere(
            &store,
            &ListQuery {
                project: query.project,
                statuses: vec![Status::Queued, Status::Running],
                ..ListQuery::default()
            },
        );
    }
    draw(surface, listing, goes_on_elsewhere)
}

/// Returns why nothing is listed: there is nothing yet, or nothing that was asked for.
fn nothing(store: &Store, query: &ListQuery) -> String {
    // That they cannot be counted is no reason to say that there are none.
    if store.counts(None).is_ok_and(|counts| counts.total == 0) {
        return "no runs here yet: outlast run -- PROG ARG…".to_owned();
    }
    list::none(query, elsewhere(store, query))
}

fn draw(surface: &mut Surface, listing: Listing, elsewhere: u64) -> Result<u8, Stop> {
    let all: Vec<RunId> = listing.records.iter().map(|record| record.id).collect();
    let look = surface.screen.look();
    if !listing.records.is_empty() {
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
        talk(&format!("note: {note}"));
    }
    Ok(exit::FINE)
}

/// A document has no place for what could not be read, so it is said beside it.
fn say_damage(listing: &Listing) {
    for damage in &listing.damaged {
        let path = damage.path.display();
        talk(&format!("note: set aside: {path}: {}", damage.what));
    }
}

/// Counts the runs that `query` would list if it were for all projects but its own.
///
/// That they cannot be counted hides nothing here.
fn elsewhere(store: &Store, query: &ListQuery) -> u64 {
    let Some(project) = &query.project else {
        return 0;
    };
    let listing = store.list(&ListQuery {
        project: None,
        limit: ELSEWHERE_MAX,
        ..query.clone()
    });
    let records = listing.map(|listing| listing.records).unwrap_or_default();
    let others = records.iter().filter(|record| record.project != *project);
    others.count() as u64
}
