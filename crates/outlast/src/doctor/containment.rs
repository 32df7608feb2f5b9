//! Checks of what can contain a run here, by containing nothing for a moment.

use super::{Check, Group};
use crate::engine::{Found, look};
use outlast_journal::{LimitBound, Posture, RunId};
use outlast_supervisor::{ProbeError, fsio, probe, probe_limits};
use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs;

const CONTAINMENT: Group = Group("containment");

/// Checks this machine.
pub(super) fn checks() -> Vec<Check> {
    // Any id: it names a folder of cgroups that is there for a moment.
    let [a, b, c, d] = std::process::id().to_be_bytes();
    let run = RunId::from_bits([0, 0, 0, 0, 0, 0, a, b, c, d]);
    let dir = env::temp_dir().join(format!("outlast-doctor-{run}"));
    let made = fsio::make_private_dir(&dir).and_then(|()| fs::canonicalize(&dir));
    let environment: Vec<_> = env::vars_os().collect();
    let around = outlast_lib::surroundings(&environment);
    let native = match made {
        Ok(dir) => native(&probe(&dir, &around, &run)),
        Err(error) => CONTAINMENT.warning(
            "native",
            format!("not looked at: {} cannot be made: {error}", dir.display()),
            "set TMPDIR to a directory that can be written",
        ),
    };
    fs::remove_dir(&dir).ok();
    let engine = engine(&look(&around.engines));
    vec![native, engine, limits(&probe_limits(&run))]
}

/// No engine is no fault: only a run that names an image needs one.
fn engine(found: &Result<Found, (String, String)>) -> Check {
    let said = match found {
        Ok(found) => {
            let (program, version) = (found.program, &found.version);
            let socket = &found.socket;
            format!(
                "{program} {version} answers at {socket}; a run with --image is contained by it, and what holds is looked at then"
            )
        }
        Err((told, hint)) => format!("only --image needs it: {told}; {hint}"),
    };
    CONTAINMENT.fine("engine", said)
}

fn native(seen: &Result<Posture, ProbeError>) -> Check {
    match seen {
        Ok(posture) => {
            let holds = posture.guarantees.join(", ");
            let backend = posture.backend.as_deref().unwrap_or_default();
            match &posture.fallback_notice {
                Some(notice) if backend != "native" => CONTAINMENT.warning(
                    "native",
                    format!("{backend} works: it holds {holds}; {notice}"),
                    "nothing, if that is enough",
                ),
                None => CONTAINMENT.fine("native", format!("native works: it holds {holds}")),
                Some(notice) => CONTAINMENT.warning(
                    "native",
                    format!("native works with less: it holds {holds}; {notice}"),
                    "use a kernel with Landlock (CONFIG_SECURITY_LANDLOCK, in the list `lsm=`)",
                ),
            }
        }
        Err(error) => {
            let why = error.source().map(|source| format!(": {source}"));
            let message = format!("no native: {error}{}", why.unwrap_or_default());
            CONTAINMENT.warning("native", message, &error.hint)
        }
    }
}

fn limits(bound: &BTreeMap<String, LimitBound>) -> Check {
    let words = |name: &str| match bound.get(name) {
        Some(limit) => format!("{name} by {}", limit.enforced_by),
        None => format!("{name} by nothing"),
    };
    let said = ["memory", "pids", "cpu"].map(words).join(", ");
    let is_best = bound.len() == 3
        && bound
            .values()
            .all(|limit| limit.enforced_by.starts_with("cgroup"));
    if is_best {
        return CONTAINMENT.fine("limits", format!("limits of contained runs: {said}"));
    }
    CONTAINMENT.warning(
        "limits",
        format!("limits of contained runs: {said}"),
        "start it under a manager that delegates its cgroups (`systemd-run --user --scope -p Delegate=yes`)",
    )
}

#[cfg(test)]
mod tests;
