//! Trials that start hundreds of runs, or bring a file system of their own: one at a time.

mod counts;
mod crowd;
mod disk_full;
mod forker;
mod read_only;

use crate::home::Place;
use libtest_mimic::Trial;
use outlast_lib::{Limits, Store};
use outlast_testkit::Home;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    counts::register(trials);
    crowd::register(trials);
    disk_full::register(trials);
    forker::register(trials);
    read_only::register(trials);
}

/// A mount that is gone when the trial ends.
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// Mounts by the words of `mount`; `None` where that is not allowed.
    pub(crate) fn new(words: &[&str], at: &Path) -> Option<Self> {
        let done = Command::new("mount").args(words).arg(at).output().ok()?;
        done.status.success().then(|| Self(at.to_owned()))
    }

    /// Makes an empty file system in memory, for the owner alone.
    fn memory(options: &str, at: &Path) -> Option<Self> {
        let options = format!("mode=700,{options}");
        Self::new(&["-t", "tmpfs", "-o", &options, "tmpfs"], at)
    }

    /// Makes the mount read-only; false where something is open to be written.
    pub(crate) fn make_read_only(&self) -> bool {
        let done = Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(&self.0)
            .output();
        done.is_ok_and(|done| done.status.success())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: what a failed trial left running may stand in it.
        Command::new("umount").arg("-l").arg(&self.0).output().ok();
    }
}

/// A store on a file system of its own.
pub(crate) struct Small {
    pub(crate) mount: Mount,
    pub(crate) place: Place,
}

impl Small {
    /// Makes one; `options` are those of a file system in memory. `None` where it may not be.
    pub(crate) fn new(options: &str) -> Option<Self> {
        let home = Home::new();
        fs::create_dir(home.store()).expect("the home is empty");
        let mount = Mount::memory(options, &home.store())?;
        let store = Store::open(&home.store(), Limits::default()).expect("there is room yet");
        Some(Self {
            mount,
            place: Place { store, home },
        })
    }
}

/// Why a trial did not run.
pub(crate) const NO_MOUNT: &str = "did not run: it needs the right to mount a file system";
