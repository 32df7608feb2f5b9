//! Checks of the machine: its kernel, its process table, its shells.

use super::{Check, Group};
use std::env;
use std::fs;
use std::path::Path;

const MACHINE: Group = Group("machine");

/// Oldest kernel that everything works on.
const KERNEL_MIN: (u32, u32) = (5, 10);

/// Checks this machine.
pub(super) fn checks() -> Vec<Check> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    let has = |name: &str| env::split_paths(&path).any(|dir| is_program(&dir.join(name)));
    vec![
        kernel(read("/proc/sys/kernel/osrelease").trim()),
        processes(&read("/proc/self/mountinfo")),
        shell(has("bash"), has("sh")),
    ]
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn kernel(release: &str) -> Check {
    match version(release) {
        Some(version) if version >= KERNEL_MIN => {
            MACHINE.fine("kernel", format!("Linux {release}"))
        }
        Some(_) => MACHINE.failure(
            "kernel",
            format!(
                "Linux {release} is older than {}.{}",
                KERNEL_MIN.0, KERNEL_MIN.1
            ),
            "use a newer kernel",
        ),
        None => MACHINE.warning(
            "kernel",
            "the version of the kernel is unknown",
            "see that /proc is mounted",
        ),
    }
}

/// Reads the first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release
        .split(|letter: char| !letter.is_ascii_digit())
        .map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Looks in the table of mounts for options of `/proc` that hide processes.
fn processes(mounts: &str) -> Check {
    let Some(options) = proc_options(mounts) else {
        return MACHINE.failure("proc", "/proc is not mounted", "mount -t proc proc /proc");
    };
    let hides = options
        .split(',')
        .filter_map(|option| option.strip_prefix("hidepid="))
        .any(|how| !matches!(how, "0" | "off"));
    if hides {
        MACHINE.warning(
            "proc",
            "/proc hides processes of other users: what a run starts as another user is not seen",
            "mount -o remount,hidepid=0 /proc, if such commands are to be watched",
        )
    } else {
        MACHINE.fine("proc", "/proc shows all processes")
    }
}

/// Returns the options of the file system that is mounted on `/proc`, the last one if several are.
fn proc_options(mounts: &str) -> Option<&str> {
    let of_proc = |line: &'_ str| {
        let (mount, file_system) = line.split_once(" - ")?;
        let is_there = mount.split(' ').nth(4)? == "/proc";
        let mut fields = file_system.split(' ');
        let is_proc = fields.next()? == "proc";
        (is_there && is_proc).then_some(())
    };
    let line = mounts.lines().rfind(|line| of_proc(line).is_some())?;
    line.rsplit(' ').next()
}

fn shell(has_bash: bool, has_sh: bool) -> Check {
    match (has_bash, has_sh) {
        (true, _) => MACHINE.fine("shell", "texts are run by bash"),
        (false, true) => MACHINE.warning(
            "shell",
            "there is no bash: texts are run by sh, and pipefail is refused",
            "install bash",
        ),
        (false, false) => MACHINE.warning(
            "shell",
            "there is no shell on PATH: only programs can be run",
            "install bash or sh",
        ),
    }
}

#[cfg(test)]
mod tests;
