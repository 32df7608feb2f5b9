//! What process 1 gives up before it executes anything, for itself and all that come after it:
//! capabilities, new privileges, paths (Landlock) and system calls (seccomp).

use super::launcher::{Broken, step};
use super::mounts::{DEVICES, TEMPORARY};
use crate::platform::confine;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use outlast_journal::Tier;
use outlast_journal::policy::Policy;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

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
    let notice = step("landlock", restrict_paths(policy))?;
    step("capabilities", confine::drop_capabilities())?;
    for filter in filters()? {
        let set = apply_filter(&filter).map_err(|error| match error {
            seccompiler::Error::Seccomp(error) | seccompiler::Error::Prctl(error) => error,
            other @ (seccompiler::Error::Backend(_)
            | seccompiler::Error::EmptyFilter
            | seccompiler::Error::ThreadSync(_)) => io::Error::other(other),
        });
        step("seccomp", set)?;
    }
    Ok(notice)
}

fn restrict_paths(policy: &Policy) -> io::Result<Option<Notice>> {
    let status = landlock(policy).map_err(|error| {
        // The crate keeps the system's number in its chain of causes.
        let mut next: Option<&dyn std::error::Error> = Some(&error);
        while let Some(cause) = next {
            if let Some(io) = cause.downcast_ref::<io::Error>() {
                return io::Error::from_raw_os_error(io.raw_os_error().unwrap_or(0));
            }
            next = cause.source();
        }
        io::Error::other(error)
    })?;
    let without = match status {
        RulesetStatus::FullyEnforced => return Ok(None),
        RulesetStatus::PartiallyEnforced => "this kernel knows only a part of Landlock",
        RulesetStatus::NotEnforced => "this kernel has no Landlock",
    };
    Ok(Some(Notice {
        text: format!("{without}: namespaces and seccomp hold alone what it would hold too"),
        has_no_scopes: true,
    }))
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

/// Calls that change mounts, namespaces, the kernel, or look into it.
const REFUSED: [libc::c_long; 39] = [
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
];
/// The same, where only one kind of processor has them.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: [libc::c_long; 3] = [libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: [libc::c_long; 0] = [];

/// Calls whose arguments a filter cannot see: libraries do without where they are not there.
const ABSENT: [libc::c_long; 4] = [
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Families of sockets that a run may make.
const FAMILIES: [libc::c_int; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// Namespaces that a clone may not make.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Returns the filters in the order in which they are set.
fn filters() -> Result<Vec<BpfProgram>, Broken> {
    let arch: Result<TargetArch, _> = std::env::consts::ARCH.try_into();
    let arch = step("seccomp: processor", arch.map_err(io::Error::other))?;
    let made = (|| {
        let absent = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
        let absent = SeccompFilter::new(absent, SeccompAction::Allow, errno(libc::ENOSYS), arch)?;
        let refused =
            SeccompFilter::new(refused()?, SeccompAction::Allow, errno(libc::EPERM), arch)?;
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

fn refused() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let is = |argument: u8, operator: SeccompCmpOp, value: u64| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    };
    let number = |value: libc::c_int| u64::from(value.unsigned_abs());
    let calls = REFUSED.iter().chain(&REFUSED_HERE);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        calls.map(|call| (*call, Vec::new())).collect();
    let other_families: Result<Vec<_>, _> = FAMILIES
        .iter()
        .map(|family| is(0, SeccompCmpOp::Ne, number(*family)))
        .collect();
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(other_families?)?]);
    let pair = is(0, SeccompCmpOp::Ne, number(libc::AF_UNIX))?;
    rules.insert(libc::SYS_socketpair, vec![SeccompRule::new(vec![pair])?]);
    let mut keys = Vec::new();
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
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
