//! Writes a file whole or not at all, beneath the directory that the hand was started in.

use super::{HandAnswer, Refused};
use crate::tools::seen::{Wrote, hash_of};
use crate::tools::workspace::{Workspace, at, may_be_written, trouble};
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt, PermissionsExt};
use cap_std::fs::{Metadata, MetadataExt};
use outlast_journal::limits::EDIT_FILE_BYTES_MAX;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat_with};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

/// Names that a temporary file may be given before it is given up.
const NAMES_MAX: u32 = 100;
/// Mode of a new file, before what the user takes from it.
const MODE: u32 = 0o666;

/// A file as it is now.
pub(super) struct Current {
    pub(super) bytes: Vec<u8>,
    metadata: Metadata,
}

/// Writes `content`; the file must hold what `before` is the hash of, or be absent.
pub(super) fn write(
    workspace: &Workspace,
    path: &str,
    content: &str,
    before: Option<&str>,
) -> Result<HandAnswer, Refused> {
    let target = Target::find(workspace, path)?;
    let current = target.current(workspace)?;
    let after = hash_of(content.as_bytes());
    let now = current.as_ref().map(|current| hash_of(&current.bytes));
    let wrote = Wrote {
        path: path.to_owned(),
        before: before.map(str::to_owned),
        after: after.clone(),
    };
    if now.as_deref() == Some(after.as_str()) {
        return Ok(answer("it already held this".to_owned(), wrote));
    }
    match (now.as_deref(), before) {
        (Some(_), None) => {
            let why = format!("`{path}` exists and was not read; read it with `read_file` first");
            return Err(Refused::new("not_read", why));
        }
        (now, Some(before)) if now != Some(before) => return Err(changed(path)),
        (_, _) => {}
    }
    target.replace(workspace, content.as_bytes(), current.as_ref())?;
    let count = content.lines().count();
    let word = if current.is_some() {
        "replaced"
    } else {
        "new file"
    };
    let bytes = content.len();
    Ok(answer(
        format!("{word}, {count} lines, {bytes} bytes"),
        wrote,
    ))
}

/// Returns the answer for a file that holds what it was to hold.
pub(super) fn answer(said: String, wrote: Wrote) -> HandAnswer {
    HandAnswer {
        wrote: Some(wrote),
        ..HandAnswer::done(said)
    }
}

/// Returns the refusal of a file that is not as it was read.
pub(super) fn changed(path: &str) -> Refused {
    let why = format!("`{path}` has changed since it was read; read it again, then try once more");
    Refused::new("changed_since_read", why)
}

/// Opens the directory of the hand.
pub(super) fn open(root: &Path, store: Option<&str>) -> Result<Workspace, Refused> {
    Workspace::open(root, store.map(Path::new)).map_err(|error| {
        let why = format!("the directory of the run cannot be opened: {error}");
        Refused::new("workspace_gone", why)
    })
}

/// A file that is to be written, where it truly lies.
pub(super) struct Target {
    named: String,
    path: PathBuf,
}

impl Target {
    /// Finds the file, through links that stay beneath the workspace.
    pub(super) fn find(workspace: &Workspace, named: &str) -> Result<Self, Refused> {
        let path = workspace.locate(named)?;
        let dir = workspace.dir();
        let is_link = dir
            .symlink_metadata(at(&path))
            .is_ok_and(|found| found.is_symlink());
        let path = if is_link {
            let real = dir.canonicalize(&path);
            real.map_err(|error| trouble(&path, &error))?
        } else {
            path
        };
        Ok(Self {
            named: named.to_owned(),
            path,
        })
    }

    /// Returns what the file holds, `None` where it is not there.
    pub(super) fn current(&self, workspace: &Workspace) -> Result<Option<Current>, Refused> {
        match workspace.dir().symlink_metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(trouble(&self.path, &error).into()),
            Ok(_) => {}
        }
        let opened = workspace.open_file(&self.path)?;
        if opened.bytes > EDIT_FILE_BYTES_MAX {
            let (named, bytes) = (&self.named, opened.bytes);
            let why = format!(
                "`{named}` has {bytes} bytes, and the most is {EDIT_FILE_BYTES_MAX}; change it \
                 with the shell"
            );
            return Err(Refused::new("too_large", why));
        }
        let file = File::from_std(opened.file);
        let failed = |error| Refused::from(trouble(&self.path, &error));
        let metadata = file.metadata().map_err(failed)?;
        let mut bytes = Vec::new();
        let mut bounded = file.take(EDIT_FILE_BYTES_MAX + 1);
        bounded.read_to_end(&mut bytes).map_err(failed)?;
        Ok(Some(Current { bytes, metadata }))
    }

    /// Puts `content` in the place of what the file holds, with its mode and owner.
    pub(super) fn replace(
        &self,
        workspace: &Workspace,
        content: &[u8],
        current: Option<&Current>,
    ) -> Result<(), Refused> {
        if current.is_some_and(|current| !may_be_written(&current.metadata)) {
            let named = &self.named;
            let why = format!("`{named}` has no permission to be written; leave it as it is");
            return Err(Refused::new("read_only_file", why));
        }
        let failed = |error: io::Error| self.not_written(&error);
        let parent = self.path.parent().unwrap_or(Path::new(""));
        let root = workspace.dir();
        if !parent.as_os_str().is_empty() {
            root.create_dir_all(parent).map_err(failed)?;
        }
        let dir = root.open_dir(at(parent)).map_err(failed)?;
        workspace.check_store(&self.path, dir.as_fd())?;
        let name = self.path.file_name().unwrap_or_default();
        let fill = |file: &mut File| {
            file.write_all(content)?;
            if let Some(current) = current {
                keep(file, &current.metadata)?;
            }
            file.sync_data()
        };
        put(&dir, name, current.is_none(), &fill).map_err(failed)
    }

    fn not_written(&self, error: &io::Error) -> Refused {
        let named = &self.named;
        if error.kind() == ErrorKind::AlreadyExists {
            return changed(named);
        }
        let is_forbidden = matches!(
            error.kind(),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::ResourceBusy
        );
        if !is_forbidden {
            return Refused::new("not_written", format!("`{named}` was not written: {error}"));
        }
        let why = format!(
            "`{named}` may not be written in this run ({error}); it is protected, or belongs to \
             another user"
        );
        Refused::new("not_writable", why)
    }
}

/// Makes a file, has it filled, and gives it its name; a new one, unless another has come to have
/// that. Where the file system can, it has no name until it is whole: a hand that is killed before
/// leaves nothing.
fn put(
    dir: &Dir,
    name: &OsStr,
    is_new: bool,
    fill: &dyn Fn(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let Ok(unnamed) = openat(dir, ".", flags, Mode::from_raw_mode(MODE)) else {
        // Not every file system can.
        return put_named(dir, name, is_new, fill);
    };
    let mut file = File::from_std(unnamed.into());
    fill(&mut file)?;
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |name: &OsStr| linkat(CWD, &own, dir, name, AtFlags::SYMLINK_FOLLOW);
    if is_new {
        return match link(name) {
            Err(Errno::EXIST) => Err(ErrorKind::AlreadyExists.into()),
            // Without a table of processes it cannot be named.
            Err(_) => put_named(dir, name, is_new, fill),
            Ok(()) => Ok(()),
        };
    }
    match with_free_name(|name| Ok(link(OsStr::new(name))?)) {
        Err(_) => put_named(dir, name, is_new, fill),
        Ok((temporary, ())) => settle(dir, &temporary, dir.rename(&temporary, dir, name)),
    }
}

/// The same with a file that has a name of its own from the beginning.
fn put_named(
    dir: &Dir,
    name: &OsStr,
    is_new: bool,
    fill: &dyn Fn(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(MODE);
    let (temporary, mut file) = with_free_name(|name| dir.open_with(name, &options))?;
    let placed = fill(&mut file).and_then(|()| {
        if !is_new {
            return dir.rename(&temporary, dir, name);
        }
        match renameat_with(dir, &temporary, dir, name, RenameFlags::NOREPLACE) {
            // Not every file system can tell the two apart.
            Err(Errno::INVAL | Errno::NOSYS) => dir.rename(&temporary, dir, name),
            other => Ok(other?),
        }
    });
    settle(dir, &temporary, placed)
}

/// Removes a temporary file that did not come to its place.
fn settle(dir: &Dir, temporary: &str, placed: io::Result<()>) -> io::Result<()> {
    if placed.is_err() {
        dir.remove_file(temporary).ok();
    }
    placed
}

/// Makes something by the first name for temporary files that is free.
fn with_free_name<T>(make: impl Fn(&str) -> io::Result<T>) -> io::Result<(String, T)> {
    let pid = std::process::id();
    let mut number = 0;
    loop {
        let name = format!(".outlast-{pid}-{number}.tmp");
        match make(&name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < NAMES_MAX => {
                number += 1;
            }
            other => return other.map(|made| (name, made)),
        }
    }
}

/// Gives a file the mode and the owner of the one that it replaces.
fn keep(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
        let owner = rustix::fs::Uid::from_raw(old.uid());
        let group = rustix::fs::Gid::from_raw(old.gid());
        // Only root may give a file away; others go on as its owner.
        rustix::fs::fchown(file, Some(owner), Some(group)).ok();
    }
    let mode = old.permissions().mode() & 0o7777;
    file.set_permissions(cap_std::fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests;
