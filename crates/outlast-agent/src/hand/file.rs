//! Writes a file whole or not at all, beneath the directory that the hand was started in.

use super::{HandAnswer, Refused};
use crate::tools::seen::{Wrote, hash_of};
use crate::tools::workspace::{Workspace, at, may_be_written, trouble};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt, PermissionsExt};
use cap_std::fs::{Metadata, MetadataExt};
use outlast_journal::limits::EDIT_FILE_BYTES_MAX;
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Names that a temporary file may be given before it is given up.
const NAMES_MAX: u32 = 100;

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
        let file = cap_std::fs::File::from_std(opened.file);
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
        let failed = |error: std::io::Error| self.not_written(&error);
        let parent = self.path.parent().unwrap_or(Path::new(""));
        let root = workspace.dir();
        if !parent.as_os_str().is_empty() {
            root.create_dir_all(parent).map_err(failed)?;
        }
        let dir = root.open_dir(at(parent)).map_err(failed)?;
        workspace.check_store(&self.path, dir.as_fd())?;
        let name = self.path.file_name().unwrap_or_default();
        let (temporary, mut file) = temporary(&dir).map_err(failed)?;
        let written = (|| {
            file.write_all(content)?;
            if let Some(current) = current {
                keep(&file, &current.metadata)?;
            }
            file.sync_data()?;
            if current.is_some() {
                dir.rename(&temporary, &dir, name)
            } else {
                put_new(&dir, &temporary, name)
            }
        })();
        if written.is_err() {
            dir.remove_file(&temporary).ok();
        }
        written.map_err(failed)
    }

    fn not_written(&self, error: &std::io::Error) -> Refused {
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

/// Gives a file its name, unless another has come to have it.
fn put_new(dir: &Dir, temporary: &str, name: &OsStr) -> std::io::Result<()> {
    match renameat_with(dir, temporary, dir, name, RenameFlags::NOREPLACE) {
        // Not every file system can tell the two apart.
        Err(Errno::INVAL | Errno::NOSYS) => dir.rename(temporary, dir, name),
        other => Ok(other?),
    }
}

/// Makes a file of its own, with the mode of a new one.
fn temporary(dir: &Dir) -> std::io::Result<(String, cap_std::fs::File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o666);
    let pid = std::process::id();
    let mut number = 0;
    loop {
        let name = format!(".outlast-{pid}-{number}.tmp");
        match dir.open_with(&name, &options) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < NAMES_MAX => {
                number += 1;
            }
            other => return other.map(|file| (name, file)),
        }
    }
}

/// Gives a file the mode and the owner of the one that it replaces.
fn keep(file: &cap_std::fs::File, old: &Metadata) -> std::io::Result<()> {
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
