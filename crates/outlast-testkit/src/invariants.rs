//! Checks a store on disk against what must hold of it at any quiet moment.
//!
//! It reads the files and the kernel's locks by itself and shares no code with
//! what it checks. A run without an end whose supervisor is gone counts as a
//! violation, so let a reader settle the store first.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileTypeExt, MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{major, minor};
use serde_json::Value;

use crate::eventually::poll;

/// How long a store may take to be quiet: a supervisor that leaves, a lock that is let go.
const QUIET_LIMIT: Duration = Duration::from_secs(15);

/// Characters of a run's id.
const ID_CHARS: usize = 16;

/// Returns once nothing is wrong with the store at `root`.
///
/// # Panics
/// Panics with every violation when there are still some after 15 s.
#[track_caller]
pub fn assert_sound(root: &Path) {
    let mut wrong = Vec::new();
    let is_sound = poll(QUIET_LIMIT, || {
        wrong = violations(root);
        wrong.is_empty().then_some(())
    });
    assert!(is_sound.is_some(), "the store is not sound: {wrong:#?}");
}

/// Returns in words what is wrong with the store at `root`; nothing, if all is well.
///
/// A run in the middle of its birth or its end shows as a violation, for a moment.
pub fn violations(root: &Path) -> Vec<String> {
    let births = fs::read_to_string(root.join("births")).unwrap_or_default();
    let mut look = Look {
        root,
        births: births.lines().map(str::to_owned).collect(),
        supervisors: supervisors(root),
        locks: Locks::read(),
        ended: BTreeMap::new(),
        wrong: Vec::new(),
    };
    for (month, _, dir) in entries_two_deep(&root.join("runs")) {
        if !is_hidden(&dir) {
            look.run(&month, &dir);
        }
    }
    for (_, name, path) in entries_two_deep(&root.join("places")) {
        look.held_by_a_live_run(&name, &path);
    }
    for (_, name, path) in entries_two_deep(&root.join("queue")) {
        look.held_by_a_live_run(&name, &path);
    }
    look.keys();
    look.wrong
}

/// Returns what was left half made or half removed in the store at `root`.
///
/// A birth that is going on shows as well, for a moment.
pub fn debris(root: &Path) -> Vec<PathBuf> {
    let locks = Locks::read();
    let runs = entries_two_deep(&root.join("runs")).into_iter();
    let hidden_runs = runs.map(|(_, _, path)| path).filter(|path| is_hidden(path));
    let tickets = entries_two_deep(&root.join("queue")).into_iter();
    let free_tickets = tickets
        .map(|(_, _, path)| path)
        .filter(|path| !locks.has(path));
    let free_keys = entries(&root.join("keys"))
        .into_iter()
        .filter(|path| fs::read_link(path).is_ok_and(|id| find_run(root, &id).is_none()));
    let temporary = entries(root)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "tmp"));
    hidden_runs
        .chain(free_tickets)
        .chain(free_keys)
        .chain(temporary)
        .collect()
}

/// Returns the processes that supervise runs of the store at `root`, by run directory.
pub fn supervisors(root: &Path) -> BTreeMap<PathBuf, i32> {
    let own = entries(Path::new("/proc"));
    let pids = own.iter().filter_map(|path| {
        let pid: i32 = path.file_name()?.to_str()?.parse().ok()?;
        let line = fs::read(path.join("cmdline")).ok()?;
        let mut words = line.split(|byte| *byte == 0).skip(1);
        (words.next()? == b"__supervise").then_some(())?;
        let dir = PathBuf::from(OsStr::from_bytes(words.next()?));
        dir.starts_with(root).then_some((dir, pid))
    });
    pids.collect()
}

/// Returns the directory of the run `id` in the store at `root`, if it can be seen.
pub fn find_run(root: &Path, id: impl AsRef<Path>) -> Option<PathBuf> {
    let months = entries(&root.join("runs")).into_iter();
    months
        .map(|month| month.join(id.as_ref()))
        .find(|dir| dir.is_dir())
}

/// Returns whether a process holds the lock of `path`. Takes nothing.
pub fn is_locked(path: &Path) -> bool {
    Locks::read().has(path)
}

/// Every lock of the machine that belongs to an open description, by device and inode.
struct Locks(BTreeSet<(u32, u32, u64)>);

impl Locks {
    fn read() -> Self {
        let table = fs::read_to_string("/proc/locks").expect("the tests need /proc");
        let locks = table.lines().filter_map(|line| {
            // `N: OFDLCK ADVISORY WRITE -1 MAJOR:MINOR:INODE 0 EOF`, without an arrow: that one waits.
            let mut words = line.split_ascii_whitespace().skip(1);
            (words.next()? == "OFDLCK").then_some(())?;
            let mut place = words.nth(3)?.split(':');
            let mut device = || u32::from_str_radix(place.next()?, 16).ok();
            Some((device()?, device()?, place.next()?.parse().ok()?))
        });
        Self(locks.collect())
    }

    fn has(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|meta| {
            let device = meta.dev();
            self.0.contains(&(major(device), minor(device), meta.ino()))
        })
    }
}

struct Look<'a> {
    root: &'a Path,
    births: BTreeSet<String>,
    supervisors: BTreeMap<PathBuf, i32>,
    locks: Locks,
    /// Whether each visible run has its end.
    ended: BTreeMap<PathBuf, bool>,
    wrong: Vec<String>,
}

impl Look<'_> {
    fn say(&mut self, path: &Path, what: &str) {
        let short = path.strip_prefix(self.root).unwrap_or(path);
        self.wrong.push(format!("{}: {what}", short.display()));
    }

    fn run(&mut self, month: &str, dir: &Path) {
        let id = dir
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !is_id(&id) {
            self.say(dir, "is no run");
            return;
        }
        if !self.births.contains(&id) {
            self.say(dir, "is not listed among the births");
        }
        self.private(dir);
        self.spec(month, &id, dir);
        let is_ended = self.journal(dir);
        self.ended.insert(dir.to_owned(), is_ended);
        let is_held = self.locks.has(&dir.join("lock"));
        match (is_held, self.supervisors.contains_key(dir)) {
            (true, false) => self.say(dir, "its lock is held and nobody supervises it"),
            (false, true) => self.say(dir, "its supervisor lives without its lock"),
            (false, false) if !is_ended => self.say(dir, "it has no end and no supervisor"),
            (true | false, _) => {}
        }
        let is_socket =
            fs::metadata(dir.join("control")).is_ok_and(|meta| meta.file_type().is_socket());
        if is_held && !is_ended && !is_socket {
            self.say(dir, "it goes on and nobody can ask it anything");
        }
    }

    fn private(&mut self, dir: &Path) {
        let mut all = entries(dir);
        all.push(dir.to_owned());
        for path in all {
            let Ok(meta) = fs::symlink_metadata(&path) else {
                continue;
            };
            let is_plain = meta.is_file() || meta.is_dir();
            if is_plain && meta.permissions().mode() & 0o077 != 0 {
                self.say(&path, "is open to others");
            }
        }
    }

    fn spec(&mut self, month: &str, id: &str, dir: &Path) {
        let bytes = fs::read(dir.join("spec.json")).unwrap_or_default();
        let Ok(spec) = serde_json::from_slice::<Value>(&bytes) else {
            self.say(dir, "its spec cannot be read");
            return;
        };
        if text(&spec, "id") != Some(id) {
            self.say(dir, "its spec is of another run");
        }
        if !text(&spec, "created").is_some_and(|created| created.starts_with(month)) {
            self.say(dir, "it lies in the folder of another month");
        }
        if let Some(key) = text(&spec, "key") {
            let link = self.root.join("keys").join(key);
            if !fs::read_link(link).is_ok_and(|target| target.as_os_str() == id) {
                self.say(dir, "its key does not lead to it");
            }
        }
    }

    /// Checks the journal and returns whether the run has ended.
    fn journal(&mut self, dir: &Path) -> bool {
        let path = dir.join("journal.jsonl");
        let bytes = fs::read(&path).unwrap_or_default();
        let padding = bytes.iter().rev().take_while(|byte| **byte == 0).count();
        let written = bytes.get(..bytes.len() - padding).unwrap_or_default();
        let (mut next_seq, mut ends, mut torn, mut after_end) = (0, 0, 0, 0);
        let mut is_interrupted = false;
        for line in written.split_inclusive(|byte| *byte == b'\n') {
            after_end += i32::from(ends > 0);
            let Ok(line) = serde_json::from_slice::<Value>(line) else {
                torn += 1;
                continue;
            };
            if line.get("v").and_then(Value::as_u64).is_none() {
                self.say(&path, "a line without its version");
            }
            if let Some(seq) = line.get("seq").and_then(Value::as_u64) {
                if seq != next_seq {
                    self.say(
                        &path,
                        &format!("event {seq} stands where {next_seq} should"),
                    );
                }
                next_seq = seq + 1;
            }
            if matches!(text(&line, "type"), Some("completed" | "failed")) {
                ends += 1;
                let status = line.get("data").and_then(|data| text(data, "status"));
                is_interrupted = status == Some("interrupted");
            }
        }
        if ends > 1 {
            self.say(&path, &format!("{ends} ends"));
        }
        if after_end > 0 {
            self.say(&path, "something stands after the end");
        }
        // Only a writer that was killed in the middle of a line leaves half of one.
        if torn > 1 || (torn == 1 && ends > 0 && !is_interrupted) {
            self.say(&path, &format!("{torn} lines cannot be read"));
        }
        if ends > 0 && !written.ends_with(b"\n") {
            self.say(&path, "the end is cut off");
        }
        ends > 0
    }

    /// Checks that a held place or ticket names a run that waits or executes.
    fn held_by_a_live_run(&mut self, name: &str, path: &Path) {
        if !self.locks.has(path) {
            return;
        }
        if name.parse::<u64>().is_err() {
            self.say(path, "is held under a name that is no number");
        }
        let holder = fs::read_to_string(path).unwrap_or_default();
        let dir = self.root.join(holder.trim());
        if !self.supervisors.contains_key(&dir) {
            self.say(
                path,
                &format!("is held for `{holder}`, which nobody supervises"),
            );
        }
        if self.ended.get(&dir) != Some(&false) {
            self.say(
                path,
                &format!("is held for `{holder}`, which is no live run"),
            );
        }
    }

    fn keys(&mut self) {
        for link in entries(&self.root.join("keys")) {
            if is_hidden(&link) {
                continue;
            }
            let Ok(target) = fs::read_link(&link) else {
                self.say(&link, "is no link");
                continue;
            };
            if find_run(self.root, &target).is_some() {
                continue;
            }
            let hidden = format!(".{}/lock", target.display());
            let months = entries(&self.root.join("runs"));
            if months
                .iter()
                .any(|month| self.locks.has(&month.join(&hidden)))
            {
                self.say(&link, "leads to a run that is not to be seen and is held");
            }
        }
    }
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn is_id(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    name.len() == ID_CHARS && name.bytes().all(is_letter)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_bytes().starts_with(b"."))
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    found.sort_unstable();
    found
}

/// Returns the folder's name, the entry's name and its path, of all that lies in the folders of `dir`.
fn entries_two_deep(dir: &Path) -> Vec<(String, String, PathBuf)> {
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let folders = entries(dir).into_iter();
    folders
        .flat_map(|folder| {
            let folder_name = name(&folder);
            let inner = entries(&folder).into_iter();
            inner.map(move |path| (folder_name.clone(), name(&path), path))
        })
        .collect()
}

#[cfg(test)]
mod tests;
