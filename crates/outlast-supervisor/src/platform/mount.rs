//! Trees of mounts: clone one without following links, change it, put it somewhere.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Nothing below can be written.
pub(crate) const READ_ONLY: u64 = 1;
/// Bits that change the user are ignored.
pub(crate) const NO_SETUID: u64 = 2;
/// Device files are dead.
pub(crate) const NO_DEVICES: u64 = 4;

const IDMAP: u64 = 0x0010_0000;
const OPEN_TREE_CLONE: libc::c_uint = 1;
const OPEN_TREE_CLOEXEC: libc::c_uint = 0o2_000_000;
const AT_RECURSIVE: libc::c_uint = 0x8000;
const AT_EMPTY_PATH: libc::c_uint = 0x1000;
const MOVE_FROM_EMPTY_PATH: libc::c_uint = 4;
const RESOLVE_NO_SYMLINKS: u64 = 4;

/// The kernel's `open_how`.
#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// The kernel's `mount_attr`.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

fn number(result: libc::c_long) -> io::Result<libc::c_int> {
    super::check(libc::c_int::try_from(result).unwrap_or(-1))
}

/// Opens `path` for what is done with descriptors alone; a link anywhere in it is `ELOOP`.
pub(crate) fn open_path(path: &Path) -> io::Result<OwnedFd> {
    let path = text(path)?;
    let how = OpenHow {
        flags: u64::from((libc::O_PATH | libc::O_CLOEXEC).unsigned_abs()),
        mode: 0,
        resolve: RESOLVE_NO_SYMLINKS,
    };
    // SAFETY: path and structure live through the call, whose size is the structure's; the
    // descriptor is new and owned by nobody else.
    unsafe {
        let raw = libc::syscall(
            libc::SYS_openat2,
            libc::AT_FDCWD,
            path.as_ptr(),
            &raw const how,
            size_of::<OpenHow>(),
        );
        Ok(OwnedFd::from_raw_fd(number(raw)?))
    }
}

/// Clones the mounts at and below what `path` names, which stays hidden until it is placed.
pub(crate) fn clone_tree(path: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH;
    // SAFETY: the empty path lives through the call; the descriptor is new.
    unsafe {
        let raw = libc::syscall(libc::SYS_open_tree, path.as_raw_fd(), c"".as_ptr(), flags);
        Ok(OwnedFd::from_raw_fd(number(raw)?))
    }
}

fn set_attributes(at: libc::c_int, path: &CStr, attributes: &MountAttr) -> io::Result<()> {
    let flags = AT_RECURSIVE | if path.is_empty() { AT_EMPTY_PATH } else { 0 };
    // SAFETY: path and structure live through the call, whose size is the structure's.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at,
            path.as_ptr(),
            flags,
            &raw const *attributes,
            size_of::<MountAttr>(),
        )
    };
    number(result).map(drop)
}

/// Sets attributes of all mounts of a tree.
pub(crate) fn restrict_tree(tree: &OwnedFd, set: u64) -> io::Result<()> {
    let attributes = MountAttr {
        set,
        clear: 0,
        propagation: 0,
        userns: 0,
    };
    set_attributes(tree.as_raw_fd(), c"", &attributes)
}

/// Shows the owners of all files of a tree as the user namespace maps them.
pub(crate) fn map_tree(tree: &OwnedFd, userns: &OwnedFd) -> io::Result<()> {
    let attributes = MountAttr {
        set: IDMAP,
        clear: 0,
        propagation: libc::MS_PRIVATE,
        userns: u64::from(userns.as_raw_fd().unsigned_abs()),
    };
    set_attributes(tree.as_raw_fd(), c"", &attributes)
}

/// Sets attributes of all mounts there are.
pub(crate) fn restrict_all(set: u64) -> io::Result<()> {
    let attributes = MountAttr {
        set,
        clear: 0,
        propagation: 0,
        userns: 0,
    };
    set_attributes(libc::AT_FDCWD, c"/", &attributes)
}

/// Puts a cloned tree at `path`; a link there is not followed.
pub(crate) fn place(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    let path = text(path)?;
    // SAFETY: both paths live through the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            MOVE_FROM_EMPTY_PATH,
        )
    };
    number(result).map(drop)
}

/// Mounts a new file system of this kind at `path`.
pub(crate) fn mount_new(
    kind: &CStr,
    path: &Path,
    flags: libc::c_ulong,
    options: &str,
) -> io::Result<()> {
    let path = text(path)?;
    let options = CString::new(options).map_err(io::Error::other)?;
    // SAFETY: all texts live through the call.
    super::check(unsafe {
        libc::mount(
            kind.as_ptr(),
            path.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    })
    .map(drop)
}

/// Mounts an empty file system in memory at `path`.
pub(crate) fn mount_memory(path: &Path, mode: u32, bytes_max: u64) -> io::Result<()> {
    let options = format!("mode={mode:o},size={bytes_max}");
    mount_new(c"tmpfs", path, libc::MS_NOSUID | libc::MS_NODEV, &options)
}

/// Mounts the process table of this process's PID namespace.
pub(crate) fn mount_proc(path: &Path) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount_new(c"proc", path, flags, "")
}

/// Mounts terminals that nobody else has.
pub(crate) fn mount_terminals(path: &Path) -> io::Result<()> {
    let options = "newinstance,ptmxmode=0666,mode=620";
    let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
    mount_new(c"devpts", path, flags, options)
}

/// Lets no mount made here be seen outside, nor one made outside here.
pub(crate) fn make_private() -> io::Result<()> {
    // SAFETY: the path lives through the call, which reads nothing else with these flags.
    super::check(unsafe {
        libc::mount(
            std::ptr::null(),
            c"/".as_ptr(),
            std::ptr::null(),
            libc::MS_REC | libc::MS_PRIVATE,
            std::ptr::null(),
        )
    })
    .map(drop)
}
