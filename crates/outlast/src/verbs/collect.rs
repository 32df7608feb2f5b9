//! `outlast rm`, `gc` and `reindex`: what tidies the store.

use crate::{
    cli::{GcArguments, JsonArguments, RmArguments},
    document::{Collected, Reindexed, Removed},
    failure::{Failure, Stop, exit},
    look::{Look, clean, pad_left},
    screen::talk,
    surface::{Surface, failed, find},
    verdict::Verdict,
    words,
};
use outlast_lib::{GcQuery, GcReport, RemoveError};

/// Removes ended runs. Those that can be removed are, even if others cannot.
pub(crate) fn rm(surface: &mut Surface, arguments: &RmArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let mut failures = Vec::new();
    let mut removed = Vec::new();
    for typed in &arguments.ids {
        let outcome = find(&store, typed).and_then(|id| {
            let removed = store.remove(&id).map_err(|error| remove_failure(&error));
            removed.map(|()| id)
        });
        match outcome {
            Ok(id) => removed.push(id),
            Err(failure) => failures.push(failure),
        }
    }
    if !arguments.json {
        for id in &removed {
            talk(&format!("{id}: removed"));
        }
    }
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure.into());
    }
    if arguments.json {
        surface.screen.print_json(&Removed::of(&removed))?;
    }
    Ok(exit::FINE)
}

fn remove_failure(error: &RemoveError) -> Failure {
    let is_none = matches!(error, RemoveError::NotFound { .. });
    Failure::new(error, if is_none { exit::NO_RUN } else { exit::ERROR })
}

/// Removes what ended long ago, and stops what dead runs left.
pub(crate) fn gc(surface: &mut Surface, arguments: &GcArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let report = store.collect_garbage(&GcQuery {
        older_than_ms: arguments.older_than_ms,
        keep: arguments.keep,
        dry_run: arguments.dry_run,
    });
    let report = report.map_err(|error| failed(&error))?;
    if arguments.json {
        surface
            .screen
            .print_json(&Collected::of(&report, arguments.dry_run))?;
    } else {
        let look = surface.screen.look();
        surface
            .screen
            .print(&page(&report, arguments.dry_run, &look))?;
    }
    Ok(if report.failed.is_empty() {
        exit::FINE
    } else {
        exit::ERROR
    })
}

fn page(report: &GcReport, is_dry: bool, look: &Look) -> String {
    let mut lines = Vec::new();
    for run in &report.removed {
        let verdict = Verdict::of_short(run);
        let state = look.paint(verdict.paint, &verdict.text());
        let age = look.now.unix_ms().saturating_sub(run.updated.unix_ms());
        let age = pad_left(&words::age(age), 4);
        lines.push(format!("{}  {age}  {state}  {}", run.id, clean(&run.label)));
    }
    let count = words::count(report.removed.len() as u64, "run", "runs");
    let bytes = words::bytes(report.bytes_freed);
    lines.push(if is_dry {
        format!("would remove {count}, {bytes}")
    } else {
        format!("removed {count}, {bytes}")
    });
    let also = [
        (
            report.kept_untold,
            "kept, since nobody was told of their end yet",
        ),
        (report.swept, "processes of dead runs stopped"),
        (report.containers, "containers of dead runs taken away"),
        (report.debris, "unfinished pieces cleared away"),
    ];
    for (number, what) in also.iter().filter(|(number, _)| *number > 0) {
        lines.push(format!("{number} {what}"));
    }
    for damage in &report.failed {
        lines.push(format!(
            "not removed: {}: {}",
            damage.path.display(),
            damage.what
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Makes the index anew.
pub(crate) fn reindex(surface: &mut Surface, arguments: &JsonArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let made = store.reindex().map_err(|error| failed(&error))?;
    if arguments.json {
        surface.screen.print_json(&Reindexed::of(&made))?;
        return Ok(exit::FINE);
    }
    let count = words::count(made.runs, "run", "runs");
    surface.screen.print_line(&format!("indexed {count}"))?;
    for damage in &made.damaged {
        let path = damage.path.display();
        talk(&format!("note: set aside: {path}: {}", damage.what));
    }
    Ok(exit::FINE)
}
