//! What process 1 mounts: the host read-only, its own process table and temporary directories,
//! and on top the trees that stay visible.

use super::launcher::{Broken, step};
use super::trees::Tree;
use crate::platform::mount::{self, NO_DEVICES, NO_SETUID, READ_ONLY};
use outlast_journal::policy::Policy;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::Path;

/// Directories of the root that hold programs and their settings; every other one is hidden.
pub(super) const SYSTEM: [&str; 17] = [
    "bin", "dev", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc", "run",
    "sbin", "snap", "sys", "tmp", "usr",
];
/// Directories that are private and can be written.
pub(super) const TEMPORARY: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/run"];
/// Devices that a run has.
pub(super) const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Parts of the process table that tell the kernel what to do.
const KERNEL_KNOBS: [&str; 7] = ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"];
/// Room in a directory that only holds the way to others.
const WAY_BYTES: u64 = 1 << 20;
/// Links that programs expect among the devices.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// Makes the whole view of the file system.
pub(super) fn mount(policy: &Policy, trees: Vec<Tree>) -> Result<(), Broken> {
    step("private root", mount::make_private())?;
    let mut devices = Vec::new();
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        let opened = mount::open_path(&path).and_then(|opened| mount::clone_tree(&opened));
        match opened {
            // A container may have fewer devices: what is not there is not shown.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => devices.push((name, step(&format!("device: {name}"), opened)?)),
        }
    }
    step("read-only root", mount::restrict_all(READ_ONLY | NO_SETUID))?;
    mount_proc()?;
    let memory = |path: &str, mode: u32, bytes: u64| {
        step(
            &format!("memory: {path}"),
            mount::mount_memory(Path::new(path), mode, bytes),
        )
    };
    memory("/dev", 0o755, WAY_BYTES)?;
    for (name, device) in devices {
        let path = Path::new("/dev").join(name);
        let placed = make_point(&path, false).and_then(|()| mount::place(&device, &path));
        step(&format!("device: {name}"), placed)?;
    }
    step("terminals", make_terminals())?;
    hide_rest(&memory)?;
    for path in TEMPORARY {
        step(
            &format!("memory: {path}"),
            make_point(Path::new(path), true),
        )?;
        let mode = if path == "/run" { 0o755 } else { 0o1777 };
        memory(path, mode, policy.temporary_bytes_max)?;
    }
    if let Some(home) = &policy.home {
        step("home", make_point(Path::new(home), true))?;
        memory(home, 0o700, policy.temporary_bytes_max)?;
    }
    for tree in trees {
        put(&tree)?;
    }
    for path in &policy.covered {
        step(&format!("cover: {path}"), cover(Path::new(path)))?;
    }
    Ok(())
}

/// Puts into the private home what a run needs of its user's.
pub(super) fn fill_home(policy: &Policy) -> Result<(), Broken> {
    let (Some(home), Some(text)) = (&policy.home, &policy.git_identity) else {
        return Ok(());
    };
    let written = write_file(&Path::new(home).join(".gitconfig"), text);
    step("home: git", written)
}

/// Puts a dead device over a file, so that it cannot be opened.
fn cover(path: &Path) -> io::Result<()> {
    let opened = mount::open_path(Path::new("/dev/null"))?;
    let dead = mount::clone_tree(&opened)?;
    mount::restrict_tree(&dead, READ_ONLY | NO_SETUID | NO_DEVICES)?;
    mount::place(&dead, path)
}

fn mount_proc() -> Result<(), Broken> {
    step("proc", mount::mount_proc(Path::new("/proc")))?;
    for name in KERNEL_KNOBS {
        let path = Path::new("/proc").join(name);
        if !path.exists() {
            continue;
        }
        let masked = mount::open_path(&path)
            .and_then(|opened| mount::clone_tree(&opened))
            .and_then(|tree| {
                mount::restrict_tree(&tree, READ_ONLY)?;
                mount::place(&tree, &path)
            });
        step(&format!("proc: {name}"), masked)?;
    }
    Ok(())
}

fn make_terminals() -> io::Result<()> {
    let terminals = Path::new("/dev/pts");
    fs::create_dir(terminals)?;
    mount::mount_terminals(terminals)?;
    for (name, target) in DEVICE_LINKS {
        symlink(target, Path::new("/dev").join(name))?;
    }
    Ok(())
}

/// Covers every directory of the root that is none of the system's.
fn hide_rest(memory: &dyn Fn(&str, u32, u64) -> Result<(), Broken>) -> Result<(), Broken> {
    let entries = step("root", fs::read_dir("/"))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_system = SYSTEM.iter().any(|known| name == *known);
        if let Some(name) = name.to_str().filter(|_| is_dir && !is_system) {
            memory(&format!("/{name}"), 0o755, WAY_BYTES)?;
        }
    }
    // Programs look for sockets and locks there.
    symlink("/run", "/var/run").ok();
    symlink("/run/lock", "/var/lock").ok();
    Ok(())
}

fn put(tree: &Tree) -> Result<(), Broken> {
    let name = tree.at.display();
    let read_only = if tree.is_read_only { READ_ONLY } else { 0 };
    let restricted = mount::restrict_tree(&tree.mount, read_only | NO_SETUID | NO_DEVICES);
    step(&format!("restrict: {name}"), restricted)?;
    let placed =
        make_point(&tree.at, tree.is_dir).and_then(|()| mount::place(&tree.mount, &tree.at));
    step(&format!("place: {name}"), placed)
}

fn write_file(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// Makes something to mount on, where nothing is.
fn make_point(path: &Path, is_dir: bool) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    if is_dir {
        return fs::create_dir_all(path);
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map(drop)
}
