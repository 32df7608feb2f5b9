//! The same view by bubblewrap, where that may make namespaces and our own program may not.
//!
//! Some systems allow it by the path of the program. It mounts what it is told
//! to; inside, our launcher is process 1 as ever and gives up the rest.

use super::mounts::{SYSTEM, TEMPORARY};
use super::protected;
use outlast_journal::policy::Policy;
use outlast_journal::{Git, Network, Tier, names};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The one place where it is looked for: what is allowed is that path.
pub(super) const PROGRAM: &str = "/usr/bin/bwrap";
/// Where our program is in there.
const LAUNCHER: &str = "/run/outlast/launcher";

/// Its words, built up one option after the other.
struct Words(Vec<CString>);

impl Words {
    fn add(&mut self, words: &[&str]) -> io::Result<()> {
        for word in words {
            self.0.push(CString::new(*word)?);
        }
        Ok(())
    }

    fn bind(&mut self, path: &Path, is_read_only: bool) -> io::Result<()> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let option = if is_read_only { "--ro-bind" } else { "--bind" };
        self.add(&[option])?;
        self.0.extend([path.clone(), path]);
        Ok(())
    }

    fn memory(&mut self, path: &str, mode: &str, bytes: u64) -> io::Result<()> {
        self.add(&[
            "--perms",
            mode,
            "--size",
            &bytes.to_string(),
            "--tmpfs",
            path,
        ])
    }
}

/// Returns its words for a policy; what it executes in the end is our launcher.
pub(super) fn words(policy: &Policy) -> io::Result<Vec<CString>> {
    let mut words = Words(Vec::new());
    words.add(&["bwrap", "--unshare-all", "--die-with-parent", "--as-pid-1"])?;
    if policy.containment.network == Network::Full {
        words.add(&["--share-net"])?;
    }
    words.add(&["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"])?;
    for knob in ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"] {
        let path = Path::new("/proc").join(knob);
        if path.exists() {
            words.bind(&path, true)?;
        }
    }
    add_private(&mut words, policy)?;
    for path in &policy.shown {
        words.bind(Path::new(path), true)?;
    }
    add_workspace(&mut words, policy)?;
    for path in &policy.covered {
        words.add(&["--ro-bind", "/dev/null", path])?;
    }
    let own = fs::read_link("/proc/self/exe")?;
    let own = own.to_str().ok_or(io::ErrorKind::InvalidData)?;
    words.add(&["--ro-bind", own, LAUNCHER, "--chdir", &policy.cwd, "--"])?;
    words.add(&[LAUNCHER, names::CONTAIN])?;
    Ok(words.0)
}

/// Adds what is in memory: what is hidden, and what is private.
fn add_private(words: &mut Words, policy: &Policy) -> io::Result<()> {
    const WAY_BYTES: u64 = 1 << 20;
    for entry in fs::read_dir("/")?.flatten() {
        let name = entry.file_name();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_system = SYSTEM.iter().any(|known| name == *known);
        if let Some(name) = name.to_str().filter(|_| is_dir && !is_system) {
            words.memory(&format!("/{name}"), "0755", WAY_BYTES)?;
        }
    }
    words.add(&["--symlink", "/run", "/var/run"])?;
    for path in TEMPORARY {
        let mode = if path == "/run" { "0755" } else { "1777" };
        words.memory(path, mode, policy.temporary_bytes_max)?;
    }
    match &policy.home {
        Some(home) => words.memory(home, "0700", policy.temporary_bytes_max),
        None => Ok(()),
    }
}

/// Adds the workspace, and what of it and of its repository stays as it is.
fn add_workspace(words: &mut Words, policy: &Policy) -> io::Result<()> {
    let asked = &policy.containment;
    let workspace = Path::new(&asked.workspace);
    let is_read_only = asked.tier == Tier::ReadOnly;
    words.bind(workspace, is_read_only)?;
    if !is_read_only {
        for one in protected::of(workspace, asked.git) {
            words.bind(&one.path, one.is_read_only)?;
        }
    }
    if let Some(repository) = &policy.repository {
        let git = if is_read_only { Git::Read } else { asked.git };
        for one in protected::of_repository(Path::new(repository), git) {
            words.bind(&one.path, one.is_read_only)?;
        }
    }
    match fs::canonicalize("/etc/resolv.conf") {
        Ok(path) if asked.network == Network::Full => words.bind(&path, true),
        Ok(_) | Err(_) => Ok(()),
    }
}
