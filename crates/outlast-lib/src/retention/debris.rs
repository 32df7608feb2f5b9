//! What was left half made or half removed by a process that died.

use crate::{Store, reindex};
use outlast_journal::{RunId, limits, names};
use outlast_supervisor::{clock, fsio, lock};
use std::fs::{self, DirEntry, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Held in the folder of keys by the one that removes a key.
const KEYS_LOCK: &str = ".lock";

impl Store {
    /// Removes debris, and returns how many things that were, or would be.
    pub(super) fn clear_debris(&self, dry_run: bool) -> usize {
        let mut found = 0;
        for month in self.months().unwrap_or_default() {
            let folder = self.root().join(names::RUNS).join(month);
            let is_debris = |entry: &DirEntry| is_dead_run(entry);
            found += clear(&folder, dry_run, is_debris, |entry| {
                remove_run(&entry.path());
            });
        }
        let keys = self.root().join(names::KEYS);
        found += clear(
            &keys,
            dry_run,
            |entry| self.stale_key(&entry.path()).is_some() && is_old(entry),
            |entry| {
                if let Some(id) = self.stale_key(&entry.path()) {
                    remove_key(self, &entry.path(), &id);
                }
            },
        );
        let queues = fs::read_dir(self.root().join(names::QUEUE));
        for queue in queues.into_iter().flatten().flatten() {
            let is_ticket = |entry: &DirEntry| {
                let name = entry.file_name();
                let name = name.to_str().unwrap_or_default();
                name.parse::<u64>().is_ok() || name.starts_with('.')
            };
            found += clear(
                &queue.path(),
                dry_run,
                |entry| is_ticket(entry) && is_old(entry) && is_free(&entry.path()),
                |entry| drop(fs::remove_file(entry.path())),
            );
        }
        let is_temporary = |entry: &DirEntry| {
            let name = entry.path();
            name.extension().is_some_and(|extension| extension == "tmp") && is_old(entry)
        };
        found += clear(self.root(), dry_run, is_temporary, |entry| {
            drop(fs::remove_file(entry.path()));
        });
        found
    }

    /// Returns the run that a key stands for, if that is neither there nor being born.
    fn stale_key(&self, link: &Path) -> Option<RunId> {
        let target = fs::read_link(link).ok()?;
        let id = RunId::parse(target.to_str()?).ok()?;
        let is_gone = |id| self.run_dir(id).is_none();
        // It may come into sight between the first two looks.
        (is_gone(&id) && !reindex::is_being_born(self, &id) && is_gone(&id)).then_some(id)
    }
}

/// Removes a key that stands for `id`, and no other: one process at a time does so.
pub(super) fn remove_key(store: &Store, link: &Path, id: &RunId) {
    let keys = store.root().join(names::KEYS);
    let Ok(guard) = fsio::open_private(&keys.join(KEYS_LOCK)) else {
        return;
    };
    // A key that stays is free all the same, and goes at the next collection.
    let is_held = lock::try_lock(&guard).unwrap_or(false);
    if is_held && fs::read_link(link).is_ok_and(|target| target.as_os_str() == id.as_str()) {
        fs::remove_file(link).ok();
    }
}

/// Removes what is debris in a folder, and returns how much that was.
fn clear(
    folder: &Path,
    dry_run: bool,
    is_debris: impl Fn(&DirEntry) -> bool,
    remove: impl Fn(&DirEntry),
) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| is_debris(entry))
        .map(|entry| {
            if !dry_run {
                remove(&entry);
            }
        })
        .count()
}

/// Returns whether an entry of a month is a run that was half removed, or died before its birth.
fn is_dead_run(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let Some(hidden) = name.to_str().and_then(|name| name.strip_prefix('.')) else {
        return false;
    };
    let is_gone = hidden
        .strip_prefix("gone-")
        .is_some_and(|id| RunId::parse(id).is_ok());
    is_gone || (RunId::parse(hidden).is_ok() && is_old(entry) && is_free(&entry.path()))
}

fn remove_run(dir: &Path) {
    let name = dir
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let hidden = name.strip_prefix('.').and_then(|id| RunId::parse(id).ok());
    let Some(id) = hidden else {
        fs::remove_dir_all(dir).ok();
        return;
    };
    // Held, so that nobody takes it for one that is being born.
    let Ok(lock) = fsio::open_private(&dir.join(names::LOCK)) else {
        return;
    };
    let gone = dir.with_file_name(names::removed(&id));
    if lock::try_lock(&lock).unwrap_or(false) && fs::rename(dir, &gone).is_ok() {
        fs::remove_dir_all(&gone).ok();
    }
}

/// Returns whether nobody holds the lock of a file, or of the run in a directory.
fn is_free(path: &Path) -> bool {
    let file = if path.is_dir() {
        path.join(names::LOCK)
    } else {
        path.to_owned()
    };
    match File::open(file) {
        Ok(file) => !lock::is_locked(&file).unwrap_or(true),
        Err(_) => true,
    }
}

fn is_old(entry: &DirEntry) -> bool {
    let Ok(metadata) = entry.metadata() else {
        return false;
    };
    let changed_ms = u64::try_from(metadata.mtime())
        .unwrap_or(0)
        .saturating_mul(1_000);
    clock::now().0.saturating_sub(changed_ms) > limits::DEBRIS_AGE_MS
}
