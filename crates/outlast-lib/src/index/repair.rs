//! Sets a damaged index aside, so that the next opening makes it again.

use super::path;
use crate::{Damage, Store};
use outlast_journal::limits::DAMAGED_INDICES_MAX;
use outlast_supervisor::{fsio, lock};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Held by the one that sets an index aside.
const LOCK: &str = "index.lock";

/// Returns what tells one file from another that has its name later.
pub(super) fn inode(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|file| file.ino())
}

/// Renames the index that is the damaged `file`; `None` when another process has done so already.
pub(super) fn set_aside(
    store: &Store,
    file: Option<u64>,
    what: &str,
) -> io::Result<Option<Damage>> {
    let lock = fsio::open_private(&store.root().join(LOCK))?;
    if !lock::try_lock(&lock)? {
        return Err(io::Error::other("another process makes it again"));
    }
    let path = path(store);
    if inode(&path) != file {
        return Ok(None);
    }
    let aside = (1..=DAMAGED_INDICES_MAX)
        .map(|number| with(&path, &format!(".damaged-{number}")))
        .find(|name| !name.exists())
        .unwrap_or_else(|| with(&path, &format!(".damaged-{DAMAGED_INDICES_MAX}")));
    for suffix in ["-wal", "-shm", ""] {
        match fs::rename(with(&path, suffix), with(&aside, suffix)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    drop(lock);
    Ok(Some(Damage {
        path: aside,
        what: format!("the index was damaged ({what}) and was made again from the runs"),
    }))
}

fn with(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
