//! What process 1 gives up before it executes anything, for itself and all that come after it:
//! capabilities, new privileges, paths (Landlock) and system calls (seccomp).

use super::calls::{ABSENT, FAMILIES, NAMESPACES, REFUSED, REFUSED_HERE, REQUESTS};
use super::launcher::{Broken, step};
use super::mounts::{DEVICES, TEMPORARY};
use crate::platform::confine;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use outlast_journal::policy::Policy;
use outlast_journal::{Network, Tier};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// What of the kernel was not there, and what that means.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) text: String,
    /// Whether abstract unix sockets of the same network can be reached.
    pub(super) has_no_scopes: bool,
}

/// Gives up what the command must not have; returns what of it the kernel does not know.
pub(super) fn harden(policy: &Policy) -> Result<Option<Notice>, Broken> {
    step("no new privileges", confine::gain_no_privileges())?;
    let status = step("landlock", landlock(policy).map_err(|error| cause(&error)))?;
    // Who made the mounts for us has taken the capabilities already, bounds and all.
    refuse_calls(&FAMILIES, !policy.is_mounted)?;
    Ok(notice(&status))
}

/// Gives up the same where nothing else contains the command: what is not shown to it cannot be
/// read either, and it makes no socket but to hosts, if it may talk to all.
pub(super) fn harden_alone(policy: &Policy) -> Result<(), Broken> {
    step("no new privileges", confine::gain_no_privileges())?;
    let status = step("landlock", alone(policy).map_err(|error| cause(&error)))?;
    if status == RulesetStatus::NotEnforced {
        let absent = io::Error::from_raw_os_error(libc::ENOSYS);
        return step("landlock", Err(absent));
    }
    let is_full = policy.containment.network == Network::Full;
    let is_root = confine::own_ids().0 == 0;
    refuse_calls(if is_full { &FAMILIES[1..] } else { &[] }, is_root)
}

/// Gives capabilities up, and all calls that a run has no use for.
fn refuse_calls(families: &[libc::c_int], may_bound: bool) -> Result<(), Broken> {
    step("capabilities", confine::drop_capabilities(may_bound))?;
    for filter in filters(families)? {
        let set = apply_filter(&filter).map_err(|error| match error {
            seccompiler::Error::Seccomp(error) | seccompiler::Error::Prctl(error) => error,
            other @ (seccompiler::Error::Backend(_)
            | seccompiler::Error::EmptyFilter
            | seccompiler::Error::ThreadSync(_)) => io::Error::other(other),
        });
        step("seccomp", set)?;
    }
    Ok(())
}

/// The system's number, which the crate keeps in its chain of causes.
fn cause(error: &RulesetError) -> io::Error {
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(cause) = next {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            return io::Error::from_raw_os_error(io.raw_os_error().unwrap_or(0));
        }
        next = cause.source();
    }
    io::Error::from_raw_os_error(libc::ENOSYS)
}

fn notice(status: &RulesetStatus) -> Option<Notice> {
    let without = match status {
        RulesetStatus::FullyEnforced => return None,
        RulesetStatus::PartiallyEnforced => "this kernel knows only a part of Landlock",
        RulesetStatus::NotEnforced => "this kernel has no Landlock",
    };
    Some(Notice {
        text: format!("{without}: namespaces and seccomp hold alone what it would hold too"),
        has_no_scopes: true,
    })
}

/// Directories of the system that are read where nothing is mounted over the rest.
const READ_ALONE: [&str; 13] = [
    "/bin",
    "/gnu",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix",
    "/opt",
    "/proc",
    "/sbin",
    "/snap",
    "/sys/devices/system",
    "/usr",
];
/// Entries of `/etc` that not everybody reads, not even root in there.
const NOT_READ: [&str; 7] = [
    "gshadow",
    "gshadow-",
    "shadow",
    "shadow-",
    "ssh",
    "sudoers",
    "sudoers.d",
];

/// The entries of a directory but for some: what is allowed below a directory cannot be taken
/// back.
fn entries_but(dir: &Path, is_left_out: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let entries = entries.map(|entry| entry.path());
    entries.filter(|path| !is_left_out(path)).collect()
}

/// What is shown may be read and executed, and what is private or the workspace written.
fn alone(policy: &Policy) -> Result<RulesetStatus, RulesetError> {
    let abi = ABI::V6;
    let (all, reading) = (AccessFs::from_all(abi), AccessFs::from_read(abi));
    let workspace = PathBuf::from(&policy.containment.workspace);
    let mut readable: Vec<PathBuf> = READ_ALONE.iter().map(PathBuf::from).collect();
    let is_settings = |path: &Path| NOT_READ.iter().any(|name| path.ends_with(name));
    readable.extend(entries_but(Path::new("/etc"), is_settings));
    for shown in policy.shown.iter().map(Path::new) {
        let is_covered = |path: &Path| policy.covered.iter().any(|one| Path::new(one) == path);
        if policy
            .covered
            .iter()
            .any(|one| Path::new(one).starts_with(shown))
        {
            readable.extend(entries_but(shown, is_covered));
        } else {
            readable.push(shown.to_owned());
        }
    }
    // A call may be our own program.
    readable.extend(std::fs::read_link("/proc/self/exe"));
    let mut writable: Vec<PathBuf> = policy.alone_in.iter().map(PathBuf::from).collect();
    writable.extend(DEVICES.map(|name| PathBuf::from("/dev").join(name)));
    if policy.containment.tier == Tier::ReadOnly {
        readable.push(workspace);
    } else {
        writable.push(workspace);
    }
    // Without these a file outside could be emptied: then it is better not to begin.
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?
        .add_rules(path_beneath_rules(readable, reading))?
        .add_rules(path_beneath_rules(writable, all))?;
    Ok(ruleset.restrict_self()?.ruleset)
}

/// Everything may be read and executed, and what is private or the workspace written.
fn landlock(policy: &Policy) -> Result<RulesetStatus, RulesetError> {
    let abi = ABI::V6;
    let all = AccessFs::from_all(abi);
    let mut writable: Vec<PathBuf> = TEMPORARY.iter().map(PathBuf::from).collect();
    writable.extend(["/dev/pts", "/proc"].map(PathBuf::from));
    writable.extend(DEVICES.map(|name| PathBuf::from("/dev").join(name)));
    writable.extend(policy.home.as_ref().map(PathBuf::from));
    if policy.containment.tier != Tier::ReadOnly {
        writable.push(PathBuf::from(&policy.containment.workspace));
        writable.extend(policy.repository.as_ref().map(PathBuf::from));
    }
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(abi)))?
        .add_rules(path_beneath_rules(writable, all))?;
    Ok(ruleset.restrict_self()?.ruleset)
}

/// Returns the filters in the order in which they are set.
fn filters(families: &[libc::c_int]) -> Result<Vec<BpfProgram>, Broken> {
    let arch: Result<TargetArch, _> = std::env::consts::ARCH.try_into();
    let arch = step("seccomp: processor", arch.map_err(io::Error::other))?;
    let made = (|| {
        let absent = ABSENT
            .iter()
            .map(|call| (call.number, Vec::new()))
            .collect();
        let absent = SeccompFilter::new(absent, SeccompAction::Allow, errno(libc::ENOSYS), arch)?;
        let refused = SeccompFilter::new(
            refused(families)?,
            SeccompAction::Allow,
            errno(libc::EPERM),
            arch,
        )?;
        Ok::<_, seccompiler::BackendError>((absent.try_into()?, refused.try_into()?))
    })();
    let (absent, refused) = step("seccomp: rules", made.map_err(io::Error::other))?;
    let mut filters = vec![absent, refused];
    if cfg!(target_arch = "x86_64") {
        filters.push(without_x32());
    }
    Ok(filters)
}

fn errno(number: libc::c_int) -> SeccompAction {
    SeccompAction::Errno(number.unsigned_abs())
}

fn refused(
    families: &[libc::c_int],
) -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let is = |argument: u8, operator: SeccompCmpOp, value: u64| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    };
    let number = |value: libc::c_int| u64::from(value.unsigned_abs());
    let calls = REFUSED.iter().chain(&REFUSED_HERE);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        calls.map(|call| (call.number, Vec::new())).collect();
    let others = families
        .iter()
        .map(|family| is(0, SeccompCmpOp::Ne, number(*family)));
    let others: Vec<SeccompCondition> = others.collect::<Result<_, _>>()?;
    let others = if others.is_empty() {
        Vec::new()
    } else {
        vec![SeccompRule::new(others)?]
    };
    rules.insert(libc::SYS_socket, others);
    let pair = is(0, SeccompCmpOp::Ne, number(libc::AF_UNIX))?;
    rules.insert(libc::SYS_socketpair, vec![SeccompRule::new(vec![pair])?]);
    let mut keys = Vec::new();
    for request in REQUESTS {
        let request = is(1, SeccompCmpOp::Eq, request)?;
        keys.push(SeccompRule::new(vec![request])?);
    }
    rules.insert(libc::SYS_ioctl, keys);
    let mut clones = Vec::new();
    for flag in NAMESPACES.map(number) {
        let flag = is(0, SeccompCmpOp::MaskedEq(flag), flag)?;
        clones.push(SeccompRule::new(vec![flag])?);
    }
    rules.insert(libc::SYS_clone, clones);
    Ok(rules)
}

/// Refuses the calls of x32, which have numbers of their own on the same processor.
fn without_x32() -> BpfProgram {
    const LOAD_NUMBER: libc::c_ushort = 0x20;
    const JUMP_IF_AT_LEAST: libc::c_ushort = 0x35;
    const RETURN: libc::c_ushort = 0x06;
    const X32_FIRST: u32 = 0x4000_0000;
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    let instruction = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    vec![
        instruction(LOAD_NUMBER, 0, 0),
        instruction(JUMP_IF_AT_LEAST, 1, X32_FIRST),
        instruction(RETURN, 0, ALLOW),
        instruction(RETURN, 0, ERRNO | libc::ENOSYS.unsigned_abs()),
    ]
}
