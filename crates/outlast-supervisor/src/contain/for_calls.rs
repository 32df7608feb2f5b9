//! Binds a containment once at the start of an agent run, so that it is known what its calls get.

use super::{Bound, Contain, Refused, broken, confine};
use outlast_journal::{Containment, Posture, Spec};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// What calls are bound to.
pub(crate) struct BoundForCalls {
    /// What held of a call that did nothing.
    pub(crate) posture: Posture,
    /// Names that would be protected and were absent.
    pub(super) absent: Vec<PathBuf>,
    /// Held while the run lives, so that what bounds its calls stays.
    _limits: Bound,
}

/// Contains a call that does nothing. Every child of this process is waited for.
pub(crate) fn bind_for_calls(
    spec: &Spec,
    run_dir: &Path,
    containment: &Containment,
) -> Result<BoundForCalls, Refused> {
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(|error| broken("launcher", error.raw_os_error().unwrap_or(0)))?;
    // Without words nothing is executed; an image has to show that it holds a shell.
    let is_image = containment.image.is_some();
    let argv: &[String] = &["sh", "-c", ":"].map(str::to_owned);
    let contain = Contain {
        run: &spec.id,
        run_dir,
        containment,
        argv: if is_image { argv } else { &[] },
        cwd: &spec.cwd,
        environment: b"PATH=/usr/local/bin:/usr/bin:/bin\0",
    };
    let held = contain.start(null.as_fd(), null.as_fd());
    while confine::wait_any().is_some() {}
    let held = held?;
    Ok(BoundForCalls {
        posture: held.posture,
        absent: held.absent,
        _limits: held.limits,
    })
}

impl BoundForCalls {
    /// Returns the names that were absent at the start and are there now.
    pub(crate) fn appeared(&self) -> Vec<String> {
        super::appeared(&self.posture, &self.absent)
    }
}
