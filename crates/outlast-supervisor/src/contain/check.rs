//! A look from inside at what holds, by the process that is about to execute the command.
//!
//! A guarantee is claimed for what is seen here, not for what was asked of the
//! kernel before.

use super::harden::Notice;
use super::launcher::{Broken, step};
use super::mounts::{DEVICES, TEMPORARY};
use crate::platform::{confine, process};
use outlast_journal::policy::Policy;
use outlast_journal::{Guarantee, Tier};
use std::fs;
use std::io;
use std::os::unix::net::UnixDatagram;

/// What holds, what of the kernel was not there, and which names are protected.
pub(super) type Seen = (Vec<Guarantee>, Option<String>, Vec<String>);

/// One line of the table of mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mount<'a> {
    id: &'a str,
    parent: &'a str,
    at: &'a str,
    /// Whether what is mounted beneath it outside appears here too.
    follows: bool,
    is_read_only: bool,
    is_memory: bool,
}

/// Returns what holds. Fails when that is less than was asked for and may not be missed.
pub(super) fn check(
    policy: &Policy,
    protected: &[String],
    notice: Option<&Notice>,
) -> Result<Vec<Guarantee>, Broken> {
    let read = |path: &str| step("look", fs::read_to_string(path));
    let (status, table) = (read("/proc/self/status")?, read("/proc/self/mountinfo")?);
    let (links, users) = (read("/proc/self/net/dev")?, read("/proc/self/uid_map")?);
    let mounts: Vec<Mount<'_>> = table.lines().filter_map(mount).collect();
    if !is_powerless(&status, &SETS) {
        return step(
            "look: capabilities",
            Err(io::ErrorKind::PermissionDenied.into()),
        );
    }
    let is_alone = links
        .lines()
        .skip(2)
        .all(|line| line.trim_start().starts_with("lo:"));
    let holds = |one: &Guarantee| match one {
        Guarantee::WriteBoundary => writes_inside_only(policy, &mounts),
        Guarantee::MetadataRo => keeps_protected(policy, protected, &mounts),
        Guarantee::ReadBoundary => hides_homes(policy, &mounts) && is_nobody(&users),
        Guarantee::NetNone => is_alone,
        Guarantee::UnixSockets => {
            let is_private = TEMPORARY.iter().all(|path| is_memory(&mounts, path));
            is_private && (is_alone || !notice.is_some_and(|notice| notice.has_no_scopes))
        }
        Guarantee::PidIsolated => process::own_pid() == 1,
        Guarantee::KilledWithSupervisor => process::own_pid() == 1 && confine::dies_with_parent(),
        // Bound from outside, by who can.
        Guarantee::MemLimit | Guarantee::PidsLimit => false,
    };
    held(policy, holds)
}

/// Returns what is to be said where what the system mounts later is seen in here too.
///
/// Bubblewrap keeps no mount to itself, and leaves us no right to.
pub(super) fn follows() -> Result<Option<String>, Broken> {
    let table = step("look", fs::read_to_string("/proc/self/mountinfo"))?;
    let mounts: Vec<Mount<'_>> = table.lines().filter_map(mount).collect();
    let follows = |mount: &Mount<'_>| mount.follows && !is_covered(&mounts, mount);
    let text = "what the system mounts later beneath what is shown is shown as well";
    Ok(mounts.iter().any(follows).then(|| text.to_owned()))
}

/// Returns what holds where Landlock alone contains the command.
pub(super) fn check_alone(policy: &Policy) -> Result<Vec<Guarantee>, Broken> {
    let status = step("look", fs::read_to_string("/proc/self/status"))?;
    if !is_powerless(&status, &SETS[..4]) {
        let denied = io::ErrorKind::PermissionDenied.into();
        return step("look: capabilities", Err(denied));
    }
    let is_hidden = |path: &str| {
        let refused = fs::read_dir(path).err().map(|error| error.kind());
        refused == Some(io::ErrorKind::PermissionDenied)
    };
    let has_no_socket = |made: io::Result<()>| made.is_err();
    let holds = |one: &Guarantee| match one {
        Guarantee::ReadBoundary => {
            let passwords = fs::File::open("/etc/shadow").is_err();
            passwords && policy.home.as_deref().is_none_or(is_hidden)
        }
        Guarantee::NetNone => has_no_socket(std::net::UdpSocket::bind("127.0.0.1:0").map(drop)),
        Guarantee::UnixSockets => has_no_socket(UnixDatagram::unbound().map(drop)),
        Guarantee::WriteBoundary
        | Guarantee::MetadataRo
        | Guarantee::PidIsolated
        | Guarantee::KilledWithSupervisor
        | Guarantee::MemLimit
        | Guarantee::PidsLimit => false,
    };
    held(policy, holds)
}

/// Returns what holds of what is wanted; fails when something that may not be missed does not.
fn held(policy: &Policy, holds: impl Fn(&Guarantee) -> bool) -> Result<Vec<Guarantee>, Broken> {
    let wanted = policy.containment.wanted();
    let held: Vec<Guarantee> = wanted.iter().copied().filter(holds).collect();
    let from_outside = [Guarantee::MemLimit, Guarantee::PidsLimit];
    let missing = wanted.iter().find(|one| {
        let is_fine = held.contains(one) || from_outside.contains(one);
        !is_fine && !policy.containment.may_miss.contains(one)
    });
    match missing {
        None => Ok(held),
        Some(missing) => step(
            &format!("look: {missing}"),
            Err(io::Error::from_raw_os_error(libc::EPERM)),
        ),
    }
}

/// Reads one line of `/proc/self/mountinfo`.
fn mount(line: &str) -> Option<Mount<'_>> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut fields = mount.split(' ');
    let (id, parent) = (fields.next()?, fields.next()?);
    let mut fields = fields.skip(2);
    let (at, options) = (fields.next()?, fields.next()?);
    Some(Mount {
        id,
        parent,
        at,
        follows: fields.any(|field| field.starts_with("master:")),
        is_read_only: options.split(',').any(|option| option == "ro"),
        is_memory: file_system.starts_with("tmpfs "),
    })
}

/// Writes a path as the table of mounts does.
fn written(path: &str) -> String {
    path.replace('\\', "\\134")
        .replace(' ', "\\040")
        .replace('\t', "\\011")
        .replace('\n', "\\012")
}

/// The mount that is seen at a path: the last one of those there.
fn at<'a>(mounts: &[Mount<'a>], path: &str) -> Option<Mount<'a>> {
    let path = written(path);
    mounts.iter().rev().find(|mount| mount.at == path).copied()
}

fn is_memory(mounts: &[Mount<'_>], path: &str) -> bool {
    at(mounts, path).is_some_and(|mount| mount.is_memory)
}

/// Sets of capabilities of a process, and the one that bounds what can come back.
const SETS: [&str; 5] = ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:", "CapBnd:"];

/// Whether nobody in here can come to a mount: another lies over it, or over the way to it.
fn is_covered(mounts: &[Mount<'_>], mount: &Mount<'_>) -> bool {
    let lies_on = |other: &Mount<'_>| {
        other.parent == mount.id && other.id != mount.id && other.at == mount.at
    };
    if mounts.iter().any(lies_on) {
        return true;
    }
    let mut below = *mount;
    // No way has more steps than there are mounts.
    for _ in mounts {
        let lies_on_way = |other: &Mount<'_>| {
            let is_beside = other.parent == below.parent && other.id != below.id;
            let rest = below.at.strip_prefix(other.at.trim_end_matches('/'));
            is_beside && other.at != below.at && rest.is_some_and(|rest| rest.starts_with('/'))
        };
        if mounts.iter().any(lies_on_way) {
            return true;
        }
        match mounts.iter().find(|other| other.id == below.parent) {
            Some(parent) => below = *parent,
            None => return false,
        }
    }
    false
}

/// No capability is left in these sets, none is gained by executing, and a filter is set.
fn is_powerless(status: &str, sets: &[&str]) -> bool {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(str::trim).unwrap_or_default()
    };
    let is_none = |name| field(name).bytes().all(|digit| digit == b'0') && !field(name).is_empty();
    sets.iter().copied().all(is_none) && field("NoNewPrivs:") == "1" && field("Seccomp:") == "2"
}

/// Every mount that can be written is in memory, a device, or of the workspace.
fn writes_inside_only(policy: &Policy, mounts: &[Mount<'_>]) -> bool {
    let is_edit = policy.containment.tier != Tier::ReadOnly;
    let own = [
        Some(&policy.containment.workspace),
        policy.repository.as_ref(),
    ];
    let own: Vec<String> = own
        .into_iter()
        .flatten()
        .map(|path| written(path))
        .collect();
    let is_inside = |path: &str| {
        let mut rests = own.iter().filter_map(|own| path.strip_prefix(own.as_str()));
        is_edit && rests.any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_device = |path: &str| {
        let name = path.strip_prefix("/dev/");
        name.is_some_and(|name| name == "pts" || DEVICES.contains(&name))
    };
    // Bubblewrap leaves a mount as it is that its user has no way to.
    let mut writable = mounts
        .iter()
        .filter(|mount| !mount.is_read_only && !is_covered(mounts, mount));
    // The process table has no file that outlives the run; its knobs are mounts of their own.
    let is_fine = |mount: &Mount<'_>| {
        mount.is_memory || mount.at == "/proc" || is_device(mount.at) || is_inside(mount.at)
    };
    let knobs = at(mounts, "/proc/sys").is_some_and(|mount| mount.is_read_only);
    writable.all(is_fine) && knobs
}

fn keeps_protected(policy: &Policy, protected: &[String], mounts: &[Mount<'_>]) -> bool {
    let workspace = &policy.containment.workspace;
    let is_kept = |name: &String| {
        let path = format!("{workspace}/{name}");
        at(mounts, &path).is_some_and(|mount| mount.is_read_only)
    };
    if policy.containment.tier == Tier::ReadOnly {
        return at(mounts, workspace).is_some_and(|mount| mount.is_read_only);
    }
    protected.iter().all(is_kept)
}

fn hides_homes(policy: &Policy, mounts: &[Mount<'_>]) -> bool {
    policy
        .home
        .as_deref()
        .is_none_or(|home| is_memory(mounts, home))
}

/// The user is not the one whom the files of the system belong to.
///
/// Root of a user namespace is 0 there and a plain user of the host; no test from inside can tell
/// its own map from that of root, but the passwords of the system can.
fn is_nobody(map: &str) -> bool {
    let mut fields = map.split_ascii_whitespace().skip(1);
    let is_other = fields.next().is_some_and(|outside| outside != "0");
    is_other || fs::File::open("/etc/shadow").is_err()
}

#[cfg(test)]
mod tests;
