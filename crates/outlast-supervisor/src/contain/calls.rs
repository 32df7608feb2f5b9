//! The system calls that a contained run does without: one list for our own filter and for that
//! which an engine is handed.

use serde_json::{Value, json};

/// A system call by the two ways to name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    name: &'static str,
    /// Its number on this processor.
    pub(super) number: libc::c_long,
}

impl Call {
    /// Returns its name as engines write it, such as `mount`.
    fn name(&self) -> &'static str {
        self.name.strip_prefix("SYS_").unwrap_or(self.name)
    }
}

macro_rules! call {
    ($call:ident) => {
        Call {
            name: stringify!($call),
            number: libc::$call,
        }
    };
}

/// Calls that change mounts, namespaces, the kernel, or look into it.
pub(super) const REFUSED: [Call; 39] = [
    call!(SYS_mount),
    call!(SYS_umount2),
    call!(SYS_pivot_root),
    call!(SYS_chroot),
    call!(SYS_move_mount),
    call!(SYS_open_tree),
    call!(SYS_fsopen),
    call!(SYS_fsmount),
    call!(SYS_fsconfig),
    call!(SYS_fspick),
    call!(SYS_mount_setattr),
    call!(SYS_unshare),
    call!(SYS_setns),
    call!(SYS_bpf),
    call!(SYS_perf_event_open),
    call!(SYS_userfaultfd),
    call!(SYS_keyctl),
    call!(SYS_add_key),
    call!(SYS_request_key),
    call!(SYS_kexec_load),
    call!(SYS_kexec_file_load),
    call!(SYS_init_module),
    call!(SYS_finit_module),
    call!(SYS_delete_module),
    call!(SYS_open_by_handle_at),
    call!(SYS_name_to_handle_at),
    call!(SYS_reboot),
    call!(SYS_swapon),
    call!(SYS_swapoff),
    call!(SYS_acct),
    call!(SYS_quotactl),
    call!(SYS_quotactl_fd),
    call!(SYS_syslog),
    call!(SYS_settimeofday),
    call!(SYS_clock_settime),
    call!(SYS_clock_adjtime),
    call!(SYS_adjtimex),
    call!(SYS_vhangup),
    call!(SYS_lookup_dcookie),
];
/// The same, where only one kind of processor has them.
#[cfg(target_arch = "x86_64")]
pub(super) const REFUSED_HERE: [Call; 3] =
    [call!(SYS_iopl), call!(SYS_ioperm), call!(SYS_modify_ldt)];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const REFUSED_HERE: [Call; 0] = [];

/// Calls whose arguments a filter cannot see: libraries do without where they are not there.
pub(super) const ABSENT: [Call; 4] = [
    call!(SYS_clone3),
    call!(SYS_io_uring_setup),
    call!(SYS_io_uring_enter),
    call!(SYS_io_uring_register),
];

/// Families of sockets that a run may make.
pub(super) const FAMILIES: [libc::c_int; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// Namespaces that a clone may not make.
pub(super) const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Requests that type into a terminal for somebody else.
pub(super) const REQUESTS: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// Returns these rules as a container engine takes them, in the OCI's form.
///
/// Calls of other kinds of processors are not in it: an engine ends what makes one.
pub(super) fn for_engines() -> String {
    let names = |calls: &[Call]| -> Vec<&str> { calls.iter().map(Call::name).collect() };
    let refused = [&REFUSED[..], &REFUSED_HERE].concat();
    let mut rules = vec![
        json!({"names": names(&refused), "action": REFUSE, "errnoRet": libc::EPERM}),
        json!({"names": names(&ABSENT), "action": REFUSE, "errnoRet": libc::ENOSYS}),
    ];
    // One condition a rule: of two for the same argument, engines make two rules.
    let mut refuse = |call: &str, condition: Value| {
        rules.push(json!({
            "names": [call], "action": REFUSE, "errnoRet": libc::EPERM, "args": [condition],
        }));
    };
    let last = FAMILIES.into_iter().max().unwrap_or(0);
    for family in (0..last).filter(|family| !FAMILIES.contains(family)) {
        refuse(
            "socket",
            json!({"index": 0, "value": family, "op": "SCMP_CMP_EQ"}),
        );
    }
    refuse(
        "socket",
        json!({"index": 0, "value": last, "op": "SCMP_CMP_GT"}),
    );
    refuse(
        "socketpair",
        json!({"index": 0, "value": libc::AF_UNIX, "op": "SCMP_CMP_NE"}),
    );
    // The kernel looks at the lower half of a request alone.
    let masked = |index: u8, mask: u64, value: u64| json!({"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"});
    for request in REQUESTS {
        refuse("ioctl", masked(1, u64::from(u32::MAX), request));
    }
    for flag in NAMESPACES.map(|flag| u64::from(flag.unsigned_abs())) {
        refuse("clone", masked(0, flag, flag));
    }
    json!({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules}).to_string()
}

/// What an engine does about a call that is refused.
const REFUSE: &str = "SCMP_ACT_ERRNO";

#[cfg(test)]
mod tests;
