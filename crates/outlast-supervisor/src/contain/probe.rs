//! A look at what would hold of a contained run on this machine, without a run.

use super::limits::Bound;
use super::{Contain, confine};
use outlast_journal::{Containment, LimitBound, Posture, RunId, Surroundings, Tier};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

/// What could not be done.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ProbeError {
    /// Which step.
    pub message: String,
    /// What the system said.
    pub source: Option<std::io::Error>,
    /// What to do about it.
    pub hint: String,
}

/// Binds a containment around `dir` and executes nothing in it; returns what held.
///
/// `run` names what is made for its limits, which goes again. Every child of this process is
/// waited for: only a program that has none of its own may call it.
///
/// # Errors
///
/// Fails with the first step that could not be done.
pub fn probe(dir: &Path, around: &Surroundings, run: &RunId) -> Result<Posture, ProbeError> {
    let mut containment = Containment::new(Tier::SandboxEdit);
    containment.surroundings = around.clone();
    containment.workspace = dir.to_string_lossy().into_owned();
    let cwd = containment.workspace.clone();
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(|source| ProbeError {
        message: "there is no /dev/null".to_owned(),
        source: Some(source),
        hint: "make it".to_owned(),
    })?;
    let contain = Contain {
        run,
        run_dir: dir,
        containment: &containment,
        argv: &[],
        cwd: &cwd,
        environment: &[],
    };
    let held = contain.start(null.as_fd(), null.as_fd());
    while confine::wait_any().is_some() {}
    match held {
        Ok(contained) => Ok(contained.posture),
        Err(refused) => Err(ProbeError {
            message: refused.failure.message,
            source: refused.failure.errno.map(std::io::Error::from_raw_os_error),
            hint: refused.hint.unwrap_or_default(),
        }),
    }
}

/// Returns what would enforce each limit here, by name; what nothing enforces is absent.
///
/// `run` names what is made to find out, which goes again.
pub fn probe_limits(run: &RunId) -> BTreeMap<String, LimitBound> {
    let plain = Containment::new(Tier::SandboxEdit);
    let each = [
        Containment {
            memory_bytes_max: Some(64 << 20),
            ..plain.clone()
        },
        Containment {
            pids_max: Some(64),
            ..plain.clone()
        },
        Containment {
            cpu_milli_max: Some(500),
            ..plain
        },
    ];
    let bound = each.iter().filter_map(|asked| Bound::bind(asked, run).ok());
    bound.flat_map(|bound| bound.told.clone()).collect()
}
