//! Bounds of a contained run that the kernel counts: memory, processes, processors.
//!
//! By a cgroup where one can be made: of version 2 where it is delegated, of
//! version 1 as root. What no cgroup can bound is for others: see `limits`.

use outlast_journal::{RunId, limits};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the folders of runs begin, among other people's.
const PREFIX: &str = "outlast-";

/// What can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// Bytes of memory.
    Memory,
    /// Processes.
    Pids,
    /// Thousandths of a processor.
    Cpu,
}

impl Counted {
    fn controller(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }

    /// Files and texts that bound it by a cgroup of version 2, and whether each must be there.
    fn settings_v2(self, most: u64) -> Vec<(&'static str, String, bool)> {
        match self {
            Self::Memory => vec![
                ("memory.max", most.to_string(), true),
                ("memory.swap.max", "0".to_owned(), false),
            ],
            Self::Pids => vec![("pids.max", most.to_string(), true)],
            Self::Cpu => vec![("cpu.max", format!("{} 100000", most * 100), true)],
        }
    }

    /// The same by one of version 1.
    fn settings_v1(self, most: u64) -> Vec<(&'static str, String, bool)> {
        match self {
            Self::Memory => vec![
                ("memory.limit_in_bytes", most.to_string(), true),
                ("memory.memsw.limit_in_bytes", most.to_string(), false),
            ],
            Self::Pids => vec![("pids.max", most.to_string(), true)],
            Self::Cpu => vec![
                ("cpu.cfs_period_us", "100000".to_owned(), true),
                ("cpu.cfs_quota_us", (most * 100).to_string(), true),
            ],
        }
    }
}

/// Where cgroups are, as text of `/proc`.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// `/proc/self/mountinfo`.
    pub(super) mounts: String,
    /// `/proc/self/cgroup`.
    pub(super) own: String,
}

impl Places {
    /// Reads them.
    pub(super) fn read() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self {
            mounts: read("/proc/self/mountinfo"),
            own: read("/proc/self/cgroup"),
        }
    }

    /// Returns where a cgroup that counts `counted` could be made, and of which version.
    pub(super) fn parents(&self, counted: Counted) -> Vec<(PathBuf, u8)> {
        let two = self
            .mount("cgroup2", None)
            .zip(self.path(""))
            .map(|(root, own)| {
                // A group with processes may not bound groups below it: the new one stands beside.
                let own = join(&root, own);
                let beside = own.parent().filter(|_| own != root).map(Path::to_owned);
                (beside.unwrap_or(root), 2)
            });
        let two = two.filter(|(parent, _)| {
            let given = fs::read_to_string(parent.join("cgroup.subtree_control"));
            let given = given.unwrap_or_default();
            given
                .split_ascii_whitespace()
                .any(|one| one == counted.controller())
        });
        let name = counted.controller();
        let one = self.mount("cgroup", Some(name)).zip(self.path(name));
        let one = one.map(|(root, own)| (join(&root, own), 1));
        two.into_iter().chain(one).collect()
    }

    fn mount(&self, kind: &str, controller: Option<&str>) -> Option<PathBuf> {
        let found = self.mounts.lines().find_map(|line| {
            let (mount, file_system) = line.split_once(" - ")?;
            let mut fields = file_system.split(' ');
            let is_kind = fields.next()? == kind;
            let options = fields.nth(1)?;
            let has = |name| options.split(',').any(|option| option == name);
            let is_it = is_kind && controller.is_none_or(has);
            is_it.then(|| mount.split(' ').nth(4)).flatten()
        });
        found.map(PathBuf::from)
    }

    /// Our own path in the hierarchy of a controller; of version 2 for the empty name.
    fn path(&self, controller: &str) -> Option<&str> {
        self.own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let controllers = fields.nth(1)?;
            let path = fields.next()?;
            let is_it = if controller.is_empty() {
                controllers.is_empty()
            } else {
                controllers.split(',').any(|one| one == controller)
            };
            is_it.then_some(path)
        })
    }
}

fn join(root: &Path, own: &str) -> PathBuf {
    root.join(own.trim_start_matches('/'))
}

/// A cgroup of one run; dropped, it goes once it is empty.
#[derive(Debug)]
pub(crate) struct Group {
    path: PathBuf,
    version: u8,
    /// Whether another process takes it away.
    is_left: bool,
}

impl Group {
    /// Makes the cgroup of a run below `parent`, or takes the one that is there, and bounds it.
    pub(super) fn bind(
        parent: &(PathBuf, u8),
        run: &RunId,
        counted: Counted,
        most: u64,
    ) -> io::Result<Self> {
        let (parent, version) = parent;
        sweep(parent);
        let path = parent.join(format!("{PREFIX}{run}"));
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let group = Self {
            path,
            version: *version,
            is_left: false,
        };
        let settings = if *version == 2 {
            counted.settings_v2(most)
        } else {
            counted.settings_v1(most)
        };
        for (name, text, is_needed) in settings {
            let set = group.set(name, &text);
            if is_needed {
                set?;
            }
        }
        Ok(group)
    }

    /// What `enforced_by` says of it.
    pub(super) fn name(&self) -> &'static str {
        if self.version == 2 {
            "cgroup2"
        } else {
            "cgroup1"
        }
    }

    /// Takes a process into it; what that starts from then on is in it too.
    pub(super) fn take(&self, pid: i32) -> io::Result<()> {
        self.set("cgroup.procs", &pid.to_string())
    }

    /// Leaves it to another process to take it away.
    pub(super) fn leave(&mut self) {
        self.is_left = true;
    }

    /// How often the kernel has killed something of it for want of memory.
    pub(super) fn memory_kills(&self) -> u64 {
        let name = if self.version == 2 {
            "memory.events"
        } else {
            "memory.oom_control"
        };
        let text = fs::read_to_string(self.path.join(name)).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or(0)
    }

    fn set(&self, name: &str, text: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(self.path.join(name))?;
        file.write_all(text.as_bytes())
    }
}

/// Removes the empty cgroups of runs whose supervisors were killed.
///
/// One that is young may be about to get its first process.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().as_bytes().starts_with(PREFIX.as_bytes());
        let made = entry.metadata().and_then(|meta| meta.modified());
        let age = made.ok().and_then(|made| made.elapsed().ok());
        if is_ours && age.is_some_and(|age| age >= Duration::from_millis(limits::EMPTY_CGROUP_MS)) {
            // One with a process in it stays: the kernel refuses.
            fs::remove_dir(entry.path()).ok();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_left {
            fs::remove_dir(&self.path).ok();
        }
    }
}

#[cfg(test)]
mod tests;
