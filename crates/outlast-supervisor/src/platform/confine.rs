//! Namespaces, users, capabilities and forks of the launcher, which has one thread.

use super::process::Reaped;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Mounts, processes, IPC, host name and cgroups of its own.
pub(crate) const OWN_ALL: libc::c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;
/// Users of its own.
pub(crate) const OWN_USERS: libc::c_int = libc::CLONE_NEWUSER;
/// A network of its own.
pub(crate) const OWN_NETWORK: libc::c_int = libc::CLONE_NEWNET;

/// Leaves namespaces for new ones; that of processes counts for children only.
pub(crate) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: no memory is passed.
    super::check(unsafe { libc::unshare(flags) }).map(drop)
}

/// Enters a user namespace.
pub(crate) fn enter_users(userns: &OwnedFd) -> io::Result<()> {
    // SAFETY: no memory is passed.
    super::check(unsafe { libc::setns(userns.as_raw_fd(), libc::CLONE_NEWUSER) }).map(drop)
}

/// Becomes user and group 0 of its user namespace, in no other group.
pub(crate) fn become_first_user() -> io::Result<()> {
    // SAFETY: no group is passed; the rest are numbers.
    unsafe {
        super::check(libc::setgroups(0, std::ptr::null()))?;
        super::check(libc::setresgid(0, 0, 0))?;
        super::check(libc::setresuid(0, 0, 0)).map(drop)
    }
}

/// Who this process is: user and group.
pub(crate) fn own_ids() -> (u32, u32) {
    // SAFETY: the calls take nothing and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Forks; returns the child's number, or `None` in the child.
///
/// A sibling is a child of this process's own parent.
pub(crate) fn fork(is_sibling: bool) -> io::Result<Option<i32>> {
    let parent = if is_sibling { libc::CLONE_PARENT } else { 0 };
    let flags = libc::c_long::from(parent | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and a stack it is a fork, of a process with one thread: all
    // memory is whole in the child.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    let pid = super::check(libc::c_int::try_from(pid).unwrap_or(-1))?;
    Ok((pid != 0).then_some(pid))
}

/// Is killed when its parent dies.
pub(crate) fn die_with_parent() -> io::Result<()> {
    // SAFETY: numbers only.
    super::check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) }).map(drop)
}

/// Returns whether it is killed when its parent dies.
pub(crate) fn dies_with_parent() -> bool {
    let mut signal: libc::c_int = 0;
    // SAFETY: the pointer lives through the call, which writes one int.
    let result = unsafe { libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal, 0, 0, 0) };
    result == 0 && signal == libc::SIGKILL
}

/// Who the parent is; 0 when it is outside of this PID namespace.
pub(crate) fn parent() -> i32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::getppid() }
}

/// Lets no other process look into this one, or lets them.
pub(crate) fn set_dumpable(is_dumpable: bool) -> io::Result<()> {
    // SAFETY: numbers only.
    super::check(unsafe {
        libc::prctl(
            libc::PR_SET_DUMPABLE,
            libc::c_ulong::from(is_dumpable),
            0,
            0,
            0,
        )
    })
    .map(drop)
}

/// Returns whether the other end of a socket is still there.
pub(crate) fn has_peer(socket: impl AsFd) -> bool {
    let mut watch = libc::pollfd {
        fd: socket.as_fd().as_raw_fd(),
        events: 0,
        revents: 0,
    };
    // SAFETY: one pollfd, which lives through the call.
    let result = unsafe { libc::poll(&raw mut watch, 1, 0) };
    result >= 0 && watch.revents & (libc::POLLERR | libc::POLLHUP) == 0
}

/// Brings the loopback of this network namespace up.
pub(crate) fn raise_loopback() -> io::Result<()> {
    // SAFETY: the socket is new and owned by nobody else; an ifreq of zeroes is valid and
    // lives through the call.
    unsafe {
        let flags = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        let raw = super::check(libc::socket(libc::AF_INET, flags, 0))?;
        let socket = OwnedFd::from_raw_fd(raw);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = libc::c_char::try_from(b'l').unwrap_or(0);
        request.ifr_name[1] = libc::c_char::try_from(b'o').unwrap_or(0);
        request.ifr_ifru.ifru_flags =
            libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(0);
        super::check(libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS,
            &raw const request,
        ))
        .map(drop)
    }
}

/// Gains no right by executing anything.
pub(crate) fn gain_no_privileges() -> io::Result<()> {
    // SAFETY: numbers only.
    super::check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }).map(drop)
}

/// Gives every capability up, for ever: user 0 gets none back by executing something.
///
/// Whoever has none to begin with may not lower their bounds either; that nothing is gained by
/// executing is then `gain_no_privileges` alone.
pub(crate) fn drop_capabilities(may_bound: bool) -> io::Result<()> {
    /// More than any kernel has.
    const CAPABILITIES_MAX: libc::c_int = 63;
    /// NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with its lock; no KEEP_CAPS.
    const SECURE_BITS: libc::c_ulong = 0b1110_1111;
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    let none = [0_u32; 6];
    // SAFETY: numbers, and two arrays of the kernel's layout that live through the call.
    unsafe {
        for capability in (0..=CAPABILITIES_MAX).filter(|_| may_bound) {
            if libc::prctl(libc::PR_CAPBSET_READ, capability, 0, 0, 0) == 1 {
                super::check(libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0))?;
            }
        }
        libc::prctl(
            libc::PR_CAP_AMBIENT,
            libc::PR_CAP_AMBIENT_CLEAR_ALL,
            0,
            0,
            0,
        );
        if may_bound {
            super::check(libc::prctl(libc::PR_SET_SECUREBITS, SECURE_BITS, 0, 0, 0))?;
        }
        let result = libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr());
        super::check(libc::c_int::try_from(result).unwrap_or(-1)).map(drop)
    }
}

/// Dumps no memory to files when it crashes.
pub(crate) fn leave_no_core() -> io::Result<()> {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure lives through the call.
    super::check(unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) }).map(drop)
}

/// Bounds the processes of this user in this user namespace.
pub(crate) fn bound_processes(most: u64) -> io::Result<()> {
    let most = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: the structure lives through the call.
    super::check(unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &raw const most) }).map(drop)
}

/// Takes a descriptor that the parent put at this number, closed by exec from now on.
pub(crate) fn take_descriptor(number: libc::c_int) -> io::Result<OwnedFd> {
    /// Above all numbers that a parent hands down.
    const FIRST_FREE: libc::c_int = 16;
    // SAFETY: the copy is new; the number is the launcher's alone, taken once.
    unsafe {
        let raw = super::check(libc::fcntl(number, libc::F_DUPFD_CLOEXEC, FIRST_FREE))?;
        libc::close(number);
        Ok(OwnedFd::from_raw_fd(raw))
    }
}

/// Begins a session of its own.
pub(crate) fn begin_session() {
    // SAFETY: the call takes nothing; that it is a leader already is no harm.
    unsafe {
        libc::setsid();
    }
}

/// Marks every descriptor from `first` on to be closed by exec.
pub(crate) fn close_at_exec_from(first: u32) -> io::Result<()> {
    const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
    // SAFETY: no memory is passed.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, CLOSE_RANGE_CLOEXEC) };
    super::check(libc::c_int::try_from(result).unwrap_or(-1)).map(drop)
}

/// Executes the first of `paths` that can be, as a search of PATH does; returns only with the
/// most telling failure and the path that it is of.
pub(crate) fn exec(paths: &[CString], argv: &[&CStr], environment: &[&CStr]) -> (usize, io::Error) {
    let pointers = |words: &[&CStr]| {
        let words = words.iter().map(|word| word.as_ptr());
        words
            .chain(std::iter::once(std::ptr::null()))
            .collect::<Vec<_>>()
    };
    let (argv, environment) = (pointers(argv), pointers(environment));
    let (mut failed, mut errno) = (0, libc::ENOENT);
    for (index, path) in paths.iter().enumerate() {
        // SAFETY: both lists end in a null and live, with all texts, through the call.
        unsafe {
            libc::execve(path.as_ptr(), argv.as_ptr(), environment.as_ptr());
        }
        let error = io::Error::last_os_error();
        let why = error.raw_os_error().unwrap_or(libc::ENOENT);
        if index == 0 || !matches!(why, libc::ENOENT | libc::ENOTDIR) {
            (failed, errno) = (index, why);
        }
        if !matches!(why, libc::ENOENT | libc::ENOTDIR | libc::EACCES) {
            break;
        }
    }
    (failed, io::Error::from_raw_os_error(errno))
}

/// Waits until a child ends and reaps it; `None` when there is none.
pub(crate) fn wait_any() -> Option<Reaped> {
    loop {
        match super::process::wait_child() {
            Ok(reaped) => return Some(reaped),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Leaves at once, without any of the program's own ends.
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: the call does not return.
    unsafe { libc::_exit(code) }
}

/// Makes a file that is only in memory, with no name.
pub(crate) fn memory_file(name: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the name lives through the call; the descriptor is new.
    unsafe {
        let raw = super::check(libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC))?;
        Ok(OwnedFd::from_raw_fd(raw))
    }
}
