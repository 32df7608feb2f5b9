//! The workspace as the worker reads it: nothing above it, nothing but files and directories.
//!
//! Paths are taken beneath one directory handle, so that no link and no race leads
//! out. A pipe or a device is never opened, and the store of the runs is never shown.

use super::Refusal;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Component, Path, PathBuf};

/// The directory beneath which a run works.
#[derive(Debug)]
pub(crate) struct Workspace {
    dir: Dir,
    /// As it was named, and as it is without links.
    roots: [PathBuf; 2],
    store: Option<PathBuf>,
}

/// A regular file, opened to read.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: File,
    pub(crate) bytes: u64,
}

impl Workspace {
    /// Opens the directory `root`; what lies in `store` is hidden.
    ///
    /// # Errors
    ///
    /// Fails when `root` is no directory that can be read.
    pub(crate) fn open(root: &Path, store: Option<&Path>) -> io::Result<Self> {
        let real = fs::canonicalize(root)?;
        let store = store.map(|store| fs::canonicalize(store).unwrap_or_else(|_| store.to_owned()));
        Ok(Self {
            dir: Dir::open_ambient_dir(&real, ambient_authority())?,
            roots: [root.to_owned(), real],
            store,
        })
    }

    /// Returns the handle of the directory.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Returns the store that is hidden.
    pub(crate) fn store(&self) -> Option<&Path> {
        self.store.as_deref()
    }

    /// Returns the path beneath the workspace that `text` means; empty for the workspace itself.
    ///
    /// `..` takes away the name before it, whatever that is.
    ///
    /// # Errors
    ///
    /// Refuses a path that leads out by its words.
    pub(crate) fn locate(&self, text: &str) -> Result<PathBuf, Refusal> {
        let path = Path::new(text);
        let beneath = if path.is_absolute() {
            let found = self
                .roots
                .iter()
                .find_map(|root| path.strip_prefix(root).ok());
            found.ok_or_else(|| outside(text))?
        } else {
            path
        };
        normal(beneath).ok_or_else(|| outside(text))
    }

    /// Opens a regular file.
    ///
    /// # Errors
    ///
    /// Refuses what is absent, outside, no regular file, of the store, or not readable.
    pub(crate) fn open_file(&self, path: &Path) -> Result<OpenFile, Refusal> {
        // Looked at before it is opened: to open a device may already do something.
        let looked = self.dir.metadata(at(path));
        check_regular(path, &looked.map_err(|error| trouble(path, &error))?)?;
        let mut options = OpenOptions::new();
        // Should it become a pipe in between, this does not wait for a writer.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        options.read(true).custom_flags(flags.bits().cast_signed());
        let file = self
            .dir
            .open_with(path, &options)
            .map_err(|error| trouble(path, &error))?;
        let metadata = file.metadata().map_err(|error| trouble(path, &error))?;
        check_regular(path, &metadata)?;
        let file = file.into_std();
        self.check_store(path, file.as_fd())?;
        Ok(OpenFile {
            file,
            bytes: metadata.len(),
        })
    }

    /// Opens a directory.
    ///
    /// # Errors
    ///
    /// Refuses what is absent, outside, no directory, of the store, or not readable.
    pub(crate) fn open_dir(&self, path: &Path) -> Result<Dir, Refusal> {
        // The handle outlives the directory, which then looks empty.
        if self.dir.dir_metadata().is_ok_and(|own| own.nlink() == 0) {
            return Err(super::workspace_gone());
        }
        let opened = self.dir.open_dir(at(path));
        let dir = opened.map_err(|error| trouble(path, &error))?;
        self.check_store(path, dir.as_fd())?;
        Ok(dir)
    }

    /// Refuses a descriptor that leads into the store, by whatever path.
    pub(crate) fn check_store(&self, path: &Path, fd: BorrowedFd<'_>) -> Result<(), Refusal> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let real = fs::read_link(link).unwrap_or_else(|_| self.roots[1].join(path));
        if real.starts_with(store) {
            return Err(Refusal::new(
                "store_is_private",
                format!(
                    "`{}` lies in the store of the runs, which no tool shows; use `events_query` \
                     or `call_output` for this run",
                    path.display()
                ),
            ));
        }
        Ok(())
    }
}

/// Returns the path by which a directory handle knows `path`.
pub(crate) fn at(path: &Path) -> &Path {
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}

/// Returns the path as a model is shown it.
pub(crate) fn shown(path: &Path) -> String {
    at(path).display().to_string()
}

/// Returns whether group, others or owner may write.
pub(crate) fn may_be_written(metadata: &Metadata) -> bool {
    metadata.mode() & 0o222 != 0
}

/// Returns the refusal of an error of the file system.
pub(crate) fn trouble(path: &Path, error: &io::Error) -> Refusal {
    let path = shown(path);
    let kind = error.kind();
    if kind == ErrorKind::NotFound {
        let why = format!("there is no `{path}`; find it with `find_files` or `list_dir`");
        return Refusal::new("no_such_file", why);
    }
    if kind == ErrorKind::NotADirectory {
        let why = format!("`{path}` is no directory, or leads through a file");
        return Refusal::new("no_directory", why);
    }
    if kind == ErrorKind::IsADirectory {
        return Refusal::new("is_directory", format!("`{path}` is a directory"));
    }
    if is_escape(error) {
        let why = format!(
            "`{path}` leads out of the workspace by a link, and links out are not followed"
        );
        return Refusal::new("outside_workspace", why);
    }
    let why = format!("`{path}` cannot be read: {error}");
    Refusal::new("file_unreadable", why)
}

/// Returns whether a path was refused because it leads out, not by the file's permissions.
fn is_escape(error: &io::Error) -> bool {
    // An error of the kernel has a number; the one about an escape has none, or this one.
    let number = error.raw_os_error();
    (error.kind() == ErrorKind::PermissionDenied && number.is_none())
        || number == Some(rustix::io::Errno::XDEV.raw_os_error())
}

fn check_regular(path: &Path, metadata: &Metadata) -> Result<(), Refusal> {
    if metadata.is_file() {
        return Ok(());
    }
    let path = shown(path);
    if metadata.is_dir() {
        let why = format!("`{path}` is a directory; list it with `list_dir`");
        return Err(Refusal::new("is_directory", why));
    }
    let why = format!("`{path}` is a pipe, a socket or a device; only regular files are opened");
    Err(Refusal::new("no_regular_file", why))
}

fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(normal)
}

fn outside(text: &str) -> Refusal {
    Refusal::new(
        "outside_workspace",
        format!("`{text}` is outside of the workspace; give a path relative to it"),
    )
}

#[cfg(test)]
mod tests;
