//! `outlast rm`, `gc` and `reindex`: what tidies the store.

use crate::{
    cli::{GcArguments, JsonArguments, RmArguments},
    failure::{Failure, Stop, exit},
    look::{Look, clean, pad_left},
    surface::{Surface, failed},
    verdict::Verdict,
    words,
};
use outlast_lib::{Damage, GcQuery, GcReport, RemoveError};
use serde_json::{Value, json};

/// Removes ended runs. Those that can be removed are, even if others cannot.
pub(crate) fn rm(surface: &mut Surface, arguments: &RmArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let mut failures = Vec::new();
    let mut removed = Vec::new();
    for typed in &arguments.ids {
        let outcome = surface.find(&store, typed).and_then(|id| {
            let removed = store.remove(&id).map_err(|error| remove_failure(&error));
            removed.map(|()| id)
        });
        match outcome {
            Ok(id) => removed.push(id),
            Err(failure) => failures.push(failure),
        }
    }
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure.into());
    }
    if arguments.json {
        let document = json!({ "schema": "outlast.removed/1", "removed": removed });
        surface.screen.print_json(&document)?;
    }
    Ok(exit::FINE)
}

fn remove_failure(error: &RemoveError) -> Failure {
    match error {
        RemoveError::NotFound { .. } => Failure::new(error, exit::NO_RUN),
        _ => failed(error),
    }
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
            .print_json(&document(&report, arguments.dry_run))?;
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

fn document(report: &GcReport, is_dry: bool) -> Value {
    json!({
        "schema": "outlast.gc/1",
        "dry_run": is_dry,
        "removed": report.removed,
        "bytes_freed": report.bytes_freed,
        "kept_untold": report.kept_untold,
        "swept": report.swept,
        "debris": report.debris,
        "failed": damages(&report.failed),
    })
}

fn damages(damages: &[Damage]) -> Vec<Value> {
    let shown = damages
        .iter()
        .map(|damage| json!({ "path": damage.path.to_string_lossy(), "what": damage.what }));
    shown.collect()
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
        let document = json!({
            "schema": "outlast.reindexed/1",
            "runs": made.runs,
            "damaged": damages(&made.damaged),
        });
        surface.screen.print_json(&document)?;
        return Ok(exit::FINE);
    }
    let count = words::count(made.runs as u64, "run", "runs");
    surface.screen.print_line(&format!("indexed {count}"))?;
    for damage in &made.damaged {
        let path = damage.path.display();
        surface
            .screen
            .talk(&format!("note: set aside: {path}: {}", damage.what));
    }
    Ok(exit::FINE)
}
