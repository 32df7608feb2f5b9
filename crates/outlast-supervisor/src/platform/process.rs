//! This process, its children, and what the kernel says when they end.

use std::io;
use std::os::fd::AsRawFd;

/// Who this process is.
pub(crate) fn own_pid() -> i32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::getpid() }
}

/// The user whose rights this process has.
pub(crate) fn own_user() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Becomes the parent of every orphan below, and shows under the name of the program.
pub(crate) fn adopt_orphans(name: &std::ffi::CStr) -> io::Result<()> {
    // SAFETY: the name lives through the call; the other arguments are numbers.
    unsafe {
        super::check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))?;
        super::check(libc::prctl(libc::PR_SET_NAME, name.as_ptr()))?;
    }
    Ok(())
}

/// Points stdin, stdout and stderr at `/dev/null`.
pub(crate) fn null_streams() -> io::Result<()> {
    let null = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    for stream in 0..3 {
        // SAFETY: both are descriptors of this process, and nothing here reads the old ones.
        super::check(unsafe { libc::dup2(null.as_raw_fd(), stream) })?;
    }
    Ok(())
}

/// Closes every descriptor but stdin, stdout and stderr: what the launcher had open is not ours.
pub(crate) fn close_inherited() {
    // SAFETY: nothing in this process has opened a descriptor yet, so none of them is owned.
    // Linux knows the call since 5.9; where it is refused, nothing is worse than before.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0);
    }
}

/// Takes over stdin as a socket and puts `/dev/null` in its place later.
pub(crate) fn take_stdin() -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::{FromRawFd, OwnedFd};
    // SAFETY: the copy is new and owned by nobody else.
    unsafe {
        let raw = super::check(libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3))?;
        Ok(OwnedFd::from_raw_fd(raw))
    }
}

/// Gives memory that is free again back to the system: a start takes more than a life.
pub(crate) fn give_memory_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no memory is passed, and none that is in use is touched.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// A child that ended, reaped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reaped {
    /// Its process id, free again.
    pub(crate) pid: i32,
    /// Its wait status.
    pub(crate) status: i32,
    /// CPU time of it and of those it reaped, in milliseconds.
    pub(crate) cpu_ms: u64,
    /// Its largest memory, in bytes.
    pub(crate) rss_bytes: u64,
}

/// What there is to reap.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reap {
    /// A child ended.
    Ended(Reaped),
    /// Children live, none has ended.
    NoneEnded,
    /// There is no child.
    NoChild,
}

fn time_ms(time: libc::timeval) -> u64 {
    let ms = time.tv_sec * 1_000 + time.tv_usec / 1_000;
    u64::try_from(ms).unwrap_or(0)
}

/// Reaps one child, if one has ended.
pub(crate) fn reap() -> Reap {
    let mut status = 0;
    // SAFETY: an rusage of zeroes is valid; both pointers live through the call.
    let (pid, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let pid = libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage);
        (pid, usage)
    };
    match pid {
        0 => Reap::NoneEnded,
        pid if pid > 0 => Reap::Ended(reaped(pid, status, &usage)),
        _ => Reap::NoChild,
    }
}

/// Waits until one child has ended and reaps it.
pub(crate) fn wait_child() -> io::Result<Reaped> {
    let mut status = 0;
    // SAFETY: an rusage of zeroes is valid; both pointers live through the call.
    let (pid, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let pid = libc::wait4(-1, &raw mut status, libc::__WALL, &raw mut usage);
        (super::check(pid)?, usage)
    };
    Ok(reaped(pid, status, &usage))
}

fn reaped(pid: i32, status: i32, usage: &libc::rusage) -> Reaped {
    Reaped {
        pid,
        status,
        cpu_ms: time_ms(usage.ru_utime) + time_ms(usage.ru_stime),
        rss_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1_024,
    }
}

/// Waits for one child to end, whatever signal it has for that, and forgets it.
pub(crate) fn wait_for(pid: i32) {
    let mut status = 0;
    // SAFETY: the pointer lives through the call.
    while unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) } < 0 {
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// What a wait status says: an exit code, or a signal.
pub(crate) fn verdict(status: i32) -> Result<i32, i32> {
    if libc::WIFEXITED(status) {
        Ok(libc::WEXITSTATUS(status))
    } else {
        Err(libc::WTERMSIG(status))
    }
}

/// Sends a signal to a child that was not reaped yet, whose number is therefore its own.
pub(crate) fn signal_child(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no memory is passed.
    super::check(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Ends this process at once as a kill would, for tests of what then holds.
#[cfg(debug_assertions)]
pub(crate) fn die() {
    // SAFETY: no memory is passed; the call does not return.
    unsafe {
        libc::kill(libc::getpid(), libc::SIGKILL);
    }
}
