//! Files that are whole or absent, and private from their first moment.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes `path` and its parents, readable by the owner alone.
///
/// # Errors
///
/// Fails as `mkdir` does; a directory that is there already is fine.
pub fn make_private_dirs(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes the directory `path`, readable by the owner alone.
///
/// # Errors
///
/// Fails when it is there already, and as `mkdir` does.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Opens `path` to read and write, readable by the owner alone, and makes it if it is not there.
///
/// # Errors
///
/// Fails as `open` does.
pub fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

/// Opens `path` to append, readable by the owner alone, and makes it if it is not there.
///
/// # Errors
///
/// Fails as `open` does.
pub fn open_append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}

/// Makes `path` with `bytes`, readable by the owner alone; it must not be there.
///
/// # Errors
///
/// Fails when it is there already, and as `open` and `write` do.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)
}

/// Replaces the content of `path` so that a reader sees the old or the new, never a part.
///
/// The bytes are on disk before the name points at them.
///
/// # Errors
///
/// Fails as `open`, `write`, `fsync` and `rename` do; the old content then stays.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let unique = COUNTER.fetch_add(1, Ordering::Relaxed);
    let pid = crate::platform::process::own_pid();
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{pid}.{unique}.tmp"));
    let temporary = path.with_file_name(name);
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        fs::remove_file(&temporary).ok();
    }
    written
}

/// Returns the magic number of the file system on which `path` lies.
///
/// # Errors
///
/// Fails when `path` cannot be opened.
pub fn file_system(path: &Path) -> io::Result<u64> {
    crate::platform::file::file_system(&File::open(path)?)
}

/// Frees the bytes `from..to` of `file`, which then read as zeroes; its length stays.
///
/// # Errors
///
/// Fails when the file system cannot free the middle of a file.
pub fn punch_hole(file: &File, from: u64, to: u64) -> io::Result<()> {
    crate::platform::file::punch(file, from, to)
}

/// Returns the user whose rights this process has.
pub fn own_user() -> u32 {
    crate::platform::process::own_user()
}
