//! `outlast doctor`: what could harm the runs here, and what to do about it.
//!
//! It looks and changes nothing, save a file of its own in the store that it
//! takes away again.

mod containment;
mod host;
mod machine;
mod store;

pub(crate) use host::restarted_unit;

use crate::{
    cli::JsonArguments,
    failure::{Stop, exit},
    look::{Look, Paint, clean},
    surface::Surface,
};
use serde::Serialize;

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Level {
    /// As it should be.
    #[serde(rename = "ok")]
    Fine,
    /// Runs work, and may end or be hard to see in a case that is named.
    #[serde(rename = "warn")]
    Warning,
    /// Runs do not work.
    #[serde(rename = "fail")]
    Failure,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// What it belongs to.
    group: &'static str,
    /// Stable name.
    name: &'static str,
    /// How it went.
    level: Level,
    /// What was seen.
    message: String,
    /// What to do, if something is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

/// All that was looked at: the answer of `doctor`.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    ok: bool,
    checks: &'a [Check],
}

/// Makes the checks of one group.
#[derive(Clone, Copy)]
struct Group(&'static str);

impl Group {
    fn fine(self, name: &'static str, message: impl Into<String>) -> Check {
        self.check(name, Level::Fine, message.into(), None)
    }

    fn warning(self, name: &'static str, message: impl Into<String>, fix: &str) -> Check {
        self.check(name, Level::Warning, message.into(), Some(fix.to_owned()))
    }

    fn failure(self, name: &'static str, message: impl Into<String>, fix: &str) -> Check {
        self.check(name, Level::Failure, message.into(), Some(fix.to_owned()))
    }

    fn check(
        self,
        name: &'static str,
        level: Level,
        message: String,
        fix: Option<String>,
    ) -> Check {
        Check {
            group: self.0,
            name,
            level,
            message,
            fix,
        }
    }
}

/// Checks everything; exits with 1 when something keeps runs from working.
pub(crate) fn doctor(surface: &mut Surface, arguments: &JsonArguments) -> Result<u8, Stop> {
    let mut checks = store::checks(surface);
    checks.extend(machine::checks());
    checks.extend(containment::checks());
    checks.extend(host::checks(surface.surroundings.run.as_deref()));
    let is_fine = checks.iter().all(|check| check.level != Level::Failure);
    if arguments.json {
        surface.screen.print_json(&Report {
            schema: "outlast.doctor/1",
            ok: is_fine,
            checks: &checks,
        })?;
    } else {
        let look = surface.screen.look();
        surface.screen.print(&page(&checks, &look))?;
    }
    Ok(if is_fine { exit::FINE } else { exit::ERROR })
}

fn page(checks: &[Check], look: &Look) -> String {
    let mut lines = Vec::new();
    let mut group = "";
    for check in checks {
        if check.group != group {
            group = check.group;
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.push(look.paint(Paint::Bold, group));
        }
        let (sign, paint) = match check.level {
            Level::Fine => ("✓ ok  ", Paint::Green),
            Level::Warning => ("! warn", Paint::Yellow),
            Level::Failure => ("✗ fail", Paint::Red),
        };
        lines.push(format!(
            "  {}  {}",
            look.paint(paint, sign),
            clean(&check.message)
        ));
        if let Some(fix) = &check.fix {
            lines.push(format!("          → {}", clean(fix)));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests;
