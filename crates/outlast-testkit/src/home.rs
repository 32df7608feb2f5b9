//! A home of its own for one test: a directory that holds the store and
//! whatever else the program writes, and that takes its processes with it.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::processes;

/// Keeps the directory of every home when set, for a look after a failure.
const KEEP: &str = "OUTLAST_KEEP_HOME";
/// The variable by which a process shows the home it belongs to.
pub(crate) const MARK: &str = "OUTLAST_TEST_HOME";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// An empty directory for one test, mode 0700, with a unique name.
///
/// When it is dropped, every process that belongs to it is killed and the
/// directory is removed. It is kept when `OUTLAST_KEEP_HOME` is set.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// Makes a home beneath the system's directory for temporary files.
    #[expect(
        clippy::new_without_default,
        reason = "it makes a directory, which is more than a default value"
    )]
    pub fn new() -> Self {
        let base = std::env::temp_dir();
        let base = fs::canonicalize(&base).expect("the temporary directory exists");
        let path = make_unique(&base);
        make(&path.join("work")).expect("a new home can be filled");
        Self { path }
    }

    /// Returns the directory itself, an absolute path without symbolic links.
    ///
    /// It is `HOME` for the programs of this test.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where the program keeps its store; nothing is there at first.
    pub fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    /// Returns the empty directory in which the programs of this test start.
    pub fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    /// Returns the environment entry that marks the processes of this home.
    pub fn mark(&self) -> String {
        format!("{MARK}={}", self.path.display())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let left = processes::end_all_of(&self.path, &self.mark());
        let is_kept = std::env::var_os(KEEP).is_some();
        let removed = if is_kept {
            say_where(&self.path);
            Ok(())
        } else {
            fs::remove_dir_all(&self.path)
        };
        // A test that failed has said why; a second panic would hide it.
        if !std::thread::panicking() {
            assert!(left.is_empty(), "not to be killed: {left:?}");
            removed.expect("the test's home can be removed");
        }
    }
}

#[expect(clippy::panic, reason = "a test cannot go on without its home")]
fn make_unique(base: &Path) -> PathBuf {
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Of one width, so that no home's mark is the beginning of another's.
        let name = format!("outlast-test-{:07}-{number:05}", process::id());
        let path = base.join(name);
        match make(&path) {
            Ok(()) => return path,
            // A process that had our pid before was made to keep its home.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => panic!("cannot make {}: {error}", path.display()),
        }
    }
}

fn make(path: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)
}

#[expect(
    clippy::print_stderr,
    reason = "whoever asked to keep the home has to find it"
)]
fn say_where(path: &Path) {
    eprintln!("kept: {}", path.display());
}

#[cfg(test)]
mod tests;
